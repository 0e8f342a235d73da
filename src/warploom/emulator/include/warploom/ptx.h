// The inline PTX that is emulated: what the rewriter turns instructions into.
#pragma once

#include "group_copy.h"
#include "intrinsics.h"
#include "multimem.h"
#include "warp.h"

namespace warploom::ptx {

// A register by its constraint letter holds the bits; an instruction reads them as its own type.
template <class T, class R>
WARPLOOM_UNCHECKED T read(R value) {
  if constexpr (std::is_pointer_v<R>) {
    return read<T>(reinterpret_cast<std::uintptr_t>(value));
  } else if constexpr (std::is_enum_v<R>) {
    return read<T>(static_cast<std::underlying_type_t<R>>(value));
  } else if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else if constexpr (std::is_integral_v<T> == std::is_integral_v<R>) {
    return static_cast<T>(value);
  } else if constexpr (sizeof(T) == sizeof(R)) {
    return bits_as<T>(value);
  } else {
    // A literal such as 1, or the low half of a wider register.
    T out{};
    std::memcpy(&out, &value, sizeof(T) < sizeof(R) ? sizeof(T) : sizeof(R));
    return out;
  }
}
template <class R, class T>
WARPLOOM_UNCHECKED void write(R& target, T value) {
  target = read<R>(value);
}
// From a register to the variable that the statement names.
template <class V, class R>
WARPLOOM_UNCHECKED void assign(V& variable, R value) {
  if constexpr (std::is_pointer_v<V>) {
    variable = reinterpret_cast<V>(static_cast<std::uintptr_t>(value));
  } else if constexpr (std::is_arithmetic_v<V>) {
    variable = read<V>(value);
  } else {
    static_assert(sizeof(V) <= sizeof(R));
    std::memcpy(&variable, &value, sizeof(V));
  }
}
// From the expression that the statement names to a register.
template <class R, class V>
WARPLOOM_UNCHECKED R input(V value) {
  if constexpr (std::is_array_v<V> || std::is_pointer_v<V> || std::is_arithmetic_v<V> ||
                std::is_enum_v<V>) {
    return read<R>(value);
  } else {
    R out{};
    std::memcpy(&out, &value, sizeof(V) < sizeof(R) ? sizeof(V) : sizeof(R));
    return out;
  }
}

// Addresses of the shared state space may have been cut to 32 bits.
void* shared_address(std::uint64_t address);
WARPLOOM_UNCHECKED inline void* generic_address(std::uint64_t address) {
  return reinterpret_cast<void*>(address);
}

// Plain accesses are checked as the program's own; the others are atomic.
template <class T>
T load(const void* p) {
  return *static_cast<const T*>(p);
}
template <class T>
void store(void* p, T value) {
  *static_cast<T*>(p) = value;
}
// Of `bytes`, the first `kept` come from the source, and the rest becomes zero.
inline void copy_async(void* to, const void* from, unsigned bytes, unsigned kept) {
  if (kept > bytes) kept = bytes;
  group_copy(0, 1, to, from, kept);
  for (unsigned i = kept; i < bytes; i++) static_cast<char*>(to)[i] = 0;
}
template <class T>
WARPLOOM_UNCHECKED T load_atomic(const void* p, Order order, Scope scope) {
  atomic_load_access(p, sizeof(T), order, scope);
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}
template <class T>
WARPLOOM_UNCHECKED void store_atomic(void* p, T value, Order order, Scope scope) {
  atomic_access(p, sizeof(T), false, true, order, scope);
  std::memcpy(p, &value, sizeof value);
  atomic_changed();
}
template <class T, class Change>
WARPLOOM_UNCHECKED T change(void* p, Order order, Scope scope, Change change) {
  atomic_access(p, sizeof(T), true, true, order, scope);
  T before;
  std::memcpy(&before, p, sizeof before);
  const T after = change(before);
  if (std::memcmp(&before, &after, sizeof before) != 0) {
    std::memcpy(p, &after, sizeof after);
    atomic_changed();
  }
  return before;
}

unsigned warp_index();
unsigned sm_index();
unsigned dynamic_shared_bytes();
WARPLOOM_UNCHECKED inline bool elected(unsigned mask) {
  return (mask & ((1u << lane_index()) - 1)) == 0;
}

WARPLOOM_UNCHECKED inline unsigned find_top(unsigned long long value) {
  return value ? 63u - static_cast<unsigned>(__builtin_clzll(value)) : 0xFFFFFFFFu;
}
template <class T>
WARPLOOM_UNCHECKED T extract(T value, unsigned first, unsigned count) {
  first &= 255, count &= 255;
  if (count == 0 || first >= sizeof(T) * 8) return 0;
  using U = std::make_unsigned_t<T>;
  const unsigned width = sizeof(T) * 8;
  if (first + count > width) count = width - first;
  const U up = static_cast<U>(static_cast<U>(value) << (width - first - count));
  return static_cast<T>(static_cast<T>(up) >> (width - count));
}
template <class T>
WARPLOOM_UNCHECKED T insert(T piece, T into, unsigned first, unsigned count) {
  const unsigned width = sizeof(T) * 8;
  if (count == 0 || first >= width) return into;
  const T ones = count >= width ? ~T{0} : static_cast<T>((T{1} << count) - 1);
  return static_cast<T>((into & ~(ones << first)) | ((piece & ones) << first));
}
WARPLOOM_UNCHECKED inline unsigned logic3(unsigned a, unsigned b, unsigned c, unsigned table) {
  unsigned out = 0;
  for (unsigned i = 0; i < 8; i++) {
    if (!(table >> i & 1)) continue;
    out |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  }
  return out;
}
template <class T>
WARPLOOM_UNCHECKED T shift_left(T value, unsigned by) {
  return by >= sizeof(T) * 8 ? T{0} : static_cast<T>(value << by);
}
template <class T>
WARPLOOM_UNCHECKED T shift_right(T value, unsigned by) {
  if (by >= sizeof(T) * 8) return value < T{0} ? static_cast<T>(-1) : T{0};
  return static_cast<T>(value >> by);
}
template <class T>
WARPLOOM_UNCHECKED T high_product(T a, T b) {
  using Wide =
      std::conditional_t<sizeof(T) == 8,
                         std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>,
                         std::conditional_t<std::is_signed_v<T>, long long, unsigned long long>>;
  return static_cast<T>((static_cast<Wide>(a) * static_cast<Wide>(b)) >> (sizeof(T) * 8));
}

}  // namespace warploom::ptx
