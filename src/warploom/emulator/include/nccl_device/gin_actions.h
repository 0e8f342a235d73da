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
#define NCCL_GIN_MAX_CONNECTIONS 4
#define NCCL_GIN_BACKEND_MASK_ALL ((1u << 2) | (1u << 3))

struct ncclGinDescriptorSmem {
#if WARPLOOM_NCCL_VERSION >= 23200
  alignas(64) char space[128];
#else
  alignas(16) char space[64];
#endif
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
WARPLOOM_UNCHECKED inline RemoteAction remote(ncclGin_SignalInc _Wa) {
  return indexed(Strength::Legacy, true, _Wa.signal, 1);
}
WARPLOOM_UNCHECKED inline RemoteAction remote(ncclGin_SignalAdd _Wa) {
  return indexed(Strength::Legacy, false, _Wa.signal, _Wa.value);
}
WARPLOOM_UNCHECKED inline LocalAction local(ncclGin_None) { return {}; }
WARPLOOM_UNCHECKED inline LocalAction local(ncclGin_CounterInc _Wa) { return {true, _Wa.counter}; }
#if WARPLOOM_NCCL_VERSION >= 22900
WARPLOOM_UNCHECKED inline RemoteAction remote(ncclGin_VASignalInc _Wa) {
  return addressed(Strength::Legacy, true, _Wa.signalWindow, _Wa.signalOffset, 1);
}
WARPLOOM_UNCHECKED inline RemoteAction remote(ncclGin_VASignalAdd _Wa) {
  return addressed(Strength::Legacy, false, _Wa.signalWindow, _Wa.signalOffset, _Wa.value);
}
#endif
#if WARPLOOM_NCCL_VERSION >= 23000
WARPLOOM_UNCHECKED inline RemoteAction remote(ncclGin_StrongSignalInc _Wa) {
  return indexed(Strength::Strong, true, _Wa.signal, 1);
}
WARPLOOM_UNCHECKED inline RemoteAction remote(ncclGin_WeakSignalInc _Wa) {
  return indexed(Strength::Weak, true, _Wa.signal, 1);
}
WARPLOOM_UNCHECKED inline RemoteAction remote(ncclGin_StrongSignalAdd _Wa) {
  return indexed(Strength::Strong, false, _Wa.signal, _Wa.value);
}
WARPLOOM_UNCHECKED inline RemoteAction remote(ncclGin_WeakSignalAdd _Wa) {
  return indexed(Strength::Weak, false, _Wa.signal, _Wa.value);
}
WARPLOOM_UNCHECKED inline RemoteAction remote(ncclGin_StrongVASignalInc _Wa) {
  return addressed(Strength::Strong, true, _Wa.signalWindow, _Wa.signalOffset, 1);
}
WARPLOOM_UNCHECKED inline RemoteAction remote(ncclGin_WeakVASignalInc _Wa) {
  return addressed(Strength::Weak, true, _Wa.signalWindow, _Wa.signalOffset, 1);
}
WARPLOOM_UNCHECKED inline RemoteAction remote(ncclGin_StrongVASignalAdd _Wa) {
  return addressed(Strength::Strong, false, _Wa.signalWindow, _Wa.signalOffset, _Wa.value);
}
WARPLOOM_UNCHECKED inline RemoteAction remote(ncclGin_WeakVASignalAdd _Wa) {
  return addressed(Strength::Weak, false, _Wa.signalWindow, _Wa.signalOffset, _Wa.value);
}
WARPLOOM_UNCHECKED inline LocalAction local(ncclGin_WeakCounterInc _Wa) {
  return {true, _Wa.counter};
}
#endif

// The scope up to which a put releases: none beyond the thread if that was done before.
WARPLOOM_UNCHECKED inline Scope released_scope(::cuda::thread_scope given,
                                               ::cuda::thread_scope required) {
  const Scope _Wa = scope_of(given), _Wb = scope_of(required);
  return _Wa < _Wb ? _Wb : _Wa;
}

}  // namespace warploom::nccl
