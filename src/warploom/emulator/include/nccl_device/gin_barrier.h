// Barriers over the network.
#pragma once

#include "core.h"
#include "gin.h"

#if WARPLOOM_NCCL_VERSION >= 23000
enum ncclGinFenceLevel : uint32_t { None = 0, Put = 1u << 0, Get = 1u << 1, Relaxed = None };
constexpr ncclGinFenceLevel operator|(ncclGinFenceLevel _Wa, ncclGinFenceLevel _Wb) {
  return static_cast<ncclGinFenceLevel>(static_cast<uint32_t>(_Wa) | static_cast<uint32_t>(_Wb));
}
constexpr ncclGinFenceLevel operator&(ncclGinFenceLevel _Wa, ncclGinFenceLevel _Wb) {
  return static_cast<ncclGinFenceLevel>(static_cast<uint32_t>(_Wa) & static_cast<uint32_t>(_Wb));
}
#define WARPLOOM_DEFAULT_FENCE = ncclGinFenceLevel::Put | ncclGinFenceLevel::Get
struct ncclGinAllContexts {
  const ncclDevComm& comm;
  constexpr ncclGinAllContexts(const ncclDevComm& comm) : comm(comm) {}
};
#else
enum class ncclGinFenceLevel { Relaxed };
#define WARPLOOM_DEFAULT_FENCE
#endif

namespace warploom::nccl {
WARPLOOM_UNCHECKED inline uint32_t fence_bits(ncclGinFenceLevel fence) {
  return static_cast<uint32_t>(fence);
}
#if WARPLOOM_NCCL_VERSION >= 23000
template <class Coop>
WARPLOOM_UNCHECKED ncclResult_t sync_for(Coop& coop, const BarrierRef& ref,
                                         ::cuda::memory_order order, uint32_t fence,
                                         uint64_t cycles, const char* op) {
  sync_group(coop, op);
  bool done = true;
  if (coop.thread_rank() == 0) {
    barrier_arrive(ref, order_of(order), fence);
    done = barrier_wait(ref, order_of(order), fence, op, cycles);
  }
  return result_of(coop, done, op);
}
#endif
}  // namespace warploom::nccl

template <typename Coop>
struct ncclGinBarrierSession {
  WARPLOOM_UNCHECKED ncclGinBarrierSession(Coop coop, ncclGin gin, ncclTeam team,
                                           ncclGinBarrierHandle handle, uint32_t index)
      : ncclGinBarrierSession(coop, gin.comm, gin.contextId, false, team, handle, index,
                              warploom::nccl::BarrierKind::Custom) {}
  WARPLOOM_UNCHECKED ncclGinBarrierSession(Coop coop, ncclGin gin, ncclTeamTagRail, uint32_t index)
      : ncclGinBarrierSession(coop, gin.comm, gin.contextId, false,
                              warploom::nccl::rail_team(gin.comm), gin.comm.railGinBarrier, index,
                              warploom::nccl::BarrierKind::Rail) {}
#if WARPLOOM_NCCL_VERSION >= 23000
  WARPLOOM_UNCHECKED ncclGinBarrierSession(Coop coop, ncclGin gin, ncclTeamTagWorld, uint32_t index)
      : ncclGinBarrierSession(coop, gin.comm, gin.contextId, false,
                              warploom::nccl::world_team(gin.comm), gin.comm.worldGinBarrier, index,
                              warploom::nccl::BarrierKind::World) {}
  WARPLOOM_UNCHECKED ncclGinBarrierSession(Coop coop, ncclGinAllContexts all, ncclTeam team,
                                           ncclGinBarrierHandle handle, uint32_t index)
      : ncclGinBarrierSession(coop, all.comm, 0, true, team, handle, index,
                              warploom::nccl::BarrierKind::Custom) {}
  WARPLOOM_UNCHECKED ncclGinBarrierSession(Coop coop, ncclGinAllContexts all, ncclTeamTagRail,
                                           uint32_t index)
      : ncclGinBarrierSession(coop, all.comm, 0, true, warploom::nccl::rail_team(all.comm),
                              all.comm.railGinBarrier, index, warploom::nccl::BarrierKind::Rail) {}
  WARPLOOM_UNCHECKED ncclGinBarrierSession(Coop coop, ncclGinAllContexts all, ncclTeamTagWorld,
                                           uint32_t index)
      : ncclGinBarrierSession(coop, all.comm, 0, true, warploom::nccl::world_team(all.comm),
                              all.comm.worldGinBarrier, index, warploom::nccl::BarrierKind::World) {
  }
#endif
  WARPLOOM_UNCHECKED ~ncclGinBarrierSession() {
    if (coop.thread_rank() == 0) warploom::nccl::close_barrier(ref);
#if WARPLOOM_NCCL_VERSION < 22900
    warploom::nccl::sync_group(coop, "~ncclGinBarrierSession");
#endif
  }
  ncclGinBarrierSession(const ncclGinBarrierSession&) = delete;

