// Thrust's function objects, and the expressions that are made of placeholders.
#pragma once

#include <cuda/functional>
#include <functional>
#include <tuple>

namespace thrust {

template <class _WT = void>
using plus = std::plus<_WT>;
template <class _WT = void>
using minus = std::minus<_WT>;
template <class _WT = void>
using multiplies = std::multiplies<_WT>;
template <class _WT = void>
using divides = std::divides<_WT>;
template <class _WT = void>
using modulus = std::modulus<_WT>;
template <class _WT = void>
using negate = std::negate<_WT>;
template <class _WT = void>
using less = std::less<_WT>;
template <class _WT = void>
using greater = std::greater<_WT>;
template <class _WT = void>
using less_equal = std::less_equal<_WT>;
template <class _WT = void>
using greater_equal = std::greater_equal<_WT>;
template <class _WT = void>
using equal_to = std::equal_to<_WT>;
template <class _WT = void>
using not_equal_to = std::not_equal_to<_WT>;
template <class _WT = void>
using logical_and = std::logical_and<_WT>;
template <class _WT = void>
using logical_or = std::logical_or<_WT>;
template <class _WT = void>
using logical_not = std::logical_not<_WT>;
template <class _WT = void>
using bit_and = std::bit_and<_WT>;
template <class _WT = void>
using bit_or = std::bit_or<_WT>;
template <class _WT = void>
using bit_xor = std::bit_xor<_WT>;
template <class _WT = void>
using maximum = ::cuda::maximum<_WT>;
template <class _WT = void>
using minimum = ::cuda::minimum<_WT>;
template <class _WT = void>
struct identity {
  constexpr const _WT& operator()(const _WT& value) const { return value; }
};
template <>
struct identity<void> {
  template <class _WT>
  constexpr _WT&& operator()(_WT&& value) const {
    return static_cast<_WT&&>(value);
  }
};
template <class _WT = void>
struct square {
  constexpr _WT operator()(const _WT& value) const { return value * value; }
};

namespace detail {
// A function of a program's that may change what it holds: each thread has one of its own.
template <class _WF>
struct Called {
  mutable _WF function;
  template <class... _WA>
  constexpr decltype(auto) operator()(_WA&&... arguments) const {
    return function(static_cast<_WA&&>(arguments)...);
  }
};
template <class _WF>
constexpr Called<_WF> called(const _WF& function) {
  return {function};
}
}  // namespace detail

// What functions of programs derive from, as the standard library had it until C++17.
template <class _WA, class _WR>
struct unary_function {
  typedef _WA argument_type;
  typedef _WR result_type;
};
template <class _WA, class _WB, class _WR>
struct binary_function {
  typedef _WA first_argument_type;
  typedef _WB second_argument_type;
  typedef _WR result_type;
};
template <class _WF>
struct unary_negate {
  _WF function;
  template <class _WA>
  constexpr bool operator()(const _WA& a) const {
    return !function(a);
  }
};
template <class _WF>
struct binary_negate {
  _WF function;
  template <class _WA, class _WB>
  constexpr bool operator()(const _WA& a, const _WB& b) const {
    return !function(a, b);
  }
};
template <class _WF>
constexpr unary_negate<_WF> not1(const _WF& function) {
  return {function};
}
template <class _WF>
constexpr binary_negate<_WF> not2(const _WF& function) {
  return {function};
}
template <class _WT = void, class = void>
struct project1st {
  template <class _WA, class _WB>
  constexpr _WA operator()(const _WA& a, const _WB&) const {
    return a;
  }
};
template <class _WT = void, class = void>
struct project2nd {
  template <class _WA, class _WB>
  constexpr _WB operator()(const _WA&, const _WB& b) const {
    return b;
  }
};

// A function of what placeholders stand for.
template <class _WF>
struct actor {
  _WF function;
  template <class... _WA>
  constexpr auto operator()(_WA&&... arguments) const {
    return function(arguments...);
  }
};
namespace warploom_detail {
template <unsigned place>
struct Place {
  template <class... _WA>
  constexpr auto operator()(const _WA&... arguments) const {
    return std::get<place>(std::tuple<const _WA&...>(arguments...));
  }
};
template <class _WT>
struct Constant {
  _WT value;
  template <class... _WA>
  constexpr _WT operator()(const _WA&...) const {
    return value;
  }
};
template <class _WF>
constexpr actor<_WF> actor_of(const actor<_WF>& a) {
  return a;
}
template <class _WT>
constexpr actor<Constant<_WT>> actor_of(const _WT& value) {
  return {{value}};
}
template <class _WT>
constexpr bool is_actor = false;
template <class _WF>
constexpr bool is_actor<actor<_WF>> = true;
template <class _WO, class... _WF>
struct Applied {
  std::tuple<_WF...> parts;
  template <class... _WA>
  constexpr auto operator()(const _WA&... arguments) const {
    return std::apply([&](const auto&... part) { return _WO{}(part(arguments...)...); }, parts);
  }
};
template <class _WO, class... _WT>
constexpr auto apply_to(const _WT&... operands) {
  typedef Applied<_WO, decltype(actor_of(operands))...> Result;
  return actor<Result>{{{actor_of(operands)...}}};
}
}  // namespace warploom_detail

#define WARPLOOM_ACTOR_BINARY(sign, function)                                  \
  template <class _WA, class _WB>                                              \
    requires(warploom_detail::is_actor<_WA> || warploom_detail::is_actor<_WB>) \
  constexpr auto operator sign(const _WA& a, const _WB& b) {                   \
    return warploom_detail::apply_to<function>(a, b);                          \
  }
#define WARPLOOM_ACTOR_UNARY(sign, function)          \
  template <class _WF>                                \
  constexpr auto operator sign(const actor<_WF>& a) { \
    return warploom_detail::apply_to<function>(a);    \
  }
WARPLOOM_ACTOR_BINARY(+, std::plus<>)
WARPLOOM_ACTOR_BINARY(-, std::minus<>)
WARPLOOM_ACTOR_BINARY(*, std::multiplies<>)
WARPLOOM_ACTOR_BINARY(/, std::divides<>)
WARPLOOM_ACTOR_BINARY(%, std::modulus<>)
WARPLOOM_ACTOR_BINARY(<, std::less<>)
WARPLOOM_ACTOR_BINARY(>, std::greater<>)
WARPLOOM_ACTOR_BINARY(<=, std::less_equal<>)
WARPLOOM_ACTOR_BINARY(>=, std::greater_equal<>)
WARPLOOM_ACTOR_BINARY(==, std::equal_to<>)
WARPLOOM_ACTOR_BINARY(!=, std::not_equal_to<>)
WARPLOOM_ACTOR_BINARY(&&, std::logical_and<>)
WARPLOOM_ACTOR_BINARY(||, std::logical_or<>)
WARPLOOM_ACTOR_BINARY(&, std::bit_and<>)
WARPLOOM_ACTOR_BINARY(|, std::bit_or<>)
WARPLOOM_ACTOR_BINARY(^, std::bit_xor<>)
WARPLOOM_ACTOR_UNARY(-, std::negate<>)
WARPLOOM_ACTOR_UNARY(!, std::logical_not<>)
WARPLOOM_ACTOR_UNARY(~, std::bit_not<>)
#undef WARPLOOM_ACTOR_BINARY
#undef WARPLOOM_ACTOR_UNARY

namespace placeholders {
constexpr actor<warploom_detail::Place<0>> _1{};
constexpr actor<warploom_detail::Place<1>> _2{};
constexpr actor<warploom_detail::Place<2>> _3{};
constexpr actor<warploom_detail::Place<3>> _4{};
}  // namespace placeholders

}  // namespace thrust
