#include "cuda/cuda_error.h"

#include "../../include/cuda_runtime.h"
#include "machine/world_setup.h"

namespace warploom {

namespace {

struct ErrorText {
  cudaError_t code;
  const char* name;
  const char* text;
};

#define ENTRY(code, text) {code, #code, text}
constexpr ErrorText kErrors[] = {
    ENTRY(cudaSuccess, "no error"),
    ENTRY(cudaErrorInvalidValue, "invalid argument"),
    ENTRY(cudaErrorMemoryAllocation, "out of memory"),
    ENTRY(cudaErrorInitializationError, "initialization error"),
    ENTRY(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    ENTRY(cudaErrorInvalidPitchValue, "invalid pitch argument"),
    ENTRY(cudaErrorInvalidSymbol, "invalid device symbol"),
    ENTRY(cudaErrorInvalidHostPointer, "invalid host pointer"),
    ENTRY(cudaErrorInvalidDevicePointer, "invalid device pointer"),
    ENTRY(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    ENTRY(cudaErrorInsufficientDriver, "CUDA driver version is insufficient"),
    ENTRY(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    ENTRY(cudaErrorInvalidDevice, "invalid device ordinal"),
    ENTRY(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    ENTRY(cudaErrorIllegalState, "operation not possible in the current state"),
    ENTRY(cudaErrorSymbolNotFound, "named symbol not found"),
    ENTRY(cudaErrorNotReady, "device not ready"),
    ENTRY(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    ENTRY(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    ENTRY(cudaErrorLaunchTimeout, "the launch timed out and was terminated"),
    ENTRY(cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled"),
    ENTRY(cudaErrorPeerAccessNotEnabled, "peer access has not been enabled"),
    ENTRY(cudaErrorAssert, "device-side assert triggered"),
    ENTRY(cudaErrorHostMemoryAlreadyRegistered, "host memory is already registered"),
    ENTRY(cudaErrorHostMemoryNotRegistered, "host memory is not registered"),
    ENTRY(cudaErrorLaunchFailure, "unspecified launch failure"),
    ENTRY(cudaErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch"),
    ENTRY(cudaErrorNotPermitted, "operation not permitted"),
    ENTRY(cudaErrorNotSupported, "operation not supported"),
    ENTRY(cudaErrorInvalidDeviceFunction, "invalid device function"),
    ENTRY(cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"),
    ENTRY(cudaErrorStreamCaptureInvalidated,
          "operation failed due to a previous error during "
          "capture"),
    ENTRY(cudaErrorStreamCaptureMerge, "operation would result in a merge of separate captures"),
    ENTRY(cudaErrorStreamCaptureUnmatched, "capture was not ended in the same stream as it began"),
    ENTRY(cudaErrorStreamCaptureUnjoined, "capturing stream has unjoined work"),
    ENTRY(cudaErrorStreamCaptureIsolation,
          "dependency created on uncaptured work in another "
          "stream"),
    ENTRY(cudaErrorStreamCaptureImplicit,
          "operation would make the legacy stream depend on a "
          "capturing blocking stream"),
    ENTRY(cudaErrorCapturedEvent,
          "operation not permitted on an event last recorded in a "
          "capturing stream"),
    ENTRY(cudaErrorStreamCaptureWrongThread, "attempt to terminate a capture from another thread"),
    ENTRY(cudaErrorGraphExecUpdateFailure, "the graph update was not performed"),
    ENTRY(cudaErrorCudartUnloading, "cudart unloading"),
    ENTRY(cudaErrorProfilerDisabled, "profiler disabled"),
    ENTRY(cudaErrorProfilerNotInitialized, "profiler not initialized"),
    ENTRY(cudaErrorProfilerAlreadyStarted, "profiler already started"),
    ENTRY(cudaErrorProfilerAlreadyStopped, "profiler already stopped"),
    ENTRY(cudaErrorInvalidTexture, "invalid texture"),
    ENTRY(cudaErrorInvalidTextureBinding, "invalid texture binding"),
    ENTRY(cudaErrorInvalidChannelDescriptor, "invalid channel descriptor"),
    ENTRY(cudaErrorAddressOfConstant, "address of constant"),
    ENTRY(cudaErrorTextureFetchFailed, "texture fetch failed"),
    ENTRY(cudaErrorTextureNotBound, "texture not bound"),
    ENTRY(cudaErrorSynchronizationError, "synchronization error"),
    ENTRY(cudaErrorInvalidFilterSetting, "invalid filter setting"),
    ENTRY(cudaErrorInvalidNormSetting, "invalid norm setting"),
    ENTRY(cudaErrorMixedDeviceExecution, "mixed device execution"),
    ENTRY(cudaErrorNotYetImplemented, "not yet implemented"),
    ENTRY(cudaErrorMemoryValueTooLarge, "memory value too large"),
    ENTRY(cudaErrorStubLibrary, "stub library"),
    ENTRY(cudaErrorCallRequiresNewerDriver, "call requires newer driver"),
    ENTRY(cudaErrorInvalidSurface, "invalid surface"),
    ENTRY(cudaErrorDuplicateVariableName, "duplicate variable name"),
    ENTRY(cudaErrorDuplicateTextureName, "duplicate texture name"),
    ENTRY(cudaErrorDuplicateSurfaceName, "duplicate surface name"),
    ENTRY(cudaErrorDevicesUnavailable, "devices unavailable"),
    ENTRY(cudaErrorIncompatibleDriverContext, "incompatible driver context"),
    ENTRY(cudaErrorMissingConfiguration, "missing configuration"),
    ENTRY(cudaErrorPriorLaunchFailure, "prior launch failure"),
    ENTRY(cudaErrorLaunchMaxDepthExceeded, "launch max depth exceeded"),
    ENTRY(cudaErrorLaunchFileScopedTex, "launch file scoped tex"),
    ENTRY(cudaErrorLaunchFileScopedSurf, "launch file scoped surf"),
    ENTRY(cudaErrorSyncDepthExceeded, "sync depth exceeded"),
    ENTRY(cudaErrorLaunchPendingCountExceeded, "launch pending count exceeded"),
    ENTRY(cudaErrorDeviceNotLicensed, "device not licensed"),
    ENTRY(cudaErrorSoftwareValidityNotEstablished, "software validity not established"),
    ENTRY(cudaErrorStartupFailure, "startup failure"),
    ENTRY(cudaErrorInvalidKernelImage, "invalid kernel image"),
    ENTRY(cudaErrorDeviceUninitialized, "device uninitialized"),
    ENTRY(cudaErrorMapBufferObjectFailed, "map buffer object failed"),
    ENTRY(cudaErrorUnmapBufferObjectFailed, "unmap buffer object failed"),
    ENTRY(cudaErrorArrayIsMapped, "array is mapped"),
    ENTRY(cudaErrorAlreadyMapped, "already mapped"),
    ENTRY(cudaErrorNoKernelImageForDevice, "no kernel image for device"),
    ENTRY(cudaErrorAlreadyAcquired, "already acquired"),
    ENTRY(cudaErrorNotMapped, "not mapped"),
    ENTRY(cudaErrorNotMappedAsArray, "not mapped as array"),
    ENTRY(cudaErrorNotMappedAsPointer, "not mapped as pointer"),
    ENTRY(cudaErrorECCUncorrectable, "eccuncorrectable"),
    ENTRY(cudaErrorUnsupportedLimit, "unsupported limit"),
    ENTRY(cudaErrorDeviceAlreadyInUse, "device already in use"),
    ENTRY(cudaErrorPeerAccessUnsupported, "peer access unsupported"),
    ENTRY(cudaErrorInvalidPtx, "invalid ptx"),
    ENTRY(cudaErrorInvalidGraphicsContext, "invalid graphics context"),
    ENTRY(cudaErrorNvlinkUncorrectable, "nvlink uncorrectable"),
    ENTRY(cudaErrorJitCompilerNotFound, "jit compiler not found"),
    ENTRY(cudaErrorUnsupportedPtxVersion, "unsupported ptx version"),
    ENTRY(cudaErrorJitCompilationDisabled, "jit compilation disabled"),
    ENTRY(cudaErrorUnsupportedExecAffinity, "unsupported exec affinity"),
    ENTRY(cudaErrorUnsupportedDevSideSync, "unsupported dev side sync"),
    ENTRY(cudaErrorContained, "contained"),
    ENTRY(cudaErrorInvalidSource, "invalid source"),
    ENTRY(cudaErrorFileNotFound, "file not found"),
    ENTRY(cudaErrorSharedObjectSymbolNotFound, "shared object symbol not found"),
    ENTRY(cudaErrorSharedObjectInitFailed, "shared object init failed"),
    ENTRY(cudaErrorOperatingSystem, "operating system"),
    ENTRY(cudaErrorLossyQuery, "lossy query"),
    ENTRY(cudaErrorLaunchIncompatibleTexturing, "launch incompatible texturing"),
    ENTRY(cudaErrorSetOnActiveProcess, "set on active process"),
    ENTRY(cudaErrorContextIsDestroyed, "context is destroyed"),
    ENTRY(cudaErrorTooManyPeers, "too many peers"),
    ENTRY(cudaErrorHardwareStackError, "hardware stack error"),
    ENTRY(cudaErrorIllegalInstruction, "illegal instruction"),
    ENTRY(cudaErrorMisalignedAddress, "misaligned address"),
    ENTRY(cudaErrorInvalidAddressSpace, "invalid address space"),
    ENTRY(cudaErrorInvalidPc, "invalid pc"),
    ENTRY(cudaErrorTensorMemoryLeak, "tensor memory leak"),
    ENTRY(cudaErrorSystemNotReady, "system not ready"),
    ENTRY(cudaErrorSystemDriverMismatch, "system driver mismatch"),
    ENTRY(cudaErrorCompatNotSupportedOnDevice, "compat not supported on device"),
    ENTRY(cudaErrorMpsConnectionFailed, "mps connection failed"),
    ENTRY(cudaErrorMpsRpcFailure, "mps rpc failure"),
    ENTRY(cudaErrorMpsServerNotReady, "mps server not ready"),
    ENTRY(cudaErrorMpsMaxClientsReached, "mps max clients reached"),
    ENTRY(cudaErrorMpsMaxConnectionsReached, "mps max connections reached"),
    ENTRY(cudaErrorMpsClientTerminated, "mps client terminated"),
    ENTRY(cudaErrorCdpNotSupported, "cdp not supported"),
    ENTRY(cudaErrorCdpVersionMismatch, "cdp version mismatch"),
    ENTRY(cudaErrorTimeout, "timeout"),
    ENTRY(cudaErrorExternalDevice, "external device"),
    ENTRY(cudaErrorInvalidClusterSize, "invalid cluster size"),
    ENTRY(cudaErrorFunctionNotLoaded, "function not loaded"),
    ENTRY(cudaErrorInvalidResourceType, "invalid resource type"),
    ENTRY(cudaErrorInvalidResourceConfiguration, "invalid resource configuration"),
    ENTRY(cudaErrorUnknown, "unknown"),
};
#undef ENTRY

const ErrorText* find(int code) {
  for (const ErrorText& entry : kErrors) {
    if (entry.code == code) return &entry;
  }
  return nullptr;
}

}  // namespace

cudaError_t cuda_fail(cudaError_t error) {
  if (error != cudaSuccess) current_host().last_error = error;
  return error;
}

const char* error_name(int error) {
  const ErrorText* entry = find(error);
  return entry ? entry->name : "cudaErrorUnknown";
}

}  // namespace warploom

using namespace warploom;

cudaError_t cudaGetLastError() {
  HostThread& host = current_host();
  const auto error = static_cast<cudaError_t>(host.last_error);
  host.last_error = cudaSuccess;
  host.error_seen = true;
  return error;
}

cudaError_t cudaPeekAtLastError() {
  HostThread& host = current_host();
  host.error_seen = true;
  return static_cast<cudaError_t>(host.last_error);
}

const char* cudaGetErrorName(cudaError_t error) { return error_name(error); }

const char* cudaGetErrorString(cudaError_t error) {
  const ErrorText* entry = find(error);
  return entry ? entry->text : "unknown error";
}
