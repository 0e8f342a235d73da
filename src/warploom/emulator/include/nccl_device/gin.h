// GIN: puts, signals and counters over the network.
#pragma once

#include "gin_actions.h"
#include "ptr.h"

// Arguments that only newer versions have, at the end of put, putValue and signal.
#if WARPLOOM_NCCL_VERSION >= 22900
#define WARPLOOM_OPT_FLAGS , uint32_t = ncclGinOptFlagsDefault
#else
#define WARPLOOM_OPT_FLAGS
#endif
#if WARPLOOM_NCCL_VERSION >= 23000
#define WARPLOOM_SEGMENT_PARAMETER , typename SegmentType = ncclGin_SegmentDevice
#define WARPLOOM_SEGMENT_ARGUMENT \
  , SegmentType = ncclGin_SegmentDevice {}
#else
#define WARPLOOM_SEGMENT_PARAMETER
#define WARPLOOM_SEGMENT_ARGUMENT
#endif

template <unsigned backendMask>
struct ncclGin_BackendMask {
  const ncclDevComm& comm;
#if WARPLOOM_NCCL_VERSION >= 22900
  uint32_t nConnections : 8, connectionId : 8, _ginBackend : 8;
  uint32_t contextId;
#else
  uint32_t nContexts : 8, contextId : 8, _ginBackend : 8;
#endif
#if WARPLOOM_NCCL_VERSION >= 23000
  ncclGinResourceSharingMode resourceSharingMode;

  WARPLOOM_UNCHECKED ncclGin_BackendMask(
      const ncclDevComm& comm, int contextIndex,
      ncclGinResourceSharingMode mode = NCCL_GIN_RESOURCE_SHARING_GPU)
      : comm(comm), resourceSharingMode(mode) {
    start(contextIndex);
  }
#else
  WARPLOOM_UNCHECKED ncclGin_BackendMask(const ncclDevComm& comm, int contextIndex) : comm(comm) {
    start(contextIndex);
  }
#endif

  template <typename RemoteAction = ncclGin_None, typename LocalAction = ncclGin_None,
            typename Coop = ncclCoopThread,
            typename DescriptorSmem = ncclGin_None WARPLOOM_SEGMENT_PARAMETER>
  WARPLOOM_UNCHECKED void put(
      ncclTeam team, int peer, ncclWindow_t dstWnd, size_t dstOffset, ncclWindow_t srcWnd,
      size_t srcOffset, size_t bytes, RemoteAction remoteAction = ncclGin_None{},
      LocalAction localAction = ncclGin_None{}, Coop coop = ncclCoopThread{},
      DescriptorSmem = ncclGin_None{}, cuda::thread_scope givenRelease = cuda::thread_scope_thread,
      cuda::thread_scope requiredRelease = cuda::thread_scope_device WARPLOOM_OPT_FLAGS
          WARPLOOM_SEGMENT_ARGUMENT) const {
    namespace api = warploom::nccl;
    api::PutArgs args{"ncclGin::put", api::team_of(team), peer};
    args.destination = dstWnd;
    args.destination_offset = dstOffset;
    args.source = srcWnd;
    args.source_offset = srcOffset;
    args.bytes = bytes;
    args.remote = api::remote(remoteAction);
    args.local = api::local(localAction);
    args.released = api::released_scope(givenRelease, requiredRelease);
    issue(args, coop);
  }

  template <typename _WT, typename RemoteAction = ncclGin_None, typename LocalAction = ncclGin_None,
            typename Coop = ncclCoopThread,
            typename DescriptorSmem = ncclGin_None WARPLOOM_SEGMENT_PARAMETER>
  WARPLOOM_UNCHECKED void put(
      ncclTeam team, int peer, ncclSymPtr<_WT> dstElts, ncclSymPtr<_WT> srcElts, size_t nElts,
      RemoteAction remoteAction = ncclGin_None{}, LocalAction localAction = ncclGin_None{},
      Coop coop = ncclCoopThread{}, DescriptorSmem = ncclGin_None{},
      cuda::thread_scope givenRelease = cuda::thread_scope_thread,
      cuda::thread_scope requiredRelease = cuda::thread_scope_device WARPLOOM_OPT_FLAGS
          WARPLOOM_SEGMENT_ARGUMENT) const {
    put(team, peer, dstElts.window, dstElts.offset, srcElts.window, srcElts.offset,
        nElts * sizeof(_WT), remoteAction, localAction, coop, ncclGin_None{}, givenRelease,
        requiredRelease);
  }

