// Host collectives and Send/Recv: operations on streams that meet across ranks.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "nccl/nccl_objects.h"
#include "nccl/nccl_reduce.h"

namespace warploom::nccl {

enum class Call : uint8_t {
  AllReduce,
  Broadcast,
  Reduce,
  AllGather,
  ReduceScatter,
  AlltoAll,
  Gather,
  Scatter,
  Send,
  Recv,
  PutSignal,
  Signal,
  WaitSignal,
};
const char* call_name(Call call);
bool is_transfer(Call call);
bool is_one_sided(Call call);
bool is_collective(Call call);  // takes a place in the order of the communicator's collectives
bool reduces(Call call);        // computes with what it gets

struct Batch;

// One descriptor of ncclWaitSignal.
struct Expected {
  int peer = 0, signal = 0, context = 0;
  uint64_t count = 0;
  Inbox* inbox = nullptr;  // from the start on
  uint64_t upto = 0;
};
struct OneSided {
  ncclWindow_t window = nullptr;
  std::size_t offset = 0;
  int signal = 0, context = 0;
  std::vector<Expected> expected;
};

// One call on one rank.
struct Task {
  Call call = Call::AllReduce;
  ncclComm* comm = nullptr;
  const char* send = nullptr;
  char* recv = nullptr;
  std::size_t count = 0;
  ncclDataType_t type = ncclFloat32;
  ReduceOp op{};
  int root = -1;  // or the peer of Send and Recv
  cudaStream_t handle = nullptr;
  Stream* stream = nullptr;
  OneSided one_sided{};
  Frames where;
  uint64_t sequence = 0;
  uint64_t called = 0;  // in the order of issue; it is on its stream at the end of its group only
  Batch* batch = nullptr;
  bool started = false;
  const HostThread* issuer = nullptr;  // who called, and in which group; nullptr: part of a graph
  uint64_t group = 0;
  std::size_t bytes() const { return count * type_bytes(type); }
  std::size_t send_bytes() const;  // 0 if the rank sends nothing
  std::size_t recv_bytes() const;
};

// The calls of one group on one communicator: they run together, on the first one's stream.
struct Batch {
  std::shared_ptr<StreamOp> op;
  std::shared_ptr<Turn> before, turn;  // of the operation ahead of it, and its own
  std::vector<std::unique_ptr<Task>> tasks;
  std::size_t remaining = 0;
  // Modelled time: when all ranks were there, and what Send and Recv of the batch move.
  double together = 0, near_out = 0, near_in = 0, far_out = 0, far_in = 0;
  double longest = 0;  // bytes of the longest of these messages
  bool pairs = false;
  int peers_out = 0, peers_in = 0;
  std::map<Call, double> collected;      // bytes of its collectives, which share the links
  double links_out = -1, links_in = -1;  // when the links are free of other batches, once known
  std::string waiting() const;
};

// Collectives that a rank has issued on its other communicators.
using IssuedBefore = std::map<const Clique*, uint64_t>;

struct CollectiveMeeting {
  std::vector<Task*> members;
  std::vector<IssuedBefore> before;  // by rank, see check_launch_order()
  int enqueued = 0, started = 0;
};

// Checks a call's arguments and issues it, or queues it in the open group.
ncclResult_t submit(std::unique_ptr<Task> task);
// The same as in_background() of their communicators; whoever uses their streams has to ask first.
ncclResult_t in_background(const std::vector<std::unique_ptr<Task>>& tasks);
// Whether what was queued between a call and the end of its group, on its stream, comes too early.
void check_ahead_in_group(const Task& task, const StreamOp& op);
// Whether a collective comes at its place among those of the rank's other communicators.
void check_launch_order(const Task& task, CollectiveMeeting& meeting);
// Issues a call whose arguments are right: on its stream, or in the open group.
ncclResult_t issue(std::unique_ptr<Task> task);
// Queues tasks of one communicator as one operation, behind what all of their streams were given
// and ahead of what these are given next.
void launch(std::vector<std::unique_ptr<Task>> tasks);
void task_done(Task& task);

void start_collective(Task& task);
void start_transfer(Task& task);  // Send or Recv
void start_one_sided(Task& task);
// Both calls are needed for either to end; they must not come from one thread in turn.
void check_grouped(const Task& task, const Task& other);
// What a group must not hold: buffers that its calls share, and calls of a rank to itself without
// their counterpart, which are taken out.
ncclResult_t check_group(std::vector<std::unique_ptr<Task>>& tasks);
std::string waiting_signals(const Task& task);  // what an ncclWaitSignal still lacks
void check_buffers(const Task& task);
// Enters the call into the communicator's sequence, and compares it with the other ranks'.
void enroll(Task& task);

}  // namespace warploom::nccl
