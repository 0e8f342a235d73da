#include "behavior/ways.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernels/kernel.h"
#include "report/report.h"

namespace warploom {

namespace {

constexpr unsigned kMostWays = 1 << 16;

struct Way {
  bool held, failed;  // which of its ways it took
  bool open;          // somewhere the compiler did not know which
  bool turned;        // it is of a loop, of which a thread has made a second turn
  bool far;           // or was a block's width or more from one when it left, in some case
  bool leaving;       // a thread has left the loop in this case
  uint64_t to_turn;   // steps from a second turn in this case, in blocks' widths: the fewest
  uint64_t steps;     // of the comparison that came last
  bool compared;      // steps were noted
  bool varied;        // and were not always as many in a case
  unsigned in_case;   // the case in which that was last
  uint64_t nearest;   // fewest steps in that case
  uint64_t farthest;  // of the cases before it, the most of their fewest
  bool bounds, real;  // it is a bound, of real numbers
  bool moved;         // and is moved in this run
  double other;       // of the values that did not decide, the nearest to one that did
  uint64_t digest;    // of real values that decided, in the order in which they did
};
std::vector<Way> g_ways;
// Of loops without a second turn so far: the thread that a fiber ran when the condition held last.
std::unordered_map<unsigned, std::unordered_map<const Fiber*, uint64_t>> g_in_turn;
unsigned g_case = 0;

Way* way_of(unsigned number) {
  if (number >= kMostWays) return nullptr;
  if (number >= g_ways.size()) g_ways.resize(number + 1, {});
  return &g_ways[number];
}

// Whether a comparison of what differs from thread to thread came next to its turn in every case.
bool is_tight(const Way& way) {
  return way.compared && way.varied && std::max(way.nearest, way.farthest) == 0;
}

// The running thread; zero stands for none, one for the host's.
uint64_t running_thread() {
  const GpuThread* thread = current_thread();
  if (!thread) return 1;
  const Block& block = *thread->block;
  const auto index = static_cast<uint64_t>(thread - block.threads.data());
  return (uint64_t{block.kernel->number} + 1) << 43 ^ uint64_t { block.number } << 11 ^ (index + 1);
}

// How many threads stand beside the running one: a grid is rounded up by as many at most.
uint64_t threads_beside() {
  const GpuThread* thread = current_thread();
  return thread ? thread->block->threads.size() : 1;
}

// What the last case showed of a loop: none of its threads was near a second turn.
void end_turns(Way& way) {
  if (way.leaving && way.to_turn > 0) way.far = true;
  way.leaving = false;
}

constexpr uint64_t kPrime = 0x100000001b3;  // of the 64-bit FNV hash

// The value of a real bound that did not decide.
double told(const Way& way) { return way.bounds && way.real ? way.other : NAN; }

}  // namespace

bool note_way(unsigned number, bool held, bool constant) {
  if (Way* way = way_of(number)) {
    (held ? way->held : way->failed) = true;
    if (!constant) way->open = true;
  }
  return held;
}

void note_turn(unsigned number, bool held) {
  Way* way = way_of(number);
  if (!way || way->turned) return;
  uint64_t& last = g_in_turn[number][g_current];
  const uint64_t running = running_thread();
  if (last == running) {
    if (held) {
      way->turned = true;
      g_in_turn.erase(number);
      return;
    }
    const uint64_t away = way->compared ? way->steps / threads_beside() : 1;
    way->to_turn = way->leaving ? std::min(way->to_turn, away) : away;
    way->leaving = true;
  }
  last = held ? running : 0;
}

void note_steps(unsigned number, unsigned long long steps) {
  Way* way = way_of(number);
  if (!way) return;
  way->steps = steps;
  if (way->compared && way->in_case == g_case) {
    if (way->nearest != steps) way->varied = true;
    way->nearest = std::min<uint64_t>(way->nearest, steps);
    return;
  }
  way->farthest = way->compared ? std::max(way->nearest, way->farthest) : 0;
  way->compared = true;
  way->in_case = g_case;
  way->nearest = steps;
}

void next_case() {
  g_case++;
  std::ranges::for_each(g_ways, end_turns);
}

void note_bound(unsigned number, bool first, bool second, bool constant, bool real, bool least,
                double taken, double other) {
  Way* way = way_of(number);
  if (!way) return;
  if (first) way->held = true;
  if (second) way->failed = true;
  if (!constant) way->open = true;
  if (real) way->digest = (way->digest ^ std::bit_cast<uint64_t>(taken)) * kPrime;
  if (first == second) return;
  if (!way->bounds || (least ? other < way->other : other > way->other)) way->other = other;
  way->bounds = true;
  way->real = real;
}

bool is_moved(unsigned number) { return number < g_ways.size() && g_ways[number].moved; }

void move_bound(unsigned number) {
  if (Way* way = way_of(number)) way->moved = true;
}

void report_ways() {
  if (g_ways.empty()) return;
  std::ranges::for_each(g_ways, end_turns);
  std::string words;
  for (std::size_t at = 0; at < g_ways.size(); ++at) {
    const Way& way = g_ways[at];
    if (!way.held && !way.failed) continue;
    words += format("%s\"%zu:%d:%d:%d:%d:%d:%.9g:%llu\"", words.empty() ? "" : ",", at, way.held,
                    way.failed, way.open, is_tight(way), way.turned || !way.far, told(way),
                    static_cast<unsigned long long>(way.digest));
  }
  send_line("{\"ev\":\"ways\",\"ways\":[" + words + "]}");
}

}  // namespace warploom
