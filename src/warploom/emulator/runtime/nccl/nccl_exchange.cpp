// What a collective does once all of its ranks have started it.
#include <algorithm>
#include <cstring>

#include "behavior/spoil.h"
#include "memory/fresh.h"
#include "memory/memory.h"
#include "nccl/nccl_collectives.h"
#include "timing/timing.h"
#include "timing/transport_time.h"

namespace warploom::nccl {

namespace {

using Members = std::vector<Task*>;
using Bytes = std::vector<char>;

// Every output is made before any is written: inputs and outputs may be the same memory.
struct Output {
  Task* task;
  char* target;
  std::shared_ptr<const Bytes> data;  // one for all ranks that get the same
};

StreamOp& op_of_task(const Task& task) { return *task.batch->op; }

void enter_accesses(const Members& members) {
  for (const Task* task : members) {
    const Actor actor = actor_of(op_of_task(*task));
    if (task->send_bytes()) access_read(actor, task->send, task->send_bytes());
    if (reduces(task->call)) {
      note_fresh_source(task->send, task->send_bytes(), call_name(task->call),
                        op_of_task(*task).rank, task->where);
    }
    if (task->recv_bytes()) access_write(actor, task->recv, task->recv_bytes());
  }
}

std::vector<ReduceOp> operations(const Members& members) {
  std::vector<ReduceOp> ops;
  for (const Task* task : members) {
    ReduceOp op = task->op;
    if (op.device_scalar) {
      const std::size_t bytes = type_bytes(task->type);
      check_range(op.device_scalar, bytes, call_name(task->call), task->where);
      access_read(actor_of(op_of_task(*task)), op.device_scalar, bytes);
      std::memcpy(op.scalar, op.device_scalar, bytes);
    }
    ops.push_back(op);
  }
  return ops;
}

// Data of a task as it arrives elsewhere.
Bytes as_received(const Task& from, std::size_t offset, std::size_t bytes) {
  Bytes data(from.send + offset, from.send + offset + bytes);
  spoil(data.data(), data.size(), from.comm->device);
  return data;
}

Bytes reduced(const Members& members, std::size_t offset) {
  std::vector<const char*> inputs;
  std::vector<Bytes> altered;  // of all members alike: all get the same sum
  for (const Task* task : members) {
    if (g_spoiling && members.size() > 1) {
      altered.push_back(as_received(*task, offset, task->bytes()));
      inputs.push_back(altered.back().data());
    } else {
      inputs.push_back(task->send + offset);
    }
  }
  Bytes out(members[0]->bytes());
  reduce(out.data(), inputs, members[0]->count, members[0]->type, operations(members));
  return out;
}

// What rank `to` gets of another rank's data, or of its own.
void append(Bytes& out, const Task& from, std::size_t offset, std::size_t bytes, std::size_t to) {
  if (g_spoiling && static_cast<std::size_t>(from.comm->rank) != to) {
    const Bytes data = as_received(from, offset, bytes);
    out.insert(out.end(), data.begin(), data.end());
    return;
  }
  out.insert(out.end(), from.send + offset, from.send + offset + bytes);
}

std::vector<Output> compute_reduction(const Members& members) {
  const Task& any = *members[0];
  std::vector<Output> out;
  if (any.call == Call::ReduceScatter) {
    for (std::size_t r = 0; r < members.size(); r++) {
      auto part = std::make_shared<const Bytes>(reduced(members, r * any.bytes()));
      out.push_back({members[r], members[r]->recv, std::move(part)});
    }
    return out;
  }
  const auto sum = std::make_shared<const Bytes>(reduced(members, 0));
  for (Task* t : members) {
    if (t->recv_bytes()) out.push_back({t, t->recv, sum});
  }
  return out;
}

// What rank `r` gets from a call that only moves data.
Bytes moved(const Members& members, std::size_t r) {
  const Task& any = *members[0];
  const std::size_t block = any.bytes();
  Bytes data;
  switch (any.call) {
    case Call::Broadcast:
      append(data, *members[static_cast<std::size_t>(any.root)], 0, block, r);
      break;
    case Call::Scatter:
      append(data, *members[static_cast<std::size_t>(any.root)], r * block, block, r);
      break;
    default: {  // a block from each rank: the same one for all, or one for each
      const std::size_t offset = any.call == Call::AlltoAll ? r * block : 0;
      for (const Task* from : members) append(data, *from, offset, block, r);
      break;
    }
  }
  return data;
}

std::vector<Output> compute_move(const Members& members) {
  const Call call = members[0]->call;
  const bool same_for_all = !g_spoiling && call != Call::Scatter && call != Call::AlltoAll;
  std::shared_ptr<const Bytes> data;
  std::vector<Output> out;
  for (std::size_t r = 0; r < members.size(); r++) {
    if (members[r]->recv_bytes() == 0) continue;
    if (!data || !same_for_all) data = std::make_shared<const Bytes>(moved(members, r));
    out.push_back({members[r], members[r]->recv, data});
  }
  return out;
}

std::vector<Output> compute(const Members& members) {
  switch (members[0]->call) {
    case Call::AllReduce:
    case Call::Reduce:
    case Call::ReduceScatter:
      return compute_reduction(members);
    default:
      return compute_move(members);
  }
}

// A rank's completion comes after the starts of the ranks whose data it gets.
void join_clocks(const Members& members) {
  const Task& any = *members[0];
  const bool from_root = any.call == Call::Broadcast || any.call == Call::Scatter;
  const bool to_root = any.call == Call::Reduce || any.call == Call::Gather;
  if (from_root) {
    const Clock root = op_of_task(*members[static_cast<std::size_t>(any.root)]).clock;
    for (Task* t : members) op_of_task(*t).clock.join(root);
    return;
  }
  Clock all;
  for (const Task* t : members) all.join(op_of_task(*t).clock);
  all.settle();
  for (Task* t : members) {
    if (!to_root || t->comm->rank == any.root) op_of_task(*t).clock.join(all);
  }
}

bool readable(const Members& members) {
  return std::all_of(members.begin(), members.end(), [](const Task* t) {
    const auto alive = [](const void* p, std::size_t bytes) {
      const Allocation* a = bytes ? find_allocation(p) : nullptr;
      return bytes == 0 ||
             (a && a->live && reinterpret_cast<uintptr_t>(p) + bytes <= a->start + a->bytes);
    };
    return alive(t->send, t->send_bytes()) && alive(t->recv, t->recv_bytes());
  });
}

void exchange(const Members& members) {
  enter_accesses(members);
  if (members[0]->count && readable(members)) {
    for (const Output& out : compute(members)) {
      if (!out.data->empty()) std::memcpy(out.target, out.data->data(), out.data->size());
    }
  }
  join_clocks(members);
  if (g_timed) price_collective(members);
  note_event();
  for (Task* task : members) task_done(*task);
}

void check_transfer(const Task& send, const Task& receive) {
  if (send.bytes() == receive.bytes() && send.type == receive.type) return;
  fail({.kind = kinds::collective_mismatch,
        .message = format("ncclSend of %zu %s from rank %d meets ncclRecv of %zu %s on rank %d",
                          send.count, type_name(send.type), send.comm->rank, receive.count,
                          type_name(receive.type), receive.comm->rank),
        .hint = "both sides name the same count and type, in the same order of calls",
        .where = receive.where,
        .other = send.where});
}

void transfer(Task& send, Task& receive) {
  check_transfer(send, receive);
  check_grouped(send, receive);
  StreamOp& from = op_of_task(send);
  StreamOp& to = op_of_task(receive);
  access_read(actor_of(from), send.send, send.bytes());
  access_write(actor_of(to), receive.recv, receive.bytes());
  if (send.count && readable({&send}) && readable({&receive})) {
    std::memmove(receive.recv, send.send, send.bytes());
    if (send.comm->device != receive.comm->device) {
      spoil(receive.recv, send.bytes(), send.comm->device);
    }
  }
  to.clock.join(from.clock);
  if (g_timed) price_pair(send, receive);
  note_event();
  task_done(send);
  task_done(receive);
}

}  // namespace

void start_collective(Task& task) {
  Clique& clique = *task.comm->clique;
  const std::shared_ptr<CollectiveMeeting> meeting = clique.collectives[task.sequence];
  if (++meeting->started < clique.size) return;
  clique.collectives.erase(task.sequence);
  exchange(meeting->members);
}

void start_transfer(Task& task) {
  Clique& clique = *task.comm->clique;
  const int me = task.comm->rank;
  const bool sends = task.call == Call::Send;
  const std::pair<int, int> key = sends ? std::pair{me, task.root} : std::pair{task.root, me};
  auto& mine = sends ? clique.sends[key] : clique.receives[key];
  auto& theirs = sends ? clique.receives[key] : clique.sends[key];
  if (theirs.empty()) {
    mine.push_back(&task);
    return;
  }
  Task* other = theirs.front();
  theirs.pop_front();
  if (sends) {
    transfer(task, *other);
  } else {
    transfer(*other, task);
  }
}

}  // namespace warploom::nccl
