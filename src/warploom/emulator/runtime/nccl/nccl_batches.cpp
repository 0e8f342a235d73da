// NCCL calls that are one operation of their streams, and the order of a communicator's operations.
#include <algorithm>

#include "base/stats.h"
#include "behavior/iterations.h"
#include "cuda/graph.h"
#include "nccl/nccl_collectives.h"
#include "timing/stream_time.h"
#include "timing/timeline.h"
#include "timing/timing.h"

namespace warploom::nccl {

std::string Batch::waiting() const {
  if (before && !before->over) return "for the operation of its communicator before it";
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

void begin(const std::shared_ptr<Batch>& batch) {
  for (auto& task : batch->tasks) {
    task->started = true;
    check_ahead_in_group(*task, *batch->op);
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
}

// The operation comes after the communicator's latest one. One-sided calls take no turns.
void take_turn_of(Batch& batch, const StreamOp& op) {
  const auto& tasks = batch.tasks;
  if (std::ranges::any_of(tasks, [](const auto& task) { return is_one_sided(task->call); })) return;
  ncclComm& comm = *tasks.front()->comm;
  batch.before = std::move(comm.latest);
  batch.turn = comm.latest = std::make_shared<Turn>();
  batch.turn->stream = op.stream;
}

// Its stream has come to it: is it its turn? If not, it begins as soon as it is.
void begin_in_turn(const std::shared_ptr<Batch>& batch) {
  Turn* before = batch->before.get();
  if (before && !before->over) {
    before->waiting.push_back([batch] { begin_in_turn(batch); });
    return;
  }
  StreamOp& op = *batch->op;
  if (before && before->stream != op.stream) {
    op.clock.join(before->clock);
    op.begin = op.clock;
    if (g_timed) op.begins = std::max(op.begins, before->time);
  }
  batch->before.reset();
  begin(batch);
}

void end_turn(Turn& turn, const StreamOp& op) {
  turn.over = true;
  turn.clock = op.clock;
  turn.time = op.ends;
  std::vector<std::function<void()>> waiting;
  waiting.swap(turn.waiting);
  for (const auto& next : waiting) next();
}

// Makes `op` the operation of the batch, and returns what starts it.
StartFunction start_of(const std::shared_ptr<Batch>& batch, const std::shared_ptr<StreamOp>& op) {
  for (auto& task : batch->tasks) task->batch = batch.get();
  batch->remaining = batch->tasks.size();
  batch->tasks.front()->comm->pending++;
  batch->op = op;
  take_turn_of(*batch, *op);
  op->waiting_for = [weak = std::weak_ptr<Batch>(batch)]() -> std::string {
    const auto alive = weak.lock();
    return alive ? alive->waiting() : std::string();
  };
  return [batch](StreamOp&) { begin_in_turn(batch); };
}

// The streams of a batch, its own first.
std::vector<Stream*> streams_of(const Batch& batch) {
  std::vector<Stream*> streams;
  for (const auto& task : batch.tasks) {
    if (!std::ranges::count(streams, task->stream)) streams.push_back(task->stream);
  }
  return streams;
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
    usable(model->tasks.front()->comm, "cudaGraphLaunch of a collective");
    auto batch = std::make_shared<Batch>();
    for (const auto& task : model->tasks) {
      batch->tasks.push_back(std::make_unique<Task>(*task));
      batch->tasks.back()->issuer = nullptr;
      batch->tasks.back()->called = 0;  // in no group: the launch is what comes at its place
      if (is_collective(task->call)) enroll(*batch->tasks.back());
    }
    return start_of(batch, op);
  };
  capture_node(streams_of(*model), std::move(work));
}

}  // namespace

void launch(std::vector<std::unique_ptr<Task>> tasks) {
  auto batch = std::make_shared<Batch>();
  batch->tasks = std::move(tasks);
  for (const auto& task : batch->tasks) {
    require_issued(*task->stream, call_name(task->call), task->comm);
  }
  std::vector<Stream*> others = streams_of(*batch);
  Stream* stream = others.front();
  if (stream->capture) {
    price_host_work(true);
    host_call(g_machine.host_nccl_ns);  // NCCL plans a collective when it is captured
    return capture_batch(batch);
  }
  others.erase(others.begin());
  constexpr const char* kOrdered = "streams of a group of NCCL calls";
  for (Stream* other : others) order_streams(stream, other, kOrdered);
  const auto op = push_op(stream, OpKind::Collective, batch_name(batch->tasks), {});
  op->where = batch->tasks.front()->where;
  op->start = start_of(batch, op);
  for (Stream* other : others) order_streams(other, stream, kOrdered);
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
  const std::shared_ptr<Turn> turn = std::move(batch->turn);
  complete(*op);
  if (turn) end_turn(*turn, *op);
  comm->pending--;
  comm->idle.notify_all();
}

}  // namespace warploom::nccl
