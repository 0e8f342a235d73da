// Streams, events and what is queued on them.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../../include/warploom/types.h"
#include "host/handles.h"
#include "machine/world.h"
#include "order/clock.h"
#include "order/race.h"
#include "schedule/fiber.h"
#include "schedule/scheduler.h"

namespace warploom {

struct Stream;
struct Capture;    // graph.h
struct GraphNode;  // graph.h

// Which read-back: alike in all runs, whatever order threads and streams take.
struct CallPlace {
  int thread = 0;        // that queued it, as its process numbers them
  uint64_t order = 0;    // among what it queued
  std::size_t node = 0;  // of a graph that it launched
};

// One queued operation. `start` runs when everything before it on the stream is done; the
// operation ends when somebody calls complete(op), at once or later.
struct StreamOp {
  OpKind kind = OpKind::Copy;
  const char* name = "";                       // must outlive the run
  Frames where;                                // the call that queued it
  Clock issued;                                // what the issuing host thread had ordered
  uint64_t sequence = 0;                       // order of issue
  int rank = 0;                                // shown in reports
  CallPlace place;                             // of what it reads back
  double issued_at = 0, begins = 0, ends = 0;  // modelled time
  bool in_graph = false;
  bool is_record = false;  // of an event by the program
  Stream* stream = nullptr;
  OpId op = 0;        // set at start
  Clock clock;        // what is ordered before it; at completion also what it made ordered
  AgentId agent = 0;  // set at start, as is all that follows
  uint32_t time = 0;  // of the agent
  Clock begin;        // what was ordered before it when it began
  // A programmatic dependent launch may begin before the kernel ahead of it, its primary, has
  // ended: it knows of what that one did only behind its grid-dependency wait.
  bool programmatic = false;
  bool overlaps = false;  // it has a primary
  Clock primary;          // what the wait brings
  AgentId primary_agent = 0;
  uint32_t primary_time = 0;
  bool waited = false;           // some thread has
  bool triggered_early = false;  // some thread that had not waited let the dependents begin
  bool beside_others = false;    // it may begin while other kernels run (one_at_a_time.h)
  bool within_device = false;    // a copy that the multiprocessors may have to make
  bool started = false;
  bool done = false;
  std::function<void(StreamOp&)> start;
  std::function<std::string()> waiting_for;  // shown in a deadlock report
  std::function<void()> finished;            // called when it has ended
};

// The operation that is being started now, for crash reports; nullptr otherwise.
extern const StreamOp* g_active_op;

struct Stream final : Runnable {
  Stream() : Runnable(Kind::Stream) {}
  void run() override;
  int device = 0;
  bool legacy = false;        // the default stream
  bool per_thread = false;    // a thread's default stream: else as any stream that blocks
  bool non_blocking = false;  // takes no part in the default stream's implicit order
  bool destroyed = false;
  int priority = 0;
  AgentId agent = 0;
  uint32_t time = 0;         // operations started
  uint64_t last_queued = 0;  // in the order of issue, of what is no call of NCCL's
  Clock clock;               // ordered before the next operation
  double free_at = 0;        // modelled time at which its last operation ends
  std::deque<std::shared_ptr<StreamOp>> queue;
  WaitQueue idle;              // notified whenever an operation ends
  Capture* capture = nullptr;  // what it gets becomes nodes of a graph
  // The kernel that ran last, with nothing behind it but records of events.
  struct Primary {
    Clock begin;  // what whoever may begin early knows all the same
    Clock end;
    AgentId agent = 0;
    uint32_t time = 0;
  };
  std::optional<Primary> primary;
  // Of launches that began early, each with its last time.
  std::vector<std::pair<AgentId, uint32_t>> early_agents;
};

// One place in a stream's order. Who waits for it holds it: an event that is recorded again, on any
// stream, changes nothing for the waits that were queued before ("cudaStreamWaitEvent" in the
// reference of the runtime).
struct EventRecord {
  bool reached = false;
  Clock clock;
  double time = 0;      // modelled
  unsigned number = 0;  // among the records of its process that can time
  Stream* stream = nullptr;
  std::vector<std::shared_ptr<StreamOp>> waiting;
  WaitQueue waiters;
};

// What processes that share an event have in common.
struct EventState {
  std::shared_ptr<EventRecord> last;  // nullptr: never recorded
  bool ended = false;                 // the process that made it has destroyed it
};
struct Event {
  int device = 0;
  bool timing = true;
  bool interprocess = false;  // others may open it
  bool imported = false;      // another process made it
  std::shared_ptr<EventState> state = std::make_shared<EventState>();
  // Recorded on a stream in capture: the nodes that it stands for.
  uint64_t capture_id = 0;
  std::vector<GraphNode*> captured;
  Stream* captured_from = nullptr;
};

Stream* add_stream(int device);  // one more of a device
// Streams and events that the program made.
extern HandleTable<Stream, cudaStream_t> g_stream_handles;
extern HandleTable<Event, cudaEvent_t> g_event_handles;
// nullptr, cudaStreamLegacy and cudaStreamPerThread are resolved for the running host thread.
Stream* resolve_stream(cudaStream_t handle);  // reports one that was destroyed
// Queues an operation from the running host thread; its clock is released into the operation. On a
// stream in capture it becomes a node instead, and `start` is called at each launch of the graph.
// `prepare` then gives the start for one launch.
using PrepareFunction =
    std::function<std::function<void(StreamOp&)>(const std::shared_ptr<StreamOp>&)>;
std::shared_ptr<StreamOp> push_op(Stream* stream, OpKind kind, const char* name,
                                  std::function<void(StreamOp&)> start,
                                  PrepareFunction prepare = {});
// The same where nothing is captured and the call costs no more for it.
void push_unpriced(Stream* stream, const char* name, std::function<void(StreamOp&)> start);
void complete(StreamOp& op);
// What the stream does once it gets to `record`, and until it gets past it.
std::function<void(StreamOp&)> reach_record(std::shared_ptr<EventRecord> record);
// Has `op`, which is queued already, wait for `record`.
void await_record(const std::shared_ptr<StreamOp>& op, std::shared_ptr<EventRecord> record);
// The work that `stream` is given from now on comes after what `before` has been given until now.
// Costs the host nothing: it is part of another call.
void order_streams(Stream* stream, Stream* before, const char* name);
// The next number in the order of issue, for what is on no stream.
uint64_t next_in_issue();
// Puts an operation that is otherwise ready on a stream.
void enqueue_op(Stream* stream, const std::shared_ptr<StreamOp>& op);
// dependent_launch.cpp: a programmatic launch starts behind its primary; a launch has ended, whose
// clock at its end is `end`.
void begin_early(Stream& stream, StreamOp& op);
void become_primary(Stream& stream, const StreamOp& op, const Clock& end);
// Blocks the running host thread until all that is on the stream now has ended, and takes over its
// order. Other threads may queue more meanwhile, which is not waited for (CUDA C++ Programming
// Guide, "Explicit Synchronization": "all preceding commands").
void synchronize(Stream* stream, const char* what);
// Memory of an operation, or of a call that only touches this much.
struct Touched {
  const void* start;
  std::size_t bytes;
};
// An issuer may not have put its operation on `stream` yet; now it has all of its own; whether the
// running thread, or `issuer`, may go on with `stream`: it is a finding where it may not.
void note_unissued(const Stream* stream, const void* issuer, std::vector<Touched> memory);
void note_issued(const void* issuer);
void require_issued(const Stream& stream, const char* what, const void* issuer = nullptr);
// What the calls of its scope touch: elsewhere, what is unissued on another stream may come later.
class TouchesOnly {
 public:
  explicit TouchesOnly(std::vector<Touched> memory);
  ~TouchesOnly();
  TouchesOnly(const TouchesOnly&) = delete;
  TouchesOnly& operator=(const TouchesOnly&) = delete;
};
// The finding itself; `since`: the call that goes on.
void report_in_progress(std::string message, const Frames& since);
void synchronize_device(int device, const char* what);
// What the stream is waiting for, in words.
std::string describe_stream(const Stream& stream);
// The operation as an actor, for the accesses that it makes.
Actor actor_of(const StreamOp& op);

}  // namespace warploom
