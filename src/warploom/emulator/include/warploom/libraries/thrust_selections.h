// Thrust's selections and sorts, and copies between host and device.
#pragma once

#include <warploom/libraries/thrust_algorithms.h>

namespace thrust {

namespace detail {

// --- selections; those in place go through memory in between

template <class Exec, class In, class Stencil, class Out, class Predicate>
Out copy_if_by(Exec exec, In first, In last, Stencil stencil, Out out, Predicate predicate) {
  const auto from = exec.plain(first);
  const auto by = exec.plain(stencil);
  const auto to = exec.plain(out);
  return out + exec.select(
                   "thrust::copy_if", last - first,
                   [=, predicate = called(predicate)](long long i) {
                     return static_cast<bool>(predicate(by[i]));
                   },
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
      exec, "thrust::remove_if", first, last,
      [=, predicate = called(predicate)](long long i) { return !predicate(items[i]); }, false);
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
      [=, predicate = called(predicate)](long long i) {
        return static_cast<bool>(predicate(items[i]));
      },
      true);
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
// Each element and the one before it; what is written may be what is read.
template <class Exec, class In, class Out, class Op>
Out adjacent_difference_by(Exec exec, In first, In last, Out out, Op op) {
  using Value = std::decay_t<std::invoke_result_t<Op, value_of<In>, value_of<In>>>;
  struct Held {
    Value value;  // a type of its own: a vector of bool has no memory for its elements
  };
  const long long n = last - first;
  if (n == 0) return out;
  between_of<Exec, Held> memory(exec, n);
  const auto from = exec.plain(first);
  const auto to = exec.plain(out);
  Held* held = memory.data();
  exec.each("thrust::adjacent_difference", n, [=](long long i) {
    if (i > 0) held[i].value = op(from[i], from[i - 1]);
  });
  exec.each("thrust::adjacent_difference", n, [=](long long i) {
    if (i > 0) {
      to[i] = held[i].value;
    } else {
      to[i] = from[i];
    }
  });
  return out + n;
}
template <class Exec, class In, class Out>
Out adjacent_difference_by(Exec exec, In first, In last, Out out) {
  return adjacent_difference_by(exec, first, last, out, std::minus<>());
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

WARPLOOM_ALGORITHM(copy_if)
WARPLOOM_ALGORITHM(adjacent_difference)
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
