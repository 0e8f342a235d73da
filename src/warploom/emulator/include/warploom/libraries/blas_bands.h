// cuBLAS: products of a vector with a matrix of which a part is kept: bands, triangles.
#pragma once

#include <warploom/libraries/blas_matrices.h>

#include <algorithm>

namespace warploom::libraries {

// Where an element of the matrix is kept; -1: it is zero, and nowhere.
struct BlasBand {  // gbmv
  int below, above;
  long long lda;
  bool transposed;
  long long place(int i, int j) const {
    const long long row = transposed ? j : i, column = transposed ? i : j;
    if (row - column > below || column - row > above) return -1;
    return above + row - column + column * lda;
  }
};
// Of symmetric matrices one triangle is kept: its bands (sbmv), all of it (symv), or without gaps
// (spmv).
enum class BlasKept { Band, Whole, Packed };
struct BlasSymmetric {
  BlasKept kept;
  bool upper;
  int size, band;
  long long lda;
  long long place(int i, int j) const {
    const long long row = upper ? std::min(i, j) : std::max(i, j);
    const long long column = upper ? std::max(i, j) : std::min(i, j);
    switch (kept) {
      case BlasKept::Band:
        if (row - column > band || column - row > band) return -1;
        return (upper ? band : 0) + row - column + column * lda;
      case BlasKept::Whole:
        return row + column * lda;
      default:
        return upper ? row + column * (column + 1) / 2
                     : row + column * (2LL * size - column - 1) / 2;
    }
  }
};

// y = alpha A x + beta y: a thread for each element of y.
template <class _WT, class Kept>
__global__ void blas_kept_rows(Kept kept, int outputs, int terms, BlasScalar<_WT> alpha,
                               const _WT* a, const _WT* x, long long incx, BlasScalar<_WT> beta,
                               _WT* y, long long incy) {
  const auto at = static_cast<int>(blas_thread());
  const _WT factor = alpha.get(), keep = beta.get();
  if (at >= outputs) return;
  _WT sum{};
  for (int i = 0; i < terms && factor != _WT{}; i++) {
    const long long place = kept.place(at, i);
    if (place >= 0) sum += a[place] * blas_element(x, terms, i, incx);
  }
  count_operations(static_cast<unsigned>(terms + 2));
  _WT& out = blas_element(y, outputs, at, incy);
  out = keep == _WT{} ? factor * sum : factor * sum + keep * out;
}

template <class _WT, class Kept>
cublasStatus_t blas_kept_call(const char* name, cublasHandle_t handle, bool valid, Kept kept,
                              int outputs, int terms, const _WT* alpha, const _WT* a, const _WT* x,
                              int incx, const _WT* beta, _WT* y, int incy) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!valid || outputs < 0 || terms < 0 || incx == 0 || incy == 0)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (outputs == 0 || terms == 0) return CUBLAS_STATUS_SUCCESS;
  if (!alpha || !beta) return CUBLAS_STATUS_INVALID_VALUE;
  return blas_status(launch(name, blocks_for(static_cast<std::size_t>(outputs), 128, ~0u), 128,
                            handle->stream, blas_kept_rows<_WT, Kept>, kept, outputs, terms,
                            blas_scalar(handle, alpha), a, x, static_cast<long long>(incx),
                            blas_scalar(handle, beta), y, static_cast<long long>(incy)));
}

}  // namespace warploom::libraries

#define WARPLOOM_BLAS_BANDS(letter, type)                                                         \
  template <class = void>                                                                         \
  cublasStatus_t cublas##letter##gbmv(cublasHandle_t handle, cublasOperation_t op, int m, int n,  \
                                      int kl, int ku, const type* alpha, const type* a, int lda,  \
                                      const type* x, int incx, const type* beta, type* y,         \
                                      int incy) {                                                 \
    namespace of = ::warploom::libraries;                                                         \
    const bool turned = op != CUBLAS_OP_N;                                                        \
    return of::blas_kept_call("cublas" #letter "gbmv", handle,                                    \
                              of::blas_is_operation(op) && kl >= 0 && ku >= 0 && lda > kl + ku,   \
                              of::BlasBand{kl, ku, lda, turned}, turned ? n : m, turned ? m : n,  \
                              alpha, a, x, incx, beta, y, incy);                                  \
  }                                                                                               \
  template <class = void>                                                                         \
  cublasStatus_t cublas##letter##sbmv(cublasHandle_t handle, cublasFillMode_t fill, int n, int k, \
                                      const type* alpha, const type* a, int lda, const type* x,   \
                                      int incx, const type* beta, type* y, int incy) {            \
    namespace of = ::warploom::libraries;                                                         \
    const bool upper = fill == CUBLAS_FILL_MODE_UPPER;                                            \
    return of::blas_kept_call("cublas" #letter "sbmv", handle, k >= 0 && lda > k,                 \
                              of::BlasSymmetric{of::BlasKept::Band, upper, n, k, lda}, n, n,      \
                              alpha, a, x, incx, beta, y, incy);                                  \
  }                                                                                               \
  template <class = void>                                                                         \
  cublasStatus_t cublas##letter##symv(cublasHandle_t handle, cublasFillMode_t fill, int n,        \
                                      const type* alpha, const type* a, int lda, const type* x,   \
                                      int incx, const type* beta, type* y, int incy) {            \
    namespace of = ::warploom::libraries;                                                         \
    const bool upper = fill == CUBLAS_FILL_MODE_UPPER;                                            \
    return of::blas_kept_call("cublas" #letter "symv", handle, lda >= std::max(1, n),             \
                              of::BlasSymmetric{of::BlasKept::Whole, upper, n, n, lda}, n, n,     \
                              alpha, a, x, incx, beta, y, incy);                                  \
  }                                                                                               \
  template <class = void>                                                                         \
  cublasStatus_t cublas##letter##spmv(cublasHandle_t handle, cublasFillMode_t fill, int n,        \
                                      const type* alpha, const type* a, const type* x, int incx,  \
                                      const type* beta, type* y, int incy) {                      \
    namespace of = ::warploom::libraries;                                                         \
    const bool upper = fill == CUBLAS_FILL_MODE_UPPER;                                            \
    return of::blas_kept_call("cublas" #letter "spmv", handle, true,                              \
                              of::BlasSymmetric{of::BlasKept::Packed, upper, n, n, 0}, n, n,      \
                              alpha, a, x, incx, beta, y, incy);                                  \
  }
WARPLOOM_BLAS_BANDS(S, float)
WARPLOOM_BLAS_BANDS(D, double)
#undef WARPLOOM_BLAS_BANDS
