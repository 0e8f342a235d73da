// cuBLAS: the calls for matrices, and what is refused.
#pragma once

#include <warploom/libraries/blas_bands.h>
#include <warploom/libraries/blas_complex.h>
#include <warploom/libraries/blas_matrices.h>
#include <warploom/libraries/blas_solvers.h>
#include <warploom/libraries/refused.h>

// Each call is a template, so that a program compiles the kernels of those that it makes.
#define WARPLOOM_BLAS_MATRICES(letter, type)                                                      \
  template <class = void>                                                                         \
  cublasStatus_t cublas##letter##gemv(cublasHandle_t handle, cublasOperation_t op, int m, int n,  \
                                      const type* alpha, const type* a, int lda, const type* x,   \
                                      int incx, const type* beta, type* y, int incy) {            \
    return warploom::libraries::blas_gemv_call("cublas" #letter "gemv", handle, op, m, n, alpha,  \
                                               a, lda, x, incx, beta, y, incy);                   \
  }                                                                                               \
  template <class = void>                                                                         \
  cublasStatus_t cublas##letter##ger(cublasHandle_t handle, int m, int n, const type* alpha,      \
                                     const type* x, int incx, const type* y, int incy, type* a,   \
                                     int lda) {                                                   \
    return warploom::libraries::blas_ger_call("cublas" #letter "ger", handle, m, n, alpha, x,     \
                                              incx, y, incy, a, lda);                             \
  }                                                                                               \
  template <class = void>                                                                         \
  cublasStatus_t cublas##letter##geam(cublasHandle_t handle, cublasOperation_t op_a,              \
                                      cublasOperation_t op_b, int m, int n, const type* alpha,    \
                                      const type* a, int lda, const type* beta, const type* b,    \
                                      int ldb, type* c, int ldc) {                                \
    return warploom::libraries::blas_geam_call("cublas" #letter "geam", handle, op_a, op_b, m, n, \
                                               alpha, a, lda, beta, b, ldb, c, ldc);              \
  }
WARPLOOM_BLAS_VECTORS(S, s, float)
WARPLOOM_BLAS_VECTORS(D, d, double)
WARPLOOM_BLAS_MATRICES(S, float)
WARPLOOM_BLAS_MATRICES(D, double)
#undef WARPLOOM_BLAS_VECTORS
#undef WARPLOOM_BLAS_MATRICES

// `sum`: in what products are summed up. Half precision goes to the tensor cores.
#define WARPLOOM_BLAS_GEMM(letter, type, sum, speed)                                              \
  template <class = void>                                                                         \
  cublasStatus_t cublas##letter##gemm(cublasHandle_t handle, cublasOperation_t op_a,              \
                                      cublasOperation_t op_b, int m, int n, int k,                \
                                      const type* alpha, const type* a, int lda, const type* b,   \
                                      int ldb, const type* beta, type* c, int ldc) {              \
    return warploom::libraries::blas_gemm_call<speed, sum, type, type>(                           \
        "cublas" #letter "gemm", handle, op_a, op_b, m, n, k, alpha, {a, lda, 0, nullptr},        \
        {b, ldb, 0, nullptr}, beta, {c, ldc, 0, nullptr}, 1);                                     \
  }                                                                                               \
  template <class = void>                                                                         \
  cublasStatus_t cublas##letter##gemmStridedBatched(                                              \
      cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k, \
      const type* alpha, const type* a, int lda, long long stride_a, const type* b, int ldb,      \
      long long stride_b, const type* beta, type* c, int ldc, long long stride_c, int batch) {    \
    return warploom::libraries::blas_gemm_call<speed, sum, type, type>(                           \
        "cublas" #letter "gemmStridedBatched", handle, op_a, op_b, m, n, k, alpha,                \
        {a, lda, stride_a, nullptr}, {b, ldb, stride_b, nullptr}, beta,                           \
        {c, ldc, stride_c, nullptr}, batch);                                                      \
  }                                                                                               \
  template <class = void>                                                                         \
  cublasStatus_t cublas##letter##gemmBatched(                                                     \
      cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k, \
      const type* alpha, const type* const a[], int lda, const type* const b[], int ldb,          \
      const type* beta, type* const c[], int ldc, int batch) {                                    \
    return warploom::libraries::blas_gemm_call<speed, sum, type, type>(                           \
        "cublas" #letter "gemmBatched", handle, op_a, op_b, m, n, k, alpha, {nullptr, lda, 0, a}, \
        {nullptr, ldb, 0, b}, beta, {nullptr, ldc, 0, c}, batch);                                 \
  }
