// Small helpers that the device-API shims share.
#pragma once

#include <warploom/nccl_api.h>

#include <cstring>
#include <cuda/atomic>

#define NCCL_DEVICE_INLINE inline
#define NCCL_HOST_DEVICE_INLINE inline
#define NCCL_EXTERN_C extern "C"

namespace warploom::nccl {

// The raw bytes that a group passes around when one thread broadcasts.
template <int n>
struct StashArray {
  struct alignas(16) Slot {
    unsigned char bytes[16];
  };
  Slot slot[n];
};

template <class T>
WARPLOOM_UNCHECKED inline T broadcast_lanes(unsigned mask, T value, unsigned source) {
  constexpr std::size_t kWords = (sizeof(T) + 7) / 8;
  uint64_t words[kWords] = {};
  std::memcpy(words, &value, sizeof(T));
  for (uint64_t& word : words) word = warp_exchange(mask, word, source);
  std::memcpy(&value, words, sizeof(T));
  return value;
}

// The halves of a barrier's memory order.
WARPLOOM_UNCHECKED inline Order order_of(::cuda::memory_order order) {
  switch (order) {
    case ::cuda::memory_order_relaxed:
      return Order::Relaxed;
    case ::cuda::memory_order_consume:
    case ::cuda::memory_order_acquire:
      return Order::Acquire;
    case ::cuda::memory_order_release:
      return Order::Release;
    case ::cuda::memory_order_acq_rel:
      return Order::AcqRel;
    default:
      return Order::SeqCst;
  }
}
WARPLOOM_UNCHECKED inline Scope scope_of(::cuda::thread_scope scope) {
  switch (scope) {
    case ::cuda::thread_scope_system:
      return Scope::System;
    case ::cuda::thread_scope_device:
      return Scope::Device;
    default:
      return Scope::Block;
  }
}

}  // namespace warploom::nccl
