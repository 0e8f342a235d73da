// cuBLAS: its types, and the handle.
#pragma once

#include <cuComplex.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <library_types.h>

#include <cstdint>

// Programs ask by this which headers were read.
#define CUBLAS_API_H_
#define CUBLAS_V2_H_
#define CUBLASAPI
#define CUBLASWINAPI
#define CUBLAS_VER_MAJOR 13
#define CUBLAS_VER_MINOR 0
#define CUBLAS_VER_PATCH 0
#define CUBLAS_VER_BUILD 0
#define CUBLAS_VERSION 130000

enum cublasStatus_t {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_NOT_INITIALIZED = 1,
  CUBLAS_STATUS_ALLOC_FAILED = 3,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_ARCH_MISMATCH = 8,
  CUBLAS_STATUS_MAPPING_ERROR = 11,
  CUBLAS_STATUS_EXECUTION_FAILED = 13,
  CUBLAS_STATUS_INTERNAL_ERROR = 14,
  CUBLAS_STATUS_NOT_SUPPORTED = 15,
  CUBLAS_STATUS_LICENSE_ERROR = 16,
};
typedef cublasStatus_t cublasStatus;
enum cublasOperation_t {
  CUBLAS_OP_N = 0,
  CUBLAS_OP_T = 1,
  CUBLAS_OP_C = 2,
  CUBLAS_OP_HERMITAN = 2,
  CUBLAS_OP_CONJG = 3,
};
enum cublasFillMode_t {
  CUBLAS_FILL_MODE_LOWER = 0,
  CUBLAS_FILL_MODE_UPPER = 1,
  CUBLAS_FILL_MODE_FULL = 2,
};
enum cublasDiagType_t { CUBLAS_DIAG_NON_UNIT = 0, CUBLAS_DIAG_UNIT = 1 };
enum cublasSideMode_t { CUBLAS_SIDE_LEFT = 0, CUBLAS_SIDE_RIGHT = 1 };
enum cublasPointerMode_t { CUBLAS_POINTER_MODE_HOST = 0, CUBLAS_POINTER_MODE_DEVICE = 1 };
enum cublasAtomicsMode_t { CUBLAS_ATOMICS_NOT_ALLOWED = 0, CUBLAS_ATOMICS_ALLOWED = 1 };
enum cublasMath_t {
  CUBLAS_DEFAULT_MATH = 0,
  CUBLAS_TENSOR_OP_MATH = 1,
  CUBLAS_PEDANTIC_MATH = 2,
  CUBLAS_TF32_TENSOR_OP_MATH = 3,
  CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16,
};
enum cublasComputeType_t {
  CUBLAS_COMPUTE_16F = 64,
  CUBLAS_COMPUTE_16F_PEDANTIC = 65,
  CUBLAS_COMPUTE_32F = 68,
  CUBLAS_COMPUTE_32F_PEDANTIC = 69,
  CUBLAS_COMPUTE_64F = 70,
  CUBLAS_COMPUTE_64F_PEDANTIC = 71,
  CUBLAS_COMPUTE_32I = 72,
  CUBLAS_COMPUTE_32I_PEDANTIC = 73,
  CUBLAS_COMPUTE_32F_FAST_16F = 74,
  CUBLAS_COMPUTE_32F_FAST_16BF = 75,
  CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
};
// An algorithm is a wish; any number is one.
enum cublasGemmAlgo_t {
  CUBLAS_GEMM_DFALT = -1,
  CUBLAS_GEMM_DEFAULT = -1,
  CUBLAS_GEMM_ALGO0 = 0,
  CUBLAS_GEMM_ALGO1 = 1,
  CUBLAS_GEMM_ALGO2 = 2,
  CUBLAS_GEMM_ALGO3 = 3,
  CUBLAS_GEMM_ALGO4 = 4,
  CUBLAS_GEMM_ALGO5 = 5,
  CUBLAS_GEMM_ALGO23 = 23,
  CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99,
  CUBLAS_GEMM_DFALT_TENSOR_OP = 99,
  CUBLAS_GEMM_ALGO0_TENSOR_OP = 100,
  CUBLAS_GEMM_ALGO15_TENSOR_OP = 115,
};
typedef cudaDataType cublasDataType_t;

