#include "iterations.h"

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string_view>
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
constexpr int kMostPolls = 10000;  // until all that is on its way has arrived

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

// What a process queues after each of its records, by name.
constexpr std::size_t kMostCalls = 1 << 16;
std::map<const Process*, std::vector<std::vector<std::size_t>>> g_calls;

struct Stops {
  unsigned record = 0, parts = 0;     // none by default
  std::vector<std::size_t> calls;     // of each process, in one part
  std::size_t arrived = 0, held = 0;  // processes, and stops that altered memory
  WaitQueue meeting;
};
Stops g_stops;

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

// The smallest part that the sequence repeats, as how often it does.
std::size_t repeats_of(const std::vector<std::size_t>& calls) {
  std::vector<std::size_t> border(calls.size(), 0);  // Knuth, Morris and Pratt's failure function
  for (std::size_t i = 1, k = 0; i < calls.size(); i++) {
    while (k && calls[i] != calls[k]) k = border[k - 1];
    if (calls[i] == calls[k]) k++;
    border[i] = k;
  }
  if (calls.empty() || calls.size() == kMostCalls) return 0;
  const std::size_t period = calls.size() - border.back();
  return calls.size() % period ? 1 : calls.size() / period;
}

// Ends when nothing of the process is on its way, and all others have come as far.
void stop_here() {
  const Process& process = current_process();
  const int count = static_cast<int>(g_devices.size() / g_processes.size());
  for (int d = 0; d < count; d++) synchronize_device(process.first_device + d, "an iteration");
  const std::size_t round = g_stops.arrived++ / g_processes.size() + 1;
  const std::size_t all = round * g_processes.size();
  if (g_stops.arrived < all) {
    g_stops.meeting.wait_until([all] { return g_stops.arrived >= all; }, {"an iteration", {}});
    return;
  }
  for (int tries = 0; tries < kMostPolls && !idle(); tries++) poll_current();
  if (g_poisoning && g_kept && idle()) {
    if (g_stops.held++ == 0) start_carrying();
    if (!g_scrambles) poison();
  }
  g_stops.meeting.notify_all();
}

}  // namespace

bool configure_stops(const std::string& text) {
  int used = 0;
  if (std::sscanf(text.c_str(), "%u:%u:%n", &g_stops.record, &g_stops.parts, &used) != 2 || !used) {
    return false;
  }
  for (const char* at = text.c_str() + used; *at;) {
    char* end = nullptr;
    const std::size_t calls = std::strtoull(at, &end, 10);
    if (end == at || calls == 0) return false;
    g_stops.calls.push_back(calls);
    at = *end == ',' ? end + 1 : end;
  }
  g_poisoning = true;
  return true;
}

void note_call(const char* name) {
  const std::string_view call = name;
  if (!g_current || !g_current->host || call == "cudaEventRecord") return;
  const Process& process = current_process();
  const auto made = g_made.find(&process);
  if (made == g_made.end() || made->second > kMostRecords) return;
  auto& all = g_calls[&process];
  all.resize(made->second);
  auto& calls = all.back();
  const auto number = static_cast<std::size_t>(process.rank);
  if (made->second == g_stops.record && number < g_stops.calls.size()) {
    const std::size_t part = g_stops.calls[number];
    if (!calls.empty() && calls.size() % part == 0 && calls.size() / part < g_stops.parts) {
      stop_here();
    }
  }
  if (calls.size() < kMostCalls) calls.push_back(std::hash<std::string_view>()(call));
}

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
  if (!g_carrying && !g_stops.record) start_carrying();
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
  for (const auto& [process, all] : g_calls) {
    for (std::size_t i = 0; i < all.size(); i++) {
      text += format(",\"calls_after_%zu_of_%d\":%zu,\"repeats_after_%zu_of_%d\":%zu", i + 1,
                     process->rank, all[i].size(), i + 1, process->rank, repeats_of(all[i]));
    }
  }
  if (g_stops.held) text += format(",\"stops\":%zu", g_stops.held);
  return text + carried_stats();
}

}  // namespace warploom
