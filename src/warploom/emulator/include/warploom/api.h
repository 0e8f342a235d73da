// The CUDA runtime API that is emulated. What is not declared here fails the build, by name. C sees
// the host's part of it, without graphs.
#pragma once

#include "api_types.h"
#ifdef __cplusplus
#include "device.h"
#define WARPLOOM_DEFAULT(value) = value
extern "C" {
#else
#define WARPLOOM_DEFAULT(value)
#endif

// Errors
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();
const char* cudaGetErrorName(cudaError_t error);
const char* cudaGetErrorString(cudaError_t error);

// Devices
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp* wanted);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* prop, int device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int from, int to);
cudaError_t cudaCtxResetPersistingL2Cache();
cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int device);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaDeviceReset();
cudaError_t cudaSetDeviceFlags(unsigned flags);
cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value);
cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit);
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache config);
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags);
cudaError_t cudaDeviceDisablePeerAccess(int peer);
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest);
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaRuntimeGetVersion(int* version);

// Memory
cudaError_t cudaMemGetInfo(size_t* free, size_t* total);
cudaError_t cudaFree(void* pointer);
cudaError_t cudaFreeHost(void* pointer);
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream);
cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned flags);
cudaError_t cudaHostUnregister(void* pointer);
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned flags);
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer);
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer);
cudaError_t cudaIpcOpenMemHandle(void** pointer, cudaIpcMemHandle_t handle, unsigned flags);
cudaError_t cudaIpcCloseMemHandle(void* pointer);
cudaError_t cudaMemcpy(void* dst, const void* src, size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpy2D(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                         size_t height, cudaMemcpyKind kind);
cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* params);
cudaError_t cudaMemset3D(cudaPitchedPtr target, int value, cudaExtent extent);
cudaError_t cudaMemcpyPeer(void* dst, int dst_device, const void* src, int src_device,
                           size_t bytes);
cudaError_t cudaMemset(void* pointer, int value, size_t bytes);
cudaError_t cudaMemset2D(void* pointer, size_t pitch, int value, size_t width, size_t height);

// Streams and events
cudaError_t cudaStreamCreate(cudaStream_t* stream);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority);
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags);
cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end);
cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t* handle, cudaEvent_t event);
cudaError_t cudaIpcOpenEventHandle(cudaEvent_t* event, cudaIpcEventHandle_t handle);

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                unsigned flags WARPLOOM_DEFAULT(0));
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data,
                                  unsigned flags);
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream WARPLOOM_DEFAULT(nullptr));
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event,
                                     cudaStream_t stream WARPLOOM_DEFAULT(nullptr),
                                     unsigned flags WARPLOOM_DEFAULT(0));
cudaError_t cudaMemcpyAsync(void* dst, const void* src, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream WARPLOOM_DEFAULT(nullptr));
cudaError_t cudaMemcpy2DAsync(void* dst, size_t dpitch, const void* src, size_t spitch,
                              size_t width, size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream WARPLOOM_DEFAULT(nullptr));
cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* params,
                              cudaStream_t stream WARPLOOM_DEFAULT(nullptr));
cudaError_t cudaMemset3DAsync(cudaPitchedPtr target, int value, cudaExtent extent,
                              cudaStream_t stream WARPLOOM_DEFAULT(nullptr));
cudaError_t cudaMemcpyPeerAsync(void* dst, int dst_device, const void* src, int src_device,
                                size_t bytes, cudaStream_t stream WARPLOOM_DEFAULT(nullptr));
cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes,
                            cudaStream_t stream WARPLOOM_DEFAULT(nullptr));
cudaError_t cudaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream WARPLOOM_DEFAULT(nullptr));
cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* pointer,
                                     size_t bytes WARPLOOM_DEFAULT(0),
                                     unsigned flags WARPLOOM_DEFAULT(cudaMemAttachSingle));
cudaError_t cudaMalloc3D(cudaPitchedPtr* pointer, cudaExtent extent);
static inline cudaPitchedPtr make_cudaPitchedPtr(void* pointer, size_t pitch, size_t width,
                                                 size_t height) {
  const cudaPitchedPtr made = {pointer, pitch, width, height};
  return made;
}
static inline cudaExtent make_cudaExtent(size_t width, size_t height, size_t depth) {
  const cudaExtent made = {width, height, depth};
  return made;
}
static inline cudaPos make_cudaPos(size_t x, size_t y, size_t z) {
  const cudaPos made = {x, y, z};
  return made;
}

