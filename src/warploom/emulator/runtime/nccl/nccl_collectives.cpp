// What a call of NCCL is: its name, sizes and rules. It begins in nccl_calls.cpp.
#include "nccl/nccl_collectives.h"
#include "behavior/iterations.h"

#include <algorithm>
#include <cstring>

#include "base/stats.h"
#include "cuda/graph.h"
#include "memory/memory.h"
#include "memory/variables.h"
#include "nccl/nccl_group.h"
#include "timing/stream_time.h"
#include "timing/timeline.h"
#include "timing/timing.h"

namespace warploom::nccl {

namespace {

bool has_root(Call call) {
  return call == Call::Broadcast || call == Call::Reduce || call == Call::Gather ||
         call == Call::Scatter;
}

// Operations made with ncclRedOpCreatePreMulSum may have another number on each rank.
int comparable_op(const ReduceOp& op) { return op.scaled ? ncclNumOps : op.code; }

std::string describe(const Task& t) {
  std::string text = format("%s of %zu %s", call_name(t.call), t.count, type_name(t.type));
  if (reduces(t.call)) text += format(" with %s", op_name(t.op.code));
  if (has_root(t.call)) text += format(" and root %d", t.root);
  return text;
}

void check_match(const Task& task, const Task& first) {
  const bool same = task.call == first.call && task.count == first.count &&
                    task.type == first.type && task.root == first.root &&
                    (!reduces(task.call) || comparable_op(task.op) == comparable_op(first.op));
  if (same) return;
  fail(
      {.kind = kinds::collective_mismatch,
       .message = format("collective number %llu of the communicator is %s on rank %d, and %s on "
                         "rank %d",
                         static_cast<unsigned long long>(task.sequence + 1), describe(task).c_str(),
                         task.comm->rank, describe(first).c_str(), first.comm->rank),
       .hint = "all ranks call the same collectives in the same order, with the same count, type, "
               "operation and root",
       .where = task.where,
       .other = first.where});
}

ncclResult_t check_arguments(const Task& task) {
  ncclComm* comm = task.comm;
  if (type_bytes(task.type) == 0) {
    return set_error(comm, ncclInvalidArgument, "unknown data type");
  }
  const int ranks = comm->clique->size;
  if ((has_root(task.call) || is_transfer(task.call)) && (task.root < 0 || task.root >= ranks)) {
    if (is_transfer(task.call)) {
      report_finding({.kind = kinds::peer_out_of_range,
                      .message = format("%s: peer %d of a communicator of %d ranks",
                                        call_name(task.call), task.root, ranks),
                      .hint = "peers are numbered from 0 to nranks - 1"});
    }
    return set_error(comm, ncclInvalidArgument, "no such rank");
  }
  return ncclSuccess;
}

// The stream as the communicator's device sees it.
Stream* stream_for(const Task& task) {
  HostThread& host = current_host();
  const int device = std::exchange(host.device, task.comm->device);
  Stream* stream = resolve_stream(task.handle);
  host.device = device;
  return stream;
}

void check_pointer(const Task& task, const void* p, std::size_t bytes, const char* side) {
  if (bytes == 0) return;
  // NCCL takes it (its user guide, "Data Pointers"); here nothing is known of what it holds.
  if (is_registered(p, bytes)) {
    stop_unsupported(call_name(task.call),
                     "buffers of cudaHostRegister are not emulated: cudaMallocHost gives such");
  }
  if (!in_arena(p) && (g_config.single_process || !find_variable(p))) {
    fail({.kind = kinds::device_dereference_host,
          .message =
              format("%s: the %s buffer at %p is not device memory", call_name(task.call), side, p),
          .hint = "pass memory from cudaMalloc or ncclMemAlloc",
          .where = task.where});
  }
  const Allocation* allocation = in_arena(p) ? find_allocation(p) : nullptr;
  if (allocation && allocation->kind == AllocKind::Heap) {
    report_finding(
        {.kind = kinds::host_dereference,
         .message = format("%s: the %s buffer is of `malloc` in device code, which calls "
                           "of the host cannot use",
                           call_name(task.call), side),
         .hint = "pass memory from cudaMalloc or ncclMemAlloc",
         .where = task.where});
  }
}

// Where the receive buffer lies if a collective works in place.
const char* in_place_receive(const Task& t) {
  const std::size_t own = static_cast<std::size_t>(t.comm->rank) * t.bytes();
  switch (t.call) {
    case Call::AllGather:
    case Call::Gather:
      return t.send - own;
    case Call::ReduceScatter:
    case Call::Scatter:
      return t.send + own;
    case Call::AlltoAll:
      return nullptr;  // never
    default:
      return t.send;
  }
}

void check_overlap(const Task& t) {
  const std::size_t out = t.send_bytes(), in = t.recv_bytes();
  if (!out || !in || t.recv == in_place_receive(t)) return;
  if (t.send >= t.recv + in || t.recv >= t.send + out) return;
  report_finding({.kind = kinds::overlapping_buffers,
                  .message = format("%s on rank %d: the send buffer (%zu bytes) and the receive "
                                    "buffer (%zu bytes) overlap, and not as in-place calls do",
                                    call_name(t.call), t.comm->rank, out, in),
                  .hint = t.call == Call::AlltoAll
                              ? "ncclAlltoAll needs two buffers"
                              : "in place, a rank's block lies at rank * count of the larger "
                                "buffer; else use two buffers"});
}

}  // namespace

bool is_transfer(Call call) { return call == Call::Send || call == Call::Recv; }

bool is_one_sided(Call call) {
  return call == Call::PutSignal || call == Call::Signal || call == Call::WaitSignal;
}

bool is_collective(Call call) { return !is_transfer(call) && !is_one_sided(call); }

bool reduces(Call call) {
  return call == Call::AllReduce || call == Call::Reduce || call == Call::ReduceScatter;
}

const char* call_name(Call call) {
  static const char* const kNames[] = {
      "ncclAllReduce", "ncclBroadcast", "ncclReduce",    "ncclAllGather", "ncclReduceScatter",
      "ncclAlltoAll",  "ncclGather",    "ncclScatter",   "ncclSend",      "ncclRecv",
      "ncclPutSignal", "ncclSignal",    "ncclWaitSignal"};
  return kNames[static_cast<int>(call)];
}

std::size_t Task::send_bytes() const {
  const auto ranks = static_cast<std::size_t>(comm->clique->size);
  const bool is_root = comm->rank == root;
  switch (call) {
    case Call::Recv:
    case Call::Signal:
    case Call::WaitSignal:
      return 0;
    case Call::Broadcast:
      return is_root ? bytes() : 0;
    case Call::ReduceScatter:
    case Call::AlltoAll:
      return bytes() * ranks;
    case Call::Scatter:
      return is_root ? bytes() * ranks : 0;
    default:
      return bytes();
  }
}

std::size_t Task::recv_bytes() const {
  const auto ranks = static_cast<std::size_t>(comm->clique->size);
  const bool is_root = comm->rank == root;
  switch (call) {
    case Call::Send:
    case Call::PutSignal:  // writes the peer's memory, not this rank's
    case Call::Signal:
    case Call::WaitSignal:
      return 0;
    case Call::Reduce:
      return is_root ? bytes() : 0;
    case Call::AllGather:
    case Call::AlltoAll:
      return bytes() * ranks;
    case Call::Gather:
      return is_root ? bytes() * ranks : 0;
    default:
      return bytes();
  }
}

void check_buffers(const Task& task) {
  const char* name = call_name(task.call);
  if (task.send_bytes()) check_range(task.send, task.send_bytes(), name, task.where);
  if (task.recv_bytes()) check_range(task.recv, task.recv_bytes(), name, task.where);
}

void enroll(Task& task) {
  Clique& clique = *task.comm->clique;
  task.sequence = task.comm->collectives++;
  auto& meeting = clique.collectives[task.sequence];
  if (!meeting) {
    meeting = std::make_shared<CollectiveMeeting>();
    meeting->members.resize(static_cast<std::size_t>(clique.size));
  }
  for (const Task* other : meeting->members) {
    if (other) {
      check_match(task, *other);
      break;
    }
  }
  for (const Task* other : meeting->members) {
    if (other) check_grouped(task, *other);
  }
  meeting->members[static_cast<std::size_t>(task.comm->rank)] = &task;
  meeting->enqueued++;
  check_launch_order(task, *meeting);
  task.comm->last_issuer = task.issuer;
}

ncclResult_t submit(std::unique_ptr<Task> task) {
  ncclComm* comm = usable(task->comm, call_name(task->call));
  if (!comm) return ncclInvalidArgument;
  if (!comm->ready) return set_error(comm, ncclInvalidArgument, "the communicator is not ready");
  if (comm->finalized) {
    report_finding({.kind = kinds::use_after_destroy,
                    .message = format("%s is called with a communicator that was finalized",
                                      call_name(task->call)),
                    .hint = "finalize a communicator after its last operation",
                    .other = *comm->finalized});
    return set_error(comm, ncclInvalidUsage, "the communicator is finalized");
  }
  const ncclResult_t valid = check_arguments(*task);
  return valid == ncclSuccess ? issue(std::move(task)) : valid;
}

ncclResult_t in_background(const std::vector<std::unique_ptr<Task>>& tasks) {
  ncclResult_t state = ncclSuccess;
  for (const auto& task : tasks) {
    if (in_background(task->comm) == ncclSuccess) continue;
    state = ncclInProgress;
    note_unissued(task->stream, task->comm,
                  {{task->send, task->send_bytes()}, {task->recv, task->recv_bytes()}});
  }
  return state;
}

ncclResult_t issue(std::unique_ptr<Task> task) {
  ncclComm* comm = task->comm;
  task->where = capture_frames();
  if (const auto other = comm->issuer.use(task->where)) {
    report_finding({.kind = kinds::collective_mismatch,
                    .message = format("%s: another host thread may be in a call with the same "
                                      "communicator",
                                      call_name(task->call)),
                    .hint = "let one thread use a communicator at a time (\"Thread Safety\" in "
                            "NCCL's guide): order the calls by a lock or a join",
                    .other = *other});
  }
  check_pointer(*task, task->send, task->send_bytes(), "send");
  check_pointer(*task, task->recv, task->recv_bytes(), "receive");
  check_overlap(*task);
  task->stream = stream_for(*task);
  if (task->stream->device != comm->device) {
    report_finding({.kind = kinds::launch_error,
                    .message = format("%s: the stream belongs to device %d, the communicator to "
                                      "device %d",
                                      call_name(task->call), task->stream->device, comm->device),
                    .hint = "make the stream after cudaSetDevice of the communicator's device"});
    return ncclUnhandledCudaError;
  }
  task->issuer = &current_host();
  task->group = number_of_group();
  task->called = next_in_issue();
  // In a graph, each launch takes its place in the sequence.
  if (is_collective(task->call) && !task->stream->capture) enroll(*task);
  if (in_group()) {
    trace([&] { return format("%s, in a group", call_name(task->call)); });
    queue_in_group(std::move(task));
    return ncclSuccess;
  }
  std::vector<std::unique_ptr<Task>> one;
  one.push_back(std::move(task));
  const ncclResult_t valid = check_group(one);
  const ncclResult_t state = in_background(one);
  if (!one.empty()) launch(std::move(one));
  return valid == ncclSuccess ? state : valid;
}

}  // namespace warploom::nccl
