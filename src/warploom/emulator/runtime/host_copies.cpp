#include "host_copies.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "report.h"
#include "variables.h"
#include "world.h"

namespace warploom {

int g_host_copies = 0;
HostRange g_host_watched;

namespace {

struct Watch {
  int id;
  const char* start;
  std::size_t bytes;
  OpId op;
  Frames where;
};
std::unordered_map<const Process*, std::vector<Watch>> g_watches;
int g_next = 1;

// The host thread has synchronised with the copy.
bool settled(const Watch& watch, const HostThread& host) {
  if (!watch.op) return false;
  const Op& op = op_of(watch.op);
  return host.clock.agent_time(op.agent) >= op.time;
}

}  // namespace

void update_host_watched() {
  g_host_watched = {g_variables_start, g_variables_end - g_variables_start};
  if (host_copies_pending()) g_host_watched = {0, ~uintptr_t{0}};
}

int watch_host_copy(const void* target, std::size_t bytes, const Frames& where) {
  g_watches[&current_process()].push_back(
      {g_next, static_cast<const char*>(target), bytes, 0, where});
  g_host_copies++;
  update_host_watched();
  return g_next++;
}

void host_copy_started(int watch, OpId op) {
  for (auto& [process, watches] : g_watches) {
    for (Watch& entry : watches) {
      if (entry.id == watch) entry.op = op;
    }
  }
}

void check_host_copies(const void* p, std::size_t bytes, bool write) {
  const HostThread& host = *g_current->host;
  const auto mine = g_watches.find(host.process);
  if (mine == g_watches.end()) return;
  std::vector<Watch>& watches = mine->second;
  const char* start = static_cast<const char*>(p);
  for (std::size_t i = 0; i < watches.size();) {
    const Watch& watch = watches[i];
    if (settled(watch, host)) {
      watches.erase(watches.begin() + static_cast<long>(i));
      g_host_copies--;
      update_host_watched();
      continue;
    }
    if (start < watch.start + watch.bytes && watch.start < start + bytes) {
      report_finding(
          {.kind = "readback_before_sync",
           .message = format("the host %ss the target of an asynchronous copy of %zu bytes before "
                             "it has synchronised with it",
                             write ? "write" : "read", watch.bytes),
           .hint = "call cudaStreamSynchronize before the data is used",
           .other = watch.where});
    }
    i++;
  }
}

}  // namespace warploom
