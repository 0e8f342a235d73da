// cuBLAS level 1: operations on vectors, as kernels on the handle's stream.
#pragma once

#include <warploom/libraries/blas_numbers.h>
#include <warploom/libraries/blas_types.h>
#include <warploom/libraries/launch.h>

#include <cmath>
#include <type_traits>

namespace warploom::libraries {

constexpr unsigned kBlasThreads = 256;
constexpr std::size_t kBlasBlocks = 528;  // of element-wise kernels: four for each multiprocessor

// A factor that lies on the host or, by the pointer mode, on the device.
template <class _WT>
struct BlasScalar {
  _WT value;
  const _WT* device;
  _WT get() const { return device ? *device : value; }
};
template <class _WT>
BlasScalar<_WT> blas_scalar(cublasHandle_t handle, const _WT* pointer) {
  if (handle->pointers == CUBLAS_POINTER_MODE_DEVICE) return {_WT{}, pointer};
  return {*pointer, nullptr};
}

// Element `i` of a vector: with a negative increment it begins at the far end.
template <class _WT>
_WT& blas_element(_WT* x, long long n, long long i, long long inc) {
  return x[inc < 0 ? (i - n + 1) * inc : i * inc];
}

inline long long blas_thread() {
  return blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
}
inline long long blas_threads() { return gridDim.x * static_cast<long long>(blockDim.x); }
// How many of `n` elements a thread has, for the price of its arithmetic.
inline unsigned blas_share(long long n, unsigned each) {
  return static_cast<unsigned>((n + blas_threads() - 1) / blas_threads()) * each;
}

enum class BlasMap { Axpy, Scal, Copy, Swap };

// A complex vector may be scaled by a real factor.
template <BlasMap map, class _WT, class _WF>
__global__ void blas_map(long long n, BlasScalar<_WF> alpha, _WT* x, long long incx, _WT* y,
                         long long incy) {
  const _WF factor = map == BlasMap::Axpy || map == BlasMap::Scal ? alpha.get() : _WF{};
  count_operations(blas_share(n, kBlasProduct<_WT>));
  for (long long i = blas_thread(); i < n; i += blas_threads()) {
    _WT& from = blas_element(x, n, i, incx);
    if constexpr (map == BlasMap::Scal) {
      from = factor * from;
    } else {
      _WT& to = blas_element(y, n, i, incy);
      if constexpr (map == BlasMap::Axpy) {
        to = factor * from + to;
      } else if constexpr (map == BlasMap::Copy) {
        to = from;
      } else {
        const _WT held = from;
        from = to;
        to = held;
      }
    }
  }
}

enum class BlasFold { Dot, DotConjugated, Nrm2, Asum, Amax, Amin };

// What a reduction carries from element to element. Of the largest, the first one counts.
template <class _WT>
struct BlasPartial {
  _WT value;
  long long index;
};
template <BlasFold fold, class _WT>
void blas_join(BlasPartial<_WT>& into, const BlasPartial<_WT>& other) {
  if constexpr (fold == BlasFold::Amax || fold == BlasFold::Amin) {
    if (other.index < 0) return;
    const bool better =
        fold == BlasFold::Amax ? other.value > into.value : other.value < into.value;
    const bool same = other.value == into.value && other.index < into.index;
    if (into.index < 0 || better || same) into = other;
  } else {
    into.value += other.value;
  }
}

// The partial results of a block's threads, joined by the first one.
template <BlasFold fold, class _WT>
BlasPartial<_WT> blas_join_block(BlasPartial<_WT> mine) {
  struct Tag {};
  auto& all = shared_variable<BlasPartial<_WT>[kBlasThreads], Tag>("partial results");
  all[threadIdx.x] = mine;
  block_barrier(__LINE__);
  for (unsigned half = kBlasThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) blas_join<fold>(all[threadIdx.x], all[threadIdx.x + half]);
    block_barrier(__LINE__);
  }
  return all[0];
}

template <BlasFold fold, class _WT, class _WR>
void blas_finish(const BlasPartial<_WT>& total, _WR* result) {
  if (threadIdx.x != 0) return;
  if constexpr (fold == BlasFold::Amax || fold == BlasFold::Amin) {
    *result = static_cast<_WR>(total.index + 1);
  } else if constexpr (fold == BlasFold::Nrm2) {
    *result = static_cast<_WR>(std::sqrt(total.value));
  } else {
    *result = static_cast<_WR>(total.value);
  }
}

