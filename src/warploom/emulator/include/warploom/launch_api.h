// Launches through functions: arguments in an array, attributes, kernels as plain pointers.
#pragma once

#include "api_types.h"
#include "blocks_at_once.h"
#include "device.h"

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);

enum cudaLaunchAttributeID {
  cudaLaunchAttributeIgnore = 0,
  cudaLaunchAttributeAccessPolicyWindow = 1,
  cudaLaunchAttributeCooperative = 2,
  cudaLaunchAttributeSynchronizationPolicy = 3,
  cudaLaunchAttributeClusterDimension = 4,
  cudaLaunchAttributeClusterSchedulingPolicyPreference = 5,
  cudaLaunchAttributeProgrammaticStreamSerialization = 6,
  cudaLaunchAttributeProgrammaticEvent = 7,
  cudaLaunchAttributePriority = 8,
  cudaLaunchAttributeMemSyncDomainMap = 9,
  cudaLaunchAttributeMemSyncDomain = 10,
  cudaLaunchAttributePreferredSharedMemoryCarveout = 14,
};
enum cudaAccessProperty {
  cudaAccessPropertyNormal = 0,
  cudaAccessPropertyStreaming = 1,
  cudaAccessPropertyPersisting = 2,
};
struct cudaAccessPolicyWindow {
  void* base_ptr;
  size_t num_bytes;
  float hitRatio;
  cudaAccessProperty hitProp;
  cudaAccessProperty missProp;
};
struct cudaLaunchAttributeValue {
  union {
    char pad[64];
    cudaAccessPolicyWindow accessPolicyWindow;
    int syncPolicy;
    int cooperative;
    struct {
      unsigned x, y, z;
    } clusterDim;
    int clusterSchedulingPolicyPreference;
    int programmaticStreamSerializationAllowed;
    int priority;
    int memSyncDomain;
    unsigned sharedMemCarveout;
  };
};
struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  cudaLaunchAttributeValue val;
};
typedef cudaLaunchAttributeID cudaStreamAttrID;
typedef cudaLaunchAttributeValue cudaStreamAttrValue;
#define cudaStreamAttributeAccessPolicyWindow cudaLaunchAttributeAccessPolicyWindow
#define cudaStreamAttributeSynchronizationPolicy cudaLaunchAttributeSynchronizationPolicy
#define cudaStreamAttributePriority cudaLaunchAttributePriority
cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID attribute,
                                   const cudaStreamAttrValue* value);

struct cudaLaunchConfig_t {
  dim3 wl_gridDim;  // gridDim and blockDim are macros; the rewriter renames such members
  dim3 wl_blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned numAttrs;
};

namespace warploom {

// A kernel's name from its address.
const char* kernel_name(const void* kernel);
LaunchConfig config_of(const cudaLaunchConfig_t& config);
cudaError_t occupancy(int* blocks, int threads, std::size_t shared);
// What cudaFuncSetAttribute allows the launches of a kernel.
cudaError_t allow_dynamic_shared(const char* kernel, int bytes);
// Clusters of more than 8 blocks.
cudaError_t allow_large_clusters(const char* kernel, int allowed);
cudaError_t function_attributes(cudaFuncAttributes* attributes);
cudaError_t launch_pointer(const void* kernel, const LaunchConfig& config, void** args);

template <class... Params, std::size_t... _WI>
KernelBody body_of(void (*kernel)(Params...), void** args, std::index_sequence<_WI...>) {
  WARPLOOM_ARGUMENTS_FIT(std::decay_t<Params>...);
  (note_argument(args[_WI], sizeof(std::decay_t<Params>)), ...);
  return make_body([kernel, ... values = *static_cast<std::decay_t<Params>*>(args[_WI])]()
                       WARPLOOM_INLINED { kernel(values...); });
}

// Kernels whose addresses the program passes as plain pointers: how to call each.
using BindKernel = KernelBody (*)(const void* kernel, void** args);
void register_kernel(const void* kernel, BindKernel bind);
template <class... Params>
void* kernel_pointer(void (*kernel)(Params...)) {
  void* address = reinterpret_cast<void*>(kernel);
  register_kernel(address, [](const void* _Wk, void** args) {
    auto* typed = reinterpret_cast<void (*)(Params...)>(const_cast<void*>(_Wk));
    return body_of(typed, args, std::index_sequence_for<Params...>{});
  });
  return address;
}
template <class _WT>
void* kernel_pointer(_WT* other) {
  return const_cast<void*>(static_cast<const void*>(other));
}
// `(void*)kernel` becomes `KernelCast() ->* kernel`, which binds as tightly as a cast needs.
struct KernelCast {};
template <class _WT>
void* operator->*(KernelCast, _WT&& kernel) {
  return kernel_pointer(kernel);
}

template <class... Params>
cudaError_t launch_with_array(void (*kernel)(Params...), LaunchConfig config, void** args) {
  return static_cast<cudaError_t>(
      launch_kernel(kernel_name(reinterpret_cast<const void*>(kernel)), config,
                    body_of(kernel, args, std::index_sequence_for<Params...>{})));
}

}  // namespace warploom