struct cublasContext {
  cudaStream_t stream = nullptr;
  cublasPointerMode_t pointers = CUBLAS_POINTER_MODE_HOST;
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
  cublasAtomicsMode_t atomics = CUBLAS_ATOMICS_NOT_ALLOWED;
  int sm_target = 0;
};
typedef cublasContext* cublasHandle_t;

inline cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  if (!handle) return CUBLAS_STATUS_INVALID_VALUE;
  *handle = new cublasContext;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  // "This function is usually the last call with a particular handle" and waits for the device.
  cudaDeviceSynchronize();
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

// A setting of the handle, and the call that tells it.
#define WARPLOOM_BLAS_SETTING(setter, getter, type, member)          \
  inline cublasStatus_t setter(cublasHandle_t handle, type value) {  \
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;               \
    handle->member = value;                                          \
    return CUBLAS_STATUS_SUCCESS;                                    \
  }                                                                  \
  inline cublasStatus_t getter(cublasHandle_t handle, type* value) { \
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;               \
    if (!value) return CUBLAS_STATUS_INVALID_VALUE;                  \
    *value = handle->member;                                         \
    return CUBLAS_STATUS_SUCCESS;                                    \
  }
WARPLOOM_BLAS_SETTING(cublasSetStream, cublasGetStream, cudaStream_t, stream)
WARPLOOM_BLAS_SETTING(cublasSetPointerMode, cublasGetPointerMode, cublasPointerMode_t, pointers)
WARPLOOM_BLAS_SETTING(cublasSetMathMode, cublasGetMathMode, cublasMath_t, math)
WARPLOOM_BLAS_SETTING(cublasSetAtomicsMode, cublasGetAtomicsMode, cublasAtomicsMode_t, atomics)
WARPLOOM_BLAS_SETTING(cublasSetSmCountTarget, cublasGetSmCountTarget, int, sm_target)
#undef WARPLOOM_BLAS_SETTING

// What it computes in between lies in memory of the stream's own.
inline cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void*, std::size_t) {
  return handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}
inline cublasStatus_t cublasGetVersion(cublasHandle_t, int* version) {
  if (!version) return CUBLAS_STATUS_INVALID_VALUE;
  *version = CUBLAS_VERSION;
  return CUBLAS_STATUS_SUCCESS;
}
inline std::size_t cublasGetCudartVersion() { return CUDART_VERSION; }
inline cublasStatus_t cublasGetProperty(libraryPropertyType type, int* value) {
  if (!value) return CUBLAS_STATUS_INVALID_VALUE;
  *value = type == MAJOR_VERSION ? CUBLAS_VER_MAJOR : 0;
  return CUBLAS_STATUS_SUCCESS;
}
inline const char* cublasGetStatusName(cublasStatus_t status) {
  switch (status) {
#define WARPLOOM_BLAS_NAME(name) \
  case name:                     \
    return #name;
    WARPLOOM_BLAS_NAME(CUBLAS_STATUS_SUCCESS)
    WARPLOOM_BLAS_NAME(CUBLAS_STATUS_NOT_INITIALIZED)
    WARPLOOM_BLAS_NAME(CUBLAS_STATUS_ALLOC_FAILED)
    WARPLOOM_BLAS_NAME(CUBLAS_STATUS_INVALID_VALUE)
    WARPLOOM_BLAS_NAME(CUBLAS_STATUS_ARCH_MISMATCH)
    WARPLOOM_BLAS_NAME(CUBLAS_STATUS_MAPPING_ERROR)
    WARPLOOM_BLAS_NAME(CUBLAS_STATUS_EXECUTION_FAILED)
    WARPLOOM_BLAS_NAME(CUBLAS_STATUS_INTERNAL_ERROR)
    WARPLOOM_BLAS_NAME(CUBLAS_STATUS_NOT_SUPPORTED)
    WARPLOOM_BLAS_NAME(CUBLAS_STATUS_LICENSE_ERROR)
#undef WARPLOOM_BLAS_NAME
  }
  return "CUBLAS_STATUS_UNKNOWN";
}
inline const char* cublasGetStatusString(cublasStatus_t status) {
  return cublasGetStatusName(status);
}

