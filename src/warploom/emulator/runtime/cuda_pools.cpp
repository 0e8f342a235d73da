// Memory pools, managed memory hints, and allocations of volumes.
#include <map>

#include "../include/cuda_profiler_api.h"
#include "../include/cuda_runtime.h"
#include "cuda_error.h"
#include "memory.h"
#include "stream.h"
#include "world.h"

using namespace warploom;

namespace {

struct Pool {
  int device = 0;
  uint64_t threshold = 0;
  std::map<int, int> flags;  // attributes that are switches
};

std::map<int, Pool*> g_current_pools, g_default_pools;

Pool* pool_of(cudaMemPool_t handle) { return reinterpret_cast<Pool*>(handle); }

cudaError_t default_pool(cudaMemPool_t* out, int device) {
  Pool*& pool = g_default_pools[device];
  if (!pool) pool = new Pool{device, 0, {{1, 1}, {2, 1}, {3, 1}}};
  *out = reinterpret_cast<cudaMemPool_t>(pool);
  return cudaSuccess;
}

bool is_switch(cudaMemPoolAttr attribute) {
  return attribute <= cudaMemPoolReuseAllowInternalDependencies;
}

}  // namespace

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  if (!pool || !find_device(device)) return cuda_fail(cudaErrorInvalidDevice);
  return default_pool(pool, device);
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  if (!pool || !find_device(device)) return cuda_fail(cudaErrorInvalidDevice);
  const auto found = g_current_pools.find(device);
  if (found == g_current_pools.end()) return default_pool(pool, device);
  *pool = reinterpret_cast<cudaMemPool_t>(found->second);
  return cudaSuccess;
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  if (!pool || !find_device(device)) return cuda_fail(cudaErrorInvalidValue);
  g_current_pools[device] = pool_of(pool);
  return cudaSuccess;
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* props) {
  int device = props ? props->location.id : -1;
  if (!pool || !find_device(device)) return cuda_fail(cudaErrorInvalidValue);
  *pool = reinterpret_cast<cudaMemPool_t>(new Pool{device, 0, {}});
  return cudaSuccess;
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  if (!pool) return cuda_fail(cudaErrorInvalidValue);
  std::erase_if(g_current_pools, [&](const auto& entry) { return entry.second == pool_of(pool); });
  delete pool_of(pool);
  return cudaSuccess;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  if (!pool || !value) return cuda_fail(cudaErrorInvalidValue);
  if (is_switch(attribute)) {
    pool_of(pool)->flags[attribute] = *static_cast<int*>(value);
  } else if (attribute == cudaMemPoolAttrReleaseThreshold) {
    pool_of(pool)->threshold = *static_cast<uint64_t*>(value);
  }
  return cudaSuccess;
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  if (!pool || !value) return cuda_fail(cudaErrorInvalidValue);
  Pool& from = *pool_of(pool);
  if (is_switch(attribute)) {
    *static_cast<int*>(value) = from.flags[attribute];
  } else if (attribute == cudaMemPoolAttrReleaseThreshold) {
    *static_cast<uint64_t*>(value) = from.threshold;
  } else {
    *static_cast<uint64_t*>(value) = used_bytes(from.device);
  }
  return cudaSuccess;
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t) { return cudaSuccess; }
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* access,
                                 size_t count) {
  if (!pool || !access) return cuda_fail(cudaErrorInvalidValue);
  const int owner = pool_of(pool)->device;
  for (std::size_t i = 0; i < count; i++) {
    int device = access[i].location.id;
    if (!find_device(device)) return cuda_fail(cudaErrorInvalidDevice);
    if (device == owner) continue;
    if (lsa_team_of(device) != lsa_team_of(owner)) return cuda_fail(cudaErrorInvalidValue);
    // Wider than the call: all memory of the owner, as peer access would.
    g_devices[static_cast<std::size_t>(device)]->peers[static_cast<std::size_t>(owner)] =
        access[i].flags != cudaMemAccessFlagsProtNone;
  }
  return cudaSuccess;
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* pointer, cudaExtent extent) {
  if (!pointer) return cuda_fail(cudaErrorInvalidValue);
  void* memory = nullptr;
  size_t pitch = 0;
  const cudaError_t error =
      allocate_pitch(&memory, &pitch, extent.width, extent.height * extent.depth);
  *pointer = {memory, pitch, extent.width, extent.height};
  return error;
}

// Hints: where managed memory lies changes time and not meaning.
cudaError_t cudaMemPrefetchAsync(const void*, size_t, int, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaMemPrefetchAsync(const void*, size_t, cudaMemLocation, unsigned, cudaStream_t) {
  return cudaSuccess;
}
cudaError_t cudaMemAdvise(const void*, size_t, cudaMemoryAdvise, int) { return cudaSuccess; }
cudaError_t cudaMemAdvise(const void*, size_t, cudaMemoryAdvise, cudaMemLocation) {
  return cudaSuccess;
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t, void*, size_t, unsigned) { return cudaSuccess; }

cudaError_t cudaProfilerStart() { return cudaSuccess; }
cudaError_t cudaProfilerStop() { return cudaSuccess; }
