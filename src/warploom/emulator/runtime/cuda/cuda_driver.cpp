// The driver API, on top of the runtime API. A context is its device.
#include "../../include/cuda.h"

#include <cstdint>
#include <map>
#include <vector>

#include "cuda/cuda_error.h"
#include "cuda/stream.h"

using namespace warploom;

namespace {

constexpr uintptr_t kContexts = 0x5000;  // handles: this and the device

bool g_initialized = false;
std::map<const HostThread*, std::vector<CUcontext>> g_stacks;

CUcontext context_of(int device) {
  return reinterpret_cast<CUcontext>(kContexts + static_cast<uintptr_t>(device));
}
int device_of_context(CUcontext context) {
  return static_cast<int>(reinterpret_cast<uintptr_t>(context) - kContexts);
}

std::vector<CUcontext>& stack() { return g_stacks[&current_host()]; }

CUresult result(cudaError_t error) {
  if (error == cudaSuccess) return CUDA_SUCCESS;
  cudaGetLastError();  // the two libraries keep their errors apart
  return static_cast<CUresult>(error);
}

void* pointer(CUdeviceptr p) { return reinterpret_cast<void*>(p); }

}  // namespace

CUresult cuInit(unsigned flags) {
  if (flags) return CUDA_ERROR_INVALID_VALUE;
  g_initialized = true;
  return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int* version) { return result(cudaDriverGetVersion(version)); }

CUresult cuDeviceGetCount(int* count) {
  if (!g_initialized) return CUDA_ERROR_NOT_INITIALIZED;
  return result(cudaGetDeviceCount(count));
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  if (!g_initialized) return CUDA_ERROR_NOT_INITIALIZED;
  int found = ordinal;
  if (!find_device(found)) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  cudaDeviceProp prop;
  const CUresult error = result(cudaGetDeviceProperties(&prop, device));
  if (error == CUDA_SUCCESS) std::snprintf(name, static_cast<size_t>(length), "%s", prop.name);
  return error;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  if (attribute == CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED) {
    if (!find_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    *value = 0;  // cuMemCreate and what goes with it are not emulated
    return CUDA_SUCCESS;
  }
  return result(cudaDeviceGetAttribute(value, static_cast<cudaDeviceAttr>(attribute), device));
}
CUresult cuDeviceCanAccessPeer(int* reachable, CUdevice device, CUdevice peer) {
  return result(cudaDeviceCanAccessPeer(reachable, device, peer));
}
CUresult cuDeviceTotalMem(size_t* bytes, CUdevice device) {
  cudaDeviceProp prop;
  const CUresult error = result(cudaGetDeviceProperties(&prop, device));
  if (error == CUDA_SUCCESS) *bytes = prop.totalGlobalMem;
  return error;
}
CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
  if (!find_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  *major = 9;
  *minor = 0;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  if (!find_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  *context = context_of(device);
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease(CUdevice) { return CUDA_SUCCESS; }
CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = context_of(current_host().device);
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext context) {
  if (!context) return CUDA_SUCCESS;
  if (!valid_device(device_of_context(context))) return CUDA_ERROR_INVALID_CONTEXT;
  current_host().device = device_of_context(context);
  return CUDA_SUCCESS;
}
CUresult cuCtxGetDevice(CUdevice* device) { return result(cudaGetDevice(device)); }
CUresult cuCtxPushCurrent(CUcontext context) {
  stack().push_back(context_of(current_host().device));
  return cuCtxSetCurrent(context);
}
CUresult cuCtxPopCurrent(CUcontext* context) {
  if (stack().empty()) return CUDA_ERROR_INVALID_CONTEXT;
  if (context) *context = context_of(current_host().device);
  const CUcontext before = stack().back();
  stack().pop_back();
  return cuCtxSetCurrent(before);
}
CUresult cuCtxSynchronize() { return result(cudaDeviceSynchronize()); }
CUresult cuCtxCreate(CUcontext* context, unsigned, CUdevice device) {
  if (!find_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  *context = context_of(device);
  return cuCtxPushCurrent(*context);
}
CUresult cuCtxDestroy(CUcontext) { return CUDA_SUCCESS; }

CUresult cuMemGetInfo(size_t* free, size_t* total) { return result(cudaMemGetInfo(free, total)); }
CUresult cuMemAlloc(CUdeviceptr* out, size_t bytes) {
  void* memory = nullptr;
  const CUresult error = result(allocate(&memory, bytes));
  *out = reinterpret_cast<CUdeviceptr>(memory);
  return error;
}
CUresult cuMemFree(CUdeviceptr p) { return result(cudaFree(pointer(p))); }
CUresult cuMemcpyHtoD(CUdeviceptr dst, const void* src, size_t bytes) {
  return result(cudaMemcpy(pointer(dst), src, bytes, cudaMemcpyHostToDevice));
}
CUresult cuMemcpyDtoH(void* dst, CUdeviceptr src, size_t bytes) {
  return result(cudaMemcpy(dst, pointer(src), bytes, cudaMemcpyDeviceToHost));
}
CUresult cuMemcpyDtoD(CUdeviceptr dst, CUdeviceptr src, size_t bytes) {
  return result(cudaMemcpy(pointer(dst), pointer(src), bytes, cudaMemcpyDeviceToDevice));
}
CUresult cuMemsetD8(CUdeviceptr dst, unsigned char value, size_t count) {
  return result(cudaMemset(pointer(dst), value, count));
}
CUresult cuMemsetD32(CUdeviceptr dst, unsigned value, size_t count) {
  for (size_t byte = 1; byte < 4; byte++) {
    if ((value >> (8 * byte) & 0xFF) != (value & 0xFF)) return CUDA_ERROR_NOT_SUPPORTED;
  }
  return result(cudaMemset(pointer(dst), static_cast<int>(value & 0xFF), count * 4));
}
CUresult cuStreamSynchronize(CUstream stream) { return result(cudaStreamSynchronize(stream)); }
