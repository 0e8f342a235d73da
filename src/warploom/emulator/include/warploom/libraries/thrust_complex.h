// Thrust's complex numbers, on host and device.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <complex>
#include <istream>
#include <limits>
#include <ostream>
#include <type_traits>

namespace thrust {

template <class _WT>
struct complex {
  using value_type = _WT;

  complex() = default;
  complex(const _WT& re) : parts_{re, _WT()} {}
  complex(const _WT& re, const _WT& im) : parts_{re, im} {}
  complex(const complex&) = default;
  template <class _WU>
  complex(const complex<_WU>& z) : parts_{static_cast<_WT>(z.real()), static_cast<_WT>(z.imag())} {}
  template <class _WU>
  complex(const std::complex<_WU>& z)
      : parts_{static_cast<_WT>(z.real()), static_cast<_WT>(z.imag())} {}

  complex& operator=(const complex&) = default;
  complex& operator=(const _WT& re) { return *this = complex(re); }
  template <class _WU>
  complex& operator=(const complex<_WU>& z) {
    return *this = complex(z);
  }
  template <class _WU>
  complex& operator=(const std::complex<_WU>& z) {
    return *this = complex(z);
  }
  template <class _WU>
  complex& operator+=(const _WU& z) {
    return *this = *this + z;
  }
  template <class _WU>
  complex& operator-=(const _WU& z) {
    return *this = *this - z;
  }
  template <class _WU>
  complex& operator*=(const _WU& z) {
    return *this = *this * z;
  }
  template <class _WU>
  complex& operator/=(const _WU& z) {
    return *this = *this / z;
  }

  _WT real() const { return parts_.x; }
  _WT imag() const { return parts_.y; }
  _WT real() const volatile { return parts_.x; }
  _WT imag() const volatile { return parts_.y; }
  void real(_WT re) { parts_.x = re; }
  void imag(_WT im) { parts_.y = im; }
  void real(_WT re) volatile { parts_.x = re; }
  void imag(_WT im) volatile { parts_.y = im; }
  operator std::complex<_WT>() const { return {parts_.x, parts_.y}; }

 private:
  struct alignas(2 * sizeof(_WT)) Parts {
    _WT x, y;
  };
  Parts parts_;
};

}  // namespace thrust

namespace warploom::libraries {

template <class _WT>
struct ComplexPart {
  static constexpr bool kIs = false;
  using type = _WT;
};
template <class _WT>
struct ComplexPart<thrust::complex<_WT>> {
  static constexpr bool kIs = true;
  using type = _WT;
};
// One of the two is complex, and the other is too, or a number.
template <class _WA, class _WB>
concept ComplexPair = (ComplexPart<_WA>::kIs || ComplexPart<_WB>::kIs) &&
                      (ComplexPart<_WA>::kIs || std::is_arithmetic_v<_WA>) &&
                      (ComplexPart<_WB>::kIs || std::is_arithmetic_v<_WB>);
template <class _WA, class _WB>
using ComplexOf = thrust::complex<
    std::common_type_t<typename ComplexPart<_WA>::type, typename ComplexPart<_WB>::type>>;

}  // namespace warploom::libraries

