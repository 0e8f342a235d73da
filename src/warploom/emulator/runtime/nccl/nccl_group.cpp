#include "nccl/nccl_group.h"

#include <map>
#include <set>
#include <tuple>

namespace warploom::nccl {

namespace {

// The open group of one host thread.
struct Group {
  int depth = 0;
  uint64_t number = 0;
  Frames where;
  std::vector<HostTask> host;
  std::vector<std::unique_ptr<Task>> tasks;
};
std::map<const HostThread*, Group> g_groups;
uint64_t g_group_numbers = 0;

Group& current_group() { return g_groups[&current_host()]; }

// The calls of a group on one communicator are one operation of all their streams: none of these
// goes on before it has ended (NCCL's user guide, "Mixing Multiple Streams within the same
// ncclGroupStart/End() group"). What the guide says nothing of stays with its stream: calls that
// only some of which are captured, and one-sided ones.
void launch_all(std::vector<std::unique_ptr<Task>> tasks) {
  std::vector<std::vector<std::unique_ptr<Task>>> batches;
  std::map<std::tuple<ncclComm*, Stream*, Capture*>, std::size_t> index;
  std::set<const ncclComm*> by_stream;
  for (const auto& task : tasks) {
    if (is_one_sided(task->call)) by_stream.insert(task->comm);
  }
  for (auto& task : tasks) {
    Stream* stream = by_stream.contains(task->comm) ? task->stream : nullptr;
    const auto [it, fresh] =
        index.try_emplace({task->comm, stream, task->stream->capture}, batches.size());
    if (fresh) batches.emplace_back();
    batches[it->second].push_back(std::move(task));
  }
  for (auto& batch : batches) launch(std::move(batch));
}

}  // namespace

bool in_group() { return current_group().depth > 0; }

uint64_t number_of_group() { return in_group() ? current_group().number : ++g_group_numbers; }

void queue_in_group(HostTask task) { current_group().host.push_back(std::move(task)); }
void queue_in_group(std::unique_ptr<Task> task) {
  current_group().tasks.push_back(std::move(task));
}

ncclResult_t run_host_task(HostTask task) {
  if (in_group()) {
    queue_in_group(std::move(task));
    return ncclSuccess;
  }
  task.post();
  return task.finish();
}

std::vector<Frames> open_groups(const Process& process) {
  std::vector<Frames> open;
  for (const auto& [thread, group] : g_groups) {
    if (thread->process == &process && group.depth > 0) open.push_back(group.where);
  }
  return open;
}

}  // namespace warploom::nccl

using namespace warploom;
using namespace warploom::nccl;

extern "C" {

ncclResult_t ncclGroupStart() {
  Group& group = current_group();
  if (group.depth++ == 0) {
    group.where = capture_frames();
    group.number = ++g_group_numbers;
  }
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  Group& group = current_group();
  if (group.depth == 0) {
    report_finding({.kind = kinds::group_unclosed,
                    .message = "ncclGroupEnd is called without a matching ncclGroupStart",
                    .hint = "each ncclGroupEnd closes one ncclGroupStart"});
    return ncclInvalidUsage;
  }
  if (--group.depth > 0) return ncclSuccess;
  std::vector<HostTask> host;
  std::vector<std::unique_ptr<Task>> tasks;
  host.swap(group.host);
  tasks.swap(group.tasks);
  for (HostTask& task : host) task.post();
  ncclResult_t result = ncclSuccess;
  for (HostTask& task : host) {
    const ncclResult_t one = task.finish();
    if (result == ncclSuccess) result = one;
  }
  const ncclResult_t valid = check_group(tasks);
  const ncclResult_t state = in_background(tasks);
  launch_all(std::move(tasks));
  if (result == ncclSuccess) result = valid;
  return result == ncclSuccess ? state : result;
}

}  // extern "C"
