// What may be asked of a device communicator, by the rules of the NCCL version.
#pragma once

#include <string>

#include "nccl/nccl_objects.h"

namespace warploom::nccl {

// Which connections the version makes of a request.
Connection connection_of(const DevCommRequest& r, int lsa_teams);
// Reports what the version rejects, and returns its error.
ncclResult_t check_request(ncclComm* comm, const DevCommRequest& r, Connection connection);
int contexts_of(const DevCommRequest& r);
// The same on all ranks, or they disagree.
std::string describe(const DevCommRequest& r);

}  // namespace warploom::nccl
