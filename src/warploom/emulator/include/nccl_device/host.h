// Host side of the device API: requirements, device communicators, teams.
#pragma once

#include <vector>

#include "core.h"
#include "gin.h"

typedef struct ncclDevResourceRequirements {
  struct ncclDevResourceRequirements* next;
  size_t bufferSize, bufferAlign;
  ncclDevResourceHandle_t* outBufferHandle;
  int ginSignalCount;
  int ginCounterCount;
  ncclGinSignal_t* outGinSignalStart;
  ncclGinCounter_t* outGinCounterStart;
} ncclDevResourceRequirements_t;

typedef struct ncclTeamRequirements {
  struct ncclTeamRequirements* next;
  ncclTeam_t team;
  bool multimem;
  ncclMultimemHandle_t* outMultimemHandle;
} ncclTeamRequirements_t;

#if WARPLOOM_NCCL_VERSION >= 22900
typedef enum {
  NCCL_GIN_CONNECTION_NONE,
  NCCL_GIN_CONNECTION_FULL,
  NCCL_GIN_CONNECTION_RAIL,
#if WARPLOOM_NCCL_VERSION >= 23100
  NCCL_GIN_CONNECTION_CUSTOM_STRIDE,
#endif
} ncclGinConnectionType_t;

typedef enum {
  NCCL_GIN_TYPE_NONE = 0,
  NCCL_GIN_TYPE_PROXY = 2,
  NCCL_GIN_TYPE_GDAKI = 3,
#if WARPLOOM_NCCL_VERSION >= 23000
  NCCL_GIN_TYPE_GPI = 4,
#endif
#if WARPLOOM_NCCL_VERSION >= 23200
  NCCL_GIN_TYPE_EFA_GDA = 5,
#endif
} ncclGinType_t;
#endif

typedef struct ncclDevCommRequirements {
#if WARPLOOM_NCCL_VERSION >= 22900
  size_t size;
  unsigned int magic;
  unsigned int version;
#endif
  ncclDevResourceRequirements_t* resourceRequirementsList;
  ncclTeamRequirements_t* teamRequirementsList;
  bool lsaMultimem;
  int barrierCount;
  int lsaBarrierCount;
  int railGinBarrierCount;
  int lsaLLA2ABlockCount, lsaLLA2ASlotCount;
  bool ginForceEnable;
  int ginContextCount;
  int ginSignalCount;
  int ginCounterCount;
#if WARPLOOM_NCCL_VERSION >= 22900
  ncclGinConnectionType_t ginConnectionType;
  bool ginExclusiveContexts;
  int ginQueueDepth;
#endif
#if WARPLOOM_NCCL_VERSION >= 23000
  int ginTrafficClass;
  int worldGinBarrierCount;
  bool ginStrongSignalsRequired;
  bool ginVaSignalsRequired;
#endif
#if WARPLOOM_NCCL_VERSION >= 23100
  int ginCustomStride;
  ncclGinType_t ginType;
  bool useRuntimeVersion;
  int cftCaps;
  int cftBarrierCount;
#endif
} ncclDevCommRequirements_t;

#if WARPLOOM_NCCL_VERSION >= 23100
#define WARPLOOM_REQUIREMENTS_MORE \
  , NCCL_CONFIG_UNDEF_INT, 0, true, true, 1, NCCL_GIN_TYPE_NONE, false, 0, 0
#elif WARPLOOM_NCCL_VERSION >= 23000
#define WARPLOOM_REQUIREMENTS_MORE , NCCL_CONFIG_UNDEF_INT, 0, true, true
#else
#define WARPLOOM_REQUIREMENTS_MORE
#endif
#if WARPLOOM_NCCL_VERSION >= 22900
#define NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER \
  {sizeof(ncclDevCommRequirements_t),          \
   NCCL_API_MAGIC,                             \
   NCCL_VERSION_CODE,                          \
   NULL,                                       \
   NULL,                                       \
   false,                                      \
   0,                                          \
   0,                                          \
   0,                                          \
   0,                                          \
   0,                                          \
   false,                                      \
   4,                                          \
   0,                                          \
   0,                                          \
   NCCL_GIN_CONNECTION_NONE,                   \
   false,                                      \
   0 WARPLOOM_REQUIREMENTS_MORE}

