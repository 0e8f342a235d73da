#include "iterations.h"

#include <map>
#include <vector>

#include "carried.h"
#include "inputs.h"
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

struct Work {
  unsigned long long kernels, moved;
  bool idle;  // nothing was on its way
};
std::vector<Work> g_records;                // at the first record of each number
std::map<const Process*, unsigned> g_made;  // records of each process
unsigned g_poisoned = 0;                    // records at which memory was altered
unsigned g_poison_records = 0;
bool g_kept = false;
bool g_scrambles = false;

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

void poison() {
  for_each_change(spoil_memory);
  g_poisoned++;
}

}  // namespace

void configure_scramble() {
  g_scrambles = true;
  scramble_carried();
}

void configure_poison(unsigned records) {
  g_poison_records = records;
  g_poisoning = records > 0;
}

void note_communication() {
  if (!g_poisoning || g_kept) return;
  g_kept = true;
  g_poisoning = keep_memory();  // else there is too much to look at: nothing is altered
}

void note_input(const void* p, std::size_t bytes) {
  if (g_kept) keep_upload(p, bytes);
}

void note_record() {
  end_inputs();
  const unsigned number = ++g_made[&current_process()];
  if (number <= g_records.size() || number > kMostRecords) return;
  g_records.push_back({g_stats.kernels, moved(), idle()});
  open_spoil(static_cast<unsigned>(g_records.size()));
  if (!g_poisoning || !g_kept || !g_records.back().idle) return;
  if (!g_carrying) start_carrying();
  if (number <= g_poison_records && !g_scrambles) poison();
}

std::string iteration_stats() {
  std::string text = format(",\"moved\":%llu,\"records\":%zu,\"poisoned\":%u,\"spoiled\":%llu",
                            moved(), g_records.size(), g_poisoned, spoiled_elements());
  for (std::size_t i = 0; i < g_records.size(); i++) {
    const Work& work = g_records[i];
    text += format(",\"kernels_at_%zu\":%llu,\"moved_at_%zu\":%llu,\"idle_at_%zu\":%d", i,
                   work.kernels, i, work.moved, i, work.idle);
  }
  return text + carried_stats();
}

}  // namespace warploom