  WARPLOOM_UNCHECKED void sync(Coop, cuda::memory_order order,
                               ncclGinFenceLevel fence WARPLOOM_DEFAULT_FENCE) {
    namespace api = warploom::nccl;
    constexpr const char* kName = "ncclGinBarrierSession::sync";
    const uint32_t bits = api::fence_bits(fence);
    api::sync_group(coop, kName);
    if (coop.thread_rank() == 0) {
      api::barrier_arrive(ref, api::order_of(order), bits);
      api::barrier_wait(ref, api::order_of(order), bits, kName);
    }
    api::sync_group(coop, kName);
  }
#if WARPLOOM_NCCL_VERSION >= 23000
  WARPLOOM_UNCHECKED ncclResult_t sync(Coop, cuda::memory_order order, ncclGinFenceLevel fence,
                                       uint64_t timeoutCycles) {
    return warploom::nccl::sync_for(coop, ref, order, warploom::nccl::fence_bits(fence),
                                    timeoutCycles, "ncclGinBarrierSession::sync");
  }
#endif

 private:
  WARPLOOM_UNCHECKED ncclGinBarrierSession(Coop coop, const ncclDevComm& comm, uint32_t context,
                                           bool all, ncclTeam team, ncclGinBarrierHandle handle,
                                           uint32_t index, warploom::nccl::BarrierKind kind)
      : coop(coop),
        ref{comm.warploom_state,
            kind,
            warploom::nccl::team_of(team),
            handle.signal0,
            index,
            true,
            context,
            all,
            false,
            nullptr} {
    if (this->coop.thread_rank() == 0) warploom::nccl::open_barrier(ref);
  }
  Coop coop;
  warploom::nccl::BarrierRef ref;
  char warploom_rest[WARPLOOM_NCCL_VERSION >= 23000 ? 16 : 8];  // see ncclDevComm
};

#if WARPLOOM_NCCL_VERSION >= 23000
template <typename Coop, typename Contexts, typename Tag>
  requires(std::is_same_v<Contexts, ncclGin> || std::is_same_v<Contexts, ncclGinAllContexts>)
WARPLOOM_UNCHECKED inline void ncclGinBarrier(Coop coop, Contexts contexts, Tag tag, uint32_t index,
                                              cuda::memory_order order = cuda::memory_order_acq_rel,
                                              ncclGinFenceLevel fence WARPLOOM_DEFAULT_FENCE) {
  ncclGinBarrierSession<Coop> session(coop, contexts, tag, index);
  session.sync(coop, order, fence);
}
template <typename Coop, typename Contexts>
  requires(std::is_same_v<Contexts, ncclGin> || std::is_same_v<Contexts, ncclGinAllContexts>)
WARPLOOM_UNCHECKED inline void ncclGinBarrier(Coop coop, Contexts contexts, ncclTeam team,
                                              ncclGinBarrierHandle handle, uint32_t index,
                                              cuda::memory_order order = cuda::memory_order_acq_rel,
                                              ncclGinFenceLevel fence WARPLOOM_DEFAULT_FENCE) {
  ncclGinBarrierSession<Coop> session(coop, contexts, team, handle, index);
  session.sync(coop, order, fence);
}
#endif