typedef struct ncclCommProperties {
  size_t size;
  unsigned int magic;
  unsigned int version;
  int rank;
  int nRanks;
  int cudaDev;
  int nvmlDev;
  bool deviceApiSupport;
  bool multimemSupport;
  ncclGinType_t ginType;
  int nLsaTeams;
  bool hostRmaSupport;
  ncclGinType_t railedGinType;
#if WARPLOOM_NCCL_VERSION >= 23100
  uint64_t commHash;
  int ginMinStride;
  ncclGinConnectionType_t ginConnectionType;
  bool ginSupport[64];
  size_t devCommRuntimeVersionSize;
#endif
#if WARPLOOM_NCCL_VERSION >= 23200
  bool cftSupport;
  bool cftMulticastSupport;
  bool cftCountedSupport;
#endif
} ncclCommProperties_t;
#define NCCL_COMM_PROPERTIES_INITIALIZER \
  {sizeof(ncclCommProperties_t), NCCL_API_MAGIC, NCCL_VERSION_CODE}
#endif

namespace warploom::nccl {

WARPLOOM_UNCHECKED inline DevCommRequest request_of(const ncclDevCommRequirements_t& reqs,
                                                    std::vector<ResourceRequest>& resources,
                                                    std::vector<TeamRequest>& teams) {
  DevCommRequest request;
  for (auto* _Wr = reqs.resourceRequirementsList; _Wr; _Wr = _Wr->next) {
    resources.push_back({_Wr->bufferSize, _Wr->bufferAlign, _Wr->outBufferHandle,
                         _Wr->ginSignalCount, _Wr->ginCounterCount, _Wr->outGinSignalStart,
                         _Wr->outGinCounterStart});
  }
  for (std::size_t _Wi = 0; _Wi + 1 < resources.size(); _Wi++)
    resources[_Wi].next = &resources[_Wi + 1];
  request.resources = resources.empty() ? nullptr : resources.data();
  for (auto* _Wt = reqs.teamRequirementsList; _Wt; _Wt = _Wt->next) {
    if (!_Wt->multimem) continue;
    void** base = _Wt->outMultimemHandle ? &_Wt->outMultimemHandle->mcBasePtr : nullptr;
    teams.push_back({team_of(_Wt->team), base, nullptr});
  }
  for (std::size_t _Wi = 0; _Wi + 1 < teams.size(); _Wi++) teams[_Wi].next = &teams[_Wi + 1];
  request.teams = teams.empty() ? nullptr : teams.data();
  request.lsa_multimem = reqs.lsaMultimem;
  request.gin_force = reqs.ginForceEnable;
  request.barriers = reqs.barrierCount;
  request.lsa_barriers = reqs.lsaBarrierCount;
  request.rail_barriers = reqs.railGinBarrierCount;
  request.contexts = reqs.ginContextCount;
  request.signals = reqs.ginSignalCount;
  request.counters = reqs.ginCounterCount;
  request.lla2a_blocks = reqs.lsaLLA2ABlockCount;
  request.lla2a_slots = reqs.lsaLLA2ASlotCount;
#if WARPLOOM_NCCL_VERSION >= 22900
  request.initialized = reqs.magic == NCCL_API_MAGIC;
  switch (reqs.ginConnectionType) {
    case NCCL_GIN_CONNECTION_NONE:
      request.connection = Connection::None;
      break;
    case NCCL_GIN_CONNECTION_FULL:
      request.connection = Connection::Full;
      break;
    case NCCL_GIN_CONNECTION_RAIL:
      request.connection = Connection::Rail;
      break;
#if WARPLOOM_NCCL_VERSION >= 23100
    case NCCL_GIN_CONNECTION_CUSTOM_STRIDE:
      request.connection = Connection::Stride;
      request.stride = reqs.ginCustomStride;
      break;
#endif
  }
#endif
#if WARPLOOM_NCCL_VERSION >= 23000
  request.world_barriers = reqs.worldGinBarrierCount;
  request.strong_signals = reqs.ginStrongSignalsRequired;
  request.va_signals = reqs.ginVaSignalsRequired;
#endif
  return request;
}

WARPLOOM_UNCHECKED inline void set(ncclLsaBarrierHandle& handle, const BarrierInfo& info) {
  handle.bufHandle = info.id;
  handle.nBarriers = info.count;
}
WARPLOOM_UNCHECKED inline void set(ncclGinBarrierHandle& handle, const BarrierInfo& info) {
  handle.signal0 = info.id;
}

WARPLOOM_UNCHECKED inline void fill(ncclDevComm& out, const DevCommInfo& info) {
  out = ncclDevComm{};
  out.warploom_state = info.state;
  out.rank = info.rank;
  out.nRanks = info.ranks;
  out.lsaRank = info.lsa_rank;
  out.lsaSize = info.lsa_size;
  out.nRanks_rcp32 = ~0u / static_cast<uint32_t>(info.ranks);
  out.lsaSize_rcp32 = ~0u / static_cast<uint32_t>(info.lsa_size);
  out.resourceWindow = info.resources;
  out.lsaMultimem.mcBasePtr = info.lsa_multimem;
  out.ginSignalCount = info.signals;
  out.ginCounterCount = info.counters;
  out.ginSignalShadows = info.shadows;
  set(out.lsaBarrier, info.lsa);
  set(out.railGinBarrier, info.rail);
  set(out.warploom_lsa, info.hybrid_lsa);
  set(out.warploom_rail, info.hybrid_rail);
  set(out.warploom_world, info.hybrid_world);
#if WARPLOOM_NCCL_VERSION >= 22900
  out.ginConnectionCount = info.contexts > 0 ? 1 : 0;
  out.ginContextCount = static_cast<uint32_t>(info.contexts);
#else
  out.ginContextCount = static_cast<uint8_t>(info.contexts);
#endif
#if WARPLOOM_NCCL_VERSION >= 23000
  out.magic = NCCL_API_MAGIC;
  out.version = NCCL_VERSION_CODE;
  set(out.hybridLsaBarrier, info.hybrid_lsa);
  set(out.hybridRailGinBarrier, info.hybrid_rail);
  set(out.worldGinBarrier, info.world);
  out.ginStrongLegacySignals = info.strong_legacy;
#if WARPLOOM_NCCL_VERSION >= 23100
  set(out.hybridDenseGinBarrier, info.hybrid_world);
  out.ginContextStride = out.ginConnectionStride = info.context_stride;
#else
  set(out.hybridWorldGinBarrier, info.hybrid_world);
  out.ginConnectionsRailed = out.ginContextsRailed = info.railed;
#endif
#elif WARPLOOM_NCCL_VERSION >= 22900
  out.ginIsRailed = info.railed;
#endif
}

}  // namespace warploom::nccl

