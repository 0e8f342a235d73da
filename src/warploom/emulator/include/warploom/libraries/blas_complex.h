// cuBLAS: the calls for complex vectors and matrices.
#pragma once

#include <warploom/libraries/blas_matrices.h>

// Each call is a template, so that a program compiles the kernels of those that it makes.
#define WARPLOOM_BLAS_COMPLEX_VECTORS(letter, small, type, real, scaled, sized, summed)            \
  template <class = void>                                                                          \
  cublasStatus_t cublas##letter##axpy(cublasHandle_t handle, int n, const type* alpha,             \
                                      const type* x, int incx, type* y, int incy) {                \
    using namespace warploom::libraries;                                                           \
    return blas_run<BlasMap::Axpy>("cublas" #letter "axpy", handle, n, blas_pairs(alpha),          \
                                   blas_pairs(const_cast<type*>(x)), incx, blas_pairs(y), incy);   \
  }                                                                                                \
  template <class = void>                                                                          \
  cublasStatus_t cublas##letter##scal(cublasHandle_t handle, int n, const type* alpha, type* x,    \
                                      int incx) {                                                  \
    using namespace warploom::libraries;                                                           \
    return blas_run<BlasMap::Scal>("cublas" #letter "scal", handle, n, blas_pairs(alpha),          \
                                   blas_pairs(x), incx, blas_pairs(x), 0);                         \
  }                                                                                                \
  template <class = void>                                                                          \
  cublasStatus_t cublas##scaled(cublasHandle_t handle, int n, const real* alpha, type* x,          \
                                int incx) {                                                        \
    using namespace warploom::libraries;                                                           \
    return blas_run<BlasMap::Scal>("cublas" #scaled, handle, n, alpha, blas_pairs(x), incx,        \
                                   blas_pairs(x), 0);                                              \
  }                                                                                                \
  template <class = void>                                                                          \
  cublasStatus_t cublas##letter##copy(cublasHandle_t handle, int n, const type* x, int incx,       \
                                      type* y, int incy) {                                         \
    using namespace warploom::libraries;                                                           \
    return blas_run<BlasMap::Copy>("cublas" #letter "copy", handle, n,                             \
                                   static_cast<const real*>(nullptr),                              \
                                   blas_pairs(const_cast<type*>(x)), incx, blas_pairs(y), incy);   \
  }                                                                                                \
  template <class = void>                                                                          \
  cublasStatus_t cublas##letter##swap(cublasHandle_t handle, int n, type* x, int incx, type* y,    \
                                      int incy) {                                                  \
    using namespace warploom::libraries;                                                           \
    return blas_run<BlasMap::Swap>("cublas" #letter "swap", handle, n,                             \
                                   static_cast<const real*>(nullptr), blas_pairs(x), incx,         \
                                   blas_pairs(y), incy);                                           \
  }                                                                                                \
  template <class = void>                                                                          \
  cublasStatus_t cublas##letter##dotu(cublasHandle_t handle, int n, const type* x, int incx,       \
                                      const type* y, int incy, type* result) {                     \
    using namespace warploom::libraries;                                                           \
    return blas_reduce<BlasFold::Dot>("cublas" #letter "dotu", handle, n, blas_pairs(x), incx,     \
                                      blas_pairs(y), incy, blas_pairs(result));                    \
  }                                                                                                \
  template <class = void>                                                                          \
  cublasStatus_t cublas##letter##dotc(cublasHandle_t handle, int n, const type* x, int incx,       \
                                      const type* y, int incy, type* result) {                     \
    using namespace warploom::libraries;                                                           \
    return blas_reduce<BlasFold::DotConjugated>("cublas" #letter "dotc", handle, n, blas_pairs(x), \
                                                incx, blas_pairs(y), incy, blas_pairs(result));    \
  }                                                                                                \
  WARPLOOM_BLAS_COMPLEX_FOLD(sized, type, real, Nrm2)                                              \
  WARPLOOM_BLAS_COMPLEX_FOLD(summed, type, real, Asum)                                             \
  WARPLOOM_BLAS_COMPLEX_FOLD(I##small##amax, type, int, Amax)                                      \
  WARPLOOM_BLAS_COMPLEX_FOLD(I##small##amin, type, int, Amin)
#define WARPLOOM_BLAS_COMPLEX_FOLD(call, type, of, fold)                                           \
  template <class = void>                                                                          \
  cublasStatus_t cublas##call(cublasHandle_t handle, int n, const type* x, int incx, of* result) { \
    using namespace warploom::libraries;                                                           \
    return blas_reduce<BlasFold::fold>("cublas" #call, handle, n, blas_pairs(x), incx,             \
                                       blas_pairs(x), incx, result);                               \
  }

#define WARPLOOM_BLAS_COMPLEX_MATRICES(letter, type)                                               \
  template <class = void>                                                                          \
  cublasStatus_t cublas##letter##gemv(cublasHandle_t handle, cublasOperation_t op, int m, int n,   \
                                      const type* alpha, const type* a, int lda, const type* x,    \
                                      int incx, const type* beta, type* y, int incy) {             \
    using namespace warploom::libraries;                                                           \
    return blas_gemv_call("cublas" #letter "gemv", handle, op, m, n, blas_pairs(alpha),            \
                          blas_pairs(a), lda, blas_pairs(x), incx, blas_pairs(beta),               \
                          blas_pairs(y), incy);                                                    \
  }                                                                                                \
  WARPLOOM_BLAS_COMPLEX_GER(letter##geru, type, false)                                             \
  WARPLOOM_BLAS_COMPLEX_GER(letter##gerc, type, true)                                              \
  template <class = void>                                                                          \
  cublasStatus_t cublas##letter##geam(cublasHandle_t handle, cublasOperation_t op_a,               \
                                      cublasOperation_t op_b, int m, int n, const type* alpha,     \
                                      const type* a, int lda, const type* beta, const type* b,     \
                                      int ldb, type* c, int ldc) {                                 \
    using namespace warploom::libraries;                                                           \
    return blas_geam_call("cublas" #letter "geam", handle, op_a, op_b, m, n, blas_pairs(alpha),    \
                          blas_pairs(a), lda, blas_pairs(beta), blas_pairs(b), ldb, blas_pairs(c), \
                          ldc);                                                                    \
  }                                                                                                \
  WARPLOOM_BLAS_COMPLEX_GEMM(letter, gemm, type)                                                   \
  WARPLOOM_BLAS_COMPLEX_GEMM(letter, gemm3m, type)                                                 \
  template <class = void>                                                                          \
  cublasStatus_t cublas##letter##gemmStridedBatched(                                               \
      cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k,  \
      const type* alpha, const type* a, int lda, long long stride_a, const type* b, int ldb,       \
      long long stride_b, const type* beta, type* c, int ldc, long long stride_c, int batch) {     \
    using namespace warploom::libraries;                                                           \
    using _WT = std::remove_pointer_t<decltype(blas_pairs(c))>;                                    \
    return blas_gemm_call<1, _WT, _WT, _WT>(                                                       \
        "cublas" #letter "gemmStridedBatched", handle, op_a, op_b, m, n, k, blas_pairs(alpha),     \
        {blas_pairs(a), lda, stride_a, nullptr}, {blas_pairs(b), ldb, stride_b, nullptr},          \
        blas_pairs(beta), {blas_pairs(c), ldc, stride_c, nullptr}, batch);                         \
  }                                                                                                \
  template <class = void>                                                                          \
  cublasStatus_t cublas##letter##gemmBatched(                                                      \
      cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k,  \
      const type* alpha, const type* const a[], int lda, const type* const b[], int ldb,           \
      const type* beta, type* const c[], int ldc, int batch) {                                     \
    using namespace warploom::libraries;                                                           \
    using _WT = std::remove_const_t<std::remove_pointer_t<decltype(blas_pairs(alpha))>>;           \
    return blas_gemm_call<1, _WT, _WT, _WT>(                                                       \
        "cublas" #letter "gemmBatched", handle, op_a, op_b, m, n, k, blas_pairs(alpha),            \
        {nullptr, lda, 0, blas_pairs(a)}, {nullptr, ldb, 0, blas_pairs(b)}, blas_pairs(beta),      \
        {nullptr, ldc, 0, blas_pairs(c)}, batch);                                                  \
  }
