// Devices: an H200-like device of compute capability 9.0, with the emulated memory size.
#include <cstdio>
#include <cstring>

#include "../../include/cuda_runtime.h"
#include "cuda/cuda_error.h"
#include "cuda/graph.h"
#include "cuda/stream.h"
#include "kernels/kernel.h"
#include "machine/virtual_time.h"
#include "machine/world.h"
#include "memory/device_heap.h"
#include "memory/memory.h"
#include "report/report.h"

using namespace warploom;

namespace {

// Compute capability 9.0: CUDA C++ Programming Guide, "Technical Specifications".
constexpr int kSharedPerBlock = 48 << 10, kSharedOptIn = 227 << 10, kSharedPerSm = 228 << 10;
constexpr int kThreadsPerSm = 2048, kRegisters = 65536, kBlocksPerSm = 32;

Process::Limits& limits_here() { return current_process().limits_on(current_host().device); }

}  // namespace

std::size_t warploom::heap_limit() {
  const Kernel& kernel = *g_current->gpu->block->kernel;
  return kernel.process->limits_on(kernel.device)[cudaLimitMallocHeapSize];
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = devices_of_machine();
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  *device = number_of_device(current_host().device);
  return cudaSuccess;
}

// All devices are alike: the first one meets what any of them does.
cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp* wanted) {
  if (!device || !wanted) return cuda_fail(cudaErrorInvalidValue);
  *device = 0;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  if (!find_device(device)) return cuda_fail(cudaErrorInvalidDevice);
  current_host().device = device;
  return cudaSuccess;
}

namespace {

template <std::size_t N>
void set(int (&to)[N], const int (&from)[N]) {
  std::memcpy(to, from, sizeof to);
}

void texture_limits(cudaDeviceProp& prop) {
  constexpr int k128 = 131072, k64 = 65536, k32 = 32768, k16 = 16384;
  prop.maxTexture1D = k128, prop.maxTexture1DMipmap = k32, prop.maxTexture1DLinear = 1 << 28;
  set(prop.maxTexture2D, {k128, k64});
  set(prop.maxTexture2DMipmap, {k32, k32});
  set(prop.maxTexture2DLinear, {k128, 65000, 2097120});
  set(prop.maxTexture2DGather, {k32, k32});
  set(prop.maxTexture3D, {k16, k16, k16});
  set(prop.maxTexture3DAlt, {8192, 8192, k32});
  set(prop.maxTexture1DLayered, {k32, 2048});
  set(prop.maxTexture2DLayered, {k32, k32, 2048});
  set(prop.maxTextureCubemapLayered, {k32, 2046});
  set(prop.maxSurface2D, {k128, k64});
  set(prop.maxSurface3D, {k16, k16, k16});
  set(prop.maxSurface1DLayered, {k32, 2048});
  set(prop.maxSurface2DLayered, {k32, k32, 2048});
  set(prop.maxSurfaceCubemapLayered, {k32, 2046});
  prop.maxSurface1D = prop.maxTextureCubemap = prop.maxSurfaceCubemap = k32;
}

}  // namespace

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* prop, int device) {
  const int number = device;
  if (!prop || !find_device(device)) return cuda_fail(cudaErrorInvalidDevice);
  *prop = {};
  std::snprintf(prop->name, sizeof prop->name, "warploom emulated GPU %d", number);
  prop->totalGlobalMem = total_bytes();
  prop->sharedMemPerBlock = kSharedPerBlock;
  prop->regsPerBlock = prop->regsPerMultiprocessor = kRegisters;
  prop->warpSize = 32;
  prop->memPitch = 0x7FFFFFFF;
  prop->maxThreadsPerBlock = 1024;
  prop->maxThreadsDim[0] = prop->maxThreadsDim[1] = 1024;
  prop->maxThreadsDim[2] = 64;
  prop->maxGridSize[0] = 0x7FFFFFFF;
  prop->maxGridSize[1] = prop->maxGridSize[2] = 65535;
  prop->totalConstMem = 64 << 10;
  prop->major = 9;
  prop->multiProcessorCount = g_devices[static_cast<std::size_t>(device)]->sm_count;
  prop->canMapHostMemory = prop->concurrentKernels = prop->unifiedAddressing = 1;
  prop->asyncEngineCount = 3;
  prop->memoryBusWidth = 6144;
  prop->l2CacheSize = 50 << 20;
  prop->persistingL2CacheMaxSize = 32 << 20;
  prop->accessPolicyMaxWindowSize = 128 << 20;
  prop->maxThreadsPerMultiProcessor = kThreadsPerSm;
  prop->streamPrioritiesSupported = prop->managedMemory = prop->concurrentManagedAccess = 1;
  prop->sharedMemPerMultiprocessor = kSharedPerSm;
  prop->cooperativeLaunch = prop->memoryPoolsSupported = 1;
  prop->sharedMemPerBlockOptin = kSharedOptIn;
  prop->maxBlocksPerMultiProcessor = kBlocksPerSm;
  prop->reservedSharedMemPerBlock = 1024;
  prop->pciBusID = number + 1;
  prop->hostNativeAtomicSupported = prop->computePreemptionSupported = 1;
  prop->canUseHostPointerForRegisteredMem = prop->hostRegisterSupported = 1;
  prop->globalL1CacheSupported = prop->localL1CacheSupported = prop->deviceOverlap = 1;
  prop->textureAlignment = prop->surfaceAlignment = 512;
  prop->texturePitchAlignment = 32;
  texture_limits(*prop);
  prop->clockRate = 1980000;
  prop->memoryClockRate = 3201000;
  prop->singleToDoublePrecisionPerfRatio = 2;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int device) {
  int found = device;
  if (!find_device(found)) return cuda_fail(cudaErrorInvalidDevice);
  std::snprintf(id, static_cast<std::size_t>(length), "0000:%02x:00.0", device + 1);
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  if (forbidden_in_capture(current_host().device)) return cudaErrorStreamCaptureUnsupported;
  synchronize_device(current_host().device, "cudaDeviceSynchronize");
  return cudaSuccess;
}

