// Barriers over both: loads and stores inside of an LSA team, the network between the teams.
#pragma once

#include <optional>

#include "gin_barrier.h"
#include "lsa_barrier.h"

template <typename Coop>
struct ncclBarrierSession {
  WARPLOOM_UNCHECKED ncclBarrierSession(Coop coop, ncclTeam innerTeam, ncclTeam outerTeam,
                                        ncclGin gin, ncclLsaBarrierHandle innerHandle,
                                        ncclGinBarrierHandle outerHandle, uint32_t index,
                                        bool multimem = false, ncclMultimemHandle mm = {})
      : coop(coop) {
    inner.emplace(coop, gin.comm, innerTeam, innerHandle, index, multimem, mm);
    outer.emplace(coop, gin, outerTeam, outerHandle, index);
  }
  WARPLOOM_UNCHECKED ncclBarrierSession(Coop coop, ncclTeamTagWorld, ncclGin gin, uint32_t index,
                                        bool multimem = false)
      : coop(coop) {
    const ncclDevComm& comm = gin.comm;
    inner.emplace(coop, comm, warploom::nccl::lsa_team(comm), comm.warploom_lsa, index, multimem,
                  comm.lsaMultimem);
    outer.emplace(coop, gin, warploom::nccl::rail_team(comm), comm.warploom_rail, index);
    world = {comm.warploom_state,
             warploom::nccl::team_of(warploom::nccl::world_team(comm)),
             comm.warploom_world.signal0,
             index,
             gin.contextId,
             true};
    if (this->coop.thread_rank() == 0) warploom::nccl::open_barrier(world.ref());
  }
  WARPLOOM_UNCHECKED ncclBarrierSession(Coop coop, ncclTeamTagLsa, const ncclDevComm& comm,
                                        uint32_t index, bool multimem = false)
      : coop(coop) {
    inner.emplace(coop, comm, warploom::nccl::lsa_team(comm), comm.warploom_lsa, index, multimem,
                  comm.lsaMultimem);
  }
  WARPLOOM_UNCHECKED ncclBarrierSession(Coop coop, ncclTeamTagRail, ncclGin gin, uint32_t index)
      : coop(coop) {
    outer.emplace(coop, gin, warploom::nccl::rail_team(gin.comm), gin.comm.warploom_rail, index);
  }
  WARPLOOM_UNCHECKED ~ncclBarrierSession() {
    if (world.open && coop.thread_rank() == 0) warploom::nccl::close_barrier(world.ref());
  }
  ncclBarrierSession(const ncclBarrierSession&) = delete;

  WARPLOOM_UNCHECKED ncclLsaBarrierSession<Coop>& lsaBarrier() { return *inner; }
  WARPLOOM_UNCHECKED ncclGinBarrierSession<Coop>& ginBarrier() { return *outer; }

  WARPLOOM_UNCHECKED void sync(Coop, cuda::memory_order order,
                               ncclGinFenceLevel fence WARPLOOM_DEFAULT_FENCE) {
    namespace api = warploom::nccl;
    if (!world.open) {
      if (inner) inner->sync(coop, order);
      if (outer) outer->sync(coop, order, fence);
      return;
    }
    constexpr const char* kName = "ncclBarrierSession::sync";
    const uint32_t bits = api::fence_bits(fence);
    api::sync_group(coop, kName);
    if (coop.thread_rank() == 0) {
      api::barrier_arrive(world.ref(), api::order_of(order), bits);
      api::barrier_wait(world.ref(), api::order_of(order), bits, kName);
    }
    api::sync_group(coop, kName);
  }

#if WARPLOOM_NCCL_VERSION >= 23000
  WARPLOOM_UNCHECKED ncclResult_t sync(Coop, cuda::memory_order order, ncclGinFenceLevel fence,
                                       uint64_t timeoutCycles) {
    ncclResult_t result = ncclSuccess;
    if (world.open) {
      return warploom::nccl::sync_for(coop, world.ref(), order, warploom::nccl::fence_bits(fence),
                                      timeoutCycles, "ncclBarrierSession::sync");
    }
    if (inner) result = inner->sync(coop, order, timeoutCycles);
    if (outer && result == ncclSuccess) result = outer->sync(coop, order, fence, timeoutCycles);
    return result;
  }
#endif

 private:
  // Of the barrier of all ranks: what differs from one to another.
  struct World {
    void* state = nullptr;
    warploom::nccl::Team team{};
    uint32_t handle = 0, index = 0, context = 0;
    bool open = false;
    WARPLOOM_UNCHECKED warploom::nccl::BarrierRef ref() const {
      return {state,   warploom::nccl::BarrierKind::HybridWorld,
              team,    handle,
              index,   true,
              context, false,
              false,   nullptr};
    }
  };
  Coop coop;
  std::optional<ncclLsaBarrierSession<Coop>> inner;
  std::optional<ncclGinBarrierSession<Coop>> outer;
  World world;
#if WARPLOOM_NCCL_VERSION >= 23000
  char warploom_rest[(sizeof(Coop) + 7) / 8 * 8 + 88];  // see ncclDevComm
#endif
};

#if WARPLOOM_NCCL_VERSION >= 23000
template <typename Coop>
WARPLOOM_UNCHECKED inline void ncclBarrier(Coop coop, ncclTeamTagWorld tag, ncclGin gin,
                                           uint32_t index,
                                           cuda::memory_order order = cuda::memory_order_acq_rel,
                                           ncclGinFenceLevel fence WARPLOOM_DEFAULT_FENCE,
                                           bool multimem = false) {
  ncclBarrierSession<Coop> session(coop, tag, gin, index, multimem);
  session.sync(coop, order, fence);
}
template <typename Coop>
WARPLOOM_UNCHECKED inline void ncclBarrier(Coop coop, ncclTeamTagRail tag, ncclGin gin,
                                           uint32_t index,
                                           cuda::memory_order order = cuda::memory_order_acq_rel,
                                           ncclGinFenceLevel fence WARPLOOM_DEFAULT_FENCE) {
  ncclBarrierSession<Coop> session(coop, tag, gin, index);
  session.sync(coop, order, fence);
}
#endif
