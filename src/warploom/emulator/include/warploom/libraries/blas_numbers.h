// cuBLAS: the numbers that its kernels compute with, real ones and pairs for complex ones.
#pragma once

#include <cuComplex.h>

#include <cmath>

namespace warploom::libraries {

// Laid out as cuComplex and cuDoubleComplex.
template <class _WR>
struct alignas(2 * sizeof(_WR)) BlasComplex {
  _WR x, y;
  friend BlasComplex operator+(BlasComplex a, BlasComplex b) { return {a.x + b.x, a.y + b.y}; }
  friend BlasComplex operator*(BlasComplex a, BlasComplex b) {
    return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};
  }
  friend BlasComplex operator*(_WR a, BlasComplex b) { return {a * b.x, a * b.y}; }
  BlasComplex& operator+=(BlasComplex other) { return *this = *this + other; }
  friend bool operator==(BlasComplex a, BlasComplex b) { return a.x == b.x && a.y == b.y; }
};
using BlasComplexFloat = BlasComplex<float>;
using BlasComplexDouble = BlasComplex<double>;

template <class _WT>
struct BlasParts {
  using Real = _WT;
  static constexpr unsigned kProduct = 1;
};
template <class _WR>
struct BlasParts<BlasComplex<_WR>> {
  using Real = _WR;
  static constexpr unsigned kProduct = 4;
};
template <class _WT>
using BlasReal = typename BlasParts<_WT>::Real;
// Operations of a product that is added to something.
template <class _WT>
constexpr unsigned kBlasProduct = BlasParts<_WT>::kProduct;

template <class _WT>
_WT blas_conjugated(_WT value, bool) {
  return value;
}
template <class _WR>
BlasComplex<_WR> blas_conjugated(BlasComplex<_WR> value, bool conjugated) {
  return {value.x, conjugated ? -value.y : value.y};
}
// How large a number counts in sums of sizes and where the largest is looked for.
template <class _WT>
_WT blas_size(_WT value) {
  return std::abs(value);
}
template <class _WR>
_WR blas_size(BlasComplex<_WR> value) {
  return std::abs(value.x) + std::abs(value.y);
}
template <class _WT>
double blas_square(_WT value) {
  return static_cast<double>(value) * value;
}
template <class _WR>
double blas_square(BlasComplex<_WR> value) {
  return blas_square(value.x) + blas_square(value.y);
}
// What the lane so far below has.
template <class _WT>
_WT blas_from_below(_WT value, int lanes) {
  return __shfl_down_sync(~0u, value, lanes);
}
template <class _WR>
BlasComplex<_WR> blas_from_below(BlasComplex<_WR> value, int lanes) {
  return {__shfl_down_sync(~0u, value.x, lanes), __shfl_down_sync(~0u, value.y, lanes)};
}

// A program's numbers as ours.
inline const BlasComplexFloat* blas_pairs(const cuComplex* numbers) {
  return reinterpret_cast<const BlasComplexFloat*>(numbers);
}
inline const BlasComplexDouble* blas_pairs(const cuDoubleComplex* numbers) {
  return reinterpret_cast<const BlasComplexDouble*>(numbers);
}
inline BlasComplexFloat* blas_pairs(cuComplex* numbers) {
  return reinterpret_cast<BlasComplexFloat*>(numbers);
}
inline BlasComplexDouble* blas_pairs(cuDoubleComplex* numbers) {
  return reinterpret_cast<BlasComplexDouble*>(numbers);
}
inline const BlasComplexFloat* const* blas_pairs(const cuComplex* const* each) {
  return reinterpret_cast<const BlasComplexFloat* const*>(each);
}
inline const BlasComplexDouble* const* blas_pairs(const cuDoubleComplex* const* each) {
  return reinterpret_cast<const BlasComplexDouble* const*>(each);
}
inline BlasComplexFloat* const* blas_pairs(cuComplex* const* each) {
  return reinterpret_cast<BlasComplexFloat* const*>(each);
}
inline BlasComplexDouble* const* blas_pairs(cuDoubleComplex* const* each) {
  return reinterpret_cast<BlasComplexDouble* const*>(each);
}

}  // namespace warploom::libraries
