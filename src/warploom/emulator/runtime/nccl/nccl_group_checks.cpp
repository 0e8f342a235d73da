// What calls that run together must not be.
#include <algorithm>
#include <tuple>

#include "nccl/nccl_collectives.h"
#include "nccl/nccl_group.h"
#include "report/report.h"

namespace warploom::nccl {

bool g_regions_in_turn = false;

namespace {

using GroupTasks = std::vector<std::unique_ptr<Task>>;

bool is_pair_call(const Task& task) { return task.call == Call::Send || task.call == Call::Recv; }
bool calls_itself(const Task& task) { return is_pair_call(task) && task.root == task.comm->rank; }

// What one call reads or writes, until its last byte.
struct GroupBuffer {
  const char* start;
  const char* end;
  bool written;
  const Task* task;
};

// A rank that sends a block to itself in place: NCCL copies nothing then.
bool stays(const Task& task, const GroupTasks& tasks) {
  if (task.call != Call::Send || !calls_itself(task)) return false;
  return std::ranges::any_of(tasks, [&](const auto& other) {
    return other->call == Call::Recv && calls_itself(*other) && other->comm == task.comm &&
           other->recv == task.send;
  });
}

void report_shared(const GroupBuffer& a, const GroupBuffer& b) {
  const bool both = a.written && b.written;
  const Task& shown = a.written ? *a.task : *b.task;
  const Task& other = a.written ? *b.task : *a.task;
  report_finding({.kind = kinds::overlapping_buffers,
                  .message = format("%s and %s of one group on rank %d use the same memory, and %s",
                                    call_name(shown.call), call_name(other.call), shown.comm->rank,
                                    both ? "both write it" : "one of them writes it"),
                  .hint = "the calls of a group run at the same time, in no order: give each a "
                          "buffer of its own, or end the group between them",
                  .where = shown.where,
                  .other = other.where});
}

// The parts of a call's buffers do not meet: in place, what is read lies beside what is written.
void add_buffers(const Task& task, std::vector<GroupBuffer>& spans) {
  const char *in = task.recv, *in_end = in + task.recv_bytes();
  const char *out = task.send, *out_end = out + task.send_bytes();
  if (in < in_end) spans.push_back({in, in_end, true, &task});
  if (in == in_end || out_end <= in || in_end <= out) {
    if (out < out_end) spans.push_back({out, out_end, false, &task});
    return;
  }
  if (out < in) spans.push_back({out, in, false, &task});
  if (in_end < out_end) spans.push_back({in_end, out_end, false, &task});
}

// NCCL may run all calls of a group on one communicator as one, in whatever order ("dependency
// inside NCCL group", NVIDIA/nccl issue 900), whatever their streams.
void check_shared(const GroupTasks& tasks) {
  std::vector<GroupBuffer> spans;
  for (const auto& task : tasks) {
    if (task->bytes() > 0 && !stays(*task, tasks)) add_buffers(*task, spans);
  }
  const auto place = [](const GroupBuffer& s) { return std::tuple(s.task->comm, s.start); };
  std::ranges::sort(spans, {}, place);
  const GroupBuffer *reaches = nullptr, *writes = nullptr;  // of those before, what ends last
  for (const GroupBuffer& span : spans) {
    if (reaches && reaches->task->comm != span.task->comm) reaches = writes = nullptr;
    const GroupBuffer* other = span.written ? reaches : writes;
    if (other && span.start < other->end) report_shared(*other, span);
    if (!reaches || span.end > reaches->end) reaches = &span;
    if (span.written && (!writes || span.end > writes->end)) writes = &span;
  }
}

// The counterpart of the n-th send of a rank to itself is its n-th receive from itself.
bool has_counterpart(const Task& task, const GroupTasks& tasks) {
  std::size_t mine = 0, theirs = 0;
  bool passed = false;
  for (const auto& other : tasks) {
    if (!calls_itself(*other) || other->comm != task.comm) continue;
    if (other->call != task.call) {
      theirs++;
    } else if (!passed) {
      mine++;
    }
    passed = passed || other.get() == &task;
  }
  return mine <= theirs;
}

ncclResult_t refuse_lone_calls(GroupTasks& tasks) {
  std::vector<const Task*> lone;
  for (const auto& task : tasks) {
    if (calls_itself(*task) && !has_counterpart(*task, tasks)) lone.push_back(task.get());
  }
  for (const Task* task : lone) {
    const bool sends = task->call == Call::Send;
    report_finding({.kind = kinds::group_required,
                    .message = format("%s of rank %d to itself without an %s in the same group: "
                                      "NCCL refuses it with ncclInvalidUsage",
                                      call_name(task->call), task->comm->rank,
                                      sends ? "ncclRecv" : "ncclSend"),
                    .hint = "put both calls between ncclGroupStart and ncclGroupEnd",
                    .where = task->where});
    set_error(task->comm, ncclInvalidUsage, "a call of a rank to itself has no counterpart");
  }
  std::erase_if(tasks, [&](const auto& task) { return std::ranges::count(lone, task.get()) > 0; });
  return lone.empty() ? ncclSuccess : ncclInvalidUsage;
}

}  // namespace

void check_grouped(const Task& task, const Task& other) {
  if (!task.issuer || task.issuer != other.issuer || task.group == other.group) return;
  if (task.comm == other.comm || g_regions_in_turn) return;
  report_finding(
      {.kind = kinds::group_required,
       .message =
           format("%s on rank %d and %s on rank %d are issued by one thread, not in "
                  "one group: the first may wait for the second",
                  call_name(other.call), other.comm->rank, call_name(task.call), task.comm->rank),
       .hint = "a thread that drives several devices issues their calls between one "
               "ncclGroupStart and ncclGroupEnd",
       .where = task.where,
       .other = other.where});
}

ncclResult_t check_group(std::vector<std::unique_ptr<Task>>& tasks) {
  if (tasks.size() > 1) check_shared(tasks);
  return refuse_lone_calls(tasks);
}

}  // namespace warploom::nccl