extern "C" {

WARPLOOM_UNCHECKED inline ncclResult_t ncclDevCommCreate(ncclComm_t comm,
                                                         const ncclDevCommRequirements_t* reqs,
                                                         ncclDevComm_t* outDevComm) {
  if (!reqs || !outDevComm) return ncclInvalidArgument;
  std::vector<warploom::nccl::ResourceRequest> resources;
  std::vector<warploom::nccl::TeamRequest> teams;
  const auto request = warploom::nccl::request_of(*reqs, resources, teams);
  warploom::nccl::DevCommInfo info;
  const ncclResult_t result = warploom::nccl::create_devcomm(comm, request, &info);
  if (result == ncclSuccess) warploom::nccl::fill(*outDevComm, info);
  return result;
}

WARPLOOM_UNCHECKED inline ncclResult_t ncclDevCommDestroy(ncclComm_t comm,
                                                          const ncclDevComm_t* devComm) {
  if (!devComm) return ncclInvalidArgument;
  return warploom::nccl::destroy_devcomm(comm, devComm->warploom_state);
}

#if WARPLOOM_NCCL_VERSION >= 22900
WARPLOOM_UNCHECKED inline ncclResult_t ncclCommQueryProperties(ncclComm_t comm,
                                                               ncclCommProperties_t* props) {
  if (!props) return ncclInvalidArgument;
  warploom::nccl::Properties found;
  found.initialized = props->magic == NCCL_API_MAGIC;
  const ncclResult_t result = warploom::nccl::query_properties(comm, &found);
  if (result != ncclSuccess) return result;
  props->rank = found.rank;
  props->nRanks = found.ranks;
  props->cudaDev = props->nvmlDev = found.device;
  props->deviceApiSupport = true;
  props->multimemSupport = found.multimem;
  props->ginType = props->railedGinType = NCCL_GIN_TYPE_PROXY;
  props->nLsaTeams = found.lsa_teams;
  props->hostRmaSupport = found.one_sided;
#if WARPLOOM_NCCL_VERSION >= 23100
  props->commHash = found.hash;
  props->ginMinStride = 1;
  props->ginConnectionType = NCCL_GIN_CONNECTION_FULL;
  for (bool& supported : props->ginSupport) supported = false;
  props->ginSupport[NCCL_GIN_TYPE_PROXY] = true;
#endif
#if WARPLOOM_NCCL_VERSION >= 23100
  props->devCommRuntimeVersionSize = sizeof(ncclDevComm);
#endif
#if WARPLOOM_NCCL_VERSION >= 23200
  props->cftSupport = props->cftMulticastSupport = props->cftCountedSupport = false;
#endif
  return ncclSuccess;
}

WARPLOOM_UNCHECKED inline ncclResult_t ncclGetLsaDevicePointer(ncclWindow_t window, size_t offset,
                                                               int lsaRank, void** outPtr) {
  return warploom::nccl::host_pointer(window, offset, true, lsaRank, outPtr);
}
WARPLOOM_UNCHECKED inline ncclResult_t ncclGetPeerDevicePointer(ncclWindow_t window, size_t offset,
                                                                int peer, void** outPtr) {
  return warploom::nccl::host_pointer(window, offset, false, peer, outPtr);
}
WARPLOOM_UNCHECKED inline ncclResult_t ncclGetLsaMultimemDevicePointer(ncclWindow_t window,
                                                                       size_t offset,
                                                                       void** outPtr) {
  return warploom::nccl::host_multimem_pointer(window, offset, true, nullptr, outPtr);
}
WARPLOOM_UNCHECKED inline ncclResult_t ncclGetMultimemDevicePointer(ncclWindow_t window,
                                                                    size_t offset,
                                                                    ncclMultimemHandle_t multimem,
                                                                    void** outPtr) {
  return warploom::nccl::host_multimem_pointer(window, offset, false, multimem.mcBasePtr, outPtr);
}
#endif

WARPLOOM_UNCHECKED inline ncclResult_t ncclLsaBarrierCreateRequirement(
    ncclTeam_t team, int nBarriers, ncclLsaBarrierHandle_t* outHandle,
    ncclDevResourceRequirements_t* outReq) {
  *outReq = ncclDevResourceRequirements_t{};
  outReq->bufferSize = static_cast<size_t>(nBarriers) * static_cast<size_t>(3 + team.nRanks) * 4;
  outReq->bufferAlign = alignof(uint32_t);
  outReq->outBufferHandle = &outHandle->bufHandle;
  outHandle->nBarriers = nBarriers;
  warploom::nccl::declare_barrier(&outHandle->bufHandle, warploom::nccl::team_of(team), nBarriers,
                                  false);
  return ncclSuccess;
}
WARPLOOM_UNCHECKED inline ncclResult_t ncclGinBarrierCreateRequirement(
    ncclComm_t, ncclTeam_t team, int nBarriers, ncclGinBarrierHandle_t* outHandle,
    ncclDevResourceRequirements_t* outReq) {
  *outReq = ncclDevResourceRequirements_t{};
  outReq->ginSignalCount = nBarriers * team.nRanks;
  outReq->outGinSignalStart = &outHandle->signal0;
  warploom::nccl::declare_barrier(&outHandle->signal0, warploom::nccl::team_of(team), nBarriers,
                                  true);
  return ncclSuccess;
}

}  // extern "C"

