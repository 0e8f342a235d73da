#include "cuda/stream.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "base/stats.h"
#include "behavior/iterations.h"
#include "cuda/graph.h"
#include "kernels/one_at_a_time.h"
#include "machine/virtual_time.h"
#include "order/completions.h"
#include "order/known_to_all.h"
#include "report/report.h"
#include "timing/stream_time.h"
#include "timing/timing.h"

namespace warploom {

const StreamOp* g_active_op = nullptr;
HandleTable<Stream, cudaStream_t> g_stream_handles("a stream");
HandleTable<Event, cudaEvent_t> g_event_handles("an event");

namespace {

uint64_t g_sequence = 0;

std::string stream_text(const Stream& stream) {
  if (stream.legacy) return "the default stream";
  if (stream.per_thread) return "a thread's default stream";
  const auto& streams = g_devices[static_cast<std::size_t>(stream.device)]->streams;
  return format("stream %td", std::ranges::find(streams, &stream) - streams.begin());
}

std::string op_text(const StreamOp& op) {
  return op.kind == OpKind::Kernel ? format("kernel %s", op.name) : std::string(op.name);
}

void trace_op(const StreamOp& op, const char* what) {
  trace_of(op.rank, op.kind == OpKind::Kernel ? op.name : nullptr, op.where,
           [&] { return op_text(op) + what + stream_text(*op.stream); });
}

// Streams of one device wait for each other only through the default stream.
bool must_wait_for(const Stream& stream, const Stream& other, uint64_t sequence) {
  if (&stream == &other || other.queue.empty()) return false;
  if (stream.non_blocking || other.non_blocking) return false;
  if (!stream.legacy && !other.legacy) return false;
  return other.queue.front()->sequence < sequence;
}

bool can_start(const Stream& stream, const StreamOp& op) {
  const Device& device = *g_devices[static_cast<std::size_t>(stream.device)];
  for (const Stream* other : device.streams) {
    if (must_wait_for(stream, *other, op.sequence)) return false;
  }
  return true;
}

void join_default_stream_order(const Stream& stream, Clock& clock) {
  if (stream.non_blocking) return;
  const Device& device = *g_devices[static_cast<std::size_t>(stream.device)];
  if (!stream.legacy) {
    clock.join(device.legacy->clock);
    return;
  }
  for (const Stream* other : device.streams) {
    if (!other->non_blocking && other != &stream) clock.join(other->clock);
  }
}

// Which one of the rank's launches of its kernel is it?
static uint32_t next_launch(const StreamOp& op) {
  static std::map<std::pair<int, const char*>, uint32_t> launches;
  return ++launches[{op.rank, op.name}];
}

void start(Stream& stream, StreamOp& op) {
  op.started = true;
  if (g_timed) begin_operation(op);
  join_default_stream_order(stream, stream.clock);
  op.agent = stream.agent;
  op.time = ++stream.time;
  op.clock = stream.clock;
  if (op.programmatic && stream.primary) {
    op.clock = stream.primary->begin;
    join_default_stream_order(stream, op.clock);
    begin_early(stream, op);
  }
  op.clock.join(op.issued);
  op.begin = op.clock;
  op.op = new_op({.kind = op.kind,
                  .agent = op.agent,
                  .time = op.time,
                  .rank = op.rank,
                  .name = op.name,
                  .frames = op.where,
                  .overlaps = op.overlaps,
                  .launch = op.kind == OpKind::Kernel ? next_launch(op) : 0,
                  .device = stream.device,
                  .issued = op.sequence});
  note_event();
  trace_op(op, " starts on ");
  g_active_op = &op;
  op.start(op);
  g_active_op = nullptr;
}

std::shared_ptr<StreamOp> make_stream_op(Stream* stream, OpKind kind, const char* name,
                                         std::function<void(StreamOp&)> start) {
  auto op = std::make_shared<StreamOp>();
  op->issued_at = time_now();
  op->kind = kind;
  op->name = name;
  op->where = capture_frames();
  op->issued = release_clock();
  op->sequence = ++g_sequence;
  if (g_current->host) op->place = {.thread = g_current->host->number, .order = op->sequence};
  op->stream = stream;
  op->rank = g_config.single_process ? stream->device : current_rank();
  op->start = std::move(start);
  return op;
}

// "Stream synchronization behavior" in the reference of the runtime: the per-thread default stream
// synchronizes with the legacy one alone, and other streams that block do not with it.
Stream* stream_of_thread(HostThread& thread) {
  Stream*& stream = thread.streams[thread.device];
  if (stream) return stream;
  stream = add_stream(thread.device);
  stream->per_thread = true;
  return stream;
}

void put_on(Stream* stream, const std::shared_ptr<StreamOp>& op) {
  trace([&] { return op_text(*op) + " is queued on " + stream_text(*stream); });
  stream->queue.push_back(op);
  enqueue(stream);
}

}  // namespace

uint64_t next_in_issue() { return ++g_sequence; }

void Stream::run() {
  while (!queue.empty()) {
    const std::shared_ptr<StreamOp> op = queue.front();
    if (!op->started) {
      if (!can_start(*this, *op) || waits_for_other_kernels(*this, *op)) return;
      if (g_timed && next_start(*this) > time_now()) return enqueue(this);
      start(*this, *op);
    }
    if (!op->done) return;
    if (random_schedule() && !queue.empty()) {
      enqueue(this);
      return;
    }
  }
}

void complete(StreamOp& op) {
  Stream& stream = *op.stream;
  std::optional<AtTime> at_its_end;
  if (g_timed) {
    op.ends = stream.free_at = end_of(op);
    at_its_end.emplace(op.ends, op.ends);
  }
  trace_op(op, " ends on ");
  g_stats.stream_ops++;
  op.done = true;
  op.clock.advance(op.agent, op.time);
  Clock end = op.clock;
  end.forget_puts();
  end.settle();
  acquire_puts(op.clock, end, {.op = op.op});
  become_primary(stream, op, end);
  // What is no early launch comes after all that is on the stream.
  if (op.overlaps) end.join(stream.clock);
  stream.clock = op.clock = std::move(end);
  // The operation may be the only owner of what it is completing from.
  const std::shared_ptr<StreamOp> keep = stream.queue.front();
  stream.queue.pop_front();
  stream.idle.notify_all();
  if (keep->finished) keep->finished();
  forget_what_all_know();
  const Device& device = *g_devices[static_cast<std::size_t>(stream.device)];
  for (Stream* other : device.streams) {
    if (!other->queue.empty()) enqueue(other);
  }
}

Stream* add_stream(int device) {
  auto* stream = new Stream;
  stream->device = device;
  stream->agent = new_agent();
  g_devices[static_cast<std::size_t>(device)]->streams.push_back(stream);
  return stream;
}

Stream* resolve_stream(cudaStream_t handle) {
  // The special handles of cuda_runtime_api.h: 0 and 1 are the default stream, 2 is the thread's.
  const auto value = reinterpret_cast<uintptr_t>(handle);
  if (value == 2) return stream_of_thread(current_host());
  if (value < 2) {
    return g_devices[static_cast<std::size_t>(current_host().device)]->legacy;
  }
  // Never ended there: what is queued on a destroyed stream still runs.
  Stream* stream = g_stream_handles.find(handle);
  report_destroyed(stream->destroyed, "a stream");
  return stream;
}

std::shared_ptr<StreamOp> push_op(Stream* stream, OpKind kind, const char* name,
                                  std::function<void(StreamOp&)> start, PrepareFunction prepare) {
  note_call(name);
  if (kind != OpKind::Collective && kind != OpKind::Channel) require_issued(*stream, name);
  price_host_work(kind == OpKind::Kernel || kind == OpKind::Collective ||
                  std::string_view(name) == "cudaEventRecord" ||
                  std::string_view(name) == "cudaGraphLaunch");
  host_call(host_cost(kind, name));
  std::shared_ptr<StreamOp> op = make_stream_op(stream, kind, name, std::move(start));
  if (kind != OpKind::Collective) stream->last_queued = op->sequence;
  if (stream->capture) {
    NodeWork work{.type = cudaGraphNodeTypeMemcpy,
                  .kind = kind,
                  .name = name,
                  .where = op->where,
                  .rank = op->rank,
                  .device = stream->device,
                  .prepare = {}};
    work.prepare = std::move(prepare);
    if (!work.prepare) {
      work.prepare = [start = op->start](const std::shared_ptr<StreamOp>&) { return start; };
    }
    capture_node(stream, std::move(work));
    return op;
  }
  put_on(stream, op);
  return op;
}

void push_unpriced(Stream* stream, const char* name, std::function<void(StreamOp&)> start) {
  put_on(stream, make_stream_op(stream, OpKind::Copy, name, std::move(start)));
}

void enqueue_op(Stream* stream, const std::shared_ptr<StreamOp>& op) {
  op->sequence = ++g_sequence;
  // A graph's nodes are on the device already: they start without the host.
  op->issued_at = time_now() - g_machine.launch_ns;
  op->in_graph = true;
  put_on(stream, op);
}

std::function<void(StreamOp&)> reach_record(std::shared_ptr<EventRecord> record) {
  return [record = std::move(record)](StreamOp& op) {
    // Only what takes the time holds up what comes behind it.
    op.ends = op.begins + (record->number ? g_machine.event_ns : 0);
    record->reached = true;
    record->clock = op.clock;
    record->clock.advance(op.agent, op.time);
    record->time = g_timed ? op.begins : virtual_ns();
    record->waiters.notify_all();
    std::vector<std::shared_ptr<StreamOp>> waiting;
    waiting.swap(record->waiting);
    for (auto& waiter : waiting) waiter->start(*waiter);
    complete(op);
  };
}

void await_record(const std::shared_ptr<StreamOp>& op, std::shared_ptr<EventRecord> record) {
  op->waiting_for = [] { return std::string("an event that has not been reached"); };
  op->start = [record = std::move(record), weak = std::weak_ptr(op)](StreamOp& self) {
    if (!record->reached) {
      record->waiting.push_back(weak.lock());
      return;
    }
    self.clock.join(record->clock);
    self.ends = record->time + g_machine.event_wait_ns;
    complete(self);
  };
}

void order_streams(Stream* stream, Stream* before, const char* name) {
  const auto record = std::make_shared<EventRecord>();
  put_on(before, make_stream_op(before, OpKind::Copy, name, reach_record(record)));
  const auto wait = make_stream_op(stream, OpKind::Copy, name, {});
  await_record(wait, record);
  wait->waiting_for = [] { return std::string("what the other stream was given before"); };
  put_on(stream, wait);
}

void synchronize(Stream* stream, const char* what) {
  require_issued(*stream, what);
  const std::shared_ptr<StreamOp> last = stream->queue.empty() ? nullptr : stream->queue.back();
  take_turn();
  if (!last) {
    await_stream(*stream);
    acquire_clock(stream->clock);
    return;
  }
  stream->idle.wait_until([&] { return last->done; },
                          {what, [stream] { return describe_stream(*stream); }});
  await_stream(*stream);
  acquire_clock(last->clock);
}

void synchronize_device(int device, const char* what) {
  // Streams may be made while we wait, so the list is read anew each time.
  const Device& target = *g_devices[static_cast<std::size_t>(device)];
  for (std::size_t i = 0; i < target.streams.size(); i++) synchronize(target.streams[i], what);
}

Actor actor_of(const StreamOp& op) { return {.op = op.op, .clock = &op.clock}; }

std::string describe_stream(const Stream& stream) {
  if (stream.queue.empty()) return "";
  const StreamOp& op = *stream.queue.front();
  std::string text = format("for %s", op.name);
  if (!op.started) text += ", which has not started";
  if (op.waiting_for) text += " (" + op.waiting_for() + ")";
  return text;
}

}  // namespace warploom
