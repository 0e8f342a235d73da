#include "host_suspects.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "equal_stores.h"
#include "kernel.h"
#include "report.h"
#include "world.h"

namespace warploom {

namespace {

struct HostSuspect {
  Record before;
  bool before_writes;
  Actor now;
  const void* address;
  RaceView view;
};
std::map<AgentId, std::vector<HostSuspect>> g_host_suspects;

constexpr std::size_t kMost = 64;  // of one thread; further ones are told at once

const HostThread* host_at_tick(OpId op) {
  if (op_of(op).kind != OpKind::Host) return nullptr;
  for (const auto& process : g_processes) {
    for (const auto& thread : process->threads) {
      if (thread->op == op) return thread.get();
    }
  }
  return nullptr;
}

bool remember_suspect_of(const HostThread& host, HostSuspect suspect) {
  auto& known = g_host_suspects[host.agent];
  if (std::ranges::find(known, suspect.address, &HostSuspect::address) != known.end()) return true;
  if (known.size() == kMost) return false;
  suspect.now.clock = nullptr;  // it may be gone when this is told
  suspect.view.where = capture_frames();
  known.push_back(suspect);
  return true;
}

void settle_those(const std::vector<HostSuspect>& suspects, const void* address) {
  const auto word = reinterpret_cast<uintptr_t>(address) & ~uintptr_t{3};
  for (const HostSuspect& suspect : suspects) {
    if (reinterpret_cast<uintptr_t>(suspect.address) - word < kWidestAccess) continue;
    report_race(suspect.before, suspect.before_writes, suspect.now, !suspect.before_writes,
                suspect.address, suspect.view);
  }
}

}  // namespace

bool suspect_host_read(const Record& write, const Actor& read, const void* address) {
  const HostThread* host = host_at_tick(read.op);
  return host && remember_suspect_of(*host, {write, true, read, address, {}});
}

bool suspect_earlier_read(const Record& read, const Actor& write, const void* address) {
  const HostThread* host = host_at_tick(read.op());
  const GpuThread* thread = current_thread();
  if (!host || !thread || thread->block->saw_narrow_scope) return false;
  const Kernel& kernel = *thread->block->kernel;
  return remember_suspect_of(*host, {read, false, write, address, {{}, kernel.rank, kernel.name}});
}

void settle_host_suspects(const void* address) {
  if (g_host_suspects.empty()) return;
  const auto found = g_host_suspects.extract(current_host().agent);
  if (!found.empty()) settle_those(found.mapped(), address);
}

void settle_all_host_suspects() {
  for (const auto& [agent, suspects] : std::exchange(g_host_suspects, {}))
    settle_those(suspects, nullptr);
}

}  // namespace warploom