  template <typename _WT, typename RemoteAction = ncclGin_None, typename Coop = ncclCoopThread,
            typename DescriptorSmem = ncclGin_None>
  WARPLOOM_UNCHECKED void putValue(
      ncclTeam team, int peer, ncclWindow_t dstWnd, size_t dstOffset, _WT value,
      RemoteAction remoteAction = ncclGin_None{}, Coop coop = ncclCoopThread{},
      DescriptorSmem = ncclGin_None{}, cuda::thread_scope givenRelease = cuda::thread_scope_thread,
      cuda::thread_scope requiredRelease = cuda::thread_scope_device WARPLOOM_OPT_FLAGS) const {
    static_assert(sizeof(_WT) <= 8, "putValue takes at most 8 bytes");
    namespace api = warploom::nccl;
    api::PutArgs args{"ncclGin::putValue", api::team_of(team), peer};
    args.destination = dstWnd;
    args.destination_offset = dstOffset;
    args.bytes = sizeof(_WT);
    args.value = &value;
    args.remote = api::remote(remoteAction);
    args.released = api::released_scope(givenRelease, requiredRelease);
    issue(args, coop);
  }
  template <typename _WT, typename RemoteAction = ncclGin_None, typename Coop = ncclCoopThread,
            typename DescriptorSmem = ncclGin_None>
  WARPLOOM_UNCHECKED void putValue(
      ncclTeam team, int peer, ncclSymPtr<_WT> dst, _WT value,
      RemoteAction remoteAction = ncclGin_None{}, Coop coop = ncclCoopThread{},
      DescriptorSmem = ncclGin_None{}, cuda::thread_scope givenRelease = cuda::thread_scope_thread,
      cuda::thread_scope requiredRelease = cuda::thread_scope_device WARPLOOM_OPT_FLAGS) const {
    putValue(team, peer, dst.window, dst.offset, value, remoteAction, coop, ncclGin_None{},
             givenRelease, requiredRelease);
  }

  template <typename RemoteAction, typename Coop = ncclCoopThread,
            typename DescriptorSmem = ncclGin_None>
  WARPLOOM_UNCHECKED void signal(
      ncclTeam team, int peer, RemoteAction remoteAction, Coop coop = ncclCoopThread(),
      DescriptorSmem = ncclGin_None{}, cuda::thread_scope givenRelease = cuda::thread_scope_thread,
      cuda::thread_scope requiredRelease = cuda::thread_scope_device WARPLOOM_OPT_FLAGS) const {
    namespace api = warploom::nccl;
    api::PutArgs args{"ncclGin::signal", api::team_of(team), peer};
    args.remote = api::remote(remoteAction);
    args.released = api::released_scope(givenRelease, requiredRelease);
    issue(args, coop);
  }

#if WARPLOOM_NCCL_VERSION >= 23000
  template <typename Coop = ncclCoopThread, typename DescriptorSmem = ncclGin_None,
            typename SegmentType = ncclGin_SegmentDevice>
  WARPLOOM_UNCHECKED void get(ncclTeam team, int peer, ncclWindow_t remoteWnd, size_t remoteOffset,
                              ncclWindow_t localWnd, size_t localOffset, size_t bytes,
                              Coop coop = ncclCoopThread{}, DescriptorSmem = ncclGin_None{},
                              uint32_t = ncclGinOptFlagsDefault,
                              SegmentType = ncclGin_SegmentDevice{}) const {
    namespace api = warploom::nccl;
    api::PutArgs args{"ncclGin::get", api::team_of(team), peer};
    args.destination = localWnd;
    args.destination_offset = localOffset;
    args.source = remoteWnd;
    args.source_offset = remoteOffset;
    args.bytes = bytes;
    api::sync_group(coop, args.name);
    if (coop.thread_rank() == 0) api::get(handle(), args);
    api::sync_group(coop, args.name);
  }

