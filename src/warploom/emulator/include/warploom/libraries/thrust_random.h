// Thrust's random numbers: linear congruential engines, and distributions of one number each.
#pragma once

#include <cuda_runtime.h>
#include <warploom/device.h>

#include <cmath>
#include <iosfwd>
#include <utility>

namespace thrust {
namespace random {

template <class _WT, _WT factor, _WT addend, _WT modulo>
class linear_congruential_engine {
 public:
  typedef _WT result_type;
  static const result_type multiplier = factor, increment = addend, modulus = modulo;
  static const result_type min = addend == 0 ? 1 : 0, max = modulo - 1;
  static const result_type default_seed = 1;

  explicit linear_congruential_engine(result_type seed_number = default_seed) { seed(seed_number); }
  void seed(result_type number = default_seed) {
    const result_type rest = number % modulo;
    state_ = addend == 0 && rest == 0 ? 1 : rest;
  }
  result_type operator()() {
    ::warploom::count_operations(4);
    return state_ = next(factor, addend, state_);
  }
  // n steps are one with another factor and addend, made of those of 1, 2, 4, ... steps.
  void discard(unsigned long long n) {
    result_type a = factor, c = addend;
    for (; n; n >>= 1) {
      ::warploom::count_operations(12);
      if (n & 1) state_ = next(a, c, state_);
      c = next(a, c, c);
      a = next(a, 0, a);
    }
  }
  friend bool operator==(const linear_congruential_engine& a, const linear_congruential_engine& b) {
    return a.state_ == b.state_;
  }

 private:
  static result_type next(result_type a, result_type c, result_type x) {
    return static_cast<result_type>((static_cast<unsigned __int128>(a) * x + c) % modulo);
  }
  result_type state_;
};
typedef linear_congruential_engine<unsigned, 16807, 0, 2147483647> minstd_rand0;
typedef linear_congruential_engine<unsigned, 48271, 0, 2147483647> minstd_rand;
typedef minstd_rand default_random_engine;

template <class _WT = double>
class uniform_real_distribution {
 public:
  typedef _WT result_type;
  typedef std::pair<_WT, _WT> param_type;
  explicit uniform_real_distribution(_WT a = 0, _WT b = 1) : range_(a, b) {}
  explicit uniform_real_distribution(const param_type& range) : range_(range) {}
  void reset() {}
  template <class _WE>
  _WT operator()(_WE& engine) {
    return (*this)(engine, range_);
  }
  // From a, below b.
  template <class _WE>
  _WT operator()(_WE& engine, const param_type& range) {
    ::warploom::count_operations(6);
    _WT part = static_cast<_WT>(engine() - _WE::min);
    part /= _WT(1) + static_cast<_WT>(_WE::max - _WE::min);
    return part * (range.second - range.first) + range.first;
  }
  _WT a() const { return range_.first; }
  _WT b() const { return range_.second; }
  _WT min() const { return range_.first; }
  _WT max() const { return range_.second; }
  param_type param() const { return range_; }
  void param(const param_type& range) { range_ = range; }

 private:
  param_type range_;
};

template <class _WT = int>
class uniform_int_distribution {
 public:
  typedef _WT result_type;
  typedef std::pair<_WT, _WT> param_type;
  explicit uniform_int_distribution(_WT a = 0, _WT b = static_cast<_WT>(2147483647))
      : range_(a, b) {}
  explicit uniform_int_distribution(const param_type& range) : range_(range) {}
  void reset() {}
  template <class _WE>
  _WT operator()(_WE& engine) {
    return (*this)(engine, range_);
  }
  // From a to b, both of them possible.
  template <class _WE>
  _WT operator()(_WE& engine, const param_type& range) {
    const double width = static_cast<double>(range.second) - static_cast<double>(range.first) + 1;
    uniform_real_distribution<double> real(0, width);
    return static_cast<_WT>(range.first + static_cast<long long>(real(engine)));
  }
  _WT a() const { return range_.first; }
  _WT b() const { return range_.second; }
  _WT min() const { return range_.first; }
  _WT max() const { return range_.second; }
  param_type param() const { return range_; }
  void param(const param_type& range) { range_ = range; }

 private:
  param_type range_;
};

template <class _WT = double>
class normal_distribution {
 public:
  typedef _WT result_type;
  typedef std::pair<_WT, _WT> param_type;
  explicit normal_distribution(_WT mean = 0, _WT deviation = 1) : shape_(mean, deviation) {}
  explicit normal_distribution(const param_type& shape) : shape_(shape) {}
  void reset() {}
  template <class _WE>
  _WT operator()(_WE& engine) {
    return (*this)(engine, shape_);
  }
  // By two uniform numbers, above 0 and below 1 (Box and Muller).
  template <class _WE>
  _WT operator()(_WE& engine, const param_type& shape) {
    ::warploom::count_operations(60);
    const double width = static_cast<double>(_WE::max - _WE::min) + 2;
    const double radius = (static_cast<double>(engine() - _WE::min) + 1) / width;
    const double angle = (static_cast<double>(engine() - _WE::min) + 1) / width;
    const double normal = std::sqrt(-2 * std::log(radius)) * std::cos(6.28318530717958648 * angle);
    return static_cast<_WT>(shape.first + shape.second * normal);
  }
  _WT mean() const { return shape_.first; }
  _WT stddev() const { return shape_.second; }
  param_type param() const { return shape_; }
  void param(const param_type& shape) { shape_ = shape; }

 private:
  param_type shape_;
};

}  // namespace random
using namespace random;
}  // namespace thrust