WARPLOOM_BLAS_GEMM(S, float, float, 1)
WARPLOOM_BLAS_GEMM(D, double, double, 1)
WARPLOOM_BLAS_GEMM(H, __half, float, 16)
#undef WARPLOOM_BLAS_GEMM

namespace warploom::libraries {

// The places of one matrix whose type is only known as it runs.
struct BlasUntyped {
  const void* base;
  cudaDataType type;
  int ld;
  long long stride;
  const void* const* each;
  template <class _WT>
  BlasMatrix<_WT> as() const {
    using Plain = std::remove_const_t<_WT>;
    return {static_cast<Plain*>(const_cast<void*>(base)), ld, stride,
            reinterpret_cast<_WT* const*>(const_cast<void* const*>(each))};
  }
};

inline cublasComputeType_t blas_compute(cublasComputeType_t type) { return type; }
inline cublasComputeType_t blas_compute(cudaDataType type) {
  switch (type) {
    case CUDA_R_16F:
      return CUBLAS_COMPUTE_16F;
    case CUDA_R_32I:
      return CUBLAS_COMPUTE_32I;
    case CUDA_R_64F:
      return CUBLAS_COMPUTE_64F;
    default:
      return CUBLAS_COMPUTE_32F;
  }
}

template <class = void>
cublasStatus_t blas_gemm_ex(const char* name, cublasHandle_t handle, cublasOperation_t op_a,
                            cublasOperation_t op_b, int m, int n, int k, const void* alpha,
                            const BlasUntyped& a, const BlasUntyped& b, const void* beta,
                            const BlasUntyped& c, int batch, cublasComputeType_t compute) {
  const auto call = [&]<int speed, class _WS, class _WF, class _WI, class _WO>() {
    return blas_gemm_call<speed, _WS, _WI, _WO>(
        name, handle, op_a, op_b, m, n, k, static_cast<const _WF*>(alpha),
        a.template as<const _WI>(), b.template as<const _WI>(), static_cast<const _WF*>(beta),
        c.template as<_WO>(), batch);
  };
  using Half = __half;
  using Bf16 = __nv_bfloat16;
  const auto are = [&](cudaDataType in, cudaDataType out) {
    return a.type == in && b.type == in && c.type == out;
  };
  if (compute == CUBLAS_COMPUTE_16F || compute == CUBLAS_COMPUTE_16F_PEDANTIC) {
    if (are(CUDA_R_16F, CUDA_R_16F)) return call.template operator()<16, float, Half, Half, Half>();
  } else if (compute == CUBLAS_COMPUTE_64F || compute == CUBLAS_COMPUTE_64F_PEDANTIC) {
    if (are(CUDA_R_64F, CUDA_R_64F))
      return call.template operator()<1, double, double, double, double>();
  } else if (compute == CUBLAS_COMPUTE_32I || compute == CUBLAS_COMPUTE_32I_PEDANTIC) {
    if (are(CUDA_R_8I, CUDA_R_32I))
      return call.template operator()<32, int, int, signed char, int>();
  } else {
    if (are(CUDA_R_32F, CUDA_R_32F)) {
      if (compute == CUBLAS_COMPUTE_32F || compute == CUBLAS_COMPUTE_32F_PEDANTIC)
        return call.template operator()<1, float, float, float, float>();
      return call.template operator()<8, float, float, float, float>();
    }
    if (are(CUDA_R_16F, CUDA_R_16F))
      return call.template operator()<16, float, float, Half, Half>();
    if (are(CUDA_R_16F, CUDA_R_32F))
      return call.template operator()<16, float, float, Half, float>();
    if (are(CUDA_R_16BF, CUDA_R_16BF))
      return call.template operator()<16, float, float, Bf16, Bf16>();
    if (are(CUDA_R_16BF, CUDA_R_32F))
      return call.template operator()<16, float, float, Bf16, float>();
    if (are(CUDA_R_8I, CUDA_R_32F))
      return call.template operator()<32, float, float, signed char, float>();
  }
  unsupported(name, "with these types of elements and of sums");
}

}  // namespace warploom::libraries

