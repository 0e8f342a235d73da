#include "cuda_error.h"

#include "../include/cuda_runtime.h"
#include "world_setup.h"

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
    ENTRY(cudaErrorStreamCaptureInvalidated, "operation failed due to a previous error during "
                                             "capture"),
    ENTRY(cudaErrorStreamCaptureMerge, "operation would result in a merge of separate captures"),
    ENTRY(cudaErrorStreamCaptureUnmatched, "capture was not ended in the same stream as it began"),
    ENTRY(cudaErrorStreamCaptureUnjoined, "capturing stream has unjoined work"),
    ENTRY(cudaErrorStreamCaptureIsolation, "dependency created on uncaptured work in another "
                                           "stream"),
    ENTRY(cudaErrorStreamCaptureImplicit, "operation would make the legacy stream depend on a "
                                          "capturing blocking stream"),
    ENTRY(cudaErrorCapturedEvent, "operation not permitted on an event last recorded in a "
                                  "capturing stream"),
    ENTRY(cudaErrorStreamCaptureWrongThread, "attempt to terminate a capture from another thread"),
    ENTRY(cudaErrorGraphExecUpdateFailure, "the graph update was not performed"),
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
