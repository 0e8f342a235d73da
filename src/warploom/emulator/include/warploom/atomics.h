// atomicAdd and its family: relaxed order; device scope, or as the suffix says.
#pragma once

#include "qualifiers.h"

namespace warploom {

// One read-modify-write; `change` gives the new value from the old. An exchange can be a mere
// store: `uses_old` is false then.
template <class _WT, class Change>
WARPLOOM_UNCHECKED _WT read_modify_write(_WT* address, Scope scope, Change change,
                                         bool uses_old = true) {
  atomic_access(address, sizeof(_WT), true, true, Order::Relaxed, scope, uses_old);
  const _WT before = *address;
  const _WT after = change(before);
  if (!warploom::same_bits(before, after)) {
    *address = after;
    atomic_changed();
  }
  return before;
}

}  // namespace warploom

#define WARPLOOM_ATOMIC(name, expression, ...)                                                     \
  template <class _WT>                                                                             \
  WARPLOOM_DEVICE_INLINE _WT name(_WT* address, std::type_identity_t<_WT> value) {                 \
    return warploom::read_modify_write(                                                            \
        address, warploom::Scope::Device,                                                          \
        [=](_WT old) WARPLOOM_UNCHECKED -> _WT { return expression; } __VA_OPT__(, ) __VA_ARGS__); \
  }                                                                                                \
  template <class _WT>                                                                             \
  WARPLOOM_DEVICE_INLINE _WT name##_system(_WT* address, std::type_identity_t<_WT> value) {        \
    return warploom::read_modify_write(                                                            \
        address, warploom::Scope::System,                                                          \
        [=](_WT old) WARPLOOM_UNCHECKED -> _WT { return expression; } __VA_OPT__(, ) __VA_ARGS__); \
  }                                                                                                \
  template <class _WT>                                                                             \
  WARPLOOM_DEVICE_INLINE _WT name##_block(_WT* address, std::type_identity_t<_WT> value) {         \
    return warploom::read_modify_write(                                                            \
        address, warploom::Scope::Block,                                                           \
        [=](_WT old) WARPLOOM_UNCHECKED -> _WT { return expression; } __VA_OPT__(, ) __VA_ARGS__); \
  }

WARPLOOM_ATOMIC(atomicAdd, static_cast<_WT>(old + value))
WARPLOOM_ATOMIC(atomicSub, static_cast<_WT>(old - value))
WARPLOOM_ATOMIC(atomicExch, (static_cast<void>(old), value), false)
WARPLOOM_ATOMIC(atomicMin, value < old ? value : old)
WARPLOOM_ATOMIC(atomicMax, old < value ? value : old)
WARPLOOM_ATOMIC(atomicInc, old >= value ? _WT(0) : static_cast<_WT>(old + 1))
WARPLOOM_ATOMIC(atomicDec, old == 0 || old > value ? value : static_cast<_WT>(old - 1))
WARPLOOM_ATOMIC(atomicAnd, static_cast<_WT>(old& value))
WARPLOOM_ATOMIC(atomicOr, static_cast<_WT>(old | value))
WARPLOOM_ATOMIC(atomicXor, static_cast<_WT>(old ^ value))
#undef WARPLOOM_ATOMIC

#define WARPLOOM_CAS(name, reach)                                                               \
  template <class _WT>                                                                          \
  WARPLOOM_DEVICE_INLINE _WT name(_WT* address, std::type_identity_t<_WT> compare,              \
                                  std::type_identity_t<_WT> value) {                            \
    return warploom::read_modify_write(address, reach, [=](_WT old) WARPLOOM_UNCHECKED -> _WT { \
      return old == compare ? value : old;                                                      \
    });                                                                                         \
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
