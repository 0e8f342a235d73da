#include "order/host_copies.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "behavior/looks.h"
#include "machine/world.h"
#include "memory/variables.h"
#include "report/report.h"

namespace warploom {

int g_host_copies = 0;
HostRange g_host_watched, g_window_memory;

namespace {

struct WindowsOf {
  HostRange range;
  void (*touched)(const HostTouch&);
};
std::unordered_map<const Process*, WindowsOf> g_windows_of;

struct Watch {
  int id;
  const char* start;
  std::size_t bytes;
  OpId op;
  Frames where;
  const char* call = nullptr;        // of MPI; null: a copy of CUDA
  bool written = true;               // by what is watched; else it is only read
  std::vector<HostPart> parts = {};  // if there are gaps between them
  bool touched_by(const char* from, std::size_t size) const {
    const auto meets = [&](const char* p, std::size_t n) {
      return from < p + n && p < from + size;
    };
    if (!meets(start, bytes)) return false;
    return parts.empty() || std::ranges::any_of(parts, [&](const HostPart& part) {
             return meets(part.start, part.bytes);
           });
  }
};
std::unordered_map<const Process*, std::vector<Watch>> g_watches;
int g_next = 1;
constexpr const char* kEndEpoch =
    "first complete it: MPI_Win_fence, MPI_Win_complete, MPI_Win_unlock or MPI_Win_flush";

// The host thread has synchronized with the copy.
bool settled(const Watch& watch, const HostThread& host) {
  if (!watch.op) return false;
  const Op& op = op_of(watch.op);
  return host.clock.agent_time(op.agent) >= op.time;
}

void report_early_access(const Watch& watch, bool write, const char* who = "the host") {
  const char* verb = write ? "write" : "read";
  if (watch.call && is_one_sided(watch.call)) {
    report_finding({.kind = kinds::mpi_buffer_in_use,
                    .message = format("%s %ss the origin's buffer of %s before that has completed",
                                      who, verb, watch.call),
                    .hint = kEndEpoch,
                    .other = watch.where});
    return;
  }
  if (watch.call) {
    report_finding({.kind = kinds::mpi_buffer_in_use,
                    .message = format("%s %ss the %s buffer of %s before that has completed", who,
                                      verb, watch.written ? "receive" : "send", watch.call),
                    .hint = "first complete the request, by MPI_Wait or a successful MPI_Test",
                    .other = watch.where});
    return;
  }
  if (!watch.written) {
    report_finding(
        {.kind = kinds::data_race,
         .message = format("the host writes the source of a copy of %zu bytes in a graph "
                           "before it has synchronized with the launch",
                           watch.bytes),
         .hint = "call cudaStreamSynchronize before the source is written again",
         .other = watch.where});
    return;
  }
  report_finding({.kind = kinds::readback_before_sync,
                  .message = format("the host %ss the target of an asynchronous copy of %zu bytes "
                                    "before it has synchronized with it",
                                    verb, watch.bytes),
                  .hint = "call cudaStreamSynchronize before the data is used",
                  .other = watch.where});
}

int add_watch(Watch watch, const Process& owner) {
  watch.id = g_next++;
  g_host_copies++;
  g_watches[&owner].push_back(std::move(watch));
  update_host_watched();
  return g_next - 1;
}

void report_early_free(const Watch& watch) {
  if (watch.call) {
    report_finding(
        {.kind = kinds::mpi_buffer_in_use,
         .message = format("the host frees the %s of %s before that has completed",
                           is_one_sided(watch.call) ? "origin's buffer"
                           : watch.written          ? "receive buffer"
                                                    : "send buffer",
                           watch.call),
         .hint = is_one_sided(watch.call)
                     ? kEndEpoch
                     : "first complete the request, by MPI_Wait or a successful MPI_Test",
         .other = watch.where});
    return;
  }
  report_finding({.kind = kinds::use_after_free,
                  .message = format("the host frees the %s of an asynchronous copy of %zu bytes "
                                    "before it has synchronized with it",
                                    watch.written ? "target" : "source", watch.bytes),
                  .hint = "call cudaStreamSynchronize before the memory is freed",
                  .other = watch.where});
}

// What the process of the running host thread has watched, without what that thread has
// synchronized with, which is over.
template <class Function>
void for_each_pending(Function&& function) {
  const HostThread& host = *g_current->host;
  const auto mine = g_watches.find(host.process);
  if (mine == g_watches.end()) return;
  std::vector<Watch>& watches = mine->second;
  for (std::size_t i = 0; i < watches.size();) {
    if (settled(watches[i], host)) {
      watches.erase(watches.begin() + static_cast<long>(i));
      g_host_copies--;
      update_host_watched();
      continue;
    }
    function(watches[i++]);
  }
}

}  // namespace

void update_host_watched() {
  g_host_watched = {g_variables_start, g_variables_end - g_variables_start};
  if (host_copies_pending()) g_host_watched = {0, ~uintptr_t{0}};
}

int watch_host_copy(const void* target, std::size_t bytes, const Frames& where) {
  return add_watch({0, static_cast<const char*>(target), bytes, 0, where}, current_process());
}

int watch_host_copy(std::vector<HostPart> parts, bool written, const Frames& where) {
  return watch_mpi_buffer(std::move(parts), written, nullptr, where);
}

static Watch watch_of(std::vector<HostPart> parts, bool written, const char* what,
                      const Frames& where) {
  const char *first = parts.front().start, *end = first;
  for (const HostPart& part : parts) {
    first = std::min(first, part.start);
    end = std::max(end, part.start + part.bytes);
  }
  if (parts.size() == 1) parts.clear();
  return {0,       first,           static_cast<std::size_t>(end - first), 0, where, what,
          written, std::move(parts)};
}

int watch_mpi_buffer(std::vector<HostPart> parts, bool written, const char* what,
                     const Frames& where) {
  return add_watch(watch_of(std::move(parts), written, what, where), current_process());
}

void watch_windows(const Process& owner, HostRange range, void (*touched)(const HostTouch&)) {
  if (range.bytes) {
    g_windows_of[&owner] = {range, touched};
  } else {
    g_windows_of.erase(&owner);
  }
  if (g_current && g_current->process) view_windows(*g_current->process);
}

void view_windows(const Process& process) {
  if (g_windows_of.empty()) {
    g_window_memory = {};
    return;
  }
  const auto found = g_windows_of.find(&process);
  g_window_memory = found == g_windows_of.end() ? HostRange{} : found->second.range;
}

void check_windows(const HostTouch& touch) {
  if (!g_window_memory.meets(reinterpret_cast<uintptr_t>(touch.start), touch.bytes)) return;
  g_windows_of.at(g_current->process).touched(touch);
}

bool is_one_sided(const char* call) {
  constexpr std::string_view kCalls[] = {"MPI_Put",          "MPI_Get",
                                         "MPI_Accumulate",   "MPI_Get_accumulate",
                                         "MPI_Fetch_and_op", "MPI_Compare_and_swap"};
  return std::ranges::find(kCalls, std::string_view(call)) != std::end(kCalls);
}

void end_watch(int watch) {
  for (auto& [process, watches] : g_watches) {
    g_host_copies -= static_cast<int>(
        std::erase_if(watches, [&](const Watch& known) { return known.id == watch; }));
  }
  update_host_watched();
}

void host_copy_started(int watch, OpId op) {
  for (auto& [process, watches] : g_watches) {
    for (Watch& entry : watches) {
      if (entry.id == watch) entry.op = op;
    }
  }
}

void check_host_copies(const void* p, std::size_t bytes, bool write, uint32_t pc) {
  if (g_looks_kept) host_looks_at(p, bytes, write);
  for_each_pending([&](const Watch& watch) {
    if ((write || watch.written) && watch.touched_by(static_cast<const char*>(p), bytes)) {
      report_early_access(watch, write);
    }
  });
  check_windows({.start = static_cast<const char*>(p), .bytes = bytes, .write = write, .pc = pc});
}

void check_mpi_buffers(const void* p, std::size_t bytes, bool write, const char* call) {
  if (g_looks_kept && !write) host_looks_at(p, bytes, false);  // what it brings comes later
  for_each_pending([&](const Watch& watch) {
    if (watch.call && (write || watch.written) &&
        watch.touched_by(static_cast<const char*>(p), bytes)) {
      report_early_access(watch, write, call);
    }
  });
  check_windows({static_cast<const char*>(p), bytes, write, false, call});
}

void check_host_free(const void* block, std::size_t bytes) {
  for_each_pending([&](const Watch& watch) {
    if (watch.touched_by(static_cast<const char*>(block), bytes)) report_early_free(watch);
  });
  check_windows({static_cast<const char*>(block), bytes, true, true});
}

}  // namespace warploom
