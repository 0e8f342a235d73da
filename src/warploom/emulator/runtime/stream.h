// Streams, events and what is queued on them.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "../include/warploom/types.h"
#include "clock.h"
#include "fiber.h"
#include "race.h"
#include "scheduler.h"
#include "world.h"

namespace warploom {

struct Stream;
struct Capture;    // graph.h
struct GraphNode;  // graph.h

// One queued operation. `start` runs when everything before it on the stream is done; the
// operation ends when somebody calls complete(op), at once or later.
struct StreamOp {
  OpKind kind = OpKind::Copy;
  const char* name = "";                       // must outlive the run
  Frames where;                                // the call that queued it
  Clock issued;                                // what the issuing host thread had ordered
  uint64_t sequence = 0;                       // order of issue
  int rank = 0;                                // shown in reports
  double issued_at = 0, begins = 0, ends = 0;  // modelled time
  bool in_graph = false;
  Stream* stream = nullptr;
  OpId op = 0;  // set at start
  Clock clock;  // what is ordered before it; at completion also what it made ordered
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
  bool non_blocking = false;  // takes no part in the default stream's implicit order
  bool destroyed = false;
  int priority = 0;
  AgentId agent = 0;
  uint32_t time = 0;   // operations started
  Clock clock;         // ordered before the next operation
  double free_at = 0;  // modelled time at which its last operation ends
  std::deque<std::shared_ptr<StreamOp>> queue;
  WaitQueue idle;              // notified whenever an operation ends
  Capture* capture = nullptr;  // what it gets becomes nodes of a graph
};

struct Event {
  int device = 0;
  uint64_t recorded = 0;   // times recorded by the host
  uint64_t completed = 0;  // last record that has ended
  Clock clock;
  bool timing = true;
  unsigned record = 0;  // the last one, among those of its process that can time
  bool destroyed = false;
  double time = 0;  // modelled, of the last record that has ended
  Stream* stream = nullptr;
  std::vector<std::shared_ptr<StreamOp>> waiting;
  WaitQueue waiters;
  // Recorded on a stream in capture: the nodes that it stands for.
  uint64_t capture_id = 0;
  std::vector<GraphNode*> captured;
  Stream* captured_from = nullptr;
};

// nullptr, cudaStreamLegacy and cudaStreamPerThread are resolved for the running host thread.
Stream* resolve_stream(cudaStream_t handle);  // reports one that was destroyed
bool report_destroyed(bool destroyed, const char* what);
// Queues an operation from the running host thread; its clock is released into the operation. On a
// stream in capture it becomes a node instead, and `start` is called at each launch of the graph.
std::shared_ptr<StreamOp> push_op(Stream* stream, OpKind kind, const char* name,
                                  std::function<void(StreamOp&)> start);
void complete(StreamOp& op);
// Puts an operation that is otherwise ready on a stream.
void enqueue_op(Stream* stream, const std::shared_ptr<StreamOp>& op);
// Blocks the running host thread until all that is on the stream now has ended, and takes over its
// order. Other threads may queue more meanwhile, which is not waited for (CUDA C++ Programming
// Guide, "Explicit Synchronization": "all preceding commands").
void synchronize(Stream* stream, const char* what);
void synchronize_device(int device, const char* what);
// What the stream is waiting for, in words.
std::string describe_stream(const Stream& stream);
// The operation as an actor, for the accesses that it makes.
Actor actor_of(const StreamOp& op);

}  // namespace warploom