  template <typename Coop = ncclCoopThread, typename DescriptorSmem = ncclGin_None>
  WARPLOOM_UNCHECKED void flushAsync(ncclTeam team, uint32_t peer, ncclGinRequest_t* outRequest,
                                     Coop coop = ncclCoopThread{},
                                     uint32_t = ncclGinOptFlagsDefault,
                                     DescriptorSmem = ncclGin_None{}) const {
    namespace api = warploom::nccl;
    api::sync_group(coop, "ncclGin::flushAsync");
    if (coop.thread_rank() == 0) {
      api::flush_async(handle(), api::team_of(team), static_cast<int>(peer), outRequest->opaque);
    }
    api::sync_group(coop, "ncclGin::flushAsync");
  }
  template <typename Coop = ncclCoopThread, typename DescriptorSmem = ncclGin_None>
  WARPLOOM_UNCHECKED void wait(ncclGinRequest_t& request, Coop coop = ncclCoopThread{},
                               DescriptorSmem = ncclGin_None{},
                               cuda::memory_order ord = cuda::memory_order_acquire) const {
    namespace api = warploom::nccl;
    api::sync_group(coop, "ncclGin::wait");
    if (coop.thread_rank() == 0) {
      api::wait_request(handle(), request.opaque, api::order_of(ord));
    }
    api::sync_group(coop, "ncclGin::wait");
  }
#endif

  template <typename Coop
#if WARPLOOM_NCCL_VERSION >= 23000
            ,
            typename DescriptorSmem = ncclGin_None
#endif
            >
  WARPLOOM_UNCHECKED void flush(Coop coop, cuda::memory_order ord = cuda::memory_order_acquire
#if WARPLOOM_NCCL_VERSION >= 23000
                                ,
                                DescriptorSmem = ncclGin_None{}
#endif
  ) const {
    namespace api = warploom::nccl;
    api::sync_group(coop, "ncclGin::flush");
    if (coop.thread_rank() == 0) api::flush(handle(), api::order_of(ord));
    api::sync_group(coop, "ncclGin::flush");
  }

#if WARPLOOM_NCCL_VERSION >= 23100
  // A flush and the wait for one end at once here: no time-out can pass.
  template <typename Coop, typename DescriptorSmem = ncclGin_None>
  WARPLOOM_UNCHECKED ncclResult_t flush(Coop coop, cuda::memory_order ord,
                                        DescriptorSmem descriptor, uint64_t) const {
    flush(coop, ord, descriptor);
    return ncclSuccess;
  }
  template <typename Coop = ncclCoopThread, typename DescriptorSmem = ncclGin_None>
  WARPLOOM_UNCHECKED ncclResult_t wait(ncclGinRequest_t& request, Coop coop,
                                       DescriptorSmem descriptor, cuda::memory_order ord,
                                       uint64_t) const {
    wait(request, coop, descriptor, ord);
    return ncclSuccess;
  }
  template <typename Coop>
  WARPLOOM_UNCHECKED ncclResult_t waitCounter(Coop coop, ncclGinCounter_t counter, uint64_t least,
                                              int bits, cuda::memory_order ord,
                                              uint64_t timeoutCycles) const {
    namespace api = warploom::nccl;
    api::sync_group(coop, "ncclGin::waitCounter");
    bool done = true;
    if (coop.thread_rank() == 0) {
      done = api::wait_counter(handle(), counter, least, bits, api::order_of(ord), timeoutCycles);
    }
    return api::result_of(coop, done, "ncclGin::waitCounter");
  }
  template <typename Coop>
  WARPLOOM_UNCHECKED ncclResult_t waitSignal(Coop coop, ncclGinSignal_t signal, uint64_t least,
                                             int bits, cuda::memory_order ord,
                                             uint64_t timeoutCycles) const {
    return wait_for(coop, {signal, nullptr, 0}, least, bits, ord, timeoutCycles);
  }
  template <typename Coop>
  WARPLOOM_UNCHECKED ncclResult_t waitSignal(Coop coop, ncclWindow_t signalWindow,
                                             size_t signalOffset, uint64_t least, int bits,
                                             cuda::memory_order ord, uint64_t timeoutCycles) const {
    return wait_for(coop, {0, signalWindow, signalOffset}, least, bits, ord, timeoutCycles);
  }
#endif

