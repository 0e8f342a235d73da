#include "order/host_suspects.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "kernels/kernel.h"
#include "machine/world.h"
#include "order/equal_stores.h"
#include "report/report.h"

namespace warploom {

namespace {

struct HostSuspect {
  Record before;
  bool before_writes;
  Actor now;
  const void* address;
  RaceView view;
  ReadWord word;
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
  const auto same = std::ranges::find(known, suspect.address, &HostSuspect::address);
  if (same != known.end()) {
    if (suspect.before_writes) same->word = suspect.word;  // what it has read now
    return true;
  }
  if (known.size() == kMost) return false;
  suspect.now.clock = nullptr;  // it may be gone when this is told
  suspect.view.where = capture_frames();
  known.push_back(suspect);
  return true;
}

void settle_those(const std::vector<HostSuspect>& suspects) {
  for (const HostSuspect& suspect : suspects) {
    report_race(suspect.before, suspect.before_writes, suspect.now, !suspect.before_writes,
                suspect.address, suspect.view);
  }
}

}  // namespace

bool suspect_host_read(const Record& write, const Actor& read, const void* address, unsigned mask) {
  const HostThread* host = host_at_tick(read.op);
  return host &&
         remember_suspect_of(*host, {write, true, read, address, {}, read_word(address, mask)});
}

bool suspect_earlier_read(const Record& read, const Actor& write, const void* address,
                          unsigned mask) {
  const HostThread* host = host_at_tick(read.op());
  const GpuThread* thread = current_thread();
  if (!host || !thread || thread->block->saw_narrow_scope) return false;
  const Kernel& kernel = *thread->block->kernel;
  // Nobody has stored there since: that would have been the suspect.
  return remember_suspect_of(*host, {read,
                                     false,
                                     write,
                                     address,
                                     {{}, kernel.rank, kernel.name},
                                     read_word(address, read.mask() & mask)});
}

void check_host_suspects(const void* address, unsigned bytes, const uint64_t (&expected)[2]) {
  const auto found = g_host_suspects.find(current_host().agent);
  if (found == g_host_suspects.end()) return;
  std::erase_if(found->second, [&](const HostSuspect& suspect) {
    return compare_word(suspect.word, suspect.address, address, bytes, expected) == Compared::Same;
  });
}

void settle_host_suspects() {
  if (g_host_suspects.empty()) return;
  const auto found = g_host_suspects.extract(current_host().agent);
  if (!found.empty()) settle_those(found.mapped());
}

void settle_all_host_suspects() {
  for (const auto& [agent, suspects] : std::exchange(g_host_suspects, {})) settle_those(suspects);
}

}  // namespace warploom