namespace thrust {

// Operands of two types have the common one, as with numbers.
#define WARPLOOM_COMPLEX_OPERATOR(sign, price, ...)          \
  template <class _WA, class _WB>                            \
    requires warploom::libraries::ComplexPair<_WA, _WB>      \
  auto operator sign(const _WA& left, const _WB& right) {    \
    using Result = warploom::libraries::ComplexOf<_WA, _WB>; \
    const Result a(left), b(right);                          \
    warploom::count_operations(price);                       \
    return __VA_ARGS__;                                      \
  }
WARPLOOM_COMPLEX_OPERATOR(+, 1, Result(a.real() + b.real(), a.imag() + b.imag()))
WARPLOOM_COMPLEX_OPERATOR(-, 1, Result(a.real() - b.real(), a.imag() - b.imag()))
WARPLOOM_COMPLEX_OPERATOR(*, 3,
                          Result(a.real() * b.real() - a.imag() * b.imag(),
                                 a.real() * b.imag() + a.imag() * b.real()))
#undef WARPLOOM_COMPLEX_OPERATOR

// Scaled by the divisor, so that squares do not overflow.
template <class _WA, class _WB>
  requires warploom::libraries::ComplexPair<_WA, _WB>
auto operator/(const _WA& left, const _WB& right) {
  using Result = warploom::libraries::ComplexOf<_WA, _WB>;
  using Part = typename Result::value_type;
  const Result a(left), b(right);
  warploom::count_operations(30);
  const Part scale = Part(1) / (std::abs(b.real()) + std::abs(b.imag()));
  const Part ax = a.real() * scale, ay = a.imag() * scale;
  const Part bx = b.real() * scale, by = b.imag() * scale;
  const Part square = Part(1) / (bx * bx + by * by);
  return Result((ax * bx + ay * by) * square, (ay * bx - ax * by) * square);
}
template <class _WT>
complex<_WT> operator+(const complex<_WT>& z) {
  return z;
}
template <class _WT>
complex<_WT> operator-(const complex<_WT>& z) {
  return complex<_WT>(-z.real(), -z.imag());
}
template <class _WA, class _WB>
  requires warploom::libraries::ComplexPair<_WA, _WB>
bool operator==(const _WA& left, const _WB& right) {
  const warploom::libraries::ComplexOf<_WA, _WB> a(left), b(right);
  return a.real() == b.real() && a.imag() == b.imag();
}
template <class _WA, class _WB>
bool operator==(const complex<_WA>& left, const std::complex<_WB>& right) {
  return left == complex<_WB>(right);
}

template <class _WT>
_WT abs(const complex<_WT>& z) {
  warploom::count_operations(20);
  return std::hypot(z.real(), z.imag());
}
template <class _WT>
_WT arg(const complex<_WT>& z) {
  warploom::count_operations(40);
  return std::atan2(z.imag(), z.real());
}
template <class _WT>
_WT norm(const complex<_WT>& z) {
  warploom::count_operations(2);
  return z.real() * z.real() + z.imag() * z.imag();
}
template <class _WT>
complex<_WT> conj(const complex<_WT>& z) {
  return complex<_WT>(z.real(), -z.imag());
}
template <class _WA, class _WB = _WA>
complex<std::common_type_t<_WA, _WB>> polar(const _WA& size, const _WB& angle = _WB()) {
  using Part = std::common_type_t<_WA, _WB>;
  warploom::count_operations(60);
  return complex<Part>(size * std::cos(static_cast<Part>(angle)),
                       size * std::sin(static_cast<Part>(angle)));
}
template <class _WT>
complex<_WT> proj(const complex<_WT>& z) {
  if (!std::isinf(z.real()) && !std::isinf(z.imag())) return z;
  return complex<_WT>(std::numeric_limits<_WT>::infinity(), std::copysign(_WT(0), z.imag()));
}

// Device code has no functions of complex numbers but those that real ones make.
template <class _WT>
complex<_WT> exp(const complex<_WT>& z) {
  return polar(std::exp(z.real()), z.imag());
}
template <class _WT>
complex<_WT> log(const complex<_WT>& z) {
  warploom::count_operations(20);
  return complex<_WT>(std::log(abs(z)), arg(z));
}
template <class _WT>
complex<_WT> log10(const complex<_WT>& z) {
  return log(z) / std::log(_WT(10));
}
template <class _WT>
complex<_WT> sqrt(const complex<_WT>& z) {
  const _WT size = std::sqrt((std::abs(z.real()) + abs(z)) / 2);
  warploom::count_operations(40);
  if (size == 0) return complex<_WT>(size, z.imag());
  const _WT other = std::abs(z.imag()) / (2 * size);
  return z.real() >= 0 ? complex<_WT>(size, std::copysign(other, z.imag()))
                       : complex<_WT>(other, std::copysign(size, z.imag()));
}

#define WARPLOOM_COMPLEX_FUNCTION(name, re, im) \
  template <class _WT>                          \
  complex<_WT> name(const complex<_WT>& z) {    \
    warploom::count_operations(100);            \
    return complex<_WT>(re, im);                \
  }
WARPLOOM_COMPLEX_FUNCTION(sin, std::sin(z.real()) * std::cosh(z.imag()),
                          std::cos(z.real()) * std::sinh(z.imag()))
WARPLOOM_COMPLEX_FUNCTION(cos, std::cos(z.real()) * std::cosh(z.imag()),
                          -std::sin(z.real()) * std::sinh(z.imag()))
WARPLOOM_COMPLEX_FUNCTION(sinh, std::sinh(z.real()) * std::cos(z.imag()),
                          std::cosh(z.real()) * std::sin(z.imag()))
WARPLOOM_COMPLEX_FUNCTION(cosh, std::cosh(z.real()) * std::cos(z.imag()),
                          std::sinh(z.real()) * std::sin(z.imag()))
#undef WARPLOOM_COMPLEX_FUNCTION
template <class _WT>
complex<_WT> tan(const complex<_WT>& z) {
  return sin(z) / cos(z);
}
template <class _WT>
complex<_WT> tanh(const complex<_WT>& z) {
  return sinh(z) / cosh(z);
}
template <class _WT>
complex<_WT> asinh(const complex<_WT>& z) {
  return log(z + sqrt(z * z + _WT(1)));
}
template <class _WT>
complex<_WT> acosh(const complex<_WT>& z) {
  return log(z + sqrt(z + _WT(1)) * sqrt(z - _WT(1)));
}
template <class _WT>
complex<_WT> atanh(const complex<_WT>& z) {
  return (log(_WT(1) + z) - log(_WT(1) - z)) / _WT(2);
}
// i asin(z) = asinh(i z), and so on.
template <class _WT>
complex<_WT> asin(const complex<_WT>& z) {
  const complex<_WT> turned = asinh(complex<_WT>(-z.imag(), z.real()));
  return complex<_WT>(turned.imag(), -turned.real());
}
template <class _WT>
complex<_WT> acos(const complex<_WT>& z) {
  return _WT(1.57079632679489661923) - asin(z);
}
template <class _WT>
complex<_WT> atan(const complex<_WT>& z) {
  const complex<_WT> turned = atanh(complex<_WT>(-z.imag(), z.real()));
  return complex<_WT>(turned.imag(), -turned.real());
}

template <class _WA, class _WB>
  requires warploom::libraries::ComplexPair<_WA, _WB>
auto pow(const _WA& base, const _WB& exponent) {
  using Result = warploom::libraries::ComplexOf<_WA, _WB>;
  const Result of(base);
  if (of == Result()) return Result();
  return exp(Result(exponent) * log(of));
}

template <class _WT, class _WC, class _WR>
std::basic_ostream<_WC, _WR>& operator<<(std::basic_ostream<_WC, _WR>& out, const complex<_WT>& z) {
  return out << std::complex<_WT>(z);
}
template <class _WT, class _WC, class _WR>
std::basic_istream<_WC, _WR>& operator>>(std::basic_istream<_WC, _WR>& in, complex<_WT>& z) {
  std::complex<_WT> read;
  if (in >> read) z = read;
  return in;
}

}  // namespace thrust
