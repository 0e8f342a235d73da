// Collectives with a configuration of their own: it steers performance, and must be initialized.
#include "nccl/nccl_objects.h"

namespace warploom::nccl {

namespace {

ncclResult_t check_config(ncclComm_t comm, const ncclCollConfig_t* config, const char* call) {
  if (!config) return ncclSuccess;
  if (config->magic != NCCL_API_MAGIC) {
    report_finding({.kind = kinds::requirements_initializer,
                    .message = format("%s: the ncclCollConfig_t was not initialized with "
                                      "NCCL_COLLCONFIG_INITIALIZER",
                                      call),
                    .hint = "write: ncclCollConfig_t config = NCCL_COLLCONFIG_INITIALIZER;"});
    return set_error(usable(comm, call), ncclInvalidArgument, "the configuration is not valid");
  }
  const int least = config->minCTAs, most = config->maxCTAs, unset = NCCL_CONFIG_UNDEF_INT;
  if ((least != unset && least <= 0) || (most != unset && most <= 0) ||
      (least != unset && most != unset && least > most)) {
    return set_error(usable(comm, call), ncclInvalidArgument, "minCTAs and maxCTAs do not fit");
  }
  if (config->size >= sizeof *config && config->launchCompletionEvent) {
    stop_unsupported("ncclCollConfig_t::launchCompletionEvent",
                     "events at the completion of a collective's launch are not emulated");
  }
  return ncclSuccess;
}

}  // namespace

}  // namespace warploom::nccl

using namespace warploom::nccl;

#define CHECK(name)                                                                      \
  if (const ncclResult_t valid = check_config(comm, config, name); valid != ncclSuccess) \
  return valid

extern "C" {

ncclResult_t ncclAllReduceConfig(const void* send, void* recv, std::size_t count,
                                 ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                                 cudaStream_t stream, const ncclCollConfig_t* config) {
  CHECK("ncclAllReduceConfig");
  return ncclAllReduce(send, recv, count, type, op, comm, stream);
}
ncclResult_t ncclBroadcastConfig(const void* send, void* recv, std::size_t count,
                                 ncclDataType_t type, int root, ncclComm_t comm,
                                 cudaStream_t stream, const ncclCollConfig_t* config) {
  CHECK("ncclBroadcastConfig");
  return ncclBroadcast(send, recv, count, type, root, comm, stream);
}
ncclResult_t ncclReduceConfig(const void* send, void* recv, std::size_t count, ncclDataType_t type,
                              ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream,
                              const ncclCollConfig_t* config) {
  CHECK("ncclReduceConfig");
  return ncclReduce(send, recv, count, type, op, root, comm, stream);
}
ncclResult_t ncclAllGatherConfig(const void* send, void* recv, std::size_t count,
                                 ncclDataType_t type, ncclComm_t comm, cudaStream_t stream,
                                 const ncclCollConfig_t* config) {
  CHECK("ncclAllGatherConfig");
  return ncclAllGather(send, recv, count, type, comm, stream);
}
ncclResult_t ncclReduceScatterConfig(const void* send, void* recv, std::size_t count,
                                     ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                                     cudaStream_t stream, const ncclCollConfig_t* config) {
  CHECK("ncclReduceScatterConfig");
  return ncclReduceScatter(send, recv, count, type, op, comm, stream);
}
ncclResult_t ncclAlltoAllConfig(const void* send, void* recv, std::size_t count,
                                ncclDataType_t type, ncclComm_t comm, cudaStream_t stream,
                                const ncclCollConfig_t* config) {
  CHECK("ncclAlltoAllConfig");
  return ncclAlltoAll(send, recv, count, type, comm, stream);
}
ncclResult_t ncclGatherConfig(const void* send, void* recv, std::size_t count, ncclDataType_t type,
                              int root, ncclComm_t comm, cudaStream_t stream,
                              const ncclCollConfig_t* config) {
  CHECK("ncclGatherConfig");
  return ncclGather(send, recv, count, type, root, comm, stream);
}
ncclResult_t ncclScatterConfig(const void* send, void* recv, std::size_t count, ncclDataType_t type,
                               int root, ncclComm_t comm, cudaStream_t stream,
                               const ncclCollConfig_t* config) {
  CHECK("ncclScatterConfig");
  return ncclScatter(send, recv, count, type, root, comm, stream);
}

}  // extern "C"

#undef CHECK
