// The compiler's own atomics (`__nv_atomic_*`, CUDA 12.8): any type of up to 16 bytes, with a
// memory order and a scope.
#pragma once

#include "device.h"

#define __NV_ATOMIC_RELAXED 0
#define __NV_ATOMIC_CONSUME 1
#define __NV_ATOMIC_ACQUIRE 2
#define __NV_ATOMIC_RELEASE 3
#define __NV_ATOMIC_ACQ_REL 4
#define __NV_ATOMIC_SEQ_CST 5
#define __NV_THREAD_SCOPE_THREAD 0
#define __NV_THREAD_SCOPE_BLOCK 1
#define __NV_THREAD_SCOPE_CLUSTER 2
#define __NV_THREAD_SCOPE_DEVICE 3
#define __NV_THREAD_SCOPE_SYSTEM 4

namespace warploom::nv {

WARPLOOM_UNCHECKED inline Order order(int number) {
  constexpr Order orders[] = {Order::Relaxed, Order::Acquire, Order::Acquire,
                              Order::Release, Order::AcqRel,  Order::SeqCst};
  return orders[number];
}
WARPLOOM_UNCHECKED inline Scope scope(int number) {
  return number <= __NV_THREAD_SCOPE_BLOCK    ? Scope::Block
         : number <= __NV_THREAD_SCOPE_DEVICE ? Scope::Device
                                              : Scope::System;
}
template <Update kUpdate = Update::Other, class _WT, class Change>
WARPLOOM_UNCHECKED _WT change(_WT* _Wp, int _Wo, int _Ws, Change&& next) {
  atomic_access(_Wp, sizeof(_WT), true, true, order(_Wo), scope(_Ws), kUpdate);
  const _WT old = *_Wp, value = next(old);
  if (!warploom::same_bits(old, value)) {
    *_Wp = value;
    changed_by<kUpdate>();
  }
  return old;
}

}  // namespace warploom::nv

template <class _WT>
WARPLOOM_UNCHECKED _WT __nv_atomic_load_n(const _WT* _Wp, int order,
                                          int scope = __NV_THREAD_SCOPE_SYSTEM) {
  warploom::atomic_load_access(_Wp, sizeof(_WT), warploom::nv::order(order),
                               warploom::nv::scope(scope));
  return *_Wp;
}
template <class _WT>
WARPLOOM_UNCHECKED void __nv_atomic_store_n(_WT* _Wp, std::type_identity_t<_WT> value, int order,
                                            int scope = __NV_THREAD_SCOPE_SYSTEM) {
  warploom::atomic_access(_Wp, sizeof(_WT), false, true, warploom::nv::order(order),
                          warploom::nv::scope(scope));
  *_Wp = value;
  warploom::atomic_changed();
}
template <class _WT>
void __nv_atomic_load(const _WT* _Wp, _WT* result, int order,
                      int scope = __NV_THREAD_SCOPE_SYSTEM) {
  *result = __nv_atomic_load_n(_Wp, order, scope);
}
template <class _WT>
void __nv_atomic_store(_WT* _Wp, const _WT* value, int order,
                       int scope = __NV_THREAD_SCOPE_SYSTEM) {
  __nv_atomic_store_n(_Wp, *value, order, scope);
}
#define WARPLOOM_NV_ATOMIC(name, update, expression)                                              \
  template <class _WT>                                                                            \
  WARPLOOM_UNCHECKED _WT __nv_atomic_##name(_WT* _Wp, std::type_identity_t<_WT> value, int order, \
                                            int scope = __NV_THREAD_SCOPE_SYSTEM) {               \
    return warploom::nv::change<update>(                                                          \
        _Wp, order, scope,                                                                        \
        [=](_WT old) WARPLOOM_UNCHECKED -> _WT { return static_cast<_WT>(expression); });         \
  }
WARPLOOM_NV_ATOMIC(exchange_n, warploom::Update::Exchange, (static_cast<void>(old), value))
WARPLOOM_NV_ATOMIC(fetch_add, warploom::adds<_WT>, old + value)
WARPLOOM_NV_ATOMIC(fetch_sub, warploom::adds<_WT>, old - value)
WARPLOOM_NV_ATOMIC(fetch_and, warploom::Update::And, old& value)
WARPLOOM_NV_ATOMIC(fetch_or, warploom::Update::Or, old | value)
WARPLOOM_NV_ATOMIC(fetch_xor, warploom::Update::Bits, old ^ value)
WARPLOOM_NV_ATOMIC(fetch_min, warploom::leasts<_WT>, value < old ? value : old)
WARPLOOM_NV_ATOMIC(fetch_max, warploom::mosts<_WT>, old < value ? value : old)
#undef WARPLOOM_NV_ATOMIC
template <class _WT>
void __nv_atomic_exchange(_WT* _Wp, const _WT* value, _WT* result, int order,
                          int scope = __NV_THREAD_SCOPE_SYSTEM) {
  *result = __nv_atomic_exchange_n(_Wp, *value, order, scope);
}
template <class _WT>
WARPLOOM_UNCHECKED bool __nv_atomic_compare_exchange_n(_WT* _Wp, _WT* expected,
                                                       std::type_identity_t<_WT> desired, bool,
                                                       int success, int,
                                                       int scope = __NV_THREAD_SCOPE_SYSTEM) {
  const _WT wanted = *expected;
  bool same = false;
  warploom::compares_with(wanted);
  const _WT old = warploom::nv::change(_Wp, success, scope, [&](_WT now) WARPLOOM_UNCHECKED -> _WT {
    same = warploom::same_bits(now, wanted);
    return same ? desired : now;
  });
  if (!same) *expected = old;
  return same;
}
template <class _WT>
bool __nv_atomic_compare_exchange(_WT* _Wp, _WT* expected, const _WT* desired, bool weak,
                                  int success, int failure, int scope = __NV_THREAD_SCOPE_SYSTEM) {
  return __nv_atomic_compare_exchange_n(_Wp, expected, *desired, weak, success, failure, scope);
}
inline void __nv_atomic_thread_fence(int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
  warploom::fence(warploom::nv::order(order), warploom::nv::scope(scope));
}