  WARPLOOM_UNCHECKED uint64_t
  readCounter(ncclGinCounter_t counter, int bits = 56,
              cuda::memory_order ord = cuda::memory_order_acquire) const {
    return warploom::nccl::read_counter(handle(), counter, bits, warploom::nccl::order_of(ord));
  }
  template <typename Coop>
  WARPLOOM_UNCHECKED void waitCounter(Coop coop, ncclGinCounter_t counter, uint64_t least,
                                      int bits = 56,
                                      cuda::memory_order ord = cuda::memory_order_acquire) const {
    namespace api = warploom::nccl;
    api::sync_group(coop, "ncclGin::waitCounter");
    if (coop.thread_rank() == 0) {
      api::wait_counter(handle(), counter, least, bits, api::order_of(ord));
    }
    api::sync_group(coop, "ncclGin::waitCounter");
  }
  WARPLOOM_UNCHECKED void resetCounter(ncclGinCounter_t counter) const {
    warploom::nccl::reset_counter(handle(), counter);
  }

  WARPLOOM_UNCHECKED uint64_t* getSignalShadowPtr(ncclGinSignal_t signal) const {
    return warploom::nccl::shadow_pointer(handle(), signal);
  }
  WARPLOOM_UNCHECKED void increaseSignalShadow(ncclGinSignal_t signal, uint64_t delta) const {
    warploom::nccl::increase_shadow(handle(), signal, delta);
  }

  WARPLOOM_UNCHECKED uint64_t
  readSignal(ncclGinSignal_t signal, int bits = 64,
             cuda::memory_order ord = cuda::memory_order_acquire) const {
    return warploom::nccl::read_signal(handle(), {signal, nullptr, 0}, bits,
                                       warploom::nccl::order_of(ord));
  }
  template <typename Coop>
  WARPLOOM_UNCHECKED void waitSignal(Coop coop, ncclGinSignal_t signal, uint64_t least,
                                     int bits = 64,
                                     cuda::memory_order ord = cuda::memory_order_acquire) const {
    wait_for(coop, {signal, nullptr, 0}, least, bits, ord, "ncclGin::waitSignal");
  }
  template <typename Coop>
  WARPLOOM_UNCHECKED void waitSignalMeetShadow(
      Coop coop, ncclGinSignal_t signal, int bits = 64,
      cuda::memory_order ord = cuda::memory_order_acquire) const {
    namespace api = warploom::nccl;
    constexpr const char* kName = "ncclGin::waitSignalMeetShadow";
    api::sync_group(coop, kName);
    if (coop.thread_rank() == 0) {
      api::wait_signal(handle(), {signal, nullptr, 0}, api::read_shadow(handle(), signal), bits,
                       api::order_of(ord), kName);
    }
    api::sync_group(coop, kName);
  }
  template <typename Coop, typename Uint>
  WARPLOOM_UNCHECKED void waitSignalFollowShadow(
      Coop coop, ncclGinSignal_t signal, Uint leastDelta, Uint* before, Uint* delta, int bits = 64,
      cuda::memory_order ord = cuda::memory_order_acquire) const {
    namespace api = warploom::nccl;
    constexpr const char* kName = "ncclGin::waitSignalFollowShadow";
    api::sync_group(coop, kName);
    struct {
      uint64_t before, after;
    } seen{0, 0};
    if (coop.thread_rank() == 0) {
      seen.before = api::read_shadow(handle(), signal);
      seen.after = api::wait_signal(handle(), {signal, nullptr, 0}, seen.before + leastDelta, bits,
                                    api::order_of(ord), kName);
      api::write_shadow(handle(), signal, seen.after);
    }
    seen = ncclCoopBcast(coop, seen, 0, /*entrySync=*/false);
    const uint64_t mask = ~uint64_t{0} >> (64 - bits);
    *before = static_cast<Uint>(seen.before & mask);
    *delta = static_cast<Uint>((seen.after - seen.before) & mask);
  }
  WARPLOOM_UNCHECKED void resetSignal(ncclGinSignal_t signal) const {
    warploom::nccl::reset_signal(handle(), {signal, nullptr, 0});
  }

#if WARPLOOM_NCCL_VERSION >= 22900
  WARPLOOM_UNCHECKED uint64_t
  readSignal(ncclWindow_t signalWindow, size_t signalOffset, int bits = 64,
             cuda::memory_order ord = cuda::memory_order_acquire) const {
    return warploom::nccl::read_signal(handle(), {0, signalWindow, signalOffset}, bits,
                                       warploom::nccl::order_of(ord));
  }
  template <typename Coop>
  WARPLOOM_UNCHECKED void waitSignal(Coop coop, ncclWindow_t signalWindow, size_t signalOffset,
                                     uint64_t least, int bits = 64,
                                     cuda::memory_order ord = cuda::memory_order_acquire) const {
    wait_for(coop, {0, signalWindow, signalOffset}, least, bits, ord, "ncclGin::waitSignal");
  }
  WARPLOOM_UNCHECKED void resetSignal(ncclWindow_t signalWindow, size_t signalOffset) const {
    warploom::nccl::reset_signal(handle(), {0, signalWindow, signalOffset});
  }
#endif

