#include "nccl_collectives.h"
#include "iterations.h"

#include <algorithm>
#include <cstring>

#include "graph.h"
#include "memory.h"
#include "nccl_group.h"
#include "stats.h"
#include "stream_time.h"
#include "timeline.h"
#include "timing.h"

namespace warploom::nccl {

namespace {

bool is_transfer(Call call) { return call == Call::Send || call == Call::Recv; }

bool is_one_sided(Call call) {
  return call == Call::PutSignal || call == Call::Signal || call == Call::WaitSignal;
}

// Takes a place in the order of the communicator's collectives.
bool is_collective(Call call) { return !is_transfer(call) && !is_one_sided(call); }

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
      {.kind = "collective_mismatch",
       .message = format("collective number %llu of the communicator is %s on rank %d, and %s on "
                         "rank %d",
                         static_cast<unsigned long long>(task.sequence + 1), describe(task).c_str(),
                         task.comm->rank, describe(first).c_str(), first.comm->rank),
       .hint = "all ranks call the same collectives in the same order, with the same count, type, "
               "operation and root",
       .where = task.where,
       .other = first.where});
}

// Enters the call into the communicator's sequence, and compares it with the other ranks'.
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
}

ncclResult_t check_arguments(const Task& task) {
  ncclComm* comm = task.comm;
  if (type_bytes(task.type) == 0) {
    return set_error(comm, ncclInvalidArgument, "unknown data type");
  }
  const int ranks = comm->clique->size;
  if ((has_root(task.call) || is_transfer(task.call)) && (task.root < 0 || task.root >= ranks)) {
    if (is_transfer(task.call)) {
      report_finding({.kind = "peer_out_of_range",
                      .message = format("%s: peer %d of a communicator of %d ranks",
                                        call_name(task.call), task.root, ranks),
                      .hint = "peers are numbered from 0 to nranks - 1"});
    }
    return set_error(comm, ncclInvalidArgument, "no such rank");
  }
  if (reduces(task.call) && !reducible(task.type)) {
    stop_unsupported(type_name(task.type), "reductions of 8-bit floats are not emulated");
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
  if (!in_arena(p)) {
    fail({.kind = "device_dereference_host",
          .message =
              format("%s: the %s buffer at %p is not device memory", call_name(task.call), side, p),
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
  report_finding({.kind = "overlapping_buffers",
                  .message = format("%s on rank %d: the send buffer (%zu bytes) and the receive "
                                    "buffer (%zu bytes) overlap, and not as in-place calls do",
                                    call_name(t.call), t.comm->rank, out, in),
                  .hint = t.call == Call::AlltoAll
                              ? "ncclAlltoAll needs two buffers"
                              : "in place, a rank's block lies at rank * count of the larger "
                                "buffer; else use two buffers"});
}

}  // namespace

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

std::string Batch::waiting() const {
  std::string text;
  for (const auto& task : tasks) {
    if (!task->batch) continue;  // done
    const Clique& clique = *task->comm->clique;
    if (!text.empty()) text += "; ";
    if (is_one_sided(task->call)) {
      text += waiting_signals(*task);
      continue;
    }
    if (is_transfer(task->call)) {
      text += format("%s %s rank %d, which has no matching %s", call_name(task->call),
                     task->call == Call::Send ? "to" : "from", task->root,
                     task->call == Call::Send ? "ncclRecv" : "ncclSend");
      continue;
    }
    const auto it = clique.collectives.find(task->sequence);
    if (it == clique.collectives.end()) continue;
    std::vector<bool> present;
    for (const Task* member : it->second->members) present.push_back(member && member->started);
    text += format("%s: rank %s has not started it", call_name(task->call),
                   clique.missing(present).c_str());
  }
  return text;
}

ncclResult_t submit(std::unique_ptr<Task> task) {
  ncclComm* comm = usable(task->comm, call_name(task->call));
  if (!comm) return ncclInvalidArgument;
  if (!comm->ready) return set_error(comm, ncclInvalidArgument, "the communicator is not ready");
  if (comm->finalized) {
    report_finding({.kind = "use_after_destroy",
                    .message = format("%s is called with a communicator that was finalized",
                                      call_name(task->call)),
                    .hint = "finalize a communicator after its last operation",
                    .other = comm->ended});
    return set_error(comm, ncclInvalidUsage, "the communicator is finalized");
  }
  const ncclResult_t valid = check_arguments(*task);
  return valid == ncclSuccess ? issue(std::move(task)) : valid;
}

ncclResult_t issue(std::unique_ptr<Task> task) {
  ncclComm* comm = task->comm;
  task->where = capture_frames();
  check_pointer(*task, task->send, task->send_bytes(), "send");
  check_pointer(*task, task->recv, task->recv_bytes(), "receive");
  check_overlap(*task);
  task->stream = stream_for(*task);
  if (task->stream->device != comm->device) {
    report_finding({.kind = "launch_error",
                    .message = format("%s: the stream belongs to device %d, the communicator to "
                                      "device %d",
                                      call_name(task->call), task->stream->device, comm->device),
                    .hint = "make the stream after cudaSetDevice of the communicator's device"});
    return ncclUnhandledCudaError;
  }
  task->issuer = &current_host();
  task->group = number_of_group();
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
  if (!one.empty()) launch(std::move(one));
  return valid;
}

namespace {

// What a rank cannot do without of the other ranks' data.
std::size_t foreign_bytes(const Task& t) {
  const int rank = t.comm->rank;
  if (t.comm->clique->size == 1) return 0;
  switch (t.call) {
    case Call::AllGather:
    case Call::AlltoAll:
    case Call::Gather:
      return t.recv_bytes() - std::min(t.recv_bytes(), t.bytes());
    case Call::Broadcast:
    case Call::Scatter:
    case Call::Recv:
      return t.root == rank ? 0 : t.recv_bytes();
    default:
      return t.recv_bytes();
  }
}

const char* batch_name(const std::vector<std::unique_ptr<Task>>& tasks) {
  return tasks.size() > 1 ? "a group of NCCL calls" : call_name(tasks.front()->call);
}

// Makes `op` the operation of the batch, and returns what starts it.
StartFunction start_of(const std::shared_ptr<Batch>& batch, const std::shared_ptr<StreamOp>& op) {
  for (auto& task : batch->tasks) task->batch = batch.get();
  batch->remaining = batch->tasks.size();
  batch->tasks.front()->comm->pending++;
  batch->op = op;
  op->waiting_for = [weak = std::weak_ptr<Batch>(batch)]() -> std::string {
    const auto alive = weak.lock();
    return alive ? alive->waiting() : std::string();
  };
  return [batch](StreamOp&) {
    for (auto& task : batch->tasks) {
      task->started = true;
      check_buffers(*task);
      if (g_poisoning) note_communication();
      g_stats.host_calls++;
      g_stats.host_bytes += foreign_bytes(*task);
      const auto type = static_cast<std::size_t>(task->type);
      if (type < std::size(g_stats.typed_bytes)) g_stats.typed_bytes[type] += foreign_bytes(*task);
    }
    // The last start may complete the batch and drop it from its stream.
    const std::shared_ptr<Batch> keep = batch;
    for (auto& task : keep->tasks) {
      if (is_one_sided(task->call)) {
        start_one_sided(*task);
      } else if (is_transfer(task->call)) {
        start_transfer(*task);
      } else {
        start_collective(*task);
      }
    }
  };
}

void capture_batch(const std::shared_ptr<Batch>& model) {
  const Task& first = *model->tasks.front();
  NodeWork work{.type = cudaGraphNodeTypeKernel,
                .kind = OpKind::Collective,
                .name = batch_name(model->tasks),
                .where = first.where,
                .rank = g_config.single_process ? first.stream->device : current_rank(),
                .device = first.stream->device,
                .prepare = {}};
  work.prepare = [model](const std::shared_ptr<StreamOp>& op) {
    auto batch = std::make_shared<Batch>();
    for (const auto& task : model->tasks) {
      batch->tasks.push_back(std::make_unique<Task>(*task));
      batch->tasks.back()->issuer = nullptr;
      if (is_collective(task->call)) enroll(*batch->tasks.back());
    }
    return start_of(batch, op);
  };
  capture_node(first.stream, std::move(work));
}

}  // namespace

void launch(std::vector<std::unique_ptr<Task>> tasks) {
  auto batch = std::make_shared<Batch>();
  batch->tasks = std::move(tasks);
  Stream* stream = batch->tasks.front()->stream;
  if (stream->capture) return capture_batch(batch);
  const auto op = push_op(stream, OpKind::Collective, batch_name(batch->tasks), {});
  op->where = batch->tasks.front()->where;
  op->start = start_of(batch, op);
}

void task_done(Task& task) {
  Batch* batch = std::exchange(task.batch, nullptr);
  if (--batch->remaining > 0) return;
  ncclComm* comm = task.comm;
  // The operation owns the batch through its closure: this breaks the cycle.
  const std::shared_ptr<StreamOp> op = std::move(batch->op);
  if (g_timed) {
    const double waited = batch->together - op->begins;
    const double ends = end_of(*op);
    add_span({SpanKind::Collective, op->rank, op->stream, op->name, op->begins, ends, waited,
              ends - batch->together});
  }
  complete(*op);
  comm->pending--;
  comm->idle.notify_all();
}

}  // namespace warploom::nccl
