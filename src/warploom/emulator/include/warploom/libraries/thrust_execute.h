// How Thrust's algorithms run: one after the other where the caller is, or as kernels on a stream.
#pragma once

#include <warploom/libraries/device_sorts.h>
#include <warploom/libraries/thrust_iterators.h>

#include <algorithm>
#include <functional>

namespace thrust::detail {

template <class Iterator>
using value_of = typename std::iterator_traits<Iterator>::value_type;

// Iterators that lie nowhere: what they go with says where an algorithm runs.
template <class Iterator>
struct is_nowhere : std::false_type {};
template <class Value>
struct is_nowhere<counting_iterator<Value>> : std::true_type {};
template <class Value>
struct is_nowhere<constant_iterator<Value>> : std::true_type {};
template <>
struct is_nowhere<discard_iterator> : std::true_type {};
template <class Function, class In>
struct is_nowhere<transform_iterator<Function, In>> : is_nowhere<In> {};

// Where the caller is: the host, or a thread of a kernel.
struct Sequential {
  template <class Iterator>
  static Iterator plain(Iterator at) {
    return at;
  }
  template <class Function>
  void each(const char*, long long n, Function function) const {
    for (long long i = 0; i < n; i++) function(i);
    warploom::count_operations(static_cast<unsigned>(2 * n));
  }
  template <class Acc, class In, class Op>
  Acc reduce(const char*, long long n, In in, Op op, Acc sum) const {
    for (long long i = 0; i < n; i++) sum = op(sum, static_cast<Acc>(in(i)));
    warploom::count_operations(static_cast<unsigned>(2 * n));
    return sum;
  }
  template <class Acc, class In, class Op, class Out>
  void scan(const char*, long long n, In in, Op op, Acc sum, bool seeded, bool inclusive,
            Out out) const {
    for (long long i = 0; i < n; i++) {
      const auto value = static_cast<Acc>(in(i));
      const Acc next = i || seeded ? static_cast<Acc>(op(sum, value)) : value;
      out(i, inclusive ? next : sum);
      sum = next;
    }
    warploom::count_operations(static_cast<unsigned>(2 * n));
  }
  template <class Flag, class Emit>
  long long select(const char*, long long n, Flag flag, Emit emit) const {
    long long chosen = 0;
    for (long long i = 0; i < n; i++) {
      const bool is_chosen = flag(i);
      emit(i, is_chosen, is_chosen ? chosen : i - chosen);
      chosen += is_chosen;
    }
    warploom::count_operations(static_cast<unsigned>(2 * n));
    return chosen;
  }
  // By insertion: what is equal stays in its order.
  template <class Keys, class Values, class Less>
  void sort(const char*, long long n, Keys keys, Values values, Less less) const {
    using Key = value_of<Keys>;
    if constexpr (std::is_same_v<Values, std::nullptr_t>) {
      if (!warploom::on_device()) return std::stable_sort(keys, keys + n, less);
    }
    for (long long i = 1; i < n; i++) {
      const Key key = keys[i];
      long long at = i;
      while (at > 0 && less(key, static_cast<Key>(keys[at - 1]))) at--;
      rotate(keys, at, i);
      if constexpr (!std::is_same_v<Values, std::nullptr_t>) rotate(values, at, i);
      warploom::count_operations(static_cast<unsigned>(4 * (i - at + 1)));
    }
  }

 private:
  template <class Iterator>
  static void rotate(Iterator items, long long first, long long last) {
    const value_of<Iterator> held = items[last];
    for (long long i = last; i > first; i--)
      items[i] = static_cast<value_of<Iterator>>(items[i - 1]);
    items[first] = held;
  }
};

// Memory of a stream's own, for what lies in between.
class Scratch {
 public:
  Scratch(std::size_t bytes, cudaStream_t stream) : stream_(stream) {
    if (warploom::allocate_async(&at_, bytes ? bytes : 1, stream) != cudaSuccess)
      throw std::bad_alloc();
  }
  Scratch(const Scratch&) = delete;
  ~Scratch() { cudaFreeAsync(at_, stream_); }
  template <class _WT = void>
  _WT* as(std::size_t offset = 0) const {
    return reinterpret_cast<_WT*>(static_cast<char*>(at_) + offset);
  }

 private:
  void* at_ = nullptr;
  cudaStream_t stream_;
};

template <class Less, class Key>
constexpr bool is_less = std::is_same_v<Less, std::less<Key>> || std::is_same_v<Less, std::less<>>;
template <class Less, class Key>
constexpr bool is_greater =
    std::is_same_v<Less, std::greater<Key>> || std::is_same_v<Less, std::greater<>>;

struct OnDevice {
  cudaStream_t stream = nullptr;
  bool waits = true;

