// The host API of collectives, Send and Recv.
#include <cstring>

#include "nccl/nccl_collectives.h"

namespace warploom::nccl {

namespace {

std::vector<ReduceOp> g_custom_ops;  // their numbers follow the built-in ones

bool resolve_op(ReduceOp& op, ncclRedOp_t number) {
  const int custom = static_cast<int>(number) - ncclNumOps;
  if (custom < 0) {
    op.code = number;
    return number >= 0;
  }
  if (custom >= static_cast<int>(g_custom_ops.size())) return false;
  op = g_custom_ops[static_cast<std::size_t>(custom)];
  if (!op.destroyed) return true;
  report_finding(
      {.kind = kinds::use_after_destroy,
       .message = "a reduction is used after ncclRedOpDestroy",
       .hint = "destroy the operation after the last collective that is called with it"});
  return false;
}

std::unique_ptr<Task> make_task(Call call, const void* send, void* recv, std::size_t count,
                                ncclDataType_t type, ncclComm_t comm, cudaStream_t stream) {
  auto task = std::make_unique<Task>();
  task->call = call;
  task->comm = comm;
  task->send = static_cast<const char*>(send);
  task->recv = static_cast<char*>(recv);
  task->count = count;
  task->type = type;
  task->handle = stream;
  return task;
}

ncclResult_t submit_reduction(std::unique_ptr<Task> task, ncclRedOp_t op, int root) {
  task->root = root;
  if (!resolve_op(task->op, op)) {
    return set_error(nullptr, ncclInvalidArgument, "unknown operation");
  }
  return submit(std::move(task));
}

ncclResult_t submit_rooted(std::unique_ptr<Task> task, int root) {
  task->root = root;
  return submit(std::move(task));
}

}  // namespace

}  // namespace warploom::nccl

using namespace warploom;
using namespace warploom::nccl;

extern "C" {

ncclResult_t ncclAllReduce(const void* send, void* recv, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return submit_reduction(make_task(Call::AllReduce, send, recv, count, type, comm, stream), op,
                          -1);
}
ncclResult_t ncclReduce(const void* send, void* recv, std::size_t count, ncclDataType_t type,
                        ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream) {
  return submit_reduction(make_task(Call::Reduce, send, recv, count, type, comm, stream), op, root);
}
ncclResult_t ncclReduceScatter(const void* send, void* recv, std::size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return submit_reduction(make_task(Call::ReduceScatter, send, recv, count, type, comm, stream), op,
                          -1);
}
ncclResult_t ncclBroadcast(const void* send, void* recv, std::size_t count, ncclDataType_t type,
                           int root, ncclComm_t comm, cudaStream_t stream) {
  return submit_rooted(make_task(Call::Broadcast, send, recv, count, type, comm, stream), root);
}
ncclResult_t ncclBcast(void* buffer, std::size_t count, ncclDataType_t type, int root,
                       ncclComm_t comm, cudaStream_t stream) {
  return submit_rooted(make_task(Call::Broadcast, buffer, buffer, count, type, comm, stream), root);
}
ncclResult_t ncclAllGather(const void* send, void* recv, std::size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  return submit(make_task(Call::AllGather, send, recv, count, type, comm, stream));
}
ncclResult_t ncclAlltoAll(const void* send, void* recv, std::size_t count, ncclDataType_t type,
                          ncclComm_t comm, cudaStream_t stream) {
  return submit(make_task(Call::AlltoAll, send, recv, count, type, comm, stream));
}
ncclResult_t ncclGather(const void* send, void* recv, std::size_t count, ncclDataType_t type,
                        int root, ncclComm_t comm, cudaStream_t stream) {
  return submit_rooted(make_task(Call::Gather, send, recv, count, type, comm, stream), root);
}
ncclResult_t ncclScatter(const void* send, void* recv, std::size_t count, ncclDataType_t type,
                         int root, ncclComm_t comm, cudaStream_t stream) {
  return submit_rooted(make_task(Call::Scatter, send, recv, count, type, comm, stream), root);
}
ncclResult_t ncclSend(const void* send, std::size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  return submit_rooted(make_task(Call::Send, send, nullptr, count, type, comm, stream), peer);
}
ncclResult_t ncclRecv(void* recv, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return submit_rooted(make_task(Call::Recv, nullptr, recv, count, type, comm, stream), peer);
}

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t type,
                                      ncclScalarResidence_t residence, ncclComm_t comm) {
  if (!usable(comm, "ncclRedOpCreatePreMulSum") || !op || !scalar || type_bytes(type) == 0) {
    return ncclInvalidArgument;
  }
  ReduceOp made;
  made.code = ncclSum;
  made.scaled = true;
  if (residence == ncclScalarHostImmediate) {
    std::memcpy(made.scalar, scalar, type_bytes(type));
  } else {
    made.device_scalar = scalar;
  }
  g_custom_ops.push_back(made);
  *op = static_cast<ncclRedOp_t>(ncclNumOps + static_cast<int>(g_custom_ops.size()) - 1);
  return ncclSuccess;
}

ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm) {
  if (!usable(comm, "ncclRedOpDestroy")) return ncclInvalidArgument;
  ReduceOp known;
  if (op < ncclNumOps || !resolve_op(known, op)) return ncclInvalidArgument;
  g_custom_ops[static_cast<std::size_t>(op - ncclNumOps)].destroyed = true;
  return ncclSuccess;
}

}  // extern "C"
