// Memory pools, managed memory hints, and allocations of volumes.
#include <algorithm>
#include <map>
#include <utility>

#include "../../include/cuda_profiler_api.h"
#include "../../include/cuda_runtime.h"
#include "cuda/cuda_error.h"
#include "cuda/stream.h"
#include "host/handles.h"
#include "machine/world.h"
#include "memory/memory.h"

using namespace warploom;

namespace {

struct Pool {
  int device = 0;
  uint64_t threshold = 0;
  std::map<int, int> flags;  // attributes that are switches
};

using OfDevice = std::pair<const Process*, int>;
std::map<OfDevice, Pool*> g_current_pools, g_default_pools;
HandleTable<Pool, cudaMemPool_t> g_pool_handles("a memory pool");

OfDevice key_of(int device) { return {&current_process(), device}; }

cudaError_t default_pool(cudaMemPool_t* out, int device) {
  Pool*& pool = g_default_pools[key_of(device)];
  if (!pool) pool = new Pool{device, 0, {{1, 1}, {2, 1}, {3, 1}}};
  *out = g_pool_handles.give(pool);
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
  const auto found = g_current_pools.find(key_of(device));
  if (found == g_current_pools.end()) return default_pool(pool, device);
  *pool = g_pool_handles.give(found->second);
  return cudaSuccess;
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  Pool* found = g_pool_handles.find(pool);
  if (!found || !find_device(device)) return cuda_fail(cudaErrorInvalidValue);
  g_current_pools[key_of(device)] = found;
  return cudaSuccess;
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* props) {
  int device = props ? props->location.id : -1;
  if (!pool || !find_device(device)) return cuda_fail(cudaErrorInvalidValue);
  *pool = g_pool_handles.give(new Pool{device, 0, {}});
  return cudaSuccess;
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t handle) {
  Pool* pool = g_pool_handles.find(handle);
  if (!pool) return cuda_fail(cudaErrorInvalidValue);
  const auto is_it = [&](const auto& entry) { return entry.second == pool; };
  // A device keeps its default pool.
  if (std::ranges::any_of(g_default_pools, is_it)) return cuda_fail(cudaErrorInvalidValue);
  std::erase_if(g_current_pools, is_it);
  g_pool_handles.end(pool);
  delete pool;
  return cudaSuccess;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value) {
  Pool* pool = g_pool_handles.find(handle);
  if (!pool || !value) return cuda_fail(cudaErrorInvalidValue);
  if (is_switch(attribute)) {
    pool->flags[attribute] = *static_cast<int*>(value);
  } else if (attribute == cudaMemPoolAttrReleaseThreshold) {
    pool->threshold = *static_cast<uint64_t*>(value);
  }
  return cudaSuccess;
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value) {
  Pool* pool = g_pool_handles.find(handle);
  if (!pool || !value) return cuda_fail(cudaErrorInvalidValue);
  Pool& from = *pool;
  if (is_switch(attribute)) {
    *static_cast<int*>(value) = from.flags[attribute];
  } else if (attribute == cudaMemPoolAttrReleaseThreshold) {
    *static_cast<uint64_t*>(value) = from.threshold;
  } else {
    *static_cast<uint64_t*>(value) = used_bytes(from.device);
  }
  return cudaSuccess;
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t) {
  return g_pool_handles.find(pool) ? cudaSuccess : cuda_fail(cudaErrorInvalidValue);
}
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t handle, const cudaMemAccessDesc* access,
                                 size_t count) {
  const Pool* pool = g_pool_handles.find(handle);
  if (!pool || !access) return cuda_fail(cudaErrorInvalidValue);
  const int owner = pool->device;
  for (std::size_t i = 0; i < count; i++) {
    int device = access[i].location.id;
    if (!find_device(device)) return cuda_fail(cudaErrorInvalidDevice);
    if (device == owner) continue;
    if (lsa_team_of(device) != lsa_team_of(owner)) return cuda_fail(cudaErrorInvalidValue);
    // Wider than the call: the memory of all pools of the owner.
    g_devices[static_cast<std::size_t>(device)]->pools[static_cast<std::size_t>(owner)] =
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

cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void*, size_t, unsigned) {
  resolve_stream(stream);
  return cudaSuccess;
}

cudaError_t cudaProfilerStart() { return cudaSuccess; }
cudaError_t cudaProfilerStop() { return cudaSuccess; }
