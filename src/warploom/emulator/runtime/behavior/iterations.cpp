#include "behavior/iterations.h"

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "base/stats.h"
#include "behavior/carried.h"
#include "behavior/inputs.h"
#include "behavior/spoil.h"
#include "behavior/turned_arrays.h"
#include "behavior/turned_inputs.h"
#include "behavior/versions.h"
#include "cuda/stream.h"
#include "machine/world.h"
#include "network/devcomm.h"
#include "network/network.h"
#include "report/report.h"

namespace warploom {

namespace {

constexpr int kMostPolls = 10000;          // until all that is on its way has arrived
constexpr std::size_t kMostPoints = 1024;  // of each process

struct Work {
  unsigned long long moved;
  bool idle;  // nothing was on its way
  unsigned long long accesses, operations;
};

// What one process does, in its own order.
struct Course {
  unsigned records = 0;               // made so far
  std::set<unsigned> used;            // those that it takes a time from
  std::vector<std::size_t> calls;     // what it queues, by name
  std::vector<std::size_t> calls_at;  // how many of these come before each record
  std::vector<unsigned> points;       // records that count, where they are known beforehand
  unsigned reached = 0;               // of these
  std::size_t calls_before = 0;       // the last of these
};
std::map<int, Course> g_courses;  // by rank

bool g_points_known = false, g_meets = false;
std::vector<Work> g_records;  // at the first record of each number, or at each point
std::vector<Work> g_at_stops;
std::vector<unsigned> g_restless;  // moments at which something was on its way: see versions.h
unsigned g_poisoned = 0;           // records at which memory was altered
unsigned g_early = 0;              // at which it could not be: no rank had sent anything yet
bool g_too_much = false;           // there is more memory than can be kept
unsigned g_poison_records = 0;
bool g_kept = false, g_strict = false;
bool g_alters = true;  // numbers, at points and stops

struct Stops {
  unsigned point = 0, parts = 0;   // none by default
  std::vector<std::size_t> calls;  // of each process, in one part
};
Stops g_stops;
std::size_t g_arrived = 0;  // processes, at meetings
WaitQueue g_meeting;

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
  if (g_alters) for_each_change(spoil_memory);
  turn_inputs();
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
  if (calls.empty()) return 0;
  const std::size_t period = calls.size() - border.back();
  return calls.size() % period ? 1 : calls.size() / period;
}

// Waits until nothing of the process is on its way, and all others have come as far. True for the
// last to come.
bool meet() {
  const Process& process = current_process();
  const int count = static_cast<int>(g_devices.size() / g_processes.size());
  for (int d = 0; d < count; d++) synchronize_device(process.first_device + d, "an iteration");
  const std::size_t all = (g_arrived++ / g_processes.size() + 1) * g_processes.size();
  if (g_arrived < all) {
    g_meeting.wait_until([all] { return g_arrived >= all; }, {"an iteration", {}});
    return false;
  }
  for (int tries = 0; tries < kMostPolls && !idle(); tries++) poll_current();
  return true;
}

Work work_now() { return {moved(), idle(), accesses_made() - g_stats.looks, g_stats.operations}; }

// What memory holds where all processes wait, before anything is altered there.
void keep_moment(unsigned moment, const Work& work) {
  if (!keeps_versions()) return;
  if (work.idle) {
    keep_versions(moment);
  } else {
    g_restless.push_back(moment);
  }
}

void begin_carrying() {
  start_carrying();
  watch_stores();
}

void stop_here() {
  if (!meet()) return;
  g_at_stops.push_back(work_now());
  keep_moment(2 * static_cast<unsigned>(g_at_stops.size()) + 1, g_at_stops.back());
  if (g_poisoning && !g_kept) g_early++;
  if (g_poisoning && g_kept && g_at_stops.back().idle) {
    if (!is_carrying()) begin_carrying();
    poison();
  }
  g_meeting.notify_all();
}

// One of the records that count. What is done there, the first process to come does, or the last.
void reach_point(Course& course) {
  const unsigned number = ++course.reached;
  course.calls_before = course.calls.size();
  if (!(g_meets ? meet() : number > g_records.size())) return;
  g_records.push_back(work_now());
  if (g_meets) keep_moment(2 * number, g_records.back());
  if (g_meets && g_records.back().idle) take_back(2 * number);
  if (g_meets && number == course.points.size()) end_moments();
  open_spoil(number);
  if (g_poisoning && !g_kept && number <= g_poison_records) g_early++;
  if (g_poisoning && g_kept && g_records.back().idle) {
    if (!is_carrying() && !g_stops.point) begin_carrying();
    if (number <= g_poison_records) poison();
    if (number <= g_stops.point) turn_inputs_before_stops();
  }
  g_meeting.notify_all();
}

// How often what is queued between two points repeats itself.
void add_calls(std::string& text, int rank, const Course& course) {
  unsigned number = 0;
  for (auto used = course.used.begin(); used != course.used.end(); ++used) {
    const auto next = std::next(used);
    const auto at = [&](unsigned record) {
      return course.calls.begin() + static_cast<long>(course.calls_at[record - 1]);
    };
    const auto end = next == course.used.end() ? course.calls.end() : at(*next);
    const std::vector<std::size_t> calls(at(*used), end);
    number++;
    text += format(",\"point_%u_of_%d\":%u,\"calls_after_%u_of_%d\":%zu", number, rank, *used,
                   number, rank, calls.size());
    text += format(",\"repeats_after_%u_of_%d\":%zu", number, rank, repeats_of(calls));
  }
}

}  // namespace