// All of the process's memory on the device is gone, and whoever still uses it will be told so.
cudaError_t cudaDeviceReset() {
  const int device = current_host().device;
  synchronize_device(device, "cudaDeviceReset");
  const Frames where = capture_frames();
  for (const Allocation* own : live_allocations()) {
    if (own->device != device || own->process != current_process().rank) continue;
    release(find_allocation(reinterpret_cast<const void*>(own->start)), where);
  }
  return cudaSuccess;
}

cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }

cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
  if (limit < 0 || limit > 6) return cuda_fail(cudaErrorInvalidValue);
  if (unsafe_during_capture()) return cudaErrorStreamCaptureUnsupported;
  limits_here()[limit] = value;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  if (limit < 0 || limit > 6) return cuda_fail(cudaErrorInvalidValue);
  *value = limits_here()[limit];
  return cudaSuccess;
}

cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  if (!find_device(device) || !find_device(peer)) return cuda_fail(cudaErrorInvalidDevice);
  *can = device != peer && lsa_team_of(device) == lsa_team_of(peer);
  return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
  const int device = current_host().device;
  if (!find_device(peer) || peer == device) return cuda_fail(cudaErrorInvalidDevice);
  if (lsa_team_of(device) != lsa_team_of(peer)) return cuda_fail(cudaErrorNotSupported);
  auto enabled = g_devices[static_cast<std::size_t>(device)]->peers.begin() + peer;
  if (*enabled) return cuda_fail(cudaErrorPeerAccessAlreadyEnabled);
  *enabled = true;
  return cudaSuccess;
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  if (!find_device(peer)) return cuda_fail(cudaErrorInvalidDevice);
  const int device = current_host().device;
  auto enabled = g_devices[static_cast<std::size_t>(device)]->peers.begin() + peer;
  if (!*enabled) return cuda_fail(cudaErrorPeerAccessNotEnabled);
  *enabled = false;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) { return cudaDriverGetVersion(version); }

namespace warploom {

cudaError_t occupancy(int* blocks, int threads, std::size_t shared) {
  if (threads < 1 || threads > 1024) return cuda_fail(cudaErrorInvalidValue);
  int fit = kThreadsPerSm / ((threads + 31) / 32 * 32);
  if (fit > kBlocksPerSm) fit = kBlocksPerSm;
  const int by_shared = static_cast<int>(kSharedPerSm / (shared + 1024));
  *blocks = by_shared < fit ? by_shared : fit;
  return cudaSuccess;
}

cudaError_t function_attributes(cudaFuncAttributes* attributes) {
  *attributes = {};
  attributes->maxThreadsPerBlock = 1024;
  attributes->numRegs = 32;
  attributes->ptxVersion = attributes->binaryVersion = 90;
  attributes->maxDynamicSharedSizeBytes = kSharedPerBlock;
  return cudaSuccess;
}

}  // namespace warploom
