// Small helpers that the device-API shims share.
#pragma once

#include <warploom/nccl_runtime.h>

#include <cstring>
#include <cuda/atomic>

#define NCCL_DEVICE_INLINE inline
#define NCCL_HOST_DEVICE_INLINE inline
#define NCCL_EXTERN_C extern "C"

namespace warploom::nccl {

// The raw bytes that a group passes around when one thread broadcasts.
template <int _Wn>
struct StashArray {
  struct alignas(16) Slot {
    unsigned char bytes[16];
  };
  Slot slot[_Wn];
};

template <class _WT>
WARPLOOM_UNCHECKED inline _WT broadcast_lanes(unsigned mask, _WT value, unsigned source) {
  constexpr std::size_t kWords = (sizeof(_WT) + 7) / 8;
  uint64_t words[kWords] = {};
  std::memcpy(words, &value, sizeof(_WT));
  for (uint64_t& word : words) word = warp_exchange(mask, word, source);
  std::memcpy(&value, words, sizeof(_WT));
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

#include "utility_names.h"
