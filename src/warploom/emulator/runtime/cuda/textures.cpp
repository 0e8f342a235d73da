// CUDA arrays, textures and surfaces. An array is device memory without gaps, whose order of
// elements no program sees; a texture reads memory of the device like any load.
#include <algorithm>
#include <string>

#include "../../include/cuda_runtime.h"
#include "cuda/cuda_copy.h"
#include "cuda/cuda_error.h"
#include "host/handles.h"
#include "memory/memory.h"
#include "report/report.h"
#include "warploom/texture_views.h"

using namespace warploom;

struct cudaArray {
  char* data;
  cudaChannelFormatDesc desc;
  cudaExtent extent;  // as the program gave it: 0 where there is no such dimension
  unsigned flags;
  std::size_t pitch;
  std::size_t rows() const { return std::max<std::size_t>(extent.height, 1); }
  std::size_t layers() const { return std::max<std::size_t>(extent.depth, 1); }
};

namespace {

HandleTable<cudaArray> g_arrays("a CUDA array");
HandleTable<TextureView> g_textures("a texture or surface object");

TextureView* find_view(unsigned long long object) {
  return g_textures.find(reinterpret_cast<TextureView*>(object));
}

int channels_of(const cudaChannelFormatDesc& desc) {
  return (desc.x > 0) + (desc.y > 0) + (desc.z > 0) + (desc.w > 0);
}
std::size_t element_bytes(const cudaChannelFormatDesc& desc) {
  return static_cast<std::size_t>(channels_of(desc) * desc.x / 8);
}

cudaError_t make_array(cudaArray_t* out, const cudaChannelFormatDesc* desc, cudaExtent extent,
                       unsigned flags) {
  const bool valid = out && desc && extent.width > 0 &&
                     (desc->x == 8 || desc->x == 16 || desc->x == 32) && channels_of(*desc) != 3;
  if (!valid) return cuda_fail(cudaErrorInvalidValue);
  auto* array = new cudaArray{nullptr, *desc, extent, flags, extent.width * element_bytes(*desc)};
  void* memory = nullptr;
  if (const cudaError_t error = allocate(&memory, array->pitch * array->rows() * array->layers())) {
    delete array;
    return error;
  }
  array->data = static_cast<char*>(memory);
  *out = g_arrays.give(array);
  return cudaSuccess;
}

// Where the part at byte `x` of row `y` begins, if `rows` rows of `width` bytes fit in from there.
char* part(const cudaArray* array, std::size_t x, std::size_t y, std::size_t width,
           std::size_t rows) {
  if (x + width > array->pitch || y + rows > array->rows()) return nullptr;
  return array->data + y * array->pitch + x;
}

// The same for `bytes` that go on in the next row.
char* run_of(const cudaArray* array, std::size_t x, std::size_t y, std::size_t bytes) {
  const std::size_t at = y * array->pitch + x;
  return at + bytes > array->pitch * array->rows() ? nullptr : array->data + at;
}

cudaArray* of_const(cudaArray_const_t array) {
  return g_arrays.find(const_cast<cudaArray_t>(array));
}

int as_int(std::size_t value) { return static_cast<int>(value); }

cudaError_t make_view(const cudaResourceDesc& from, TextureView& view) {
  cudaChannelFormatDesc desc;
  if (from.resType == cudaResourceTypeArray) {
    const cudaArray* array = g_arrays.find(from.res.array.array);
    if (!array) return cudaErrorInvalidResourceHandle;
    desc = array->desc;
    view.data = array->data;
    view.width = as_int(array->extent.width);
    view.height = as_int(array->rows());
    view.depth = as_int(array->layers());
    view.pitch = array->pitch;
    view.layered = array->flags & cudaArrayLayered;
  } else if (from.resType == cudaResourceTypeLinear) {
    desc = from.res.linear.desc;
    view.data = static_cast<char*>(from.res.linear.devPtr);
    view.linear_memory = true;
    view.height = view.depth = 1;
    view.pitch = from.res.linear.sizeInBytes;
  } else if (from.resType == cudaResourceTypePitch2D) {
    desc = from.res.pitch2D.desc;
    view.data = static_cast<char*>(from.res.pitch2D.devPtr);
    view.width = as_int(from.res.pitch2D.width);
    view.height = as_int(from.res.pitch2D.height);
    view.depth = 1;
    view.pitch = from.res.pitch2D.pitchInBytes;
  } else {
    stop_unsupported("cudaCreateTextureObject", "mipmapped arrays are not emulated");
  }
  const std::size_t element = element_bytes(desc);
  if (!view.data || element == 0) return cudaErrorInvalidValue;
  if (view.linear_memory) view.width = as_int(view.pitch / element);
  const std::size_t bytes = view.pitch * static_cast<std::size_t>(view.height * view.depth);
  if (!check_range(view.data, bytes, "cudaCreateTextureObject", capture_frames())) {
    return cudaErrorInvalidValue;
  }
  view.slice = view.pitch * static_cast<std::size_t>(view.height);
  view.channels = channels_of(desc);
  view.bytes = desc.x / 8;
  view.kind = desc.f;
  return cudaSuccess;
}

cudaError_t make_object(unsigned long long* out, const cudaResourceDesc* from,
                        const cudaTextureDesc& how) {
  if (!out || !from) return cuda_fail(cudaErrorInvalidValue);
  TextureView view{};
  view.how = how;
  if (const cudaError_t error = make_view(*from, view)) return cuda_fail(error);
  const bool converts = view.how.readMode == cudaReadModeNormalizedFloat;
  const bool floats = view.kind == cudaChannelFormatKindFloat;
  const bool filters = view.how.filterMode == cudaFilterModeLinear;
  // Filters give floats: of integers only where they are read as such (cudaTextureDesc).
  if (converts && !floats && view.bytes == 4) return cuda_fail(cudaErrorInvalidValue);
  if (filters && !floats && !converts) return cuda_fail(cudaErrorInvalidFilterSetting);
  *out = reinterpret_cast<uintptr_t>(g_textures.give(new TextureView(view)));
  return cudaSuccess;
}

cudaError_t end_object(unsigned long long object) {
  TextureView* view = find_view(object);
  if (!view) return cuda_fail(cudaErrorInvalidValue);
  g_textures.end(view);
  return cudaSuccess;  // the view is kept: a kernel that still reads through it is told so
}

}  // namespace

