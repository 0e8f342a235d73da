// cuBLAS: triangular systems, and factors of many small matrices with what is solved by them.
#pragma once

#include <warploom/libraries/blas_matrices.h>

namespace warploom::libraries {

constexpr unsigned kBlasSolverThreads = 128;

// A triangular matrix as it stands in a product: of its elements only one half is read.
template <class _WT>
struct BlasTriangle {
  const _WT* base;
  long long ld;
  bool lower, turned, unit;
  bool acts_lower() const { return lower != turned; }
  _WT at(int row, int column) const {
    return turned ? base[column + row * ld] : base[row + column * ld];
  }
  // Solves for x, whose elements lie `step` apart, from the end that is known first. `across`: x is
  // a row in front of the matrix.
  void solve(_WT* x, long long step, int n, bool across) const {
    const bool upwards = acts_lower() != across;
    for (int done = 0; done < n; done++) {
      const int i = upwards ? done : n - 1 - done;
      _WT rest = x[i * step];
      for (int other = 0; other < done; other++) {
        const int k = upwards ? other : n - 1 - other;
        rest -= (across ? at(k, i) : at(i, k)) * x[k * step];
      }
      x[i * step] = unit ? rest : rest / at(i, i);
    }
  }
};

template <class _WT>
__global__ void blas_trsm(bool left, BlasTriangle<_WT> a, int m, int n, BlasScalar<_WT> alpha,
                          _WT* b, long long ldb) {
  const _WT factor = alpha.get();
  const int size = left ? m : n, systems = left ? n : m;
  const long long step = left ? 1 : ldb;
  count_operations(blas_share(systems, static_cast<unsigned>(size * (size + 1))));
  for (long long i = blas_thread(); i < systems; i += blas_threads()) {
    _WT* x = b + (left ? i * ldb : i);
    if (factor == _WT{}) {
      for (int k = 0; k < size; k++) x[k * step] = _WT{};
      continue;
    }
    for (int k = 0; factor != _WT{1} && k < size; k++) x[k * step] *= factor;
    a.solve(x, step, size, !left);
  }
}

template <class _WT>
cublasStatus_t blas_trsm_call(const char* name, cublasHandle_t handle, cublasSideMode_t side,
                              cublasFillMode_t fill, cublasOperation_t op,
                              cublasDiagType_t diagonal, int m, int n, const _WT* alpha,
                              const _WT* a, int lda, _WT* b, int ldb) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  const bool left = side == CUBLAS_SIDE_LEFT;
  if (m < 0 || n < 0 || !blas_is_operation(op) || lda < std::max(1, left ? m : n) ||
      ldb < std::max(1, m) || !alpha)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (m == 0 || n == 0) return CUBLAS_STATUS_SUCCESS;
  const BlasTriangle<_WT> triangle{a, lda, fill == CUBLAS_FILL_MODE_LOWER, op != CUBLAS_OP_N,
                                   diagonal == CUBLAS_DIAG_UNIT};
  const auto systems = static_cast<std::size_t>(left ? n : m);
  return blas_status(launch(name, blocks_for(systems, 128, kBlasBlocks), 128, handle->stream,
                            blas_trsm<_WT>, left, triangle, m, n, blas_scalar(handle, alpha), b,
                            static_cast<long long>(ldb)));
}

