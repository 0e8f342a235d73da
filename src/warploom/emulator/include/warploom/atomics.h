// atomicAdd and its family: relaxed order; device scope, or as the suffix says.
#pragma once

#include <type_traits>

#include "qualifiers.h"
#include "vector_types.h"

namespace warploom {

// One read-modify-write; `change` gives the new value from the old.
template <Update kUpdate = Update::Other, class _WT, class Change>
WARPLOOM_UNCHECKED _WT read_modify_write(_WT* address, Scope scope, Change change) {
  atomic_access(address, sizeof(_WT), true, true, Order::Relaxed, scope, kUpdate);
  const _WT before = *address;
  const _WT after = change(before);
  if (!warploom::same_bits(before, after)) {
    *address = after;
    changed_by<kUpdate>();
  }
  return before;
}

}  // namespace warploom

// The overloads are CUDA's, one by one: a program can ask which there are.
#define WARPLOOM_ATOMIC_AT(name, reach, type, update, expression)       \
  WARPLOOM_DEVICE_INLINE type name(type* address, type value) {         \
    using _WT = type;                                                   \
    return warploom::read_modify_write<update>(                         \
        address, warploom::Scope::reach,                                \
        [=](_WT old) WARPLOOM_UNCHECKED -> _WT { return expression; }); \
  }
#define WARPLOOM_ATOMIC(name, type, update, expression)               \
  WARPLOOM_ATOMIC_AT(name, Device, type, update, expression)          \
  WARPLOOM_ATOMIC_AT(name##_system, System, type, update, expression) \
  WARPLOOM_ATOMIC_AT(name##_block, Block, type, update, expression)
#define WARPLOOM_ATOMIC_BITS(name, update, operation)                                 \
  WARPLOOM_ATOMIC(name, int, update, static_cast<_WT>(old operation value))           \
  WARPLOOM_ATOMIC(name, unsigned int, update, static_cast<_WT>(old operation value))  \
  WARPLOOM_ATOMIC(name, long long int, update, static_cast<_WT>(old operation value)) \
  WARPLOOM_ATOMIC(name, unsigned long long int, update, static_cast<_WT>(old operation value))
#define WARPLOOM_ATOMIC_ORDER(name, update, expression)                   \
  WARPLOOM_ATOMIC(name, int, update<int>, expression)                     \
  WARPLOOM_ATOMIC(name, unsigned int, update<unsigned int>, expression)   \
  WARPLOOM_ATOMIC(name, long long int, update<long long int>, expression) \
  WARPLOOM_ATOMIC(name, unsigned long long int, update<unsigned long long int>, expression)
#define WARPLOOM_EXCHANGE(type) \
  WARPLOOM_ATOMIC(atomicExch, type, warploom::Update::Exchange, (static_cast<void>(old), value))

WARPLOOM_ATOMIC(atomicAdd, int, warploom::Update::AddInteger, static_cast<_WT>(old + value))
WARPLOOM_ATOMIC(atomicAdd, unsigned int, warploom::Update::AddInteger,
                static_cast<_WT>(old + value))
WARPLOOM_ATOMIC(atomicAdd, unsigned long long int, warploom::Update::AddInteger,
                static_cast<_WT>(old + value))
WARPLOOM_ATOMIC(atomicAdd, float, warploom::Update::AddFloat, static_cast<_WT>(old + value))
WARPLOOM_ATOMIC(atomicAdd, double, warploom::Update::AddFloat, static_cast<_WT>(old + value))
WARPLOOM_ATOMIC(atomicSub, int, warploom::Update::AddInteger, static_cast<_WT>(old - value))
WARPLOOM_ATOMIC(atomicSub, unsigned int, warploom::Update::AddInteger,
                static_cast<_WT>(old - value))
WARPLOOM_EXCHANGE(int)
WARPLOOM_EXCHANGE(unsigned int)
WARPLOOM_EXCHANGE(unsigned long long int)
WARPLOOM_EXCHANGE(float)
WARPLOOM_ATOMIC_ORDER(atomicMin, warploom::leasts, value < old ? value : old)
WARPLOOM_ATOMIC_ORDER(atomicMax, warploom::mosts, old < value ? value : old)
WARPLOOM_ATOMIC(atomicInc, unsigned int, warploom::Update::AddInteger,
                old >= value ? _WT(0) : static_cast<_WT>(old + 1))
WARPLOOM_ATOMIC(atomicDec, unsigned int, warploom::Update::AddInteger,
                old == 0 || old > value ? value : static_cast<_WT>(old - 1))
WARPLOOM_ATOMIC_BITS(atomicAnd, warploom::Update::And, &)
WARPLOOM_ATOMIC_BITS(atomicOr, warploom::Update::Or, |)
WARPLOOM_ATOMIC_BITS(atomicXor, warploom::Update::Bits, ^)
#undef WARPLOOM_EXCHANGE
#undef WARPLOOM_ATOMIC_ORDER
#undef WARPLOOM_ATOMIC_BITS
#undef WARPLOOM_ATOMIC
#undef WARPLOOM_ATOMIC_AT

// Of vectors each element is atomic by itself.
#define WARPLOOM_ATOMIC_VECTORS(suffix)                                                        \
  WARPLOOM_DEVICE_INLINE float2 atomicAdd##suffix(float2* address, float2 value) {             \
    return {atomicAdd##suffix(&address->x, value.x), atomicAdd##suffix(&address->y, value.y)}; \
  }                                                                                            \
  WARPLOOM_DEVICE_INLINE float4 atomicAdd##suffix(float4* address, float4 value) {             \
    return {atomicAdd##suffix(&address->x, value.x), atomicAdd##suffix(&address->y, value.y),  \
            atomicAdd##suffix(&address->z, value.z), atomicAdd##suffix(&address->w, value.w)}; \
  }
WARPLOOM_ATOMIC_VECTORS()
WARPLOOM_ATOMIC_VECTORS(_system)
WARPLOOM_ATOMIC_VECTORS(_block)
#undef WARPLOOM_ATOMIC_VECTORS

#define WARPLOOM_CAS_OF(name, reach, type)                                                  \
  WARPLOOM_DEVICE_INLINE type name(type* address, type compare, type value) {               \
    warploom::compares_with(compare);                                                       \
    return warploom::read_modify_write(                                                     \
        address, warploom::Scope::reach,                                                    \
        [=](type old) WARPLOOM_UNCHECKED -> type { return old == compare ? value : old; }); \
  }
#define WARPLOOM_CAS(name, reach)                      \
  WARPLOOM_CAS_OF(name, reach, int)                    \
  WARPLOOM_CAS_OF(name, reach, unsigned int)           \
  WARPLOOM_CAS_OF(name, reach, unsigned long long int) \
  WARPLOOM_CAS_OF(name, reach, unsigned short int)
WARPLOOM_CAS(atomicCAS, Device)
WARPLOOM_CAS(atomicCAS_system, System)
WARPLOOM_CAS(atomicCAS_block, Block)
#undef WARPLOOM_CAS
#undef WARPLOOM_CAS_OF

inline void __threadfence() { warploom::fence(warploom::Order::SeqCst, warploom::Scope::Device); }
inline void __threadfence_block() {
  warploom::fence(warploom::Order::SeqCst, warploom::Scope::Block);
}
inline void __threadfence_system() {
  warploom::fence(warploom::Order::SeqCst, warploom::Scope::System);
}