// Copies of vectors and matrices between host and device.
inline cublasStatus_t warploom_blas_copied(cudaError_t error) {
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_MAPPING_ERROR;
}
#define WARPLOOM_BLAS_COPY(to, from, vector, matrix, kind)                                         \
  inline cublasStatus_t matrix(int rows, int cols, int size, const void* from, int ld_from,        \
                               void* to, int ld_to) {                                              \
    if (rows < 0 || cols < 0 || size <= 0 || ld_from < rows || ld_to < rows)                       \
      return CUBLAS_STATUS_INVALID_VALUE;                                                          \
    if (rows == 0 || cols == 0) return CUBLAS_STATUS_SUCCESS;                                      \
    const auto bytes = static_cast<std::size_t>(size);                                             \
    return warploom_blas_copied(cudaMemcpy2D(to, static_cast<std::size_t>(ld_to) * bytes, from,    \
                                             static_cast<std::size_t>(ld_from) * bytes,            \
                                             static_cast<std::size_t>(rows) * bytes,               \
                                             static_cast<std::size_t>(cols), kind));               \
  }                                                                                                \
  inline cublasStatus_t matrix##Async(int rows, int cols, int size, const void* from, int ld_from, \
                                      void* to, int ld_to, cudaStream_t stream) {                  \
    if (rows < 0 || cols < 0 || size <= 0 || ld_from < rows || ld_to < rows)                       \
      return CUBLAS_STATUS_INVALID_VALUE;                                                          \
    if (rows == 0 || cols == 0) return CUBLAS_STATUS_SUCCESS;                                      \
    const auto bytes = static_cast<std::size_t>(size);                                             \
    return warploom_blas_copied(cudaMemcpy2DAsync(to, static_cast<std::size_t>(ld_to) * bytes,     \
                                                  from, static_cast<std::size_t>(ld_from) * bytes, \
                                                  static_cast<std::size_t>(rows) * bytes,          \
                                                  static_cast<std::size_t>(cols), kind, stream));  \
  }                                                                                                \
  inline cublasStatus_t vector(int n, int size, const void* from, int inc_from, void* to,          \
                               int inc_to) {                                                       \
    if (inc_from <= 0 || inc_to <= 0) return CUBLAS_STATUS_INVALID_VALUE;                          \
    if (inc_from == 1 && inc_to == 1) return matrix(n, n != 0, size, from, n, to, n);              \
    return matrix(1, n, size, from, inc_from, to, inc_to);                                         \
  }                                                                                                \
  inline cublasStatus_t vector##Async(int n, int size, const void* from, int inc_from, void* to,   \
                                      int inc_to, cudaStream_t stream) {                           \
    if (inc_from <= 0 || inc_to <= 0) return CUBLAS_STATUS_INVALID_VALUE;                          \
    if (inc_from == 1 && inc_to == 1)                                                              \
      return matrix##Async(n, n != 0, size, from, n, to, n, stream);                               \
    return matrix##Async(1, n, size, from, inc_from, to, inc_to, stream);                          \
  }
WARPLOOM_BLAS_COPY(device, host, cublasSetVector, cublasSetMatrix, cudaMemcpyHostToDevice)
WARPLOOM_BLAS_COPY(host, device, cublasGetVector, cublasGetMatrix, cudaMemcpyDeviceToHost)
#undef WARPLOOM_BLAS_COPY
