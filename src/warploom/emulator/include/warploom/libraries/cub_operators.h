// CUB's function objects, and the pairs that some of them take.
#pragma once

#include <cuda/functional>

namespace cub {

struct Sum {
  template <class _WA, class _WB>
  constexpr auto operator()(const _WA& a, const _WB& b) const {
    return a + b;
  }
};
struct Difference {
  template <class _WA, class _WB>
  constexpr auto operator()(const _WA& a, const _WB& b) const {
    return a - b;
  }
};
struct Equality {
  template <class _WA, class _WB>
  constexpr bool operator()(const _WA& a, const _WB& b) const {
    return a == b;
  }
};
using Max = ::cuda::maximum<>;
using Min = ::cuda::minimum<>;

template <class Key, class Value>
struct KeyValuePair {
  typedef Key Key_t;
  typedef Value Value_t;
  Key key;
  Value value;
  friend bool operator==(const KeyValuePair& a, const KeyValuePair& b) {
    return a.key == b.key && a.value == b.value;
  }
};
// Of pairs with an index, the larger (smaller) value counts; of equal ones, the first.
struct ArgMax {
  template <class _WP>
  constexpr _WP operator()(const _WP& a, const _WP& b) const {
    return b.value > a.value || (b.value == a.value && b.key < a.key) ? b : a;
  }
};
struct ArgMin {
  template <class _WP>
  constexpr _WP operator()(const _WP& a, const _WP& b) const {
    return b.value < a.value || (b.value == a.value && b.key < a.key) ? b : a;
  }
};

}  // namespace cub
