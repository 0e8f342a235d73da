// Thrust's algorithms, each written once over an executor: as kernels, or in the caller.
#pragma once

#include <warploom/libraries/thrust_execute.h>

#include <numeric>

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
template <class _WT = void>
struct square {
  constexpr _WT operator()(const _WT& value) const { return value * value; }
};

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
  exec.each("thrust::tabulate", last - first, [=](long long i) { to[i] = function(i); });
}
template <class Exec, class Out, class Function>
void generate_by(Exec exec, Out first, Out last, Function function) {
  const auto to = exec.plain(first);
  exec.each("thrust::generate", last - first, [=](long long i) mutable { to[i] = function(); });
}
template <class Exec, class In, class Function>
In for_each_by(Exec exec, In first, In last, Function function) {
  const auto from = exec.plain(first);
  exec.each("thrust::for_each", last - first, [=](long long i) { function(from[i]); });
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
  exec.each("thrust::transform", n, [=](long long i) { to[i] = function(from[i]); });
  return out + n;
}
template <class Exec, class In, class Other, class Out, class Function>
Out transform_by(Exec exec, In first, In last, Other other, Out out, Function function) {
  const auto from = exec.plain(first);
  const auto with = exec.plain(other);
  const auto to = exec.plain(out);
  const auto n = last - first;
  exec.each("thrust::transform", n, [=](long long i) { to[i] = function(from[i], with[i]); });
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
  exec.each("thrust::replace_if", last - first, [=](long long i) {
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
      "thrust::transform_reduce", last - first, [=](long long i) { return function(from[i]); }, op,
      initial);
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
      "thrust::count_if", last - first, [=](long long i) { return predicate(from[i]) ? 1ll : 0ll; },
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

// --- selections; those in place go through memory in between

template <class Exec, class In, class Stencil, class Out, class Predicate>
Out copy_if_by(Exec exec, In first, In last, Stencil stencil, Out out, Predicate predicate) {
  const auto from = exec.plain(first);
  const auto by = exec.plain(stencil);
  const auto to = exec.plain(out);
  return out + exec.select(
                   "thrust::copy_if", last - first,
                   [=](long long i) { return static_cast<bool>(predicate(by[i])); },
                   [=](long long i, bool is_chosen, long long place) {
                     if (is_chosen) to[place] = from[i];
                   });
}
template <class Exec, class In, class Out, class Predicate>
Out copy_if_by(Exec exec, In first, In last, Out out, Predicate predicate) {
  return copy_if_by(exec, first, last, first, out, predicate);
}
template <class Value>
struct Between {
  std::vector<Value> values;
  Between(Sequential, long long n) : values(static_cast<std::size_t>(n)) {}
  Value* data() { return values.data(); }
};
template <class Value>
struct BetweenOnDevice {
  Scratch scratch;
  BetweenOnDevice(OnDevice exec, long long n)
      : scratch(static_cast<std::size_t>(n) * sizeof(Value), exec.stream) {}
  Value* data() { return scratch.template as<Value>(); }
};
template <class Exec, class Value>
using between_of =
    std::conditional_t<std::is_same_v<Exec, OnDevice>, BetweenOnDevice<Value>, Between<Value>>;

template <class Exec, class In, class Flag>
In keep_by(Exec exec, const char* name, In first, In last, Flag flag, bool keep_others) {
  using Value = value_of<In>;
  const long long n = last - first;
  if (n == 0) return first;
  between_of<Exec, Value> memory(exec, n);
  const auto items = exec.plain(first);
  Value* held = memory.data();
  const long long kept =
      exec.select(name, n, flag, [=](long long i, bool is_kept, long long place) {
        if (is_kept || keep_others) held[is_kept ? place : n - 1 - place] = items[i];
      });
  exec.each(name, keep_others ? n : kept,
            [=](long long i) { items[i] = held[i < kept ? i : n - 1 - (i - kept)]; });
  return first + kept;
}
template <class Exec, class In, class Predicate>
In remove_if_by(Exec exec, In first, In last, Predicate predicate) {
  const auto items = exec.plain(first);
  return keep_by(
      exec, "thrust::remove_if", first, last, [=](long long i) { return !predicate(items[i]); },
      false);
}
template <class Exec, class In, class Value>
In remove_by(Exec exec, In first, In last, Value value) {
  return remove_if_by(exec, first, last, [value](const auto& item) { return item == value; });
}
template <class Exec, class In, class Predicate>
In partition_by(Exec exec, In first, In last, Predicate predicate) {
  const auto items = exec.plain(first);
  return keep_by(
      exec, "thrust::partition", first, last,
      [=](long long i) { return static_cast<bool>(predicate(items[i])); }, true);
}
template <class Exec, class In, class Predicate>
In stable_partition_by(Exec exec, In first, In last, Predicate predicate) {
  return partition_by(exec, first, last, predicate);
}
template <class Exec, class In, class Same>
In unique_by(Exec exec, In first, In last, Same same) {
  const auto items = exec.plain(first);
  return keep_by(
      exec, "thrust::unique", first, last,
      [=](long long i) { return i == 0 || !same(items[i - 1], items[i]); }, false);
}
template <class Exec, class In>
In unique_by(Exec exec, In first, In last) {
  return unique_by(exec, first, last, std::equal_to<>());
}
// Runs of equal keys: each run's key, and the sum of its values.
template <class Exec, class Keys, class Values, class KeysOut, class ValuesOut>
std::pair<KeysOut, ValuesOut> reduce_by_key_by(Exec exec, Keys first, Keys last, Values values,
                                               KeysOut keys_out, ValuesOut values_out) {
  const long long n = last - first;
  if (n == 0) return {keys_out, values_out};
  between_of<Exec, long long> memory(exec, n);
  const auto keys = exec.plain(first);
  const auto from = exec.plain(values);
  const auto to_keys = exec.plain(keys_out);
  const auto to_values = exec.plain(values_out);
  long long* starts = memory.data();
  const long long runs = exec.select(
      "thrust::reduce_by_key", n, [=](long long i) { return i == 0 || !(keys[i - 1] == keys[i]); },
      [=](long long i, bool is_start, long long place) {
        if (is_start) starts[place] = i;
      });
  exec.each("thrust::reduce_by_key", runs, [=](long long run) {
    const long long start = starts[run], end = run + 1 < runs ? starts[run + 1] : n;
    value_of<ValuesOut> sum = from[start];
    for (long long i = start + 1; i < end; i++) sum = sum + from[i];
    warploom::count_operations(static_cast<unsigned>(end - start));
    to_keys[run] = keys[start];
    to_values[run] = sum;
  });
  return {keys_out + runs, values_out + runs};
}

// --- sorts, all of them stable

template <class Exec, class In, class Less>
void sort_by(Exec exec, In first, In last, Less less) {
  exec.sort("thrust::sort", last - first, exec.plain(first), nullptr, less);
}
template <class Exec, class In>
void sort_by(Exec exec, In first, In last) {
  sort_by(exec, first, last, std::less<value_of<In>>());
}
template <class Exec, class In, class... Less>
void stable_sort_by(Exec exec, In first, In last, Less... less) {
  sort_by(exec, first, last, less...);
}
template <class Exec, class Keys, class Values, class Less>
void sort_by_key_by(Exec exec, Keys first, Keys last, Values values, Less less) {
  const long long n = last - first;
  const auto items = exec.plain(values);
  if constexpr (std::is_same_v<Exec, Sequential> ||
                std::is_pointer_v<decltype(exec.plain(values))>) {
    exec.sort("thrust::sort_by_key", n, exec.plain(first), items, less);
  } else {  // what no pointer leads to is moved when its order is known
    using Value = value_of<Values>;
    between_of<Exec, long long> order_memory(exec, n);
    between_of<Exec, Value> held_memory(exec, n);
    long long* order = order_memory.data();
    Value* held = held_memory.data();
    exec.each("thrust::sort_by_key", n, [=](long long i) { order[i] = i; });
    exec.sort("thrust::sort_by_key", n, exec.plain(first), order, less);
    exec.each("thrust::sort_by_key", n, [=](long long i) { held[i] = items[order[i]]; });
    exec.each("thrust::sort_by_key", n, [=](long long i) { items[i] = held[i]; });
  }
}
template <class Exec, class Keys, class Values>
void sort_by_key_by(Exec exec, Keys first, Keys last, Values values) {
  sort_by_key_by(exec, first, last, values, std::less<value_of<Keys>>());
}
template <class Exec, class Keys, class Values, class... Less>
void stable_sort_by_key_by(Exec exec, Keys first, Keys last, Values values, Less... less) {
  sort_by_key_by(exec, first, last, values, less...);
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
WARPLOOM_ALGORITHM(copy_if)
WARPLOOM_ALGORITHM(remove_if)
WARPLOOM_ALGORITHM(remove)
WARPLOOM_ALGORITHM(partition)
WARPLOOM_ALGORITHM(stable_partition)
WARPLOOM_ALGORITHM(unique)
WARPLOOM_ALGORITHM(reduce_by_key)
WARPLOOM_ALGORITHM(sort)
WARPLOOM_ALGORITHM(stable_sort)
WARPLOOM_ALGORITHM(sort_by_key)
WARPLOOM_ALGORITHM(stable_sort_by_key)
#undef WARPLOOM_ALGORITHM

namespace detail {

// Values in a row on the host, as a copy between the two sides needs them.
template <class In>
const value_of<In>* in_a_row(In first, std::size_t n, std::vector<value_of<In>>& held) {
  if constexpr (std::contiguous_iterator<In>) {
    return std::to_address(first);
  } else {
    held.reserve(n);
    for (std::size_t i = 0; i < n; i++, ++first) held.push_back(*first);
    return held.data();
  }
}
inline void check_copy(cudaError_t error) {
  if (error != cudaSuccess) throw system_error(cudaGetErrorString(error));
}

template <class In, class Out>
Out copy_between(In first, In last, Out out) {
  constexpr bool from_device = warploom_of_device<In>::value;
  constexpr bool to_device = warploom_of_device<Out>::value;
  if constexpr (from_device == to_device || (to_device && is_nowhere<In>::value) ||
                (from_device && is_nowhere<Out>::value)) {
    if constexpr (from_device || to_device) {
      return copy_by(OnDevice{}, first, last, out);
    } else {
      return std::copy(first, last, out);
    }
  } else {
    const auto n = static_cast<std::size_t>(std::distance(first, last));
    if (n == 0) return out;
    if constexpr (to_device) {
      using Value = value_of<Out>;
      std::vector<value_of<In>> held;
      const auto* values = in_a_row(first, n, held);
      if constexpr (std::is_same_v<Value, value_of<In>> &&
                    std::is_pointer_v<decltype(warploom_raw(out))>) {
        check_copy(
            cudaMemcpy(warploom_raw(out), values, n * sizeof(Value), cudaMemcpyHostToDevice));
      } else {
        Scratch scratch(n * sizeof(value_of<In>), nullptr);
        auto* between = scratch.as<value_of<In>>();
        check_copy(cudaMemcpy(between, values, n * sizeof(*values), cudaMemcpyHostToDevice));
        copy_by(OnDevice{}, device_ptr<value_of<In>>(between),
                device_ptr<value_of<In>>(between + n), out);
      }
      return out + static_cast<std::ptrdiff_t>(n);
    } else {
      using Value = value_of<In>;
      Scratch scratch(n * sizeof(Value), nullptr);
      const Value* from = nullptr;
      if constexpr (std::is_pointer_v<decltype(warploom_raw(first))>) {
        from = warploom_raw(first);
      } else {
        copy_by(OnDevice{}, first, last, device_ptr<Value>(scratch.as<Value>()));
        from = scratch.as<Value>();
      }
      if constexpr (std::contiguous_iterator<Out> && std::is_same_v<value_of<Out>, Value>) {
        check_copy(
            cudaMemcpy(std::to_address(out), from, n * sizeof(Value), cudaMemcpyDeviceToHost));
        return out + static_cast<std::ptrdiff_t>(n);
      } else {
        auto held =
            std::make_unique_for_overwrite<unsigned char[]>(n * sizeof(Value) + alignof(Value));
        auto* values = reinterpret_cast<Value*>(held.get());
        check_copy(cudaMemcpy(values, from, n * sizeof(Value), cudaMemcpyDeviceToHost));
        return std::copy(values, values + n, out);
      }
    }
  }
}

}  // namespace detail

template <class In, class Out>
  requires(!detail::is_policy<In>)
Out copy(In first, In last, Out out) {
  return detail::copy_between(first, last, out);
}
template <class In, class Count, class Out>
  requires(!detail::is_policy<In>)
Out copy_n(In first, Count n, Out out) {
  return detail::copy_between(first, first + n, out);
}
template <class Policy, class In, class Out>
  requires detail::is_policy<Policy>
Out copy(const Policy& policy, In first, In last, Out out) {
  if constexpr (warploom_of_device<In>::value != warploom_of_device<Out>::value &&
                !detail::is_nowhere<In>::value && !std::is_pointer_v<In> &&
                !std::is_pointer_v<Out>) {
    return detail::copy_between(first, last, out);
  } else {
    return detail::copy_by(detail::executor(policy), first, last, out);
  }
}
template <class Policy, class In, class Count, class Out>
  requires detail::is_policy<Policy>
Out copy_n(const Policy& policy, In first, Count n, Out out) {
  return thrust::copy(policy, first, first + n, out);
}

}  // namespace thrust