namespace warploom {

TextureView texture_view(unsigned long long object, const char* call) {
  const TextureView* view = find_view(object);
  if (!view) {
    report_finding({.kind = kinds::use_after_destroy,
                    .message = std::string(call) + " through a texture object that there is not",
                    .hint = "create the object before the kernel is launched, and destroy it when "
                            "the kernel has ended"});
    stop_run();
  }
  return *view;
}

char* array_place(cudaArray_t array, const cudaPos& at, std::size_t& pitch, std::size_t& rows,
                  std::size_t& element) {
  const cudaArray* found = g_arrays.find(array);
  if (!found) return nullptr;
  pitch = found->pitch;
  rows = found->rows();
  element = element_bytes(found->desc);
  return found->data + (at.z * rows + at.y) * pitch + at.x * element;
}

}  // namespace warploom

extern "C" {

cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* desc, size_t width,
                            size_t height, unsigned flags) {
  return make_array(array, desc, {width, height, 0}, flags);
}
cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* desc,
                              cudaExtent extent, unsigned flags) {
  return make_array(array, desc, extent, flags);
}
cudaError_t cudaFreeArray(cudaArray_t array) {
  if (!array) return cudaSuccess;
  cudaArray* found = g_arrays.find(array);
  if (!found) return cuda_fail(cudaErrorInvalidValue);
  g_arrays.end(found);
  const cudaError_t error = cudaFree(found->data);
  delete found;
  return error;
}
cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* desc, cudaExtent* extent, unsigned* flags,
                             cudaArray_t array) {
  const cudaArray* found = g_arrays.find(array);
  if (!found) return cuda_fail(cudaErrorInvalidValue);
  if (desc) *desc = found->desc;
  if (extent) *extent = found->extent;
  if (flags) *flags = found->flags;
  return cudaSuccess;
}
cudaError_t cudaMemcpyToArray(cudaArray_t dst, size_t x, size_t y, const void* src, size_t bytes,
                              cudaMemcpyKind kind) {
  const cudaArray* found = g_arrays.find(dst);
  char* at = found ? run_of(found, x, y, bytes) : nullptr;
  return at ? cudaMemcpy(at, src, bytes, kind) : cuda_fail(cudaErrorInvalidValue);
}
cudaError_t cudaMemcpyFromArray(void* dst, cudaArray_const_t src, size_t x, size_t y, size_t bytes,
                                cudaMemcpyKind kind) {
  const cudaArray* found = of_const(src);
  const char* at = found ? run_of(found, x, y, bytes) : nullptr;
  return at ? cudaMemcpy(dst, at, bytes, kind) : cuda_fail(cudaErrorInvalidValue);
}
cudaError_t cudaMemcpy2DToArray(cudaArray_t dst, size_t x, size_t y, const void* src, size_t pitch,
                                size_t width, size_t height, cudaMemcpyKind kind) {
  const cudaArray* found = g_arrays.find(dst);
  char* at = found ? part(found, x, y, width, height) : nullptr;
  if (!at) return cuda_fail(cudaErrorInvalidValue);
  return cudaMemcpy2D(at, found->pitch, src, pitch, width, height, kind);
}
cudaError_t cudaMemcpy2DFromArray(void* dst, size_t pitch, cudaArray_const_t src, size_t x,
                                  size_t y, size_t width, size_t height, cudaMemcpyKind kind) {
  const cudaArray* found = of_const(src);
  const char* at = found ? part(found, x, y, width, height) : nullptr;
  if (!at) return cuda_fail(cudaErrorInvalidValue);
  return cudaMemcpy2D(dst, pitch, at, found->pitch, width, height, kind);
}
cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t dst, size_t x, size_t y, const void* src,
                                     size_t pitch, size_t width, size_t height, cudaMemcpyKind kind,
                                     cudaStream_t stream) {
  const cudaArray* found = g_arrays.find(dst);
  char* at = found ? part(found, x, y, width, height) : nullptr;
  if (!at) return cuda_fail(cudaErrorInvalidValue);
  return cudaMemcpy2DAsync(at, found->pitch, src, pitch, width, height, kind, stream);
}
cudaError_t cudaMemcpy2DFromArrayAsync(void* dst, size_t pitch, cudaArray_const_t src, size_t x,
                                       size_t y, size_t width, size_t height, cudaMemcpyKind kind,
                                       cudaStream_t stream) {
  const cudaArray* found = of_const(src);
  const char* at = found ? part(found, x, y, width, height) : nullptr;
  if (!at) return cuda_fail(cudaErrorInvalidValue);
  return cudaMemcpy2DAsync(dst, pitch, at, found->pitch, width, height, kind, stream);
}
cudaError_t cudaCreateTextureObject(cudaTextureObject_t* object, const cudaResourceDesc* resource,
                                    const cudaTextureDesc* texture,
                                    const cudaResourceViewDesc* view) {
  if (view) stop_unsupported("cudaCreateTextureObject", "views of resources are not emulated");
  if (!texture) return cuda_fail(cudaErrorInvalidValue);
  return make_object(object, resource, *texture);
}
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t object) { return end_object(object); }
cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* object, const cudaResourceDesc* resource) {
  return make_object(object, resource, {});
}
cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t object) { return end_object(object); }
}