template <class _WC>
cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                            int m, int n, int k, const void* alpha, const void* a,
                            cudaDataType type_a, int lda, const void* b, cudaDataType type_b,
                            int ldb, const void* beta, void* c, cudaDataType type_c, int ldc,
                            _WC compute, cublasGemmAlgo_t) {
  return warploom::libraries::blas_gemm_ex(
      "cublasGemmEx", handle, op_a, op_b, m, n, k, alpha, {a, type_a, lda, 0, nullptr},
      {b, type_b, ldb, 0, nullptr}, beta, {c, type_c, ldc, 0, nullptr}, 1,
      warploom::libraries::blas_compute(compute));
}
template <class = void>
cublasStatus_t cublasSgemmEx(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                             int m, int n, int k, const float* alpha, const void* a,
                             cudaDataType type_a, int lda, const void* b, cudaDataType type_b,
                             int ldb, const float* beta, void* c, cudaDataType type_c, int ldc) {
  return warploom::libraries::blas_gemm_ex(
      "cublasSgemmEx", handle, op_a, op_b, m, n, k, alpha, {a, type_a, lda, 0, nullptr},
      {b, type_b, ldb, 0, nullptr}, beta, {c, type_c, ldc, 0, nullptr}, 1, CUBLAS_COMPUTE_32F);
}
template <class _WC>
cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k,
    const void* alpha, const void* a, cudaDataType type_a, int lda, long long stride_a,
    const void* b, cudaDataType type_b, int ldb, long long stride_b, const void* beta, void* c,
    cudaDataType type_c, int ldc, long long stride_c, int batch, _WC compute, cublasGemmAlgo_t) {
  return warploom::libraries::blas_gemm_ex(
      "cublasGemmStridedBatchedEx", handle, op_a, op_b, m, n, k, alpha,
      {a, type_a, lda, stride_a, nullptr}, {b, type_b, ldb, stride_b, nullptr}, beta,
      {c, type_c, ldc, stride_c, nullptr}, batch, warploom::libraries::blas_compute(compute));
}
template <class _WC>
cublasStatus_t cublasGemmBatchedEx(cublasHandle_t handle, cublasOperation_t op_a,
                                   cublasOperation_t op_b, int m, int n, int k, const void* alpha,
                                   const void* const a[], cudaDataType type_a, int lda,
                                   const void* const b[], cudaDataType type_b, int ldb,
                                   const void* beta, void* const c[], cudaDataType type_c, int ldc,
                                   int batch, _WC compute, cublasGemmAlgo_t) {
  return warploom::libraries::blas_gemm_ex(
      "cublasGemmBatchedEx", handle, op_a, op_b, m, n, k, alpha, {nullptr, type_a, lda, 0, a},
      {nullptr, type_b, ldb, 0, b}, beta, {nullptr, type_c, ldc, 0, c}, batch,
      warploom::libraries::blas_compute(compute));
}

