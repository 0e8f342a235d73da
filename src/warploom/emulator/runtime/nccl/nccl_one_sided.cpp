// One-sided calls of the host: ncclPutSignal, ncclSignal and ncclWaitSignal.
//
// Each is an operation of its stream. A signal carries what its stream has ordered before it, its
// own put included; a wait takes over what the signals that it consumed carried, and nothing else.
#include <cstring>

#include "behavior/spoil.h"
#include "memory/memory.h"
#include "nccl/nccl_collectives.h"
#include "network/network.h"

namespace warploom::nccl {

namespace {

ncclResult_t invalid(ncclComm* comm, const char* kind, std::string why, const char* hint) {
  report_finding({.kind = kind, .message = why, .hint = hint});
  return set_error(comm, ncclInvalidArgument, std::move(why));
}

ncclResult_t check_slot(ncclComm* comm, Call call, int signal, int context) {
  if (context < 0 || context >= comm->rma_contexts) {
    return invalid(comm, "context_index",
                   format("%s: context %d is used, but the communicator has %d", call_name(call),
                          context, comm->rma_contexts),
                   "raise numRmaCtx in the communicator's configuration");
  }
  if (signal < 0 || signal >= comm->rma_signals) {
    return invalid(comm, "signal_index",
                   format("%s: signal %d is used, but the communicator has %d", call_name(call),
                          signal, comm->rma_signals),
                   g_config.nccl_version >= 23100
                       ? "raise numRmaSig in the communicator's configuration"
                       : "before NCCL 2.31 there is one signal, number 0");
  }
  return ncclSuccess;
}

ncclResult_t check_peer(ncclComm* comm, Call call, int peer) {
  if (peer >= 0 && peer < comm->clique->size) return ncclSuccess;
  return invalid(comm, "peer_out_of_range",
                 format("%s: peer %d of a communicator of %d ranks", call_name(call), peer,
                        comm->clique->size),
                 "peers are numbered from 0 to nranks - 1");
}

bool holds(const ncclWindow_vidmem& window, const char* p, std::size_t bytes) {
  return p >= window.base && p + bytes <= window.base + window.bytes;
}

// The destination of a put, checked; nullptr with the reason reported.
char* destination_of(const Task& task) {
  const char* name = call_name(task.call);
  const OneSided& call = task.one_sided;
  check_window(call.window, name);
  if (call.window->comm != task.comm) {
    invalid(
        task.comm, "window_memory",
        format("%s: the window is not one that this rank registered with this communicator", name),
        "pass the handle that this rank's ncclCommWindowRegister returned");
    return nullptr;
  }
  const ncclWindow_t member = call.window->set->members[static_cast<std::size_t>(task.root)];
  if (call.offset <= member->bytes && task.bytes() <= member->bytes - call.offset) {
    return member->base + call.offset;
  }
  invalid(task.comm, "window_range",
          format("%s: %zu bytes at offset %zu of a window of %zu bytes", name, task.bytes(),
                 call.offset, member->bytes),
          "the offset counts bytes from the start of the window");
  return nullptr;
}

ncclResult_t check_put(Task& task) {
  ncclComm* comm = task.comm;
  if (!task.one_sided.window) {
    return invalid(comm, "window_null", "ncclPutSignal is called with a NULL window",
                   "check the window that ncclCommWindowRegister gave");
  }
  if (!task.send) return set_error(comm, ncclInvalidArgument, "ncclPutSignal: no source");
  task.recv = destination_of(task);
  if (!task.recv) return ncclInvalidArgument;
  for (ncclWindow_t window : all_windows()) {
    if (window->comm == comm && window->live && !window->internal &&
        holds(*window, task.send, task.bytes())) {
      return ncclSuccess;
    }
  }
  return invalid(comm, "window_memory",
                 "ncclPutSignal: the source is in no window of the communicator",
                 "register the memory of the source with ncclCommWindowRegister, too");
}

bool satisfied(const Task& task) {
  for (const Expected& wait : task.one_sided.expected) {
    if (wait.inbox->arrived.size() + wait.inbox->dropped < wait.upto) return false;
  }
  return true;
}

void finish_wait(Task& task) {
  StreamOp& op = *task.batch->op;
  for (const Expected& wait : task.one_sided.expected) {
    Inbox& inbox = *wait.inbox;
    while (inbox.dropped < wait.upto) {
      inbox.order.join(inbox.arrived.front());
      inbox.arrived.pop_front();
      inbox.dropped++;
    }
    op.clock.join(inbox.order);
  }
  task_done(task);
}

void send_signal(Task& task) {
  const OneSided& call = task.one_sided;
  Clique& clique = *task.comm->clique;
  Inbox& inbox = clique.inboxes[{task.comm->rank, task.root, call.context, call.signal}];
  inbox.arrived.push_back(task.batch->op->clock);
  task_done(task);
  note_event();
  std::vector<Task*>& waiting = clique.waiting_signals;
  for (std::size_t i = 0; i < waiting.size();) {
    if (!satisfied(*waiting[i])) {
      i++;
      continue;
    }
    Task* ready = waiting[i];
    waiting.erase(waiting.begin() + static_cast<long>(i));
    finish_wait(*ready);
  }
}

}  // namespace

void start_one_sided(Task& task) {
  StreamOp& op = *task.batch->op;
  Clique& clique = *task.comm->clique;
  if (task.call == Call::WaitSignal) {
    for (Expected& wait : task.one_sided.expected) {
      wait.inbox = &clique.inboxes[{wait.peer, task.comm->rank, wait.context, wait.signal}];
      wait.inbox->awaited += wait.count;
      wait.upto = wait.inbox->awaited;
    }
    if (satisfied(task)) return finish_wait(task);
    clique.waiting_signals.push_back(&task);
    return;
  }
  op.clock.advance(op.stream->agent, op_of(op.op).time);  // the put itself is covered
  if (task.call == Call::PutSignal && task.count) {
    const Actor actor = actor_of(op);
    access_read(actor, task.send, task.bytes());
    access_write(actor, task.recv, task.bytes());
    if (check_range(task.recv, task.bytes(), "ncclPutSignal", task.where) &&
        check_range(task.send, task.bytes(), "ncclPutSignal", task.where)) {
      std::memmove(task.recv, task.send, task.bytes());
      if (task.root != task.comm->rank) spoil(task.recv, task.bytes(), task.comm->device);
    }
  }
  send_signal(task);
}

std::string waiting_signals(const Task& task) {
  std::string text = "ncclWaitSignal:";
  for (const Expected& wait : task.one_sided.expected) {
    const uint64_t have = wait.inbox ? wait.inbox->dropped + wait.inbox->arrived.size() : 0;
    if (have >= wait.upto) continue;
    text += format(" %llu of %llu signals of rank %d",
                   static_cast<unsigned long long>(have - (wait.upto - wait.count)),
                   static_cast<unsigned long long>(wait.count), wait.peer);
  }
  return text;
}

namespace {

std::unique_ptr<Task> one_sided_task(Call call, int peer, ncclComm_t comm, cudaStream_t stream) {
  auto task = std::make_unique<Task>();
  task->call = call;
  task->comm = comm;
  task->root = peer;
  task->type = ncclInt8;
  task->handle = stream;
  return task;
}

ncclResult_t check_one_sided(Task& task) {
  ncclComm* comm = task.comm;
  if (task.call != Call::WaitSignal) {
    const OneSided& call = task.one_sided;
    const ncclResult_t slot = check_slot(comm, task.call, call.signal, call.context);
    if (slot != ncclSuccess) return slot;
    const ncclResult_t peer = check_peer(comm, task.call, task.root);
    if (peer != ncclSuccess) return peer;
    return task.call == Call::PutSignal ? check_put(task) : ncclSuccess;
  }
  for (const Expected& wait : task.one_sided.expected) {
    const ncclResult_t slot = check_slot(comm, task.call, wait.signal, wait.context);
    if (slot != ncclSuccess) return slot;
    const ncclResult_t peer = check_peer(comm, task.call, wait.peer);
    if (peer != ncclSuccess) return peer;
  }
  return ncclSuccess;
}

ncclResult_t submit_one_sided(std::unique_ptr<Task> task) {
  ncclComm* comm = usable(task->comm, call_name(task->call));
  if (!comm) return ncclInvalidArgument;
  if (!comm->ready) return set_error(comm, ncclInvalidArgument, "the communicator is not ready");
  const ncclResult_t valid = check_one_sided(*task);
  return valid == ncclSuccess ? issue(std::move(task)) : valid;
}

}  // namespace

}  // namespace warploom::nccl