// One block for each matrix: L, without its ones, and U take the matrix's place. `pivots` counts
// rows from 1; without it no rows are exchanged. `info` is the first column with a zero pivot.
template <class _WT>
__global__ void blas_getrf(int n, _WT* const* each, long long lda, int* pivots, int* info) {
  struct Tag {};
  auto& chosen = shared_variable<int, Tag>("row of the pivot");
  _WT* a = each[blockIdx.x];
  const int step = static_cast<int>(blockDim.x), mine = static_cast<int>(threadIdx.x);
  int zero = 0;
  count_operations(static_cast<unsigned>(2 * n * n / step * n / 3 + 8 * n));
  for (int k = 0; k < n; k++) {
    if (mine == 0) {
      int best = k;
      for (int i = k + 1; pivots && i < n; i++)
        if (std::abs(a[i + k * lda]) > std::abs(a[best + k * lda])) best = i;
      chosen = best;
      if (pivots)
        pivots[blockIdx.x * static_cast<unsigned>(n) + static_cast<unsigned>(k)] = best + 1;
    }
    block_barrier(__LINE__);
    const int row = chosen;
    for (int j = mine; row != k && j < n; j += step) {
      const _WT held = a[k + j * lda];
      a[k + j * lda] = a[row + j * lda];
      a[row + j * lda] = held;
    }
    block_barrier(__LINE__);
    const _WT pivot = a[k + k * lda];
    if (pivot == _WT{} && !zero) zero = k + 1;
    for (int i = k + 1 + mine; pivot != _WT{} && i < n; i += step) a[i + k * lda] /= pivot;
    block_barrier(__LINE__);
    const int rest = n - 1 - k;
    for (int at = mine; at < rest * rest; at += step) {
      const int i = k + 1 + at % rest, j = k + 1 + at / rest;
      a[i + j * lda] -= a[i + k * lda] * a[k + j * lda];
    }
    block_barrier(__LINE__);
  }
  if (mine == 0) info[blockIdx.x] = zero;
}

template <class _WT>
cublasStatus_t blas_getrf_call(const char* name, cublasHandle_t handle, int n, _WT* const* a,
                               int lda, int* pivots, int* info, int batch) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (n < 0 || batch < 0 || lda < std::max(1, n)) return CUBLAS_STATUS_INVALID_VALUE;
  if (n == 0 || batch == 0) return CUBLAS_STATUS_SUCCESS;
  return blas_status(launch(name, static_cast<unsigned>(batch), kBlasSolverThreads, handle->stream,
                            blas_getrf<_WT>, n, a, static_cast<long long>(lda), pivots, info));
}

// The row exchanges of a factorization, or the same ones back.
template <class _WT>
void blas_exchange(_WT* x, const int* pivots, int n, bool back) {
  for (int i = 0; pivots && i < n; i++) {
    const int k = back ? n - 1 - i : i, row = pivots[k] - 1;
    if (row == k) continue;
    const _WT held = x[k];
    x[k] = x[row];
    x[row] = held;
  }
}

// One block for each matrix: solves for the columns of `b`, which begin as those of the identity
// when the inverse is asked for.
template <class _WT>
__global__ void blas_getrs(bool inverse, bool turned, int n, int columns, const _WT* const* each_a,
                           long long lda, const int* pivots, _WT* const* each_b, long long ldb,
                           int* info) {
  const _WT* a = each_a[blockIdx.x];
  const int* swaps = pivots ? pivots + blockIdx.x * static_cast<unsigned>(n) : nullptr;
  const BlasTriangle<_WT> lower{a, lda, true, turned, true}, upper{a, lda, false, turned, false};
  const auto shares = (static_cast<unsigned>(columns) + blockDim.x - 1) / blockDim.x;
  count_operations(shares * static_cast<unsigned>(2 * n * n));
  int zero = 0;
  for (int k = n; inverse && k > 0; k--)
    if (a[k - 1 + (k - 1) * lda] == _WT{}) zero = k;
  for (int j = static_cast<int>(threadIdx.x); !zero && j < columns;
       j += static_cast<int>(blockDim.x)) {
    _WT* x = each_b[blockIdx.x] + j * ldb;
    for (int i = 0; inverse && i < n; i++) x[i] = i == j ? _WT{1} : _WT{};
    if (!turned) blas_exchange(x, swaps, n, false);
    (turned ? upper : lower).solve(x, 1, n, false);
    (turned ? lower : upper).solve(x, 1, n, false);
    if (turned) blas_exchange(x, swaps, n, true);
  }
  if (info && threadIdx.x == 0) info[blockIdx.x] = zero;
}

