// Barriers among ranks that share memory by loads and stores.
#pragma once

#include "core.h"

template <typename Coop>
struct ncclLsaBarrierSession {
  WARPLOOM_UNCHECKED ncclLsaBarrierSession(Coop coop, const ncclDevComm& comm, ncclTeam team,
                                           ncclLsaBarrierHandle handle, uint32_t index,
                                           bool multimem = false,
                                           ncclMultimemHandle multimemHandle = {})
      : coop(coop), ref(reference(comm, team, handle, index)) {
    open(multimem, multimemHandle);
  }
  WARPLOOM_UNCHECKED ncclLsaBarrierSession(Coop coop, const ncclDevComm& comm, ncclTeamTagLsa,
                                           uint32_t index, bool multimem = false)
      : coop(coop), ref(reference(comm, warploom::nccl::lsa_team(comm), comm.lsaBarrier, index)) {
    open(multimem, comm.lsaMultimem);
  }
  WARPLOOM_UNCHECKED ~ncclLsaBarrierSession() {
    if (coop.thread_rank() == 0) warploom::nccl::close_barrier(ref);
    warploom::nccl::sync_group(coop, "~ncclLsaBarrierSession");
  }
  ncclLsaBarrierSession(const ncclLsaBarrierSession&) = delete;

  WARPLOOM_UNCHECKED void arrive(Coop, cuda::memory_order order) {
    namespace api = warploom::nccl;
    api::sync_group(coop, "ncclLsaBarrierSession::arrive");
    if (coop.thread_rank() == 0) api::barrier_arrive(ref, api::order_of(order), 0);
  }
  WARPLOOM_UNCHECKED void wait(Coop, cuda::memory_order order) {
    wait_as("ncclLsaBarrierSession::wait", order);
  }
  WARPLOOM_UNCHECKED void sync(Coop group, cuda::memory_order order) {
    arrive(group, order);
    wait_as("ncclLsaBarrierSession::sync", order);
  }
#if WARPLOOM_NCCL_VERSION >= 23000
  WARPLOOM_UNCHECKED ncclResult_t wait(Coop, cuda::memory_order order, uint64_t timeoutCycles) {
    return wait_for("ncclLsaBarrierSession::wait", order, timeoutCycles);
  }
  WARPLOOM_UNCHECKED ncclResult_t sync(Coop group, cuda::memory_order order,
                                       uint64_t timeoutCycles) {
    arrive(group, order);
    return wait_for("ncclLsaBarrierSession::sync", order, timeoutCycles);
  }
#endif

 private:
  WARPLOOM_UNCHECKED static warploom::nccl::BarrierRef reference(const ncclDevComm& comm,
                                                                 ncclTeam team,
                                                                 ncclLsaBarrierHandle handle,
                                                                 uint32_t index) {
    return {comm.warploom_state,
            warploom::nccl::BarrierKind::Lsa,
            warploom::nccl::team_of(team),
            handle.bufHandle,
            index,
            false,
            0,
            false,
            false,
            nullptr};
  }
  WARPLOOM_UNCHECKED void open(bool multimem, ncclMultimemHandle handle) {
    ref.multimem = multimem;
    ref.multimem_base = handle.mcBasePtr;
    if (coop.thread_rank() == 0) warploom::nccl::open_barrier(ref);
  }
  WARPLOOM_UNCHECKED void wait_as(const char* op, cuda::memory_order order) {
    namespace api = warploom::nccl;
    if (coop.thread_rank() == 0) api::barrier_wait(ref, api::order_of(order), 0, op);
    api::sync_group(coop, op);
  }
#if WARPLOOM_NCCL_VERSION >= 23000
  WARPLOOM_UNCHECKED ncclResult_t wait_for(const char* op, cuda::memory_order order,
                                           uint64_t cycles) {
    namespace api = warploom::nccl;
    bool done = true;
    if (coop.thread_rank() == 0) done = api::barrier_wait(ref, api::order_of(order), 0, op, cycles);
    return api::result_of(coop, done, op);
  }
#endif
  Coop coop;
  warploom::nccl::BarrierRef ref;
};
