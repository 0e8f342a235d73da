// atomicAdd and its family: relaxed order; device scope, or as the suffix says.
#pragma once

#include "qualifiers.h"

namespace warploom {

// One read-modify-write; `change` gives the new value from the old. An exchange can be a mere
// store: `uses_old` is false then.
template <class T, class Change>
WARPLOOM_UNCHECKED T read_modify_write(T* address, Scope scope, Change change,
                                       bool uses_old = true) {
  atomic_access(address, sizeof(T), true, true, Order::Relaxed, scope, uses_old);
  const T before = *address;
  const T after = change(before);
  if (std::memcmp(&before, &after, sizeof(T)) != 0) {
    *address = after;
    atomic_changed();
  }
  return before;
}

}  // namespace warploom

#define WARPLOOM_ATOMIC(name, expression, ...)                                                 \
  template <class T>                                                                           \
  WARPLOOM_DEVICE_INLINE T name(T* address, std::type_identity_t<T> value) {                   \
    return warploom::read_modify_write(                                                        \
        address, warploom::Scope::Device,                                                      \
        [=](T old) WARPLOOM_UNCHECKED -> T { return expression; } __VA_OPT__(, ) __VA_ARGS__); \
  }                                                                                            \
  template <class T>                                                                           \
  WARPLOOM_DEVICE_INLINE T name##_system(T* address, std::type_identity_t<T> value) {          \
    return warploom::read_modify_write(                                                        \
        address, warploom::Scope::System,                                                      \
        [=](T old) WARPLOOM_UNCHECKED -> T { return expression; } __VA_OPT__(, ) __VA_ARGS__); \
  }                                                                                            \
  template <class T>                                                                           \
  WARPLOOM_DEVICE_INLINE T name##_block(T* address, std::type_identity_t<T> value) {           \
    return warploom::read_modify_write(                                                        \
        address, warploom::Scope::Block,                                                       \
        [=](T old) WARPLOOM_UNCHECKED -> T { return expression; } __VA_OPT__(, ) __VA_ARGS__); \
  }

WARPLOOM_ATOMIC(atomicAdd, static_cast<T>(old + value))
WARPLOOM_ATOMIC(atomicSub, static_cast<T>(old - value))
WARPLOOM_ATOMIC(atomicExch, (static_cast<void>(old), value), false)
WARPLOOM_ATOMIC(atomicMin, value < old ? value : old)
WARPLOOM_ATOMIC(atomicMax, old < value ? value : old)
WARPLOOM_ATOMIC(atomicInc, old >= value ? T(0) : static_cast<T>(old + 1))
WARPLOOM_ATOMIC(atomicDec, old == 0 || old > value ? value : static_cast<T>(old - 1))
WARPLOOM_ATOMIC(atomicAnd, static_cast<T>(old& value))
WARPLOOM_ATOMIC(atomicOr, static_cast<T>(old | value))
WARPLOOM_ATOMIC(atomicXor, static_cast<T>(old ^ value))
#undef WARPLOOM_ATOMIC

#define WARPLOOM_CAS(name, reach)                                                           \
  template <class T>                                                                        \
  WARPLOOM_DEVICE_INLINE T name(T* address, std::type_identity_t<T> compare,                \
                                std::type_identity_t<T> value) {                            \
    return warploom::read_modify_write(address, reach, [=](T old) WARPLOOM_UNCHECKED -> T { \
      return old == compare ? value : old;                                                  \
    });                                                                                     \
  }
WARPLOOM_CAS(atomicCAS, warploom::Scope::Device)
WARPLOOM_CAS(atomicCAS_system, warploom::Scope::System)
WARPLOOM_CAS(atomicCAS_block, warploom::Scope::Block)
#undef WARPLOOM_CAS

inline void __threadfence() { warploom::fence(warploom::Order::SeqCst, warploom::Scope::Device); }
inline void __threadfence_block() {
  warploom::fence(warploom::Order::SeqCst, warploom::Scope::Block);
}
inline void __threadfence_system() {
  warploom::fence(warploom::Order::SeqCst, warploom::Scope::System);
}
