#include "schedule/trace.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <deque>
#include <map>

#include "kernels/kernel.h"
#include "machine/world.h"
#include "report/report.h"

namespace warploom {

bool g_tracing = false;

namespace {

constexpr std::size_t kShown = 40;

using Ring = std::deque<TraceEvent>;
std::map<int, Ring> g_rings;  // by rank
std::size_t g_capacity = 0;
uint64_t g_events = 0;
volatile std::sig_atomic_t g_recording = 0;  // a time limit may strike in the middle

bool same(uint3 a, uint3 b) { return a.x == b.x && a.y == b.y && a.z == b.z; }
bool same(const Frames& a, const Frames& b) { return std::memcmp(a.pc, b.pc, sizeof a.pc) == 0; }
bool repeats(const TraceEvent& a, const TraceEvent& b) {
  return a.kernel == b.kernel && a.in_block == b.in_block && same(a.block, b.block) &&
         same(a.where, b.where) && a.text == b.text;
}

void keep(TraceEvent event) {
  g_recording = 1;
  event.sequence = ++g_events;
  Ring& ring = g_rings[event.rank];
  if (!ring.empty() && repeats(ring.back(), event)) {
    TraceEvent& last = ring.back();
    last.sequence = event.sequence;
    last.times++;
    last.several_threads |= !same(last.thread, event.thread);
  } else {
    if (ring.size() == g_capacity) ring.pop_front();
    ring.push_back(std::move(event));
  }
  g_recording = 0;
}

class Selection {
 public:
  void take(int rank, std::size_t most) {
    const auto it = g_rings.find(rank);
    if (it == g_rings.end()) return;
    const Ring& ring = it->second;
    const std::size_t count = std::min(most, ring.size());
    for (std::size_t i = ring.size() - count; i < ring.size(); i++) events_.push_back(&ring[i]);
  }

  // The last event at a place, however long ago it was.
  void pin(const std::vector<int>& ranks, const Frames& where) {
    const TraceEvent* last = nullptr;
    for (const int rank : ranks) {
      for (const TraceEvent& event : g_rings[rank]) {
        if (same(event.where, where) && (!last || event.sequence > last->sequence)) last = &event;
      }
    }
    if (last && std::ranges::find(events_, last) == events_.end()) events_.push_back(last);
  }

  std::size_t size() const { return events_.size(); }

  std::vector<const TraceEvent*> sorted() && {
    std::ranges::sort(events_, {}, &TraceEvent::sequence);
    return std::move(events_);
  }

 private:
  std::vector<const TraceEvent*> events_;
};

std::vector<int> other_ranks(const Involved& involved) {
  std::vector<int> others;
  if (involved.other_rank) {
    others.push_back(*involved.other_rank);
  } else if (involved.everyone || involved.other.pc[0] || !involved.rank) {
    for (const auto& [rank, ring] : g_rings) others.push_back(rank);
  }
  if (involved.rank) std::erase(others, *involved.rank);
  return others;
}

}  // namespace

void start_trace(std::size_t events) {
  g_capacity = events;
  g_tracing = events > 0;
}

void record_event_at(const Frames& where, std::string text) {
  TraceEvent event{.rank = current_rank(), .where = where, .text = std::move(text)};
  if (const GpuThread* thread = current_thread()) {
    event.kernel = thread->block->kernel->name;
    event.in_block = true;
    event.block = thread->block->index;
    event.thread = thread->_Windex;
  }
  keep(std::move(event));
}

void record_event(std::string text) { record_event_at(capture_frames(), std::move(text)); }

void record_event_of(int rank, const char* kernel, const Frames& where, std::string text) {
  keep({.rank = rank, .kernel = kernel, .where = where, .text = std::move(text)});
}

void trace_wait(const WaitReason& reason, WaitStep step) {
  std::string text = reason.what;
  if (step == WaitStep::Begins) text += " waits";
  if (step == WaitStep::Ends) text += " goes on";
  if (step == WaitStep::WasOver) text += " need not wait";
  if (reason.detail && (step == WaitStep::Begins || reason.detail_stays_true)) {
    const std::string detail = reason.detail();
    if (!detail.empty()) text += ": " + detail;
  }
  record_event(std::move(text));
}

std::vector<const TraceEvent*> events_before(const Involved& involved) {
  if (!g_tracing || g_recording) return {};
  std::vector<int> ranks = other_ranks(involved);
  Selection selection;
  if (involved.rank) selection.take(*involved.rank, ranks.empty() ? kShown : kShown / 2);
  for (std::size_t i = 0; i < ranks.size(); i++) {
    selection.take(ranks[i], (kShown - selection.size()) / (ranks.size() - i));
  }
  if (involved.rank) ranks.push_back(*involved.rank);
  if (involved.other.pc[0]) selection.pin(ranks, involved.other);
  return std::move(selection).sorted();
}

}  // namespace warploom
