// cuBLAS by its first interface: numbers for factors, characters for operations, results returned,
// and one status for all that went wrong. Each call is that of the second interface, on a handle of
// its own.
#pragma once

#include <warploom/libraries/blas_calls.h>

#define CUBLAS_H_

namespace warploom::libraries {

struct BlasLegacy {
  cublasHandle_t handle = nullptr;
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
};
inline BlasLegacy blas_legacy;

inline void blas_note(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) blas_legacy.status = status;
}
inline cublasOperation_t blas_operation(char letter) {
  switch (letter) {
    case 'n':
    case 'N':
      return CUBLAS_OP_N;
    case 't':
    case 'T':
      return CUBLAS_OP_T;
    case 'c':
    case 'C':
      return CUBLAS_OP_C;
    default:
      return static_cast<cublasOperation_t>(-1);
  }
}
inline bool blas_known(char a, char b = 'n') {
  const bool known =
      static_cast<int>(blas_operation(a)) >= 0 && static_cast<int>(blas_operation(b)) >= 0;
  if (!known) blas_note(CUBLAS_STATUS_INVALID_VALUE);
  return known;
}

}  // namespace warploom::libraries

inline cublasStatus_t cublasInit() {
  auto& legacy = warploom::libraries::blas_legacy;
  return legacy.handle ? CUBLAS_STATUS_SUCCESS : cublasCreate(&legacy.handle);
}
inline cublasStatus_t cublasShutdown() {
  auto& legacy = warploom::libraries::blas_legacy;
  const cublasStatus_t status = cublasDestroy(legacy.handle);
  legacy.handle = nullptr;
  return status;
}
// The status is told once.
inline cublasStatus_t cublasGetError() {
  auto& legacy = warploom::libraries::blas_legacy;
  const cublasStatus_t status = legacy.status;
  legacy.status = CUBLAS_STATUS_SUCCESS;
  return status;
}
inline cublasStatus_t cublasAlloc(int count, int size, void** pointer) {
  if (!warploom::libraries::blas_legacy.handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (count <= 0 || size <= 0) return CUBLAS_STATUS_INVALID_VALUE;
  const auto bytes = static_cast<std::size_t>(count) * static_cast<std::size_t>(size);
  return cudaMalloc(pointer, bytes) == cudaSuccess ? CUBLAS_STATUS_SUCCESS
                                                   : CUBLAS_STATUS_ALLOC_FAILED;
}
inline cublasStatus_t cublasFree(void* pointer) {
  if (!warploom::libraries::blas_legacy.handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  return cudaFree(pointer) == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INTERNAL_ERROR;
}
inline cublasStatus_t cublasSetKernelStream(cudaStream_t stream) {
  return cublasSetStream(warploom::libraries::blas_legacy.handle, stream);
}

// Templates, so that a program compiles the kernels of those calls that it makes.
#define WARPLOOM_BLAS_LEGACY_CALL(name, parameters, ...)                                        \
  template <class = void>                                                                       \
  void name parameters {                                                                        \
    warploom::libraries::blas_note(name(warploom::libraries::blas_legacy.handle, __VA_ARGS__)); \
  }
#define WARPLOOM_BLAS_LEGACY_RESULT(name, result, parameters, ...)           \
  template <class = void>                                                    \
  result name parameters {                                                   \
    result value{};                                                          \
    warploom::libraries::blas_note(                                          \
        name(warploom::libraries::blas_legacy.handle, __VA_ARGS__, &value)); \
    return value;                                                            \
  }
#define WARPLOOM_BLAS_LEGACY(letter, small, type)                                                 \
  WARPLOOM_BLAS_LEGACY_CALL(cublas##letter##axpy,                                                 \
                            (int n, type alpha, const type* x, int incx, type* y, int incy), n,   \
                            &alpha, x, incx, y, incy)                                             \
  WARPLOOM_BLAS_LEGACY_CALL(cublas##letter##scal, (int n, type alpha, type* x, int incx), n,      \
                            &alpha, x, incx)                                                      \
  WARPLOOM_BLAS_LEGACY_CALL(cublas##letter##copy,                                                 \
                            (int n, const type* x, int incx, type* y, int incy), n, x, incx, y,   \
                            incy)                                                                 \
  WARPLOOM_BLAS_LEGACY_CALL(cublas##letter##swap, (int n, type* x, int incx, type* y, int incy),  \
                            n, x, incx, y, incy)                                                  \
  WARPLOOM_BLAS_LEGACY_RESULT(cublas##letter##dot, type,                                          \
                              (int n, const type* x, int incx, const type* y, int incy), n, x,    \
                              incx, y, incy)                                                      \
  WARPLOOM_BLAS_LEGACY_RESULT(cublas##letter##nrm2, type, (int n, const type* x, int incx), n, x, \
                              incx)                                                               \
  WARPLOOM_BLAS_LEGACY_RESULT(cublas##letter##asum, type, (int n, const type* x, int incx), n, x, \
                              incx)                                                               \
  WARPLOOM_BLAS_LEGACY_RESULT(cublasI##small##amax, int, (int n, const type* x, int incx), n, x,  \
                              incx)                                                               \
  WARPLOOM_BLAS_LEGACY_RESULT(cublasI##small##amin, int, (int n, const type* x, int incx), n, x,  \
                              incx)                                                               \
  template <class = void>                                                                         \
  void cublas##letter##gemv(char op, int m, int n, type alpha, const type* a, int lda,            \
                            const type* x, int incx, type beta, type* y, int incy) {              \
    namespace of = warploom::libraries;                                                           \
    if (!of::blas_known(op)) return;                                                              \
    of::blas_note(cublas##letter##gemv(of::blas_legacy.handle, of::blas_operation(op), m, n,      \
                                       &alpha, a, lda, x, incx, &beta, y, incy));                 \
  }                                                                                               \
  template <class = void>                                                                         \
  void cublas##letter##ger(int m, int n, type alpha, const type* x, int incx, const type* y,      \
                           int incy, type* a, int lda) {                                          \
    namespace of = warploom::libraries;                                                           \
    of::blas_note(                                                                                \
        cublas##letter##ger(of::blas_legacy.handle, m, n, &alpha, x, incx, y, incy, a, lda));     \
  }                                                                                               \
  template <class = void>                                                                         \
  void cublas##letter##gemm(char op_a, char op_b, int m, int n, int k, type alpha, const type* a, \
                            int lda, const type* b, int ldb, type beta, type* c, int ldc) {       \
    namespace of = warploom::libraries;                                                           \
    if (!of::blas_known(op_a, op_b)) return;                                                      \
    of::blas_note(cublas##letter##gemm(of::blas_legacy.handle, of::blas_operation(op_a),          \
                                       of::blas_operation(op_b), m, n, k, &alpha, a, lda, b, ldb, \
                                       &beta, c, ldc));                                           \
  }                                                                                               \
  template <class = void>                                                                         \
  void cublas##letter##trsm(char side, char fill, char op, char diagonal, int m, int n,           \
                            type alpha, const type* a, int lda, type* b, int ldb) {               \
    namespace of = warploom::libraries;                                                           \
    if (!of::blas_known(op)) return;                                                              \
    const auto is = [](char given, char letter_) { return (given | 32) == letter_; };             \
    of::blas_note(cublas##letter##trsm(                                                           \
        of::blas_legacy.handle, is(side, 'l') ? CUBLAS_SIDE_LEFT : CUBLAS_SIDE_RIGHT,             \
        is(fill, 'l') ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER, of::blas_operation(op),  \
        is(diagonal, 'u') ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT, m, n, &alpha, a, lda, b,     \
        ldb));                                                                                    \
  }
WARPLOOM_BLAS_LEGACY(S, s, float)
WARPLOOM_BLAS_LEGACY(D, d, double)
#undef WARPLOOM_BLAS_LEGACY
#undef WARPLOOM_BLAS_LEGACY_RESULT
#undef WARPLOOM_BLAS_LEGACY_CALL