#define WARPLOOM_BLAS_REFUSED(name) WARPLOOM_REFUSED(cublasStatus_t, name, "cuBLAS")
#define WARPLOOM_BLAS_REFUSED_REAL(letter)     \
  WARPLOOM_BLAS_REFUSED(cublas##letter##rot)   \
  WARPLOOM_BLAS_REFUSED(cublas##letter##rotg)  \
  WARPLOOM_BLAS_REFUSED(cublas##letter##rotm)  \
  WARPLOOM_BLAS_REFUSED(cublas##letter##rotmg) \
  WARPLOOM_BLAS_REFUSED(cublas##letter##spr)   \
  WARPLOOM_BLAS_REFUSED(cublas##letter##spr2)  \
  WARPLOOM_BLAS_REFUSED(cublas##letter##syr)   \
  WARPLOOM_BLAS_REFUSED(cublas##letter##syr2)
#define WARPLOOM_BLAS_REFUSED_ALL(letter)             \
  WARPLOOM_BLAS_REFUSED(cublas##letter##tbmv)         \
  WARPLOOM_BLAS_REFUSED(cublas##letter##tbsv)         \
  WARPLOOM_BLAS_REFUSED(cublas##letter##tpmv)         \
  WARPLOOM_BLAS_REFUSED(cublas##letter##tpsv)         \
  WARPLOOM_BLAS_REFUSED(cublas##letter##trmv)         \
  WARPLOOM_BLAS_REFUSED(cublas##letter##trsv)         \
  WARPLOOM_BLAS_REFUSED(cublas##letter##symm)         \
  WARPLOOM_BLAS_REFUSED(cublas##letter##syrk)         \
  WARPLOOM_BLAS_REFUSED(cublas##letter##syr2k)        \
  WARPLOOM_BLAS_REFUSED(cublas##letter##syrkx)        \
  WARPLOOM_BLAS_REFUSED(cublas##letter##trmm)         \
  WARPLOOM_BLAS_REFUSED(cublas##letter##trsmBatched)  \
  WARPLOOM_BLAS_REFUSED(cublas##letter##dgmm)         \
  WARPLOOM_BLAS_REFUSED(cublas##letter##gelsBatched)  \
  WARPLOOM_BLAS_REFUSED(cublas##letter##geqrfBatched) \
  WARPLOOM_BLAS_REFUSED(cublas##letter##matinvBatched)
#define WARPLOOM_BLAS_REFUSED_COMPLEX(letter)         \
  WARPLOOM_BLAS_REFUSED(cublas##letter##trsm)         \
  WARPLOOM_BLAS_REFUSED(cublas##letter##getrfBatched) \
  WARPLOOM_BLAS_REFUSED(cublas##letter##getriBatched) \
  WARPLOOM_BLAS_REFUSED(cublas##letter##getrsBatched) \
  WARPLOOM_BLAS_REFUSED(cublas##letter##hemv)         \
  WARPLOOM_BLAS_REFUSED(cublas##letter##hemm)         \
  WARPLOOM_BLAS_REFUSED(cublas##letter##herk)
WARPLOOM_BLAS_REFUSED_REAL(S)
WARPLOOM_BLAS_REFUSED_REAL(D)
WARPLOOM_BLAS_REFUSED_ALL(S)
WARPLOOM_BLAS_REFUSED_ALL(D)
WARPLOOM_BLAS_REFUSED_ALL(C)
WARPLOOM_BLAS_REFUSED_ALL(Z)
WARPLOOM_BLAS_REFUSED_COMPLEX(C)
WARPLOOM_BLAS_REFUSED_COMPLEX(Z)
WARPLOOM_BLAS_REFUSED(cublasAxpyEx)
WARPLOOM_BLAS_REFUSED(cublasDotEx)
WARPLOOM_BLAS_REFUSED(cublasNrm2Ex)
WARPLOOM_BLAS_REFUSED(cublasScalEx)
WARPLOOM_BLAS_REFUSED(cublasRotEx)
WARPLOOM_BLAS_REFUSED(cublasSgemmGroupedBatched)
WARPLOOM_BLAS_REFUSED(cublasLoggerConfigure)
WARPLOOM_BLAS_REFUSED(cublasSetLoggerCallback)
#undef WARPLOOM_BLAS_REFUSED_REAL
#undef WARPLOOM_BLAS_REFUSED_ALL
#undef WARPLOOM_BLAS_REFUSED_COMPLEX
#undef WARPLOOM_BLAS_REFUSED

// The names that the real header's macros stand for.
#define cublasCreate_v2 cublasCreate
#define cublasDestroy_v2 cublasDestroy
#define cublasSetStream_v2 cublasSetStream
#define cublasGetStream_v2 cublasGetStream
#define cublasSetPointerMode_v2 cublasSetPointerMode
#define cublasGetPointerMode_v2 cublasGetPointerMode
#define cublasGetVersion_v2 cublasGetVersion
#define cublasSgemm_v2 cublasSgemm
#define cublasDgemm_v2 cublasDgemm
#define cublasSgemv_v2 cublasSgemv
#define cublasDgemv_v2 cublasDgemv
#define cublasSaxpy_v2 cublasSaxpy
#define cublasDaxpy_v2 cublasDaxpy
#define cublasSdot_v2 cublasSdot
#define cublasDdot_v2 cublasDdot
