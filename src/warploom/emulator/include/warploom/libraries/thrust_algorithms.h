// Thrust's algorithms, each written once over an executor: as kernels, or in the caller.
#pragma once

#include <warploom/libraries/thrust_execute.h>
#include <warploom/libraries/thrust_functions.h>

#include <numeric>

namespace thrust {

using std::advance;
using std::distance;
using std::swap;

// An algorithm with a policy in front, and one that looks at its iterators (`count` of them).
#define WARPLOOM_ALGORITHM(name)                                                      \
  template <class Policy, class... Args>                                              \
    requires detail::is_policy<Policy>                                                \
  auto name(const Policy& policy, Args... args) {                                     \
    return detail::name##_by(detail::executor(policy), args...);                      \
  }                                                                                   \
  template <class First, class... Args>                                               \
    requires(!detail::is_policy<First>)                                               \
  auto name(First first, Args... args) {                                              \
    return detail::name##_by(detail::executor_for<First, Args...>(), first, args...); \
  }

namespace detail {

template <class Exec, class In, class Out>
Out copy_by(Exec exec, In first, In last, Out out) {
  const auto from = exec.plain(first);
  const auto to = exec.plain(out);
  const auto n = last - first;
  exec.each("thrust::copy", n, [=](long long i) { to[i] = from[i]; });
  return out + n;
}
template <class Exec, class Out, class Value>
void fill_by(Exec exec, Out first, Out last, Value value) {
  const auto to = exec.plain(first);
  exec.each("thrust::fill", last - first, [=](long long i) { to[i] = value; });
  if constexpr (requires { exec.filled(to, last - first); }) exec.filled(to, last - first);
}
template <class Exec, class Out, class Count, class Value>
Out fill_n_by(Exec exec, Out first, Count n, Value value) {
  fill_by(exec, first, first + n, value);
  return first + n;
}
template <class Exec, class Out, class Value, class Step>
void sequence_by(Exec exec, Out first, Out last, Value initial, Step step) {
  using Item = value_of<Out>;
  const auto to = exec.plain(first);
  exec.each("thrust::sequence", last - first,
            [=](long long i) { to[i] = static_cast<Item>(initial + static_cast<Item>(i) * step); });
}
template <class Exec, class Out, class Value>
void sequence_by(Exec exec, Out first, Out last, Value initial) {
  sequence_by(exec, first, last, initial, value_of<Out>(1));
}
template <class Exec, class Out>
void sequence_by(Exec exec, Out first, Out last) {
  sequence_by(exec, first, last, value_of<Out>(0), value_of<Out>(1));
}
template <class Exec, class Out, class Function>
void tabulate_by(Exec exec, Out first, Out last, Function function) {
  const auto to = exec.plain(first);
  exec.each("thrust::tabulate", last - first,
            [=, function = called(function)](long long i) { to[i] = function(i); });
}
template <class Exec, class Out, class Function>
void generate_by(Exec exec, Out first, Out last, Function function) {
  const auto to = exec.plain(first);
  exec.each("thrust::generate", last - first, [=](long long i) mutable { to[i] = function(); });
}
template <class Exec, class In, class Function>
In for_each_by(Exec exec, In first, In last, Function function) {
  const auto from = exec.plain(first);
  exec.each("thrust::for_each", last - first,
            [=, function = called(function)](long long i) { function(from[i]); });
  return last;
}
template <class Exec, class In, class Count, class Function>
In for_each_n_by(Exec exec, In first, Count n, Function function) {
  return for_each_by(exec, first, first + n, function);
}
template <class Exec, class In, class Out, class Function>
Out transform_by(Exec exec, In first, In last, Out out, Function function) {
  const auto from = exec.plain(first);
  const auto to = exec.plain(out);
  const auto n = last - first;
  exec.each("thrust::transform", n,
            [=, function = called(function)](long long i) { to[i] = function(from[i]); });
  return out + n;
}
template <class Exec, class In, class Other, class Out, class Function>
Out transform_by(Exec exec, In first, In last, Other other, Out out, Function function) {
  const auto from = exec.plain(first);
  const auto with = exec.plain(other);
  const auto to = exec.plain(out);
  const auto n = last - first;
  exec.each("thrust::transform", n,
            [=, function = called(function)](long long i) { to[i] = function(from[i], with[i]); });
  return out + n;
}
template <class Exec, class Map, class In, class Out>
Out gather_by(Exec exec, Map first, Map last, In in, Out out) {
  const auto map = exec.plain(first);
  const auto from = exec.plain(in);
  const auto to = exec.plain(out);
  const auto n = last - first;
  exec.each("thrust::gather", n, [=](long long i) { to[i] = from[map[i]]; });
  return out + n;
}
template <class Exec, class In, class Map, class Out>
void scatter_by(Exec exec, In first, In last, Map where, Out out) {
  const auto from = exec.plain(first);
  const auto map = exec.plain(where);
  const auto to = exec.plain(out);
  exec.each("thrust::scatter", last - first, [=](long long i) { to[map[i]] = from[i]; });
}
template <class Exec, class In>
void reverse_by(Exec exec, In first, In last) {
  const auto items = exec.plain(first);
  const long long n = last - first;
  exec.each("thrust::reverse", n / 2, [=](long long i) {
    const value_of<In> held = items[i];
    items[i] = static_cast<value_of<In>>(items[n - 1 - i]);
    items[n - 1 - i] = held;
  });
}
template <class Exec, class In, class Predicate, class Value>
void replace_if_by(Exec exec, In first, In last, Predicate predicate, Value value) {
  const auto items = exec.plain(first);
  exec.each("thrust::replace_if", last - first, [=, predicate = called(predicate)](long long i) {
    if (predicate(items[i])) items[i] = value;
  });
}

// --- results of all

template <class Exec, class In, class Initial, class Op>
Initial reduce_by(Exec exec, In first, In last, Initial initial, Op op) {
  const auto from = exec.plain(first);
  return exec.template reduce<Initial>(
      "thrust::reduce", last - first, [=](long long i) { return from[i]; }, op, initial);
}
template <class Exec, class In, class Initial>
Initial reduce_by(Exec exec, In first, In last, Initial initial) {
  return reduce_by(exec, first, last, initial, std::plus<>());
}
template <class Exec, class In>
value_of<In> reduce_by(Exec exec, In first, In last) {
  return reduce_by(exec, first, last, value_of<In>{}, std::plus<>());
}
template <class Exec, class In, class Function, class Initial, class Op>
Initial transform_reduce_by(Exec exec, In first, In last, Function function, Initial initial,
                            Op op) {
  const auto from = exec.plain(first);
  return exec.template reduce<Initial>(
      "thrust::transform_reduce", last - first,
      [=, function = called(function)](long long i) { return function(from[i]); }, op, initial);
}
template <class Exec, class In, class Other, class Initial, class Op, class Join>
Initial inner_product_by(Exec exec, In first, In last, Other other, Initial initial, Op op,
                         Join join) {
  const auto from = exec.plain(first);
  const auto with = exec.plain(other);
  return exec.template reduce<Initial>(
      "thrust::inner_product", last - first, [=](long long i) { return join(from[i], with[i]); },
      op, initial);
}
template <class Exec, class In, class Other, class Initial>
Initial inner_product_by(Exec exec, In first, In last, Other other, Initial initial) {
  return inner_product_by(exec, first, last, other, initial, std::plus<>(), std::multiplies<>());
}
template <class Exec, class In, class Predicate>
std::ptrdiff_t count_if_by(Exec exec, In first, In last, Predicate predicate) {
  const auto from = exec.plain(first);
  return exec.template reduce<long long>(
      "thrust::count_if", last - first,
      [=, predicate = called(predicate)](long long i) { return predicate(from[i]) ? 1ll : 0ll; },
      std::plus<>(), 0ll);
}
template <class Exec, class In, class Value>
std::ptrdiff_t count_by(Exec exec, In first, In last, Value value) {
  return count_if_by(exec, first, last, [value](const auto& item) { return item == value; });
}
template <class Exec, class In, class Predicate>
bool any_of_by(Exec exec, In first, In last, Predicate predicate) {
  return count_if_by(exec, first, last, predicate) > 0;
}
template <class Exec, class In, class Predicate>
bool all_of_by(Exec exec, In first, In last, Predicate predicate) {
  return count_if_by(exec, first, last, predicate) == last - first;
}
template <class Exec, class In, class Predicate>
bool none_of_by(Exec exec, In first, In last, Predicate predicate) {
  return count_if_by(exec, first, last, predicate) == 0;
}
template <class Exec, class In, class Other>
bool equal_by(Exec exec, In first, In last, Other other) {
  const auto from = exec.plain(first);
  const auto with = exec.plain(other);
  return exec.template reduce<long long>(
             "thrust::equal", last - first,
             [=](long long i) { return from[i] == with[i] ? 0ll : 1ll; }, std::plus<>(), 0ll) == 0;
}
// The first of all that nothing beats.
template <class Exec, class In, class Beats>
In best_by(Exec exec, const char* name, In first, In last, Beats beats) {
  const auto from = exec.plain(first);
  const auto op = [=](long long a, long long b) {
    if (a == b) return a;
    const long long low = a < b ? a : b, high = a < b ? b : a;
    return beats(from[high], from[low]) ? high : low;
  };
  if (first == last) return last;
  return first + exec.template reduce<long long>(
                     name, last - first, [](long long i) { return i; }, op, 0ll);
}
template <class Exec, class In, class Less>
In min_element_by(Exec exec, In first, In last, Less less) {
  return best_by(exec, "thrust::min_element", first, last, less);
}
template <class Exec, class In>
In min_element_by(Exec exec, In first, In last) {
  return min_element_by(exec, first, last, std::less<value_of<In>>());
}
template <class Exec, class In, class Less>
In max_element_by(Exec exec, In first, In last, Less less) {
  return best_by(exec, "thrust::max_element", first, last,
                 [less](const auto& a, const auto& b) { return less(b, a); });
}
template <class Exec, class In>
In max_element_by(Exec exec, In first, In last) {
  return max_element_by(exec, first, last, std::less<value_of<In>>());
}
template <class Exec, class In>
std::pair<In, In> minmax_element_by(Exec exec, In first, In last) {
  return {min_element_by(exec, first, last), max_element_by(exec, first, last)};
}
template <class Exec, class In, class Less>
bool is_sorted_by(Exec exec, In first, In last, Less less) {
  const auto from = exec.plain(first);
  const long long pairs = last - first - 1;
  return pairs <= 0 || exec.template reduce<long long>(
                           "thrust::is_sorted", pairs,
                           [=](long long i) { return less(from[i + 1], from[i]) ? 1ll : 0ll; },
                           std::plus<>(), 0ll) == 0;
}
template <class Exec, class In>
bool is_sorted_by(Exec exec, In first, In last) {
  return is_sorted_by(exec, first, last, std::less<value_of<In>>());
}

// --- scans

template <class Exec, class In, class Out, class Op>
Out inclusive_scan_by(Exec exec, In first, In last, Out out, Op op) {
  const auto from = exec.plain(first);
  const auto to = exec.plain(out);
  using Acc = value_of<In>;
  exec.template scan<Acc>(
      "thrust::inclusive_scan", last - first, [=](long long i) { return from[i]; }, op, Acc{},
      false, true, [=](long long i, const Acc& value) { to[i] = value; });
  return out + (last - first);
}
template <class Exec, class In, class Out>
Out inclusive_scan_by(Exec exec, In first, In last, Out out) {
  return inclusive_scan_by(exec, first, last, out, std::plus<>());
}
template <class Exec, class In, class Out, class Initial, class Op>
Out exclusive_scan_by(Exec exec, In first, In last, Out out, Initial initial, Op op) {
  const auto from = exec.plain(first);
  const auto to = exec.plain(out);
  exec.template scan<Initial>(
      "thrust::exclusive_scan", last - first, [=](long long i) { return from[i]; }, op, initial,
      true, false, [=](long long i, const Initial& value) { to[i] = value; });
  return out + (last - first);
}
template <class Exec, class In, class Out, class Initial>
Out exclusive_scan_by(Exec exec, In first, In last, Out out, Initial initial) {
  return exclusive_scan_by(exec, first, last, out, initial, std::plus<>());
}
template <class Exec, class In, class Out>
Out exclusive_scan_by(Exec exec, In first, In last, Out out) {
  return exclusive_scan_by(exec, first, last, out, value_of<In>{}, std::plus<>());
}
template <class Exec, class In, class Out, class Function, class Op>
Out transform_inclusive_scan_by(Exec exec, In first, In last, Out out, Function function, Op op) {
  return inclusive_scan_by(exec, make_transform_iterator(exec.plain(first), function),
                           make_transform_iterator(exec.plain(last), function), out, op);
}

}  // namespace detail

WARPLOOM_ALGORITHM(fill)
WARPLOOM_ALGORITHM(fill_n)
WARPLOOM_ALGORITHM(sequence)
WARPLOOM_ALGORITHM(tabulate)
WARPLOOM_ALGORITHM(generate)
WARPLOOM_ALGORITHM(for_each)
WARPLOOM_ALGORITHM(for_each_n)
WARPLOOM_ALGORITHM(transform)
WARPLOOM_ALGORITHM(gather)
WARPLOOM_ALGORITHM(scatter)
WARPLOOM_ALGORITHM(reverse)
WARPLOOM_ALGORITHM(replace_if)
WARPLOOM_ALGORITHM(reduce)
WARPLOOM_ALGORITHM(transform_reduce)
WARPLOOM_ALGORITHM(inner_product)
WARPLOOM_ALGORITHM(count_if)
WARPLOOM_ALGORITHM(count)
WARPLOOM_ALGORITHM(any_of)
WARPLOOM_ALGORITHM(all_of)
WARPLOOM_ALGORITHM(none_of)
WARPLOOM_ALGORITHM(equal)
WARPLOOM_ALGORITHM(min_element)
WARPLOOM_ALGORITHM(max_element)
WARPLOOM_ALGORITHM(minmax_element)
WARPLOOM_ALGORITHM(is_sorted)
WARPLOOM_ALGORITHM(inclusive_scan)
WARPLOOM_ALGORITHM(exclusive_scan)
WARPLOOM_ALGORITHM(transform_inclusive_scan)

}  // namespace thrust
