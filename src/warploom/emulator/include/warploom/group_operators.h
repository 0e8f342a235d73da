// What groups combine values with: cooperative_groups::plus and its like.
#pragma once

namespace cooperative_groups {

template <class T = void>
struct plus {
  T operator()(T a, T b) const { return a + b; }
};
template <class T = void>
struct less {
  T operator()(T a, T b) const { return b < a ? b : a; }
};
template <class T = void>
struct greater {
  T operator()(T a, T b) const { return a < b ? b : a; }
};
template <class T = void>
struct bit_and {
  T operator()(T a, T b) const { return a & b; }
};
template <class T = void>
struct bit_or {
  T operator()(T a, T b) const { return a | b; }
};
template <class T = void>
struct bit_xor {
  T operator()(T a, T b) const { return a ^ b; }
};
#define WARPLOOM_ANY_TYPE(name, expression) \
  template <>                               \
  struct name<void> {                       \
    template <class T>                      \
    T operator()(T a, T b) const {          \
      return expression;                    \
    }                                       \
  };
WARPLOOM_ANY_TYPE(plus, a + b)
WARPLOOM_ANY_TYPE(less, b < a ? b : a)
WARPLOOM_ANY_TYPE(greater, a < b ? b : a)
WARPLOOM_ANY_TYPE(bit_and, a& b)
WARPLOOM_ANY_TYPE(bit_or, a | b)
WARPLOOM_ANY_TYPE(bit_xor, a ^ b)
#undef WARPLOOM_ANY_TYPE

}  // namespace cooperative_groups
