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
template <class T, class Change>
WARPLOOM_UNCHECKED T change(T* p, int o, int s, Change&& next) {
  atomic_access(p, sizeof(T), true, true, order(o), scope(s));
  const T old = *p, value = next(old);
  if (std::memcmp(&old, &value, sizeof(T)) != 0) {
    *p = value;
    atomic_changed();
  }
  return old;
}

}  // namespace warploom::nv

template <class T>
WARPLOOM_UNCHECKED T __nv_atomic_load_n(const T* p, int order,
                                        int scope = __NV_THREAD_SCOPE_SYSTEM) {
  warploom::atomic_load_access(p, sizeof(T), warploom::nv::order(order),
                               warploom::nv::scope(scope));
  return *p;
}
template <class T>
WARPLOOM_UNCHECKED void __nv_atomic_store_n(T* p, std::type_identity_t<T> value, int order,
                                            int scope = __NV_THREAD_SCOPE_SYSTEM) {
  warploom::atomic_access(p, sizeof(T), false, true, warploom::nv::order(order),
                          warploom::nv::scope(scope));
  *p = value;
  warploom::atomic_changed();
}
template <class T>
void __nv_atomic_load(const T* p, T* result, int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
  *result = __nv_atomic_load_n(p, order, scope);
}
template <class T>
void __nv_atomic_store(T* p, const T* value, int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
  __nv_atomic_store_n(p, *value, order, scope);
}
#define WARPLOOM_NV_ATOMIC(name, expression)                                              \
  template <class T>                                                                      \
  WARPLOOM_UNCHECKED T __nv_atomic_##name(T* p, std::type_identity_t<T> value, int order, \
                                          int scope = __NV_THREAD_SCOPE_SYSTEM) {         \
    return warploom::nv::change(p, order, scope, [=](T old) WARPLOOM_UNCHECKED -> T {     \
      return static_cast<T>(expression);                                                  \
    });                                                                                   \
  }
WARPLOOM_NV_ATOMIC(exchange_n, (static_cast<void>(old), value))
WARPLOOM_NV_ATOMIC(fetch_add, old + value)
WARPLOOM_NV_ATOMIC(fetch_sub, old - value)
WARPLOOM_NV_ATOMIC(fetch_and, old& value)
WARPLOOM_NV_ATOMIC(fetch_or, old | value)
WARPLOOM_NV_ATOMIC(fetch_xor, old ^ value)
WARPLOOM_NV_ATOMIC(fetch_min, value < old ? value : old)
WARPLOOM_NV_ATOMIC(fetch_max, old < value ? value : old)
#undef WARPLOOM_NV_ATOMIC
template <class T>
void __nv_atomic_exchange(T* p, const T* value, T* result, int order,
                          int scope = __NV_THREAD_SCOPE_SYSTEM) {
  *result = __nv_atomic_exchange_n(p, *value, order, scope);
}
template <class T>
WARPLOOM_UNCHECKED bool __nv_atomic_compare_exchange_n(T* p, T* expected,
                                                       std::type_identity_t<T> desired, bool,
                                                       int success, int,
                                                       int scope = __NV_THREAD_SCOPE_SYSTEM) {
  const T wanted = *expected;
  bool same = false;
  const T old = warploom::nv::change(p, success, scope, [&](T now) WARPLOOM_UNCHECKED -> T {
    same = std::memcmp(&now, &wanted, sizeof(T)) == 0;
    return same ? desired : now;
  });
  if (!same) *expected = old;
  return same;
}
template <class T>
bool __nv_atomic_compare_exchange(T* p, T* expected, const T* desired, bool weak, int success,
                                  int failure, int scope = __NV_THREAD_SCOPE_SYSTEM) {
  return __nv_atomic_compare_exchange_n(p, expected, *desired, weak, success, failure, scope);
}
inline void __nv_atomic_thread_fence(int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
  warploom::fence(warploom::nv::order(order), warploom::nv::scope(scope));
}