// In what a result is summed up: squares of floats need not fit a float.
template <BlasFold fold>
constexpr bool kBlasIsDot = fold == BlasFold::Dot || fold == BlasFold::DotConjugated;
template <BlasFold fold, class _WT>
using BlasSum = std::conditional_t<fold == BlasFold::Nrm2, double,
                                   std::conditional_t<kBlasIsDot<fold>, _WT, BlasReal<_WT>>>;

template <BlasFold fold, class _WT, class _WR>
__global__ void blas_fold(long long n, const _WT* x, long long incx, const _WT* y, long long incy,
                          BlasPartial<BlasSum<fold, _WT>>* partials, _WR* result) {
  using Sum = BlasSum<fold, _WT>;
  BlasPartial<Sum> mine{Sum{}, -1};
  count_operations(blas_share(n, kBlasProduct<_WT>) + 8);
  for (long long i = blas_thread(); i < n; i += blas_threads()) {
    const _WT value = blas_element(x, n, i, incx);
    if constexpr (kBlasIsDot<fold>) {
      mine.value +=
          blas_conjugated(value, fold == BlasFold::DotConjugated) * blas_element(y, n, i, incy);
    } else if constexpr (fold == BlasFold::Nrm2) {
      mine.value += blas_square(value);
    } else if constexpr (fold == BlasFold::Asum) {
      mine.value += blas_size(value);
    } else {
      blas_join<fold>(mine, BlasPartial<Sum>{blas_size(value), i});
    }
  }
  const auto total = blas_join_block<fold>(mine);
  if (gridDim.x == 1) {
    blas_finish<fold>(total, result);
  } else if (threadIdx.x == 0) {
    partials[blockIdx.x] = total;
  }
}
template <BlasFold fold, class _WT, class _WR>
__global__ void blas_fold_blocks(unsigned count, const BlasPartial<_WT>* partials, _WR* result) {
  BlasPartial<_WT> mine{_WT{}, -1};
  count_operations(count / kBlasThreads + 9);
  for (unsigned i = threadIdx.x; i < count; i += kBlasThreads) blas_join<fold>(mine, partials[i]);
  blas_finish<fold>(blas_join_block<fold>(mine), result);
}

inline cublasStatus_t blas_status(bool launched) {
  return launched ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

template <BlasMap map, class _WT, class _WF>
cublasStatus_t blas_run(const char* name, cublasHandle_t handle, int n, const _WF* alpha, _WT* x,
                        int incx, _WT* y, int incy) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (n <= 0) return CUBLAS_STATUS_SUCCESS;
  if ((map == BlasMap::Axpy || map == BlasMap::Scal) && !alpha) return CUBLAS_STATUS_INVALID_VALUE;
  if (map == BlasMap::Scal && incx <= 0) return CUBLAS_STATUS_SUCCESS;
  BlasScalar<_WF> factor{};
  if (alpha) factor = blas_scalar(handle, alpha);
  return blas_status(
      launch(name, blocks_for(static_cast<std::size_t>(n), kBlasThreads, kBlasBlocks), kBlasThreads,
             handle->stream, blas_map<map, _WT, _WF>, static_cast<long long>(n), factor, x,
             static_cast<long long>(incx), y, static_cast<long long>(incy)));
}

// A result on the host is waited for; one on the device comes in its turn of the stream.
template <BlasFold fold, class _WT, class _WR>
cublasStatus_t blas_reduce(const char* name, cublasHandle_t handle, int n, const _WT* x, int incx,
                           const _WT* y, int incy, _WR* result) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!result) return CUBLAS_STATUS_INVALID_VALUE;
  const bool on_host = handle->pointers == CUBLAS_POINTER_MODE_HOST;
  const bool nothing = n <= 0 || (!kBlasIsDot<fold> && incx <= 0);
  if (nothing && on_host) {
    *result = _WR{};
    return CUBLAS_STATUS_SUCCESS;
  }
  const cudaStream_t stream = handle->stream;
  const unsigned blocks = nothing ? 1 : blocks_for(static_cast<std::size_t>(n), 2048, 264);
  using Sum = BlasSum<fold, _WT>;
  using Partial = BlasPartial<Sum>;
  void* scratch = nullptr;
  if (blocks > 1 || on_host) {
    const std::size_t bytes = (blocks + 1) * sizeof(Partial);
    if (allocate_async(&scratch, bytes, stream) != cudaSuccess) return CUBLAS_STATUS_ALLOC_FAILED;
  }
  auto* partials = static_cast<Partial*>(scratch);
  auto* target = on_host ? reinterpret_cast<_WR*>(partials + blocks) : result;
  bool good = launch(name, blocks, kBlasThreads, stream, blas_fold<fold, _WT, _WR>,
                     static_cast<long long>(nothing ? 0 : n), x, static_cast<long long>(incx), y,
                     static_cast<long long>(incy), partials, target);
  if (blocks > 1) {
    good = good && launch(name, 1, kBlasThreads, stream, blas_fold_blocks<fold, Sum, _WR>, blocks,
                          static_cast<const Partial*>(partials), target);
  }
  if (on_host) {
    good = good && cudaMemcpyAsync(result, target, sizeof(_WR), cudaMemcpyDeviceToHost, stream) ==
                       cudaSuccess;
  }
  if (scratch) good = cudaFreeAsync(scratch, stream) == cudaSuccess && good;
  if (on_host) good = cudaStreamSynchronize(stream) == cudaSuccess && good;
  return blas_status(good);
}

}  // namespace warploom::libraries

