// cuBLAS levels 2 and 3 for general matrices, column by column: GEMV, GER, GEMM, GEAM.
#pragma once

#include <warploom/libraries/blas_vectors.h>

#include <algorithm>

namespace warploom::libraries {

inline bool blas_is_operation(cublasOperation_t op) {
  return op == CUBLAS_OP_N || op == CUBLAS_OP_T || op == CUBLAS_OP_C;
}

// y = alpha op(A) x + beta y: a thread for each row of A, or a warp for each column of it.
template <class _WT>
__global__ void blas_gemv(cublasOperation_t op, int m, int n, BlasScalar<_WT> alpha, const _WT* a,
                          long long lda, const _WT* x, long long incx, BlasScalar<_WT> beta, _WT* y,
                          long long incy) {
  const bool transposed = op != CUBLAS_OP_N;
  const int outputs = transposed ? n : m, terms = transposed ? m : n;
  const int lanes = transposed ? 32 : 1;
  const auto thread = static_cast<int>(blas_thread());
  const int at = thread / lanes, lane = thread % lanes;
  const _WT factor = alpha.get(), keep = beta.get();
  _WT sum{};
  count_operations(static_cast<unsigned>(terms / lanes + 2) * kBlasProduct<_WT>);
  if (at < outputs && factor != _WT{}) {
    for (int i = lane; i < terms; i += lanes) {
      const _WT element = transposed ? a[i + at * lda] : a[at + i * lda];
      sum += blas_conjugated(element, op == CUBLAS_OP_C) * blas_element(x, terms, i, incx);
    }
  }
  if (transposed) {
    for (int other = 16; other > 0; other /= 2) sum += blas_from_below(sum, other);
  }
  if (at >= outputs || lane != 0) return;
  _WT& out = blas_element(y, outputs, at, incy);
  // What is not kept need not be there.
  out = keep == _WT{} ? factor * sum : factor * sum + keep * out;
}

template <class _WT>
cublasStatus_t blas_gemv_call(const char* name, cublasHandle_t handle, cublasOperation_t op, int m,
                              int n, const _WT* alpha, const _WT* a, int lda, const _WT* x,
                              int incx, const _WT* beta, _WT* y, int incy) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!blas_is_operation(op) || m < 0 || n < 0 || lda < std::max(1, m) || incx == 0 || incy == 0)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (m == 0 || n == 0) return CUBLAS_STATUS_SUCCESS;
  if (!alpha || !beta) return CUBLAS_STATUS_INVALID_VALUE;
  const bool transposed = op != CUBLAS_OP_N;
  const std::size_t threads =
      transposed ? 32 * static_cast<std::size_t>(n) : static_cast<std::size_t>(m);
  return blas_status(launch(name, blocks_for(threads, 128, ~0u), 128, handle->stream,
                            blas_gemv<_WT>, op, m, n, blas_scalar(handle, alpha), a,
                            static_cast<long long>(lda), x, static_cast<long long>(incx),
                            blas_scalar(handle, beta), y, static_cast<long long>(incy)));
}

// A = alpha x y^T + A, or with y conjugated
template <class _WT>
__global__ void blas_ger(bool conjugated, int m, int n, BlasScalar<_WT> alpha, const _WT* x,
                         long long incx, const _WT* y, long long incy, _WT* a, long long lda) {
  const long long size = static_cast<long long>(m) * n;
  const _WT factor = alpha.get();
  count_operations(blas_share(size, 2 * kBlasProduct<_WT>));
  for (long long i = blas_thread(); i < size; i += blas_threads()) {
    const long long row = i % m, column = i / m;
    a[row + column * lda] += factor * blas_element(x, m, row, incx) *
                             blas_conjugated(blas_element(y, n, column, incy), conjugated);
  }
}
template <class _WT>
cublasStatus_t blas_ger_call(const char* name, cublasHandle_t handle, int m, int n,
                             const _WT* alpha, const _WT* x, int incx, const _WT* y, int incy,
                             _WT* a, int lda, bool conjugated = false) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (m < 0 || n < 0 || incx == 0 || incy == 0 || lda < std::max(1, m))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (m == 0 || n == 0) return CUBLAS_STATUS_SUCCESS;
  if (!alpha) return CUBLAS_STATUS_INVALID_VALUE;
  const auto size = static_cast<std::size_t>(m) * static_cast<std::size_t>(n);
  return blas_status(launch(name, blocks_for(size, kBlasThreads, kBlasBlocks), kBlasThreads,
                            handle->stream, blas_ger<_WT>, conjugated, m, n,
                            blas_scalar(handle, alpha), x, static_cast<long long>(incx), y,
                            static_cast<long long>(incy), a, static_cast<long long>(lda)));
}