// CUDA 12's names for what CUDA 13 dropped
static inline cudaError_t cudaThreadSynchronize() { return cudaDeviceSynchronize(); }
static inline cudaError_t cudaThreadExit() { return cudaDeviceReset(); }

// Memory pools: every stream-ordered allocation comes from the device's memory.
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device);
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device);
cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool);
cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* props);
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool);
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value);
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value);
cudaError_t cudaMemRangeGetAttribute(void* value, size_t size, cudaMemRangeAttribute attribute,
                                     const void* pointer, size_t bytes);
cudaError_t cudaMemRangeGetAttributes(void** values, size_t* sizes,
                                      cudaMemRangeAttribute* attributes, size_t count,
                                      const void* pointer, size_t bytes);
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep);
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* access, size_t count);

#ifndef __cplusplus
cudaError_t cudaMalloc(void** pointer, size_t bytes);
cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height);
cudaError_t cudaMallocHost(void** pointer, size_t bytes);
cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned flags);
cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned flags);
cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream);
#else
}

cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned flags);

// Managed memory: CUDA 12 names a device, CUDA 13 a place.
cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes, int device,
                                 cudaStream_t stream = nullptr);
cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes, cudaMemLocation place,
                                 unsigned flags, cudaStream_t stream = nullptr);
cudaError_t cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise advice, int device);
cudaError_t cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise advice,
                          cudaMemLocation place);

namespace warploom {
cudaError_t allocate(void** pointer, std::size_t bytes);
cudaError_t allocate_pitch(void** pointer, std::size_t* pitch, std::size_t width,
                           std::size_t height);
cudaError_t allocate_host(void** pointer, std::size_t bytes);
cudaError_t allocate_managed(void** pointer, std::size_t bytes);
cudaError_t allocate_async(void** pointer, std::size_t bytes, cudaStream_t stream);
// A library's algorithm has filled memory with one number, on the stream. Where inputs vary, that
// becomes many: before the host goes on, if it `waits` for such algorithms.
cudaError_t vary_filled(void* start, std::size_t bytes, cudaStream_t stream, bool waits);
cudaError_t occupancy(int* blocks, int threads, std::size_t shared);
cudaError_t function_attributes(cudaFuncAttributes* attributes);
}  // namespace warploom

template <class _WT>
cudaError_t cudaMalloc(_WT** pointer, size_t bytes) {
  return warploom::allocate(reinterpret_cast<void**>(pointer), bytes);
}
template <class _WT>
cudaError_t cudaHostGetDevicePointer(_WT** device, void* host, unsigned flags) {
  return cudaHostGetDevicePointer(reinterpret_cast<void**>(device), host, flags);
}
template <class _WT>
cudaError_t cudaMallocPitch(_WT** pointer, size_t* pitch, size_t width, size_t height) {
  return warploom::allocate_pitch(reinterpret_cast<void**>(pointer), pitch, width, height);
}
template <class _WT>
cudaError_t cudaMallocHost(_WT** pointer, size_t bytes, unsigned = 0) {
  return warploom::allocate_host(reinterpret_cast<void**>(pointer), bytes);
}
template <class _WT>
cudaError_t cudaHostAlloc(_WT** pointer, size_t bytes, unsigned) {
  return warploom::allocate_host(reinterpret_cast<void**>(pointer), bytes);
}
template <class _WT>
cudaError_t cudaMallocManaged(_WT** pointer, size_t bytes, unsigned = cudaMemAttachGlobal) {
  return warploom::allocate_managed(reinterpret_cast<void**>(pointer), bytes);
}
template <class _WT>
cudaError_t cudaMallocAsync(_WT** pointer, size_t bytes, cudaStream_t stream) {
  return warploom::allocate_async(reinterpret_cast<void**>(pointer), bytes, stream);
}
template <class _WT>
cudaError_t cudaMallocAsync(_WT** pointer, size_t bytes, cudaMemPool_t, cudaStream_t stream) {
  return warploom::allocate_async(reinterpret_cast<void**>(pointer), bytes, stream);
}
template <class _WT>
cudaError_t cudaMallocFromPoolAsync(_WT** pointer, size_t bytes, cudaMemPool_t,
                                    cudaStream_t stream) {
  return warploom::allocate_async(reinterpret_cast<void**>(pointer), bytes, stream);
}

#include "graph_api.h"
#include "launch_api.h"
#include "symbols.h"
#include "texture_api.h"
#endif
