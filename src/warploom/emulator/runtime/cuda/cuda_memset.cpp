// Memsets, as operations of a stream.
#include <cstring>

#include "../../include/cuda_runtime.h"
#include "behavior/inputs.h"
#include "behavior/results.h"
#include "cuda/cuda_copy.h"
#include "cuda/cuda_error.h"
#include "cuda/graph.h"
#include "cuda/stream.h"
#include "memory/fresh_pages.h"
#include "memory/memory.h"
#include "memory/sides.h"
#include "report/report.h"
#include "timing/stream_time.h"

using namespace warploom;

namespace {

cudaError_t set(void* pointer, std::size_t pitch, int value, std::size_t width, std::size_t height,
                cudaStream_t handle, const char* name) {
  if (width == 0 || height == 0) return cudaSuccess;
  if (!emulated(pointer) || width > pitch) return cuda_fail(cudaErrorInvalidValue);
  char* start = static_cast<char*>(pointer);
  if (!check_range(start, pitch * (height - 1) + width, name, capture_frames())) {
    return cuda_fail(cudaErrorInvalidValue);
  }
  Stream* stream = resolve_stream(handle);
  if (implicit_in_capture(stream)) return cudaErrorStreamCaptureImplicit;
  const TouchesOnly touches({{pointer, pitch * (height - 1) + width}});
  const bool early = no_results_yet();  // when it was called, as for copies
  push_op(stream, OpKind::Copy, name, [=](StreamOp& op) {
    for (std::size_t row = 0; row < height; row++) {
      access_write(actor_of(op), start + row * pitch, width);
      will_overwrite(start + row * pitch, width);
      std::memset(start + row * pitch, value, width);
      note_set(start + row * pitch, width, value, device_filled(start, op), early);
    }
    if (g_timed) price_memset(op, start, width * height);
    complete(op);
  });
  return cudaSuccess;
}

// What is not called Async waits where the host can see the memory ("API synchronization behavior"
// in the reference of the runtime): pinned and managed memory.
cudaError_t settle_set(cudaError_t error, const void* pointer, const char* name) {
  if (error == cudaSuccess && !on_device_side(pointer)) synchronize(resolve_stream(nullptr), name);
  return error;
}

// Rows of elements of one, two or four bytes.
struct Fill {
  char* start;
  std::size_t pitch;
  unsigned value;
  std::size_t element, width, height;
  std::size_t slices = 1, slice = 0;
};

StartFunction start_of(const Fill& fill) {
  return [fill](StreamOp& op) {
    if (g_timed) {
      price_memset(op, fill.start, fill.width * fill.element * fill.height * fill.slices);
    }
    for (std::size_t row = 0; row < fill.height * fill.slices; row++) {
      char* at = fill.start + row / fill.height * fill.slice + row % fill.height * fill.pitch;
      access_write(actor_of(op), at, fill.width * fill.element);
      will_overwrite(at, fill.width * fill.element);
      for (std::size_t i = 0; i < fill.width; i++) {
        std::memcpy(at + i * fill.element, &fill.value, fill.element);
      }
    }
    complete(op);
  };
}

}  // namespace

cudaError_t cudaMemset(void* pointer, int value, size_t bytes) {
  const cudaError_t error = set(pointer, bytes, value, bytes, 1, nullptr, "cudaMemset");
  return settle_set(error, pointer, "cudaMemset");
}
cudaError_t cudaMemset2D(void* pointer, size_t pitch, int value, size_t width, size_t height) {
  const cudaError_t error = set(pointer, pitch, value, width, height, nullptr, "cudaMemset2D");
  return settle_set(error, pointer, "cudaMemset2D");
}
cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t stream) {
  return set(pointer, bytes, value, bytes, 1, stream, "cudaMemsetAsync");
}
cudaError_t cudaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
  return set(pointer, pitch, value, width, height, stream, "cudaMemset2DAsync");
}

cudaError_t cudaMemset3D(cudaPitchedPtr target, int value, cudaExtent extent) {
  const cudaError_t error = cudaMemset3DAsync(target, value, extent, nullptr);
  return settle_set(error, target.ptr, "cudaMemset3D");
}
cudaError_t cudaMemset3DAsync(cudaPitchedPtr target, int value, cudaExtent extent,
                              cudaStream_t handle) {
  if (!in_arena(target.ptr)) return cuda_fail(cudaErrorInvalidValue);
  const Fill fill{static_cast<char*>(target.ptr),
                  target.pitch,
                  static_cast<unsigned>(value),
                  1,
                  extent.width,
                  extent.height,
                  extent.depth,
                  target.pitch * target.ysize};
  Stream* stream = resolve_stream(handle);
  if (implicit_in_capture(stream)) return cudaErrorStreamCaptureImplicit;
  push_op(stream, OpKind::Copy, "cudaMemset3D", start_of(fill));
  return cudaSuccess;
}

namespace warploom {

cudaError_t vary_filled(void* start, std::size_t bytes, cudaStream_t handle, bool waits) {
  if (!g_varying || !emulated(start)) return cudaSuccess;
  if (!check_range(start, bytes, "thrust::fill", capture_frames())) {
    return cuda_fail(cudaErrorInvalidValue);
  }
  Stream* stream = resolve_stream(handle);
  if (implicit_in_capture(stream)) return cudaErrorStreamCaptureImplicit;
  const bool early = no_results_yet();  // when it was called, as for memsets
  push_op(stream, OpKind::Copy, "thrust::fill", [=](StreamOp& op) {
    access_write(actor_of(op), start, bytes);
    note_filled(start, bytes, device_filled(start, op), early);
    complete(op);
  });
  if (waits) synchronize(stream, "thrust::fill");
  return cudaSuccess;
}

cudaError_t memset_work(const cudaMemsetParams& p, NodeWork& work) {
  const std::size_t bytes = p.width * p.elementSize;
  if (!in_arena(p.dst) || p.elementSize > 4 || p.height == 0) return cudaErrorInvalidValue;
  if (!check_range(p.dst, p.pitch * (p.height - 1) + bytes, "a memset node", capture_frames())) {
    return cudaErrorInvalidValue;
  }
  const Fill fill{static_cast<char*>(p.dst), p.pitch, p.value, p.elementSize, p.width, p.height};
  work.type = cudaGraphNodeTypeMemset;
  work.name = "a memset node";
  work.prepare = [start = start_of(fill)](const auto&) { return start; };
  return cudaSuccess;
}

}  // namespace warploom