template <class _WT>
cublasStatus_t blas_getri_call(const char* name, cublasHandle_t handle, int n, const _WT* const* a,
                               int lda, const int* pivots, _WT* const* c, int ldc, int* info,
                               int batch) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (n < 0 || batch < 0 || lda < std::max(1, n) || ldc < std::max(1, n))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (n == 0 || batch == 0) return CUBLAS_STATUS_SUCCESS;
  return blas_status(launch(name, static_cast<unsigned>(batch), kBlasSolverThreads, handle->stream,
                            blas_getrs<_WT>, true, false, n, n, a, static_cast<long long>(lda),
                            pivots, c, static_cast<long long>(ldc), info));
}

// `info` lies on the host: it tells of the arguments alone.
template <class _WT>
cublasStatus_t blas_getrs_call(const char* name, cublasHandle_t handle, cublasOperation_t op, int n,
                               int columns, const _WT* const* a, int lda, const int* pivots,
                               _WT* const* b, int ldb, int* info, int batch) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!info) return CUBLAS_STATUS_INVALID_VALUE;
  *info = !blas_is_operation(op) ? -1
          : n < 0                ? -2
          : columns < 0          ? -3
          : lda < std::max(1, n) ? -5
          : ldb < std::max(1, n) ? -8
          : batch < 0            ? -10
                                 : 0;
  if (*info) return CUBLAS_STATUS_INVALID_VALUE;
  if (n == 0 || columns == 0 || batch == 0) return CUBLAS_STATUS_SUCCESS;
  return blas_status(launch(name, static_cast<unsigned>(batch), kBlasSolverThreads, handle->stream,
                            blas_getrs<_WT>, false, op != CUBLAS_OP_N, n, columns, a,
                            static_cast<long long>(lda), pivots, b, static_cast<long long>(ldb),
                            static_cast<int*>(nullptr)));
}

}  // namespace warploom::libraries

#define WARPLOOM_BLAS_SOLVERS(letter, type)                                                        \
  template <class = void>                                                                          \
  cublasStatus_t cublas##letter##trsm(cublasHandle_t handle, cublasSideMode_t side,                \
                                      cublasFillMode_t fill, cublasOperation_t op,                 \
                                      cublasDiagType_t diagonal, int m, int n, const type* alpha,  \
                                      const type* a, int lda, type* b, int ldb) {                  \
    return warploom::libraries::blas_trsm_call("cublas" #letter "trsm", handle, side, fill, op,    \
                                               diagonal, m, n, alpha, a, lda, b, ldb);             \
  }                                                                                                \
  template <class = void>                                                                          \
  cublasStatus_t cublas##letter##getrfBatched(cublasHandle_t handle, int n, type* const a[],       \
                                              int lda, int* pivots, int* info, int batch) {        \
    return warploom::libraries::blas_getrf_call("cublas" #letter "getrfBatched", handle, n, a,     \
                                                lda, pivots, info, batch);                         \
  }                                                                                                \
  template <class = void>                                                                          \
  cublasStatus_t cublas##letter##getriBatched(cublasHandle_t handle, int n, const type* const a[], \
                                              int lda, const int* pivots, type* const c[],         \
                                              int ldc, int* info, int batch) {                     \
    return warploom::libraries::blas_getri_call("cublas" #letter "getriBatched", handle, n, a,     \
                                                lda, pivots, c, ldc, info, batch);                 \
  }                                                                                                \
  template <class = void>                                                                          \
  cublasStatus_t cublas##letter##getrsBatched(                                                     \
      cublasHandle_t handle, cublasOperation_t op, int n, int columns, const type* const a[],      \
      int lda, const int* pivots, type* const b[], int ldb, int* info, int batch) {                \
    return warploom::libraries::blas_getrs_call("cublas" #letter "getrsBatched", handle, op, n,    \
                                                columns, a, lda, pivots, b, ldb, info, batch);     \
  }
WARPLOOM_BLAS_SOLVERS(S, float)
WARPLOOM_BLAS_SOLVERS(D, double)
#undef WARPLOOM_BLAS_SOLVERS
