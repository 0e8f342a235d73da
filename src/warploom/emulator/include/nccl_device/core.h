// Teams, windows and the device communicator.
#pragma once

#include <nccl.h>
#include <warploom/nccl_runtime.h>

#include "coop.h"
#include "utility.h"

typedef uint32_t ncclDevResourceHandle;
typedef ncclDevResourceHandle ncclDevResourceHandle_t;
typedef uint32_t ncclGinSignal_t;
typedef uint32_t ncclGinCounter_t;
#if WARPLOOM_NCCL_VERSION >= 23000
typedef struct {
  uint64_t opaque[2];
} ncclGinRequest_t;
#endif

struct ncclTeam {
  int nRanks, rank, stride;
};
typedef struct ncclTeam ncclTeam_t;

template <typename _WT>
struct ncclSymPtr;

struct ncclTeamTagWorld {};
struct ncclTeamTagLsa {};
struct ncclTeamTagRail {};

struct ncclMultimemHandle {
  void* mcBasePtr;
};
typedef struct ncclMultimemHandle ncclMultimemHandle_t;

struct ncclLsaBarrierHandle {
  ncclDevResourceHandle_t bufHandle;
  int nBarriers;
};
typedef struct ncclLsaBarrierHandle ncclLsaBarrierHandle_t;

struct ncclGinBarrierHandle {
  ncclGinSignal_t signal0;
#if WARPLOOM_NCCL_VERSION >= 22900
  ncclDevResourceHandle_t unused;
#else
  ncclDevResourceHandle_t bufHandle;
#endif
};
typedef struct ncclGinBarrierHandle ncclGinBarrierHandle_t;

struct ncclDevComm {
#if WARPLOOM_NCCL_VERSION >= 23000
  unsigned int magic;
  unsigned int version;
#endif
  int rank, nRanks;
  uint32_t nRanks_rcp32;
  int lsaRank, lsaSize;
  uint32_t lsaSize_rcp32;
  ncclWindow_t resourceWindow;
  ncclMultimemHandle_t lsaMultimem;
  ncclLsaBarrierHandle_t lsaBarrier;
  ncclGinBarrierHandle_t railGinBarrier;
  int ginSignalCount;
  int ginCounterCount;
  uint64_t* ginSignalShadows;
#if WARPLOOM_NCCL_VERSION >= 22900
  uint8_t ginConnectionCount;
  uint32_t ginContextCount;
  uint32_t* abortFlag;
#else
  uint8_t ginContextCount;
#endif
#if WARPLOOM_NCCL_VERSION >= 23000
  ncclLsaBarrierHandle_t hybridLsaBarrier;
  ncclGinBarrierHandle_t hybridRailGinBarrier;
  ncclGinBarrierHandle_t worldGinBarrier;
  bool ginStrongLegacySignals;
#if WARPLOOM_NCCL_VERSION >= 23100
  ncclGinBarrierHandle_t hybridDenseGinBarrier;
  int ginContextStride;
  int ginConnectionStride;
#else
  ncclGinBarrierHandle_t hybridWorldGinBarrier;
  bool ginConnectionsRailed;
  bool ginContextsRailed;
#endif
#elif WARPLOOM_NCCL_VERSION >= 22900
  bool ginIsRailed;
#endif
  // Of the emulator: its own record of this device communicator, and the barriers behind handles.
  void* warploom_state;
  ncclLsaBarrierHandle_t warploom_lsa;
  ncclGinBarrierHandle_t warploom_rail, warploom_world;
  // NCCL's has as many bytes: sizes of its types are the same here (tests/emulator/test_sizes.py).
#if WARPLOOM_NCCL_VERSION >= 23000
  char warploom_rest[72];
#elif WARPLOOM_NCCL_VERSION >= 22900
  char warploom_rest[96];
#else
  char warploom_rest[88];
#endif
};
typedef struct ncclDevComm ncclDevComm_t;

namespace warploom::nccl {
WARPLOOM_UNCHECKED inline Team team_of(const ncclTeam& team) {
  return {team.nRanks, team.rank, team.stride};
}
WARPLOOM_UNCHECKED inline ncclTeam world_team(const ncclDevComm& comm) {
  return {comm.nRanks, comm.rank, 1};
}
WARPLOOM_UNCHECKED inline ncclTeam lsa_team(const ncclDevComm& comm) {
  return {comm.lsaSize, comm.lsaRank, 1};
}
WARPLOOM_UNCHECKED inline ncclTeam rail_team(const ncclDevComm& comm) {
  return {comm.nRanks / comm.lsaSize, comm.rank / comm.lsaSize, comm.lsaSize};
}
}  // namespace warploom::nccl

WARPLOOM_UNCHECKED inline ncclTeam ncclTeamWorld(const ncclDevComm& comm) {
  return warploom::nccl::world_team(comm);
}
WARPLOOM_UNCHECKED inline ncclTeam ncclTeamLsa(const ncclDevComm& comm) {
  return warploom::nccl::lsa_team(comm);
}
WARPLOOM_UNCHECKED inline ncclTeam ncclTeamRail(const ncclDevComm& comm) {
  return warploom::nccl::rail_team(comm);
}

WARPLOOM_UNCHECKED inline ncclTeam_t ncclTeamInnerFactor(ncclTeam_t parent, int innerSize) {
  return {innerSize, parent.rank % innerSize, parent.stride};
}
WARPLOOM_UNCHECKED inline ncclTeam_t ncclTeamOuterFactor(ncclTeam_t parent, int innerSize) {
  return {parent.nRanks / innerSize, parent.rank / innerSize, parent.stride * innerSize};
}