#define WARPLOOM_BLAS_VECTORS(letter, small, type)                                                \
  template <class = void>                                                                         \
  cublasStatus_t cublas##letter##axpy(cublasHandle_t handle, int n, const type* alpha,            \
                                      const type* x, int incx, type* y, int incy) {               \
    return warploom::libraries::blas_run<warploom::libraries::BlasMap::Axpy>(                     \
        "cublas" #letter "axpy", handle, n, alpha, const_cast<type*>(x), incx, y, incy);          \
  }                                                                                               \
  template <class = void>                                                                         \
  cublasStatus_t cublas##letter##scal(cublasHandle_t handle, int n, const type* alpha, type* x,   \
                                      int incx) {                                                 \
    return warploom::libraries::blas_run<warploom::libraries::BlasMap::Scal>(                     \
        "cublas" #letter "scal", handle, n, alpha, x, incx, static_cast<type*>(nullptr), 0);      \
  }                                                                                               \
  template <class = void>                                                                         \
  cublasStatus_t cublas##letter##copy(cublasHandle_t handle, int n, const type* x, int incx,      \
                                      type* y, int incy) {                                        \
    return warploom::libraries::blas_run<warploom::libraries::BlasMap::Copy>(                     \
        "cublas" #letter "copy", handle, n, static_cast<const type*>(nullptr),                    \
        const_cast<type*>(x), incx, y, incy);                                                     \
  }                                                                                               \
  template <class = void>                                                                         \
  cublasStatus_t cublas##letter##swap(cublasHandle_t handle, int n, type* x, int incx, type* y,   \
                                      int incy) {                                                 \
    return warploom::libraries::blas_run<warploom::libraries::BlasMap::Swap>(                     \
        "cublas" #letter "swap", handle, n, static_cast<const type*>(nullptr), x, incx, y, incy); \
  }                                                                                               \
  template <class = void>                                                                         \
  cublasStatus_t cublas##letter##dot(cublasHandle_t handle, int n, const type* x, int incx,       \
                                     const type* y, int incy, type* result) {                     \
    return warploom::libraries::blas_reduce<warploom::libraries::BlasFold::Dot>(                  \
        "cublas" #letter "dot", handle, n, x, incx, y, incy, result);                             \
  }                                                                                               \
  template <class = void>                                                                         \
  cublasStatus_t cublas##letter##nrm2(cublasHandle_t handle, int n, const type* x, int incx,      \
                                      type* result) {                                             \
    return warploom::libraries::blas_reduce<warploom::libraries::BlasFold::Nrm2>(                 \
        "cublas" #letter "nrm2", handle, n, x, incx, x, incx, result);                            \
  }                                                                                               \
  template <class = void>                                                                         \
  cublasStatus_t cublas##letter##asum(cublasHandle_t handle, int n, const type* x, int incx,      \
                                      type* result) {                                             \
    return warploom::libraries::blas_reduce<warploom::libraries::BlasFold::Asum>(                 \
        "cublas" #letter "asum", handle, n, x, incx, x, incx, result);                            \
  }                                                                                               \
  template <class = void>                                                                         \
  cublasStatus_t cublasI##small##amax(cublasHandle_t handle, int n, const type* x, int incx,      \
                                      int* result) {                                              \
    return warploom::libraries::blas_reduce<warploom::libraries::BlasFold::Amax>(                 \
        "cublasI" #small "amax", handle, n, x, incx, x, incx, result);                            \
  }                                                                                               \
  template <class = void>                                                                         \
  cublasStatus_t cublasI##small##amin(cublasHandle_t handle, int n, const type* x, int incx,      \
                                      int* result) {                                              \
    return warploom::libraries::blas_reduce<warploom::libraries::BlasFold::Amin>(                 \
        "cublasI" #small "amin", handle, n, x, incx, x, incx, result);                            \
  }
