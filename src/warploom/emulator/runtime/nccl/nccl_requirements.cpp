// What may be asked of a device communicator, by the rules of the NCCL version.
#include "nccl/nccl_requirements.h"

#include <algorithm>

#include "network/multimem.h"

namespace warploom::nccl {

namespace {

bool asks_for_gin(const DevCommRequest& r) {
  bool asked = r.signals > 0 || r.counters > 0 || r.barriers > 0 || r.rail_barriers > 0 ||
               r.world_barriers > 0;
  for (auto* resource = r.resources; resource; resource = resource->next) {
    asked |= resource->signals > 0 || resource->counters > 0;
  }
  return asked;
}

}  // namespace

Connection connection_of(const DevCommRequest& r, int lsa_teams) {
  if (r.gin_force) return Connection::Full;
  const int version = g_config.nccl_version;
  if (version < 22900) {
    const bool gin = lsa_teams > 1 || r.counters > 0 || r.signals > 0;
    return gin ? Connection::Full : Connection::None;
  }
  if (version < 22907 && r.connection == Connection::None && asks_for_gin(r)) {
    return Connection::Full;
  }
  return r.connection;
}

ncclResult_t check_request(ncclComm* comm, const DevCommRequest& r, Connection connection) {
  if (!r.initialized) {
    report_finding(
        {.kind = kinds::requirements_initializer,
         .message = "ncclDevCommCreate: the requirements were not initialized with "
                    "NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER",
         .hint = "write: ncclDevCommRequirements reqs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;"});
    return set_error(comm, ncclInvalidUsage, "requirements are not initialized");
  }
  if ((r.lsa_multimem || r.teams) && !multimem_supported(*comm->clique)) {
    report_finding(
        {.kind = kinds::multimem_not_enabled,
         .message = "ncclDevCommCreate: multimem is asked for, but no two devices share memory",
         .hint = "ask only where ncclCommQueryProperties says multimemSupport"});
    return set_error(comm, ncclInvalidArgument, "multimem is not supported");
  }
  if (g_config.nccl_version >= 22907 && connection == Connection::None && asks_for_gin(r)) {
    report_finding({.kind = kinds::gin_not_enabled,
                    .message = "ncclDevCommCreate: GIN signals, counters or barriers are asked "
                               "for, but ginConnectionType is NCCL_GIN_CONNECTION_NONE",
                    .hint = "set ginConnectionType = NCCL_GIN_CONNECTION_FULL (or RAIL)"});
    return set_error(comm, ncclInvalidArgument, "GIN resources without GIN connections");
  }
  if (r.world_barriers > 0 && connection == Connection::Rail) {
    return set_error(comm, ncclInvalidArgument, "a world barrier needs full GIN connections");
  }
  return ncclSuccess;
}

int contexts_of(const DevCommRequest& r) {
  if (g_config.nccl_version < 22900) return r.contexts > 0 ? std::min(r.contexts, 4) : 4;
  return std::max(r.contexts, 1);
}

std::string describe(const DevCommRequest& r) {
  return format(
      "signals %d, counters %d, contexts %d, barriers %d/%d/%d/%d, connection %d, multimem %d",
      r.signals, r.counters, r.contexts, r.barriers, r.lsa_barriers, r.rail_barriers,
      r.world_barriers, static_cast<int>(r.connection), r.lsa_multimem);
}

}  // namespace warploom::nccl