// C = alpha op(A) + beta op(B)
template <class _WT>
__global__ void blas_geam(cublasOperation_t op_a, cublasOperation_t op_b, int m, int n,
                          BlasScalar<_WT> alpha, const _WT* a, long long lda, BlasScalar<_WT> beta,
                          const _WT* b, long long ldb, _WT* c, long long ldc) {
  const long long size = static_cast<long long>(m) * n;
  const _WT of_a = alpha.get(), of_b = beta.get();
  count_operations(blas_share(size, 2 * kBlasProduct<_WT>));
  const auto of = [](const _WT* matrix, long long ld, cublasOperation_t op, long long row,
                     long long column) {
    const _WT& element = op == CUBLAS_OP_N ? matrix[row + column * ld] : matrix[column + row * ld];
    return blas_conjugated(element, op == CUBLAS_OP_C);
  };
  for (long long i = blas_thread(); i < size; i += blas_threads()) {
    const long long row = i % m, column = i / m;
    _WT sum{};
    if (of_a != _WT{}) sum += of_a * of(a, lda, op_a, row, column);
    if (of_b != _WT{}) sum += of_b * of(b, ldb, op_b, row, column);
    c[row + column * ldc] = sum;
  }
}
template <class _WT>
cublasStatus_t blas_geam_call(const char* name, cublasHandle_t handle, cublasOperation_t op_a,
                              cublasOperation_t op_b, int m, int n, const _WT* alpha, const _WT* a,
                              int lda, const _WT* beta, const _WT* b, int ldb, _WT* c, int ldc) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!blas_is_operation(op_a) || !blas_is_operation(op_b) || m < 0 || n < 0 || !alpha || !beta ||
      lda < std::max(1, op_a == CUBLAS_OP_N ? m : n) ||
      ldb < std::max(1, op_b == CUBLAS_OP_N ? m : n) || ldc < std::max(1, m))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (m == 0 || n == 0) return CUBLAS_STATUS_SUCCESS;
  const auto size = static_cast<std::size_t>(m) * static_cast<std::size_t>(n);
  return blas_status(launch(
      name, blocks_for(size, kBlasThreads, kBlasBlocks), kBlasThreads, handle->stream,
      blas_geam<_WT>, op_a, op_b, m, n, blas_scalar(handle, alpha), a, static_cast<long long>(lda),
      blas_scalar(handle, beta), b, static_cast<long long>(ldb), c, static_cast<long long>(ldc)));
}

// One matrix of a product, or as many as the batch has: `stride` apart, or each at its own pointer.
template <class _WT>
struct BlasMatrix {
  _WT* base;
  long long ld, stride;
  _WT* const* each;
  _WT* of(unsigned number) const {
    return each ? each[number] : base + static_cast<long long>(number) * stride;
  }
};
template <class _WF>
struct BlasProduct {
  cublasOperation_t op_a, op_b;
  int m, n, k, tile;
  BlasScalar<_WF> alpha, beta;
};

constexpr int kBlasSide = 16;     // of a block of threads
constexpr int kBlasMostTile = 8;  // rows and columns that a thread computes