 private:
  char warploom_rest[16];  // see ncclDevComm
  WARPLOOM_UNCHECKED warploom::nccl::Gin handle() const { return {comm.warploom_state, contextId}; }
  WARPLOOM_UNCHECKED void start(int contextIndex) {
#if WARPLOOM_NCCL_VERSION >= 22900
    nConnections = comm.ginConnectionCount;
    connectionId = 0;
#else
    nContexts = comm.ginContextCount;
#endif
    _ginBackend = NCCL_NET_DEVICE_GIN_PROXY;
    warploom::nccl::check_context({comm.warploom_state, static_cast<uint32_t>(contextIndex)});
    contextId = static_cast<uint32_t>(contextIndex);
  }
  template <class Coop>
  WARPLOOM_UNCHECKED void issue(const warploom::nccl::PutArgs& args, Coop& coop) const {
    warploom::nccl::sync_group(coop, args.name);
    if (coop.thread_rank() == 0) warploom::nccl::put(handle(), args);
    warploom::nccl::sync_group(coop, args.name);
  }
#if WARPLOOM_NCCL_VERSION >= 23100
  template <class Coop>
  WARPLOOM_UNCHECKED ncclResult_t wait_for(Coop& coop, const warploom::nccl::SignalName& name,
                                           uint64_t least, int bits, cuda::memory_order ord,
                                           uint64_t cycles) const {
    namespace api = warploom::nccl;
    api::sync_group(coop, "ncclGin::waitSignal");
    bool done = true;
    if (coop.thread_rank() == 0) {
      done = api::wait_signal_for(handle(), name, least, bits, api::order_of(ord), cycles);
    }
    return api::result_of(coop, done, "ncclGin::waitSignal");
  }
#endif
  template <class Coop>
  WARPLOOM_UNCHECKED void wait_for(Coop& coop, const warploom::nccl::SignalName& name,
                                   uint64_t least, int bits, cuda::memory_order ord,
                                   const char* op) const {
    namespace api = warploom::nccl;
    api::sync_group(coop, op);
    if (coop.thread_rank() == 0) {
      api::wait_signal(handle(), name, least, bits, api::order_of(ord), op);
    }
    api::sync_group(coop, op);
  }
};

using ncclGin = ncclGin_BackendMask<NCCL_GIN_BACKEND_MASK_ALL>;
template <ncclNetDeviceType backend>
using ncclGin_BackendOne = ncclGin_BackendMask<(1u << static_cast<int>(backend))>;

#undef WARPLOOM_OPT_FLAGS
#undef WARPLOOM_SEGMENT_PARAMETER
#undef WARPLOOM_SEGMENT_ARGUMENT