  template <class Iterator>
  static auto plain(Iterator at) {
    return warploom_raw(at);
  }
  void check(cudaError_t error) const {
    if (error == cudaSuccess && waits) error = cudaStreamSynchronize(stream);
    if (error != cudaSuccess) throw system_error(cudaGetErrorString(error));
  }
  template <class Function>
  void each(const char* name, long long n, Function function) const {
    check(warploom::libraries::for_each_index(name, stream, n, function));
  }
  // As what a memset fills, it may be an input that is to vary.
  template <class _WT>
    requires std::is_arithmetic_v<_WT>
  void filled(_WT* start, long long n) const {
    if (n <= 0) return;
    check(warploom::vary_filled(start, static_cast<std::size_t>(n) * sizeof(_WT), stream, waits));
  }
  template <class _WT>
  _WT fetch(const _WT* at) const {
    alignas(_WT) unsigned char bytes[sizeof(_WT)];
    cudaError_t error = cudaMemcpyAsync(bytes, at, sizeof(_WT), cudaMemcpyDeviceToHost, stream);
    if (error == cudaSuccess) error = cudaStreamSynchronize(stream);
    if (error != cudaSuccess) throw system_error(cudaGetErrorString(error));
    return *reinterpret_cast<_WT*>(bytes);
  }
  template <class Acc, class In, class Op>
  Acc reduce(const char* name, long long n, In in, Op op, Acc initial) const {
    using namespace warploom::libraries;
    if (n <= 0) return initial;
    const std::size_t bytes = aligned_bytes(reduce_bytes<Acc>(n));
    Scratch scratch(bytes + sizeof(Acc), stream);
    auto* result = scratch.as<Acc>(bytes);
    check(reduce_into<Acc>(name, stream, scratch.as(), n, in, op, initial, true, result));
    return fetch(result);
  }
  template <class Acc, class In, class Op, class Out>
  void scan(const char* name, long long n, In in, Op op, Acc initial, bool seeded, bool inclusive,
            Out out) const {
    using namespace warploom::libraries;
    Scratch scratch(scan_bytes<Acc>(n), stream);
    check(scan_into<Acc>(name, stream, scratch.as(), n, in, op, initial, seeded, inclusive, out));
  }
  template <class Flag, class Emit>
  long long select(const char* name, long long n, Flag flag, Emit emit) const {
    using namespace warploom::libraries;
    if (n <= 0) return 0;
    const std::size_t bytes = aligned_bytes(select_bytes(n));
    Scratch scratch(bytes + sizeof(long long), stream);
    auto* count = scratch.as<long long>(bytes);
    check(select_into(name, stream, scratch.as(), n, flag, emit, count));
    return fetch(count);
  }
  template <class Key, class Values, class Less>
  void sort(const char* name, long long n, Key* keys, Values values, Less less) const {
    using namespace warploom::libraries;
    using Value =
        std::conditional_t<std::is_pointer_v<Values>, std::remove_pointer_t<Values>, cub::NullType>;
    if (n < 2) return;
    const auto count = static_cast<std::size_t>(n);
    const std::size_t of_keys = aligned_bytes(count * sizeof(Key));
    const std::size_t items = of_keys + aligned_bytes(count * sizeof(Value));
    Value* payload = nullptr;
    if constexpr (std::is_pointer_v<Values>) payload = values;
    constexpr bool by_digits =
        std::is_arithmetic_v<Key> && (is_less<Less, Key> || is_greater<Less, Key>);
    if constexpr (by_digits) {
      Scratch scratch(items + digit_bytes(n), stream);
      // An even number of passes: what was sorted is back in its place.
      constexpr int bits = 8 * sizeof(Key), passes = bits / 8;
      auto* other = scratch.as<Key>();
      auto* other_values = scratch.as<Value>(of_keys);
      check(radix_sort<Key, Value>(name, stream, scratch.as(items), n,
                                   {keys, other, nullptr, payload, other_values, nullptr}, 0, bits,
                                   is_greater<Less, Key>));
      if constexpr (passes % 2) {
        each(name, n, [=](long long i) {
          keys[i] = other[i];
          if constexpr (std::is_pointer_v<Values>) payload[i] = other_values[i];
        });
      }
    } else {
      Scratch scratch(items, stream);
      check(merge_sort<Key, Value>(
          name, stream, n,
          {keys, scratch.as<Key>(), nullptr, payload, scratch.as<Value>(of_keys), nullptr}, less));
    }
  }
};

inline Sequential executor(host_policy) { return {}; }
inline Sequential executor(seq_policy) { return {}; }
inline OnDevice executor(device_policy policy) { return {policy.stream, policy.waits}; }
// By what the iterators are; in a kernel, where the thread is.
template <class... Iterator>
auto executor_for() {
  if constexpr (std::disjunction_v<warploom_of_device<Iterator>...>) {
    return OnDevice{};
  } else {
    return Sequential{};
  }
}

}  // namespace thrust::detail
