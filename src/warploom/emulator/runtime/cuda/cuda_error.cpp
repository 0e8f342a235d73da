#include "cuda/cuda_error.h"

#include "../../include/cuda_runtime.h"
#include "machine/world_setup.h"

namespace warploom {

namespace {

// Names and texts are those that libcudart 13.0 prints for codes 0 to 1200.
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
    ENTRY(cudaErrorInsufficientDriver,
          "CUDA driver version is insufficient for CUDA runtime version"),
    ENTRY(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    ENTRY(cudaErrorInvalidDevice, "invalid device ordinal"),
    ENTRY(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    ENTRY(cudaErrorIllegalState, "the operation cannot be performed in the present state"),
    ENTRY(cudaErrorSymbolNotFound, "named symbol not found"),
    ENTRY(cudaErrorNotReady, "device not ready"),
    ENTRY(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    ENTRY(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    ENTRY(cudaErrorLaunchTimeout, "the launch timed out and was terminated"),
    ENTRY(cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled"),
    ENTRY(cudaErrorPeerAccessNotEnabled, "peer access has not been enabled"),
    ENTRY(cudaErrorAssert, "device-side assert triggered"),
    ENTRY(cudaErrorHostMemoryAlreadyRegistered,
          "part or all of the requested memory range is already mapped"),
    ENTRY(cudaErrorHostMemoryNotRegistered,
          "pointer does not correspond to a registered memory region"),
    ENTRY(cudaErrorLaunchFailure, "unspecified launch failure"),
    ENTRY(cudaErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch"),
    ENTRY(cudaErrorNotPermitted, "operation not permitted"),
    ENTRY(cudaErrorNotSupported, "operation not supported"),
    ENTRY(cudaErrorInvalidDeviceFunction, "invalid device function"),
    ENTRY(cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"),
    ENTRY(cudaErrorStreamCaptureInvalidated,
          "operation failed due to a previous error during "
          "capture"),
    ENTRY(cudaErrorStreamCaptureMerge,
          "operation would result in a merge of separate capture sequences"),
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
    ENTRY(cudaErrorStreamCaptureWrongThread,
          "attempt to terminate a thread-local capture sequence from another thread"),
    ENTRY(cudaErrorGraphExecUpdateFailure,
          "the graph update was not performed because it included changes which violated "
          "constraints specific to instantiated graph update"),
    ENTRY(cudaErrorCudartUnloading, "driver shutting down"),
    ENTRY(cudaErrorProfilerDisabled, "profiler disabled while using external profiling tool"),
    ENTRY(cudaErrorProfilerNotInitialized,
          "profiler not initialized: call cudaProfilerInitialize()"),
    ENTRY(cudaErrorProfilerAlreadyStarted, "profiler already started"),
    ENTRY(cudaErrorProfilerAlreadyStopped, "profiler already stopped"),
    ENTRY(cudaErrorInvalidTexture, "invalid texture reference"),
    ENTRY(cudaErrorInvalidTextureBinding, "texture is not bound to a pointer"),
    ENTRY(cudaErrorInvalidChannelDescriptor, "invalid channel descriptor"),
    ENTRY(cudaErrorAddressOfConstant, "invalid address of constant"),
    ENTRY(cudaErrorTextureFetchFailed, "fetch from texture failed"),
    ENTRY(cudaErrorTextureNotBound, "cannot fetch from a texture that is not bound"),
    ENTRY(cudaErrorSynchronizationError, "incorrect use of __syncthreads()"),
    ENTRY(cudaErrorInvalidFilterSetting, "linear filtering not supported for non-float type"),
    ENTRY(cudaErrorInvalidNormSetting, "read as normalized float not supported for data type"),
    ENTRY(cudaErrorMixedDeviceExecution,
          "device emulation mode and device execution mode cannot be mixed"),
    ENTRY(cudaErrorNotYetImplemented, "feature not yet implemented"),
    ENTRY(cudaErrorMemoryValueTooLarge, "memory size or pointer value too large to fit in 32 bit"),
    ENTRY(cudaErrorStubLibrary, "CUDA driver is a stub library"),
    ENTRY(cudaErrorCallRequiresNewerDriver,
          "API call is not supported in the installed CUDA driver"),
    ENTRY(cudaErrorInvalidSurface, "invalid surface reference"),
    ENTRY(cudaErrorDuplicateVariableName, "duplicate global variable looked up by string name"),
    ENTRY(cudaErrorDuplicateTextureName, "duplicate texture looked up by string name"),
    ENTRY(cudaErrorDuplicateSurfaceName, "duplicate surface looked up by string name"),
    ENTRY(cudaErrorDevicesUnavailable, "CUDA-capable device(s) is/are busy or unavailable"),
    ENTRY(cudaErrorIncompatibleDriverContext, "incompatible driver context"),
    ENTRY(cudaErrorMissingConfiguration, "__global__ function call is not configured"),
    ENTRY(cudaErrorPriorLaunchFailure, "unspecified launch failure in prior launch"),
    ENTRY(cudaErrorLaunchMaxDepthExceeded, "launch would exceed maximum depth of nested launches"),
    ENTRY(cudaErrorLaunchFileScopedTex,
          "launch failed because kernel uses unsupported, file-scoped textures (texture objects "
          "are supported)"),
    ENTRY(cudaErrorLaunchFileScopedSurf,
          "launch failed because kernel uses unsupported, file-scoped surfaces (surface objects "
          "are supported)"),
    ENTRY(cudaErrorSyncDepthExceeded,
          "cudaDeviceSynchronize failed because caller's grid depth exceeds "
          "cudaLimitDevRuntimeSyncDepth"),
    ENTRY(cudaErrorLaunchPendingCountExceeded,
          "launch failed because launch would exceed cudaLimitDevRuntimePendingLaunchCount"),
    ENTRY(cudaErrorDeviceNotLicensed, "device doesn't have valid Grid license"),
    ENTRY(cudaErrorSoftwareValidityNotEstablished, "integrity checks failed"),
    ENTRY(cudaErrorStartupFailure, "startup failure in cuda runtime"),
    ENTRY(cudaErrorInvalidKernelImage, "device kernel image is invalid"),
    ENTRY(cudaErrorDeviceUninitialized, "invalid device context"),
    ENTRY(cudaErrorMapBufferObjectFailed, "mapping of buffer object failed"),
    ENTRY(cudaErrorUnmapBufferObjectFailed, "unmapping of buffer object failed"),
    ENTRY(cudaErrorArrayIsMapped, "array is mapped"),
    ENTRY(cudaErrorAlreadyMapped, "resource already mapped"),
    ENTRY(cudaErrorNoKernelImageForDevice,
          "no kernel image is available for execution on the device"),
    ENTRY(cudaErrorAlreadyAcquired, "resource already acquired"),
    ENTRY(cudaErrorNotMapped, "resource not mapped"),
    ENTRY(cudaErrorNotMappedAsArray, "resource not mapped as array"),
    ENTRY(cudaErrorNotMappedAsPointer, "resource not mapped as pointer"),
    ENTRY(cudaErrorECCUncorrectable, "uncorrectable ECC error encountered"),
    ENTRY(cudaErrorUnsupportedLimit, "limit is not supported on this architecture"),
    ENTRY(cudaErrorDeviceAlreadyInUse,
          "exclusive-thread device already in use by a different thread"),
    ENTRY(cudaErrorPeerAccessUnsupported, "peer access is not supported between these two devices"),
    ENTRY(cudaErrorInvalidPtx, "a PTX JIT compilation failed"),
    ENTRY(cudaErrorInvalidGraphicsContext, "invalid OpenGL or DirectX context"),
    ENTRY(cudaErrorNvlinkUncorrectable, "uncorrectable NVLink error detected during the execution"),
    ENTRY(cudaErrorJitCompilerNotFound, "PTX JIT compiler library not found"),
    ENTRY(cudaErrorUnsupportedPtxVersion,
          "the provided PTX was compiled with an unsupported toolchain."),
    ENTRY(cudaErrorJitCompilationDisabled, "PTX JIT compilation was disabled"),
    ENTRY(cudaErrorUnsupportedExecAffinity, "the provided execution affinity is not supported"),
    ENTRY(cudaErrorUnsupportedDevSideSync,
          "the provided PTX contains unsupported call to cudaDeviceSynchronize"),
    ENTRY(cudaErrorContained, "Invalid access of peer GPU memory over nvlink or a hardware error"),
    ENTRY(cudaErrorInvalidSource, "device kernel image is invalid"),
    ENTRY(cudaErrorFileNotFound, "file not found"),
    ENTRY(cudaErrorSharedObjectSymbolNotFound, "shared object symbol not found"),
    ENTRY(cudaErrorSharedObjectInitFailed, "shared object initialization failed"),
    ENTRY(cudaErrorOperatingSystem, "OS call failed or operation not supported on this OS"),
    ENTRY(cudaErrorLossyQuery, "attempted introspection would be semantically lossy"),
    ENTRY(cudaErrorLaunchIncompatibleTexturing, "launch uses incompatible texturing mode"),
    ENTRY(cudaErrorSetOnActiveProcess, "cannot set while device is active in this process"),
    ENTRY(cudaErrorContextIsDestroyed, "context is destroyed"),
    ENTRY(cudaErrorTooManyPeers, "peer mapping resources exhausted"),
    ENTRY(cudaErrorHardwareStackError, "hardware stack error"),
    ENTRY(cudaErrorIllegalInstruction, "an illegal instruction was encountered"),
    ENTRY(cudaErrorMisalignedAddress, "misaligned address"),
    ENTRY(cudaErrorInvalidAddressSpace, "operation not supported on global/shared address space"),
    ENTRY(cudaErrorInvalidPc, "invalid program counter"),
    ENTRY(cudaErrorTensorMemoryLeak, "tensor memory not completely freed"),
    ENTRY(cudaErrorSystemNotReady, "system not yet initialized"),
    ENTRY(cudaErrorSystemDriverMismatch,
          "system has unsupported display driver / cuda driver combination"),
    ENTRY(cudaErrorCompatNotSupportedOnDevice,
          "forward compatibility was attempted on non supported HW"),
    ENTRY(cudaErrorMpsConnectionFailed,
          "MPS client failed to connect to the MPS control daemon or the MPS server"),
    ENTRY(cudaErrorMpsRpcFailure,
          "the remote procedural call between the MPS server and the MPS client failed"),
    ENTRY(cudaErrorMpsServerNotReady, "MPS server is not ready to accept new MPS client requests"),
    ENTRY(cudaErrorMpsMaxClientsReached,
          "the hardware resources required to create MPS client have been exhausted"),
    ENTRY(cudaErrorMpsMaxConnectionsReached,
          "the hardware resources required to support device connections have been exhausted"),
    ENTRY(cudaErrorMpsClientTerminated, "the MPS client has been terminated by the server"),
    ENTRY(cudaErrorCdpNotSupported,
          "is using CUDA Dynamic Parallelism, but the current configuration, like MPS, does not "
          "support it"),
    ENTRY(cudaErrorCdpVersionMismatch,
          "unsupported interaction between different versions of CUDA Dynamic Parallelism"),
    ENTRY(cudaErrorTimeout, "wait operation timed out"),
    ENTRY(cudaErrorExternalDevice, "an async error has occured in external entity outside of CUDA"),
    ENTRY(cudaErrorInvalidClusterSize,
          "a kernel launch error has occurred due to cluster misconfiguration"),
    ENTRY(cudaErrorFunctionNotLoaded,
          "the function handle is not loaded when calling an API that requires a loaded function"),
    ENTRY(cudaErrorInvalidResourceType,
          "one or more resources passed in are not valid resource types for the operation"),
    ENTRY(cudaErrorInvalidResourceConfiguration,
          "one or more resources are insufficient or non-applicable for the operation"),
    ENTRY(cudaErrorUnknown, "unknown error"),
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
  if (error == cudaSuccess) return error;
  HostThread& host = current_host();
  host.last_error = error;
  constexpr std::size_t kMost = 64;
  const bool usual = error == cudaErrorNotReady || error == cudaErrorPeerAccessAlreadyEnabled;
  if (!usual && host.failed.size() < kMost) host.failed.push_back({error, capture_frames()});
  return error;
}

const char* error_name(int error) {
  const ErrorText* entry = find(error);
  return entry ? entry->name : "unrecognized error code";
}

}  // namespace warploom

using namespace warploom;

cudaError_t cudaGetLastError() {
  HostThread& host = current_host();
  const auto error = static_cast<cudaError_t>(host.last_error);
  host.last_error = cudaSuccess;
  host.error_seen = true;
  host.failed.clear();
  return error;
}

cudaError_t cudaPeekAtLastError() {
  HostThread& host = current_host();
  host.error_seen = true;
  host.failed.clear();
  return static_cast<cudaError_t>(host.last_error);
}

const char* cudaGetErrorName(cudaError_t error) { return error_name(error); }

const char* cudaGetErrorString(cudaError_t error) {
  const ErrorText* entry = find(error);
  return entry ? entry->text : "unrecognized error code";
}
