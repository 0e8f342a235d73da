#include "iterations.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

#include "memory.h"
#include "nccl_devcomm.h"
#include "network.h"
#include "report.h"
#include "spoil.h"
#include "stats.h"
#include "stream.h"
#include "world.h"

namespace warploom {

bool g_poisoning = false;

namespace {

constexpr unsigned kMostRecords = 64;
constexpr std::size_t kMostKept = std::size_t{1} << 30;  // bytes of memory as it was

struct Work {
  unsigned long long kernels, moved;
  bool idle;  // nothing was on its way
};
std::vector<Work> g_records;                // at the first record of each number
std::map<const Process*, unsigned> g_made;  // records of each process
unsigned g_poisoned = 0;                    // records at which memory was altered
unsigned g_poison_records = 0;
bool g_kept = false;
std::map<uintptr_t, std::vector<char>> g_before;  // allocations as they were

// How often a flag is polled says nothing of the work that is done.
unsigned long long moved() {
  const Stats& s = g_stats;
  return s.put_bytes + s.peer_bytes - s.polled_bytes + s.host_bytes + s.copied_bytes + s.mpi_bytes;
}

bool idle() {
  for (const auto& device : g_devices) {
    for (const Stream* stream : device->streams) {
      if (!stream->queue.empty()) return false;
    }
  }
  for (const nccl::DevComm* dc : nccl::all_devcomms()) {
    for (const nccl::Channel* channel : dc->sending) {
      if (!channel->pending.empty()) return false;
    }
  }
  return true;
}

void keep_memory() {
  g_kept = true;
  std::size_t total = 0;
  for (const Allocation* allocation : live_device_allocations()) {
    total += allocation->bytes;
    if (total > kMostKept) {  // too much to look at: nothing is altered
      g_before.clear();
      g_poisoning = false;
      return;
    }
    const auto* start = reinterpret_cast<const char*>(allocation->start);
    g_before[allocation->start].assign(start, start + allocation->bytes);
  }
}

void poison() {
  for (const Allocation* allocation : live_device_allocations()) {
    const auto known = g_before.find(allocation->start);
    const bool same = known != g_before.end() && known->second.size() == allocation->bytes;
    constexpr std::size_t kPiece = 8;
    auto* start = reinterpret_cast<char*>(allocation->start);
    for (std::size_t at = 0; at < allocation->bytes; at += kPiece) {
      const std::size_t size = std::min(kPiece, allocation->bytes - at);
      if (same && !std::memcmp(start + at, known->second.data() + at, size)) continue;
      spoil_memory(start + at, size);
    }
  }
  g_poisoned++;
}

}  // namespace

void configure_poison(unsigned records) {
  g_poison_records = records;
  g_poisoning = records > 0;
}

void note_communication() {
  if (g_poisoning && !g_kept) keep_memory();
}

void note_record() {
  const unsigned number = ++g_made[&current_process()];
  if (number <= g_records.size() || number > kMostRecords) return;
  g_records.push_back({g_stats.kernels, moved(), idle()});
  if (g_poisoning && g_kept && number <= g_poison_records && g_records.back().idle) poison();
}

std::string iteration_stats() {
  std::string text = format(",\"moved\":%llu,\"records\":%zu,\"poisoned\":%u,\"spoiled\":%llu",
                            moved(), g_records.size(), g_poisoned, spoiled_elements());
  for (std::size_t i = 0; i < g_records.size(); i++) {
    const Work& work = g_records[i];
    text += format(",\"kernels_at_%zu\":%llu,\"moved_at_%zu\":%llu,\"idle_at_%zu\":%d", i,
                   work.kernels, i, work.moved, i, work.idle);
  }
  return text;
}

}  // namespace warploom