// Is rank `bPeer` of team `b` a member of team `a`?
WARPLOOM_UNCHECKED inline bool ncclTeamRankIsMember(ncclTeam_t _Wa, ncclTeam_t _Wb, int bPeer) {
  const int distance = (bPeer - _Wb.rank) * _Wb.stride;
  if (distance % _Wa.stride != 0) return false;
  const int rank = _Wa.rank + distance / _Wa.stride;
  return rank >= 0 && rank < _Wa.nRanks;
}
WARPLOOM_UNCHECKED inline int ncclTeamRankToTeam(ncclTeam_t _Wa, ncclTeam_t _Wb, int bPeer) {
  return _Wa.rank + (bPeer - _Wb.rank) * _Wb.stride / _Wa.stride;
}
WARPLOOM_UNCHECKED inline int ncclTeamRankToWorld(const ncclDevComm& comm, ncclTeam team,
                                                  int rank) {
  return comm.rank + (rank - team.rank) * team.stride;
}
WARPLOOM_UNCHECKED inline int ncclTeamRankToLsa(const ncclDevComm& comm, ncclTeam team, int rank) {
  return comm.lsaRank + (rank - team.rank) * team.stride;
}
// The `index`-th rank of `parent` that is not in `subset`.
WARPLOOM_UNCHECKED inline int ncclTeamRankInDifference(ncclTeam_t parent, ncclTeam_t subset,
                                                       int index) {
  for (int rank = 0; rank < parent.nRanks; rank++) {
    if (ncclTeamRankIsMember(subset, parent, rank)) continue;
    if (index-- == 0) return rank;
  }
  return parent.nRanks;
}

WARPLOOM_UNCHECKED inline size_t ncclGetResourceBufferOffset(ncclDevResourceHandle_t handle) {
  return size_t{handle} * 128;
}

WARPLOOM_UNCHECKED inline void* ncclGetLocalPointer(ncclWindow_t w, size_t offset) {
  return warploom::nccl::window_pointer(w, offset, warploom::nccl::Reach::Local, 0);
}
WARPLOOM_UNCHECKED inline void* ncclGetLsaPointer(ncclWindow_t w, size_t offset, int peer) {
  return warploom::nccl::window_pointer(w, offset, warploom::nccl::Reach::Lsa, peer);
}
WARPLOOM_UNCHECKED inline void* ncclGetPeerPointer(ncclWindow_t w, size_t offset, int peer) {
  return warploom::nccl::window_pointer(w, offset, warploom::nccl::Reach::World, peer);
}
WARPLOOM_UNCHECKED inline void* ncclGetPeerPointer(ncclWindow_t w, size_t offset, ncclTeam tm,
                                                   int peer) {
  return warploom::nccl::window_pointer(w, offset, warploom::nccl::team_of(tm), peer);
}
WARPLOOM_UNCHECKED inline void* ncclGetMultimemPointer(ncclWindow_t window, size_t offset,
                                                       ncclMultimemHandle handle) {
  return warploom::nccl::multimem_pointer(window, offset, handle.mcBasePtr,
                                          "ncclGetMultimemPointer");
}
WARPLOOM_UNCHECKED inline void* ncclGetLsaMultimemPointer(ncclWindow_t window, size_t offset,
                                                          const ncclDevComm& comm) {
  return warploom::nccl::multimem_pointer(window, offset, comm.lsaMultimem.mcBasePtr,
                                          "ncclGetLsaMultimemPointer");
}

template <typename Coop>
WARPLOOM_UNCHECKED inline ncclWindow_t ncclFindWindow(Coop, const ncclDevComm& comm,
                                                      const void* ptr) {
  return warploom::nccl::find_window(comm.warploom_state, ptr);
}

WARPLOOM_UNCHECKED inline void* ncclGetResourceBufferLocalPointer(const ncclDevComm& comm,
                                                                  ncclDevResourceHandle _Wh) {
  return ncclGetLocalPointer(comm.resourceWindow, size_t{_Wh} * 128);
}
WARPLOOM_UNCHECKED inline void* ncclGetResourceBufferLsaPointer(const ncclDevComm& comm,
                                                                ncclDevResourceHandle _Wh,
                                                                int peer) {
  return ncclGetLsaPointer(comm.resourceWindow, size_t{_Wh} * 128, peer);
}
WARPLOOM_UNCHECKED inline void* ncclGetResourceBufferPeerPointer(const ncclDevComm& comm,
                                                                 ncclDevResourceHandle _Wh,
                                                                 ncclTeam team, int peer) {
  return ncclGetPeerPointer(comm.resourceWindow, size_t{_Wh} * 128, team, peer);
}
WARPLOOM_UNCHECKED inline void* ncclGetResourceBufferMultimemPointer(const ncclDevComm& comm,
                                                                     ncclDevResourceHandle _Wh,
                                                                     ncclMultimemHandle handle) {
  return ncclGetMultimemPointer(comm.resourceWindow, size_t{_Wh} * 128, handle);
}
WARPLOOM_UNCHECKED inline void* ncclGetResourceBufferLsaMultimemPointer(const ncclDevComm& comm,
                                                                        ncclDevResourceHandle _Wh) {
  return ncclGetLsaMultimemPointer(comm.resourceWindow, size_t{_Wh} * 128, comm);
}
