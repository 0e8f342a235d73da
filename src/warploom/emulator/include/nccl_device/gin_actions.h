// What a GIN operation does at either end when it is done: actions, and the options of a call.
#pragma once

#include "core.h"

typedef enum {
  NCCL_NET_DEVICE_HOST = 0,
  NCCL_NET_DEVICE_UNPACK = 1,
  NCCL_NET_DEVICE_GIN_PROXY = 2,
  NCCL_NET_DEVICE_GIN_GDAKI = 3,
  NCCL_NET_DEVICE_GIN_GPI = 4,
} ncclNetDeviceType;
#define NCCL_GIN_BACKEND_MASK_ALL ((1u << 2) | (1u << 3))

struct ncclGinDescriptorSmem {
  alignas(64) char space[128];
};

struct ncclGin_None {};
struct ncclGin_SignalInc {
  ncclGinSignal_t signal;
};
struct ncclGin_SignalAdd {
  ncclGinSignal_t signal;
  uint64_t value;
};
struct ncclGin_CounterInc {
  ncclGinCounter_t counter;
};
struct ncclGin_DescriptorSmem {
  ncclGinDescriptorSmem* descriptor;
};

#if WARPLOOM_NCCL_VERSION >= 22900
enum ncclGinOptFlags {
  ncclGinOptFlagsDefault = 0,
  ncclGinOptFlagsMaySkipCreditCheck = (1 << 0),
  ncclGinOptFlagsAggregateRequests = (1 << 1),
};
struct ncclGin_VASignalInc {
  ncclWindow_t signalWindow;
  size_t signalOffset;
};
struct ncclGin_VASignalAdd {
  ncclWindow_t signalWindow;
  size_t signalOffset;
  uint64_t value;
};
#endif

#if WARPLOOM_NCCL_VERSION >= 23000
struct ncclGin_StrongSignalInc {
  ncclGinSignal_t signal;
};
struct ncclGin_WeakSignalInc {
  ncclGinSignal_t signal;
};
struct ncclGin_StrongSignalAdd {
  ncclGinSignal_t signal;
  uint64_t value;
};
struct ncclGin_WeakSignalAdd {
  ncclGinSignal_t signal;
  uint64_t value;
};
struct ncclGin_StrongVASignalInc {
  ncclWindow_t signalWindow;
  size_t signalOffset;
};
struct ncclGin_WeakVASignalInc {
  ncclWindow_t signalWindow;
  size_t signalOffset;
};
struct ncclGin_StrongVASignalAdd {
  ncclWindow_t signalWindow;
  size_t signalOffset;
  uint64_t value;
};
struct ncclGin_WeakVASignalAdd {
  ncclWindow_t signalWindow;
  size_t signalOffset;
  uint64_t value;
};
struct ncclGin_WeakCounterInc {
  ncclGinCounter_t counter;
};
struct ncclGin_SegmentDevice {};
struct ncclGin_SegmentMixed {};
struct ncclGin_SegmentHostNuma {};

enum ncclGinResourceSharingMode : uint8_t {
  NCCL_GIN_RESOURCE_SHARING_GPU = 0,
  NCCL_GIN_RESOURCE_SHARING_CTA = 1,
  NCCL_GIN_RESOURCE_SHARING_THREAD = 2,
};
#endif

namespace warploom::nccl {

WARPLOOM_UNCHECKED inline RemoteAction indexed(Strength strength, bool increment, uint32_t signal,
                                               uint64_t value) {
  RemoteAction action;
  action.kind = RemoteAction::Indexed;
  action.strength = strength;
  action.increment = increment;
  action.signal = signal;
  action.value = value;
  return action;
}
WARPLOOM_UNCHECKED inline RemoteAction addressed(Strength strength, bool increment,
                                                 ncclWindow_t window, std::size_t offset,
                                                 uint64_t value) {
  RemoteAction action;
  action.kind = RemoteAction::Address;
  action.strength = strength;
  action.increment = increment;
  action.window = window;
  action.offset = offset;
  action.value = value;
  return action;
}

WARPLOOM_UNCHECKED inline RemoteAction remote(ncclGin_None) { return {}; }
WARPLOOM_UNCHECKED inline RemoteAction remote(ncclGin_SignalInc a) {
  return indexed(Strength::Legacy, true, a.signal, 1);
}
WARPLOOM_UNCHECKED inline RemoteAction remote(ncclGin_SignalAdd a) {
  return indexed(Strength::Legacy, false, a.signal, a.value);
}
WARPLOOM_UNCHECKED inline LocalAction local(ncclGin_None) { return {}; }
WARPLOOM_UNCHECKED inline LocalAction local(ncclGin_CounterInc a) { return {true, a.counter}; }
#if WARPLOOM_NCCL_VERSION >= 22900
WARPLOOM_UNCHECKED inline RemoteAction remote(ncclGin_VASignalInc a) {
  return addressed(Strength::Legacy, true, a.signalWindow, a.signalOffset, 1);
}
WARPLOOM_UNCHECKED inline RemoteAction remote(ncclGin_VASignalAdd a) {
  return addressed(Strength::Legacy, false, a.signalWindow, a.signalOffset, a.value);
}
#endif
#if WARPLOOM_NCCL_VERSION >= 23000
WARPLOOM_UNCHECKED inline RemoteAction remote(ncclGin_StrongSignalInc a) {
  return indexed(Strength::Strong, true, a.signal, 1);
}
WARPLOOM_UNCHECKED inline RemoteAction remote(ncclGin_WeakSignalInc a) {
  return indexed(Strength::Weak, true, a.signal, 1);
}
WARPLOOM_UNCHECKED inline RemoteAction remote(ncclGin_StrongSignalAdd a) {
  return indexed(Strength::Strong, false, a.signal, a.value);
}
WARPLOOM_UNCHECKED inline RemoteAction remote(ncclGin_WeakSignalAdd a) {
  return indexed(Strength::Weak, false, a.signal, a.value);
}
WARPLOOM_UNCHECKED inline RemoteAction remote(ncclGin_StrongVASignalInc a) {
  return addressed(Strength::Strong, true, a.signalWindow, a.signalOffset, 1);
}
WARPLOOM_UNCHECKED inline RemoteAction remote(ncclGin_WeakVASignalInc a) {
  return addressed(Strength::Weak, true, a.signalWindow, a.signalOffset, 1);
}
WARPLOOM_UNCHECKED inline RemoteAction remote(ncclGin_StrongVASignalAdd a) {
  return addressed(Strength::Strong, false, a.signalWindow, a.signalOffset, a.value);
}
WARPLOOM_UNCHECKED inline RemoteAction remote(ncclGin_WeakVASignalAdd a) {
  return addressed(Strength::Weak, false, a.signalWindow, a.signalOffset, a.value);
}
WARPLOOM_UNCHECKED inline LocalAction local(ncclGin_WeakCounterInc a) { return {true, a.counter}; }
#endif

// The scope up to which a put releases: none beyond the thread if that was done before.
WARPLOOM_UNCHECKED inline Scope released_scope(::cuda::thread_scope given,
                                               ::cuda::thread_scope required) {
  const Scope a = scope_of(given), b = scope_of(required);
  return a < b ? b : a;
}

}  // namespace warploom::nccl