template <class... Params>
cudaError_t cudaLaunchKernel(void (*kernel)(Params...), dim3 grid, dim3 block, void** args,
                             size_t shared = 0, cudaStream_t stream = nullptr) {
  return warploom::launch_with_array(kernel, {grid, block, shared, stream}, args);
}
inline cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** args,
                                    size_t shared = 0, cudaStream_t stream = nullptr) {
  return warploom::launch_pointer(kernel, {grid, block, shared, stream}, args);
}
template <class... Params>
cudaError_t cudaLaunchCooperativeKernel(void (*kernel)(Params...), dim3 grid, dim3 block,
                                        void** args, size_t shared = 0,
                                        cudaStream_t stream = nullptr) {
  warploom::LaunchConfig config(grid, block, shared, stream);
  config.cooperative = true;
  return warploom::launch_with_array(kernel, config, args);
}
inline cudaError_t cudaLaunchCooperativeKernel(const void* kernel, dim3 grid, dim3 block,
                                               void** args, size_t shared = 0,
                                               cudaStream_t stream = nullptr) {
  warploom::LaunchConfig config(grid, block, shared, stream);
  config.cooperative = true;
  return warploom::launch_pointer(kernel, config, args);
}
template <class... Params, class... Args>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Params...),
                               Args&&... args) {
  const warploom::Launch<void (*)(Params...)> launch{
      warploom::kernel_name(reinterpret_cast<const void*>(kernel)), warploom::config_of(*config),
      kernel};
  return static_cast<cudaError_t>(launch(static_cast<Params>(std::forward<Args>(args))...));
}
inline cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel,
                                       void** args) {
  return warploom::launch_pointer(kernel, warploom::config_of(*config), args);
}
inline void cudaGridDependencySynchronize() { warploom::await_primary(); }
inline void cudaTriggerProgrammaticLaunchCompletion() { warploom::trigger_dependents(); }

template <class _WF>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, _WF, int threads,
                                                          size_t shared) {
  return warploom::occupancy(blocks, threads, shared);
}
template <class _WF>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, _WF, int threads,
                                                                   size_t shared, unsigned) {
  return warploom::occupancy(blocks, threads, shared);
}
template <class SharedOfThreads, class _WF>
cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int* grid, int* block, _WF,
                                                           SharedOfThreads shared, int limit = 0) {
  *block = limit > 0 && limit < 1024 ? limit : 1024;
  int per_sm = 0, sms = 0;
  const cudaError_t error =
      warploom::occupancy(&per_sm, *block, static_cast<size_t>(shared(*block)));
  cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
  *grid = per_sm * sms;
  return error;
}
template <class SharedOfThreads, class _WF>
cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(int* grid, int* block,
                                                                    _WF kernel,
                                                                    SharedOfThreads shared,
                                                                    int limit = 0, unsigned = 0) {
  return cudaOccupancyMaxPotentialBlockSizeVariableSMem(grid, block, kernel, shared, limit);
}
template <class _WF>
cudaError_t cudaOccupancyMaxPotentialBlockSize(int* grid, int* block, _WF kernel, size_t shared = 0,
                                               int limit = 0) {
  return cudaOccupancyMaxPotentialBlockSizeVariableSMem(
      grid, block, kernel, [shared](int) { return shared; }, limit);
}
template <class _WF>
cudaError_t cudaOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, _WF kernel,
                                                        size_t shared = 0, int limit = 0,
                                                        unsigned = 0) {
  return cudaOccupancyMaxPotentialBlockSize(grid, block, kernel, shared, limit);
}
template <class _WF>
cudaError_t cudaOccupancyMaxPotentialClusterSize(int* blocks, _WF, const cudaLaunchConfig_t*) {
  *blocks = 8;
  return cudaSuccess;
}
template <class _WF>
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, _WF, const cudaLaunchConfig_t* config) {
  const warploom::LaunchConfig asked = warploom::config_of(*config);
  int per_sm = 0, sms = 0;
  const auto threads = static_cast<int>(asked.block.x * asked.block.y * asked.block.z);
  const cudaError_t error = warploom::occupancy(&per_sm, threads, asked.shared_bytes);
  cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
  const unsigned size = asked.cluster.x * asked.cluster.y * asked.cluster.z;
  const unsigned blocks = warploom::blocks_at_once(sms, per_sm, size);
  *clusters = size ? static_cast<int>(blocks / size) : 0;
  return error;
}
template <class _WF>
cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, _WF, int blocks, int) {
  *bytes = blocks > 0 ? (size_t{228} << 10) / static_cast<size_t>(blocks) - 1024 : 0;
  if (*bytes > size_t{227} << 10) *bytes = size_t{227} << 10;
  return cudaSuccess;
}
template <class _WF>
cudaError_t cudaFuncSetAttribute(_WF kernel, cudaFuncAttribute attribute, int value) {
  if (attribute == cudaFuncAttributeNonPortableClusterSizeAllowed) {
    return warploom::allow_large_clusters(warploom::kernel_name((const void*)kernel), value);
  }
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  return warploom::allow_dynamic_shared(warploom::kernel_name((const void*)kernel), value);
}
template <class _WF>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, _WF) {
  return warploom::function_attributes(attributes);
}
template <class _WF>
cudaError_t cudaFuncSetCacheConfig(_WF, cudaFuncCache) {
  return cudaSuccess;
}
template <class _WF>
cudaError_t cudaFuncSetSharedMemConfig(_WF, cudaSharedMemConfig) {
  return cudaSuccess;
}