#define WARPLOOM_BLAS_COMPLEX_GER(call, type, conjugated)                                      \
  template <class = void>                                                                      \
  cublasStatus_t cublas##call(cublasHandle_t handle, int m, int n, const type* alpha,          \
                              const type* x, int incx, const type* y, int incy, type* a,       \
                              int lda) {                                                       \
    using namespace warploom::libraries;                                                       \
    return blas_ger_call("cublas" #call, handle, m, n, blas_pairs(alpha), blas_pairs(x), incx, \
                         blas_pairs(y), incy, blas_pairs(a), lda, conjugated);                 \
  }
#define WARPLOOM_BLAS_COMPLEX_GEMM(letter, call, type)                                           \
  template <class = void>                                                                        \
  cublasStatus_t cublas##letter##call(cublasHandle_t handle, cublasOperation_t op_a,             \
                                      cublasOperation_t op_b, int m, int n, int k,               \
                                      const type* alpha, const type* a, int lda, const type* b,  \
                                      int ldb, const type* beta, type* c, int ldc) {             \
    using namespace warploom::libraries;                                                         \
    using _WT = std::remove_pointer_t<decltype(blas_pairs(c))>;                                  \
    return blas_gemm_call<1, _WT, _WT, _WT>("cublas" #letter #call, handle, op_a, op_b, m, n, k, \
                                            blas_pairs(alpha), {blas_pairs(a), lda, 0, nullptr}, \
                                            {blas_pairs(b), ldb, 0, nullptr}, blas_pairs(beta),  \
                                            {blas_pairs(c), ldc, 0, nullptr}, 1);                \
  }

WARPLOOM_BLAS_COMPLEX_VECTORS(C, c, cuComplex, float, Csscal, Scnrm2, Scasum)
WARPLOOM_BLAS_COMPLEX_VECTORS(Z, z, cuDoubleComplex, double, Zdscal, Dznrm2, Dzasum)
WARPLOOM_BLAS_COMPLEX_MATRICES(C, cuComplex)
WARPLOOM_BLAS_COMPLEX_MATRICES(Z, cuDoubleComplex)
#undef WARPLOOM_BLAS_COMPLEX_VECTORS
#undef WARPLOOM_BLAS_COMPLEX_FOLD
#undef WARPLOOM_BLAS_COMPLEX_MATRICES
#undef WARPLOOM_BLAS_COMPLEX_GER
#undef WARPLOOM_BLAS_COMPLEX_GEMM

#define cublasCgemm_v2 cublasCgemm
#define cublasZgemm_v2 cublasZgemm
#define cublasCgemv_v2 cublasCgemv
#define cublasZgemv_v2 cublasZgemv
#define cublasCaxpy_v2 cublasCaxpy
#define cublasZaxpy_v2 cublasZaxpy
#define cublasCdotc_v2 cublasCdotc
#define cublasZdotc_v2 cublasZdotc