using namespace warploom;
using namespace warploom::nccl;

extern "C" {

ncclResult_t ncclPutSignal(const void* source, std::size_t count, ncclDataType_t type, int peer,
                           ncclWindow_t window, std::size_t offset, int signal, int context,
                           unsigned flags, ncclComm_t comm, cudaStream_t stream) {
  auto task = one_sided_task(Call::PutSignal, peer, comm, stream);
  if (type_bytes(type) == 0 || flags != 0) return ncclInvalidArgument;
  task->send = static_cast<const char*>(source);
  task->count = count;
  task->type = type;
  task->one_sided = {window, offset, signal, context, {}};
  return submit_one_sided(std::move(task));
}

ncclResult_t ncclSignal(int peer, int signal, int context, unsigned flags, ncclComm_t comm,
                        cudaStream_t stream) {
  auto task = one_sided_task(Call::Signal, peer, comm, stream);
  if (flags != 0) return ncclInvalidArgument;
  task->one_sided = {nullptr, 0, signal, context, {}};
  return submit_one_sided(std::move(task));
}

ncclResult_t ncclWaitSignal(int count, ncclWaitSignalDesc_t* waits, ncclComm_t comm,
                            cudaStream_t stream) {
  if (count <= 0 || !waits) return ncclInvalidArgument;
  auto task = one_sided_task(Call::WaitSignal, -1, comm, stream);
  for (int i = 0; i < count; i++) {
    if (waits[i].opCnt <= 0) return ncclInvalidArgument;
    task->one_sided.expected.push_back(
        {waits[i].peer, waits[i].sigIdx, waits[i].ctx, static_cast<uint64_t>(waits[i].opCnt)});
  }
  return submit_one_sided(std::move(task));
}

}  // extern "C"