bool configure_points(const std::string& text) {
  char* end = nullptr;
  Course& course = g_courses[static_cast<int>(std::strtol(text.c_str(), &end, 10))];
  while (*end == ':' || *end == ',') {
    course.points.push_back(static_cast<unsigned>(std::strtoul(end + 1, &end, 10)));
  }
  g_points_known = true;
  return *end == 0;
}

void configure_meeting() { g_meets = true; }

bool configure_stops(const std::string& text) {
  int used = 0;
  if (std::sscanf(text.c_str(), "%u:%u:%n", &g_stops.point, &g_stops.parts, &used) != 2 || !used) {
    return false;
  }
  for (const char* at = text.c_str() + used; *at;) {
    char* end = nullptr;
    const std::size_t calls = std::strtoull(at, &end, 10);
    if (end == at || calls == 0) return false;
    g_stops.calls.push_back(calls);
    at = *end == ',' ? end + 1 : end;
  }
  change_flag(g_poisoning, true);
  return true;
}

void configure_strict() {
  g_strict = g_kept = true;
  change_flag(g_poisoning, true);
}

void note_call(const char* name) {
  const std::string_view call = name;
  if (!g_current || !g_current->host || call == "cudaEventRecord") return;
  const int rank = current_process().rank;
  Course& course = g_courses[rank];
  const auto number = static_cast<std::size_t>(rank);
  if (g_stops.point && course.reached == g_stops.point && number < g_stops.calls.size()) {
    const std::size_t part = g_stops.calls[number],
                      made = course.calls.size() - course.calls_before;
    if (made && made % part == 0 && made / part < g_stops.parts) stop_here();
  }
  course.calls.push_back(std::hash<std::string_view>()(call));
}

void configure_scramble() {
  g_alters = false;
  scramble_carried();
}

void configure_only_counts() { g_alters = false; }

void configure_poison(unsigned records) {
  g_poison_records = records;
  change_flag(g_poisoning, g_poisoning || records > 0);
}

void note_communication() {
  if (!g_poisoning || g_kept) return;
  g_kept = true;
  g_too_much = !keep_memory();
  if (g_too_much) change_flag(g_poisoning, false);  // nothing can be altered
}

void note_input(const void* p, std::size_t bytes) {
  if (g_kept) keep_upload(p, bytes, g_strict);
}

unsigned note_record() {
  end_inputs();
  Course& course = g_courses[current_process().rank];
  const unsigned number = ++course.records;
  course.calls_at.push_back(course.calls.size());
  if (!g_points_known) {
    if (number > g_records.size()) g_records.push_back(work_now());
  } else if (course.reached < course.points.size() && course.points[course.reached] == number) {
    reach_point(course);
  }
  return number;
}

void note_clock() {
  if (!g_current || !g_current->host) return;
  const Process& process = current_process();
  if (process.threads.front().get() != g_current->host) return;
  // A loop that reads a clock, to wait, does not fill the memory.
  if (g_courses[process.rank].used.size() < kMostPoints) note_time_from(note_record());
}

void note_time_from(unsigned record) {
  auto& used = g_courses[current_process().rank].used;
  if (record && used.size() < kMostPoints) used.insert(record);
}

std::string iteration_stats() {
  for (auto& [rank, course] : g_courses) {
    // It never asks for a time: the first record and the last one are as good as any.
    if (course.used.empty() && course.records > 1) course.used = {1, course.records};
  }
  std::string text = format(",\"moved\":%llu,\"poisoned\":%u,\"spoiled\":%llu", moved(), g_poisoned,
                            spoiled_elements());
  text += format(",\"arrays\":%u", arrays_seen());
  text += format(",\"early\":%u,\"too_much\":%d,\"at_points\":%zu", g_early, g_too_much,
                 g_stops.point ? g_at_stops.size() : g_records.size());
  for (const auto& [rank, course] : g_courses) add_calls(text, rank, course);
  const auto first = g_courses.begin();
  const std::size_t points = first == g_courses.end() ? 0 : first->second.used.size();
  text += format(",\"records\":%zu,\"processes\":%zu,\"looks\":%llu", points, g_processes.size(),
                 g_stats.looks);
  for (std::size_t i = 0; i < points; i++) {
    auto record = first->second.used.begin();
    std::advance(record, i);
    const std::size_t at = g_points_known ? i : *record - 1;
    if (at >= g_records.size()) break;
    const Work& work = g_records[at];
    text += format(",\"moved_at_%zu\":%llu,\"idle_at_%zu\":%d", i, work.moved, i, work.idle);
    text += format(",\"accesses_at_%zu\":%llu,\"operations_at_%zu\":%llu", i, work.accesses, i,
                   work.operations);
  }
  for (std::size_t i = 0; i < g_at_stops.size(); i++) {
    text += format(",\"moved_at_stop_%zu\":%llu", i, g_at_stops[i].moved);
  }
  for (const unsigned moment : g_restless) text += format(",\"version_%u\":0", moment);
  return text + carried_stats() + version_stats();
}

}  // namespace warploom
