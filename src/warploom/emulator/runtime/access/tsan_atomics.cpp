// Atomics of the program's own C++ (std::atomic, __atomic builtins), as -fsanitize=thread calls
// them. The machine has one OS thread, so plain operations are atomic; what counts is their order.
#include "../../include/warploom/device.h"
#include "kernels/kernel.h"
#include "machine/world.h"
#include "memory/memory.h"
#include "order/host_copies.h"
#include "schedule/scheduler.h"

namespace warploom {

namespace {

// The numbering of the compiler's memory orders.
Order order_of(int order) {
  switch (order) {
    case 0:
      return Order::Relaxed;
    case 1:
    case 2:
      return Order::Acquire;
    case 3:
      return Order::Release;
    case 4:
      return Order::AcqRel;
    default:
      return Order::SeqCst;
  }
}

// A process with one thread orders itself; reference counts would be costly to follow.
bool matters(const volatile void* p) {
  if (!g_current) return false;
  return g_current->gpu || in_arena(const_cast<const void*>(p)) ||
         g_current->process->threads.size() > 1;
}

template <class T>
void note(const volatile T* p, bool reads, bool writes, int order, Update update = Update::Other) {
  if (g_current && !g_current->gpu) {
    // Ordinary memory has no atomics of others to be checked against; a read-modify-write looks.
    check_windows({.start = reinterpret_cast<const char*>(const_cast<const T*>(p)),
                   .bytes = sizeof(T),
                   .write = !reads});
  }
  if (!matters(p)) return;
  atomic_access(const_cast<const T*>(p), sizeof(T), reads, writes, order_of(order), Scope::System,
                update);
}

template <class T, class Change>
T modify(volatile T* p, int order, Change change, Update update = Update::Other) {
  note(p, true, true, order, update);
  const T before = *p;
  const T after = change(before);
  if (before != after) {
    *p = after;
    atomic_changed();
  }
  return before;
}

template <class T>
int compare_exchange(volatile T* p, T* expected, T value, int order) {
  if (matters(p)) atomic_compares(*expected, 0);
  note(p, true, true, order);
  const T before = *p;
  if (before != *expected) {
    *expected = before;
    return 0;
  }
  if (value != before) {
    *p = value;
    atomic_changed();
  }
  return 1;
}

}  // namespace

}  // namespace warploom

using namespace warploom;

#define ATOMICS(bits, T)                                                                          \
  T __tsan_atomic##bits##_load(const volatile T* p, int order) {                                  \
    note(p, true, false, order);                                                                  \
    return *p;                                                                                    \
  }                                                                                               \
  void __tsan_atomic##bits##_store(volatile T* p, T value, int order) {                           \
    note(p, false, true, order);                                                                  \
    *p = value;                                                                                   \
    note_progress();                                                                              \
  }                                                                                               \
  T __tsan_atomic##bits##_exchange(volatile T* p, T value, int order) {                           \
    return modify(p, order, [=](T) { return value; }, Update::Exchange);                          \
  }                                                                                               \
  T __tsan_atomic##bits##_fetch_add(volatile T* p, T value, int order) {                          \
    return modify(p, order, [=](T old) { return static_cast<T>(old + value); });                  \
  }                                                                                               \
  T __tsan_atomic##bits##_fetch_sub(volatile T* p, T value, int order) {                          \
    return modify(p, order, [=](T old) { return static_cast<T>(old - value); });                  \
  }                                                                                               \
  T __tsan_atomic##bits##_fetch_and(volatile T* p, T value, int order) {                          \
    return modify(p, order, [=](T old) { return static_cast<T>(old & value); });                  \
  }                                                                                               \
  T __tsan_atomic##bits##_fetch_or(volatile T* p, T value, int order) {                           \
    return modify(p, order, [=](T old) { return static_cast<T>(old | value); });                  \
  }                                                                                               \
  T __tsan_atomic##bits##_fetch_xor(volatile T* p, T value, int order) {                          \
    return modify(p, order, [=](T old) { return static_cast<T>(old ^ value); });                  \
  }                                                                                               \
  T __tsan_atomic##bits##_fetch_nand(volatile T* p, T value, int order) {                         \
    return modify(p, order, [=](T old) { return static_cast<T>(~(old & value)); });               \
  }                                                                                               \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile T* p, T* expected, T value,          \
                                                    int order, int) {                             \
    return compare_exchange(p, expected, value, order);                                           \
  }                                                                                               \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile T* p, T* expected, T value, int order, \
                                                  int) {                                          \
    return compare_exchange(p, expected, value, order);                                           \
  }                                                                                               \
  T __tsan_atomic##bits##_compare_exchange_val(volatile T* p, T expected, T value, int order,     \
                                               int) {                                             \
    compare_exchange(p, &expected, value, order);                                                 \
    return expected;                                                                              \
  }

extern "C" {
ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)
void __tsan_atomic_thread_fence(int order) { fence(order_of(order), Scope::System); }
void __tsan_atomic_signal_fence(int) {}
}