// C = alpha op(A) op(B) + beta C. A thread computes `tile` rows and columns, `kBlasSide` apart, so
// that neighboring threads touch neighboring rows. `_WS`: what sums are in. `speed`: how many
// operations a tensor core does in the time of one.
template <int speed, class _WS, class _WF, class _WI, class _WO>
__global__ void blas_gemm(BlasProduct<_WF> product, BlasMatrix<const _WI> of_a,
                          BlasMatrix<const _WI> of_b, BlasMatrix<_WO> of_c) {
  const int m = product.m, n = product.n, tile = product.tile;
  const int first_row =
      static_cast<int>(blockIdx.x) * kBlasSide * tile + static_cast<int>(threadIdx.x);
  const int first_column =
      static_cast<int>(blockIdx.y) * kBlasSide * tile + static_cast<int>(threadIdx.y);
  const auto factor = static_cast<_WS>(product.alpha.get());
  const auto keep = static_cast<_WS>(product.beta.get());
  const int k = factor == _WS{} ? 0 : product.k;
  _WS sums[kBlasMostTile][kBlasMostTile] = {}, column[kBlasMostTile] = {};
  count_operations(static_cast<unsigned>((k * tile * tile + speed - 1) / speed + 2 * tile * tile) *
                   kBlasProduct<_WS>);
  const bool turn_a = product.op_a != CUBLAS_OP_N, turn_b = product.op_b != CUBLAS_OP_N;
  const bool conjugated_a = product.op_a == CUBLAS_OP_C, conjugated_b = product.op_b == CUBLAS_OP_C;
  if (k > 0) {
    const _WI* a = of_a.of(blockIdx.z);
    const _WI* b = of_b.of(blockIdx.z);
    const long long a_row = turn_a ? of_a.ld : 1, a_term = turn_a ? 1 : of_a.ld;
    const long long b_term = turn_b ? of_b.ld : 1, b_column = turn_b ? 1 : of_b.ld;
    for (int term = 0; term < k; term++) {
      for (int i = 0; i < tile; i++) {
        const int row = first_row + i * kBlasSide;
        if (row >= m) continue;
        column[i] = blas_conjugated(static_cast<_WS>(a[row * a_row + term * a_term]), conjugated_a);
      }
      for (int j = 0; j < tile; j++) {
        const int at = first_column + j * kBlasSide;
        if (at >= n) break;
        const auto other =
            blas_conjugated(static_cast<_WS>(b[term * b_term + at * b_column]), conjugated_b);
        for (int i = 0; i < tile; i++) sums[i][j] += column[i] * other;
      }
    }
  }
  _WO* c = of_c.of(blockIdx.z);
  for (int j = 0; j < tile; j++) {
    for (int i = 0; i < tile; i++) {
      const int row = first_row + i * kBlasSide, at = first_column + j * kBlasSide;
      if (row >= m || at >= n) continue;
      _WO& out = c[row + at * of_c.ld];
      const _WS sum = factor * sums[i][j];
      // What is not kept need not be there.
      out = static_cast<_WO>(keep == _WS{} ? sum : sum + keep * static_cast<_WS>(out));
    }
  }
}

// How much a thread computes: much where that leaves work for all multiprocessors, as a product
// then loads less.
inline int blas_tile(int m, int n, int k, int batch) {
  for (const int tile : {8, 4}) {
    const long long side = kBlasSide * tile;
    if ((m + side - 1) / side * ((n + side - 1) / side) * batch >= 100) return tile;
  }
  return static_cast<double>(m) * n * k > 1 << 24 ? 4 : 2;
}

inline bool blas_fits(cublasOperation_t op, int rows, int columns, int ld) {
  return blas_is_operation(op) && ld >= std::max(1, op == CUBLAS_OP_N ? rows : columns);
}

template <int speed, class _WS, class _WI, class _WO, class _WF>
cublasStatus_t blas_gemm_call(const char* name, cublasHandle_t handle, cublasOperation_t op_a,
                              cublasOperation_t op_b, int m, int n, int k, const _WF* alpha,
                              BlasMatrix<const _WI> a, BlasMatrix<const _WI> b, const _WF* beta,
                              BlasMatrix<_WO> c, int batch) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (m < 0 || n < 0 || k < 0 || batch < 0 || !blas_fits(op_a, m, k, static_cast<int>(a.ld)) ||
      !blas_fits(op_b, k, n, static_cast<int>(b.ld)) || c.ld < std::max(1, m))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (m == 0 || n == 0 || batch == 0) return CUBLAS_STATUS_SUCCESS;
  if (!alpha || !beta) return CUBLAS_STATUS_INVALID_VALUE;
  const int tile = blas_tile(m, n, k, batch);
  const int side = kBlasSide * tile;
  const BlasProduct<_WF> product{
      op_a, op_b, m, n, k, tile, blas_scalar(handle, alpha), blas_scalar(handle, beta)};
  const dim3 grid(static_cast<unsigned>((m + side - 1) / side),
                  static_cast<unsigned>((n + side - 1) / side), static_cast<unsigned>(batch));
  return blas_status(launch(name, grid, dim3(kBlasSide, kBlasSide), handle->stream,
                            blas_gemm<speed, _WS, _WF, _WI, _WO>, product, a, b, c));
}

}  // namespace warploom::libraries
