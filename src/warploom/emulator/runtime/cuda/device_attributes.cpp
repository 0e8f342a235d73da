// What cudaDeviceGetAttribute answers: a device of compute capability 9.0 (CUDA C++ Programming
// Guide, "Technical Specifications") with the clocks and caches of an H200.
#include <map>
#include <string>

#include "../../include/cuda_runtime.h"
#include "cuda/cuda_error.h"
#include "cuda/stream.h"
#include "machine/world.h"
#include "report/report.h"

using namespace warploom;

namespace {

const std::map<int, int>& attributes() {
  static const std::map<int, int> kValues = {
      {cudaDevAttrMaxThreadsPerBlock, 1024},
      {cudaDevAttrMaxBlockDimX, 1024},
      {cudaDevAttrMaxBlockDimY, 1024},
      {cudaDevAttrMaxBlockDimZ, 64},
      {cudaDevAttrMaxGridDimX, 0x7FFFFFFF},
      {cudaDevAttrMaxGridDimY, 65535},
      {cudaDevAttrMaxGridDimZ, 65535},
      {cudaDevAttrMaxSharedMemoryPerBlock, 48 << 10},
      {cudaDevAttrTotalConstantMemory, 64 << 10},
      {cudaDevAttrWarpSize, 32},
      {cudaDevAttrMaxPitch, 0x7FFFFFFF},
      {cudaDevAttrMaxRegistersPerBlock, 65536},
      {cudaDevAttrClockRate, 1980000},
      {cudaDevAttrGpuOverlap, 1},
      {cudaDevAttrKernelExecTimeout, 0},
      {cudaDevAttrIntegrated, 0},
      {cudaDevAttrCanMapHostMemory, 1},
      {cudaDevAttrComputeMode, cudaComputeModeDefault},
      {cudaDevAttrConcurrentKernels, 1},
      {cudaDevAttrEccEnabled, 0},
      {cudaDevAttrPciDeviceId, 0},
      {cudaDevAttrPciDomainId, 0},
      {cudaDevAttrTccDriver, 0},
      {cudaDevAttrMemoryClockRate, 3201000},
      {cudaDevAttrGlobalMemoryBusWidth, 6144},
      {cudaDevAttrL2CacheSize, 50 << 20},
      {cudaDevAttrMaxThreadsPerMultiProcessor, 2048},
      {cudaDevAttrAsyncEngineCount, 3},
      {cudaDevAttrUnifiedAddressing, 1},
      {cudaDevAttrComputeCapabilityMajor, 9},
      {cudaDevAttrComputeCapabilityMinor, 0},
      {cudaDevAttrStreamPrioritiesSupported, 1},
      {cudaDevAttrGlobalL1CacheSupported, 1},
      {cudaDevAttrLocalL1CacheSupported, 1},
      {cudaDevAttrMaxSharedMemoryPerMultiprocessor, 228 << 10},
      {cudaDevAttrMaxRegistersPerMultiprocessor, 65536},
      {cudaDevAttrManagedMemory, 1},
      {cudaDevAttrIsMultiGpuBoard, 0},
      {cudaDevAttrMultiGpuBoardGroupID, 0},
      {cudaDevAttrHostNativeAtomicSupported, 1},
      {cudaDevAttrSingleToDoublePrecisionPerfRatio, 2},
      {cudaDevAttrPageableMemoryAccess, 0},
      {cudaDevAttrConcurrentManagedAccess, 1},
      {cudaDevAttrComputePreemptionSupported, 1},
      {cudaDevAttrCanUseHostPointerForRegisteredMem, 1},
      {cudaDevAttrCooperativeLaunch, 1},
      {cudaDevAttrMaxSharedMemoryPerBlockOptin, 227 << 10},
      {cudaDevAttrCanFlushRemoteWrites, 0},
      {cudaDevAttrHostRegisterSupported, 1},
      {cudaDevAttrPageableMemoryAccessUsesHostPageTables, 0},
      {cudaDevAttrDirectManagedMemAccessFromHost, 0},
      {cudaDevAttrMaxBlocksPerMultiprocessor, 32},
      {cudaDevAttrMaxPersistingL2CacheSize, 32 << 20},
      {cudaDevAttrMaxAccessPolicyWindowSize, 0},
      {cudaDevAttrReservedSharedMemoryPerBlock, 1024},
      {cudaDevAttrHostRegisterReadOnlySupported, 0},
      {cudaDevAttrMemoryPoolsSupported, 1},
      {cudaDevAttrGPUDirectRDMASupported, 0},
      {cudaDevAttrMemoryPoolSupportedHandleTypes, 0},
      {cudaDevAttrClusterLaunch, 1},
      {cudaDevAttrIpcEventSupport, 1},
      {cudaDevAttrMpsEnabled, 0},
  };
  return kValues;
}

}  // namespace

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  const int number = device;
  if (!find_device(device)) return cuda_fail(cudaErrorInvalidDevice);
  if (!value) return cuda_fail(cudaErrorInvalidValue);
  if (attribute == cudaDevAttrMultiProcessorCount) {
    *value = g_devices[static_cast<std::size_t>(device)]->sm_count;
  } else if (attribute == cudaDevAttrPciBusId) {
    *value = number + 1;
  } else {
    const auto found = attributes().find(attribute);
    if (found == attributes().end()) {  // a real device has a value, so none will do here
      stop_unsupported("cudaDeviceGetAttribute",
                       "it has no value for attribute " + std::to_string(attribute));
    }
    *value = found->second;
  }
  return cudaSuccess;
}

cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int from, int to) {
  if (!find_device(from) || !find_device(to) || from == to) {
    return cuda_fail(cudaErrorInvalidDevice);
  }
  const bool reachable = lsa_team_of(from) == lsa_team_of(to);
  *value = attribute == cudaDevP2PAttrPerformanceRank ? 0 : reachable;
  return cudaSuccess;
}

// Hints about the cache, which has no size here.
cudaError_t cudaCtxResetPersistingL2Cache() { return cudaSuccess; }
cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID,
                                   const cudaStreamAttrValue*) {
  resolve_stream(stream);
  return cudaSuccess;
}