WARPLOOM_UNCHECKED inline ncclTeam_t ncclTeamWorld(ncclComm_t comm) {
  int ranks = 0, rank = 0, lsa = 0;
  warploom::nccl::describe_comm(comm, &ranks, &rank, &lsa);
  return {ranks, rank, 1};
}
WARPLOOM_UNCHECKED inline ncclTeam_t ncclTeamLsa(ncclComm_t comm) {
  int ranks = 0, rank = 0, lsa = 1;
  warploom::nccl::describe_comm(comm, &ranks, &rank, &lsa);
  return {lsa, rank % lsa, 1};
}
WARPLOOM_UNCHECKED inline ncclTeam_t ncclTeamRail(ncclComm_t comm) {
  int ranks = 0, rank = 0, lsa = 1;
  warploom::nccl::describe_comm(comm, &ranks, &rank, &lsa);
  return {ranks / lsa, rank / lsa, lsa};
}
WARPLOOM_UNCHECKED inline int ncclTeamRankToWorld(ncclComm_t comm, ncclTeam_t team, int rank) {
  int ranks = 0, self = 0, lsa = 1;
  warploom::nccl::describe_comm(comm, &ranks, &self, &lsa);
  return self + (rank - team.rank) * team.stride;
}
WARPLOOM_UNCHECKED inline int ncclTeamRankToLsa(ncclComm_t comm, ncclTeam_t team, int rank) {
  int ranks = 0, self = 0, lsa = 1;
  warploom::nccl::describe_comm(comm, &ranks, &self, &lsa);
  return self % lsa + (rank - team.rank) * team.stride;
}
