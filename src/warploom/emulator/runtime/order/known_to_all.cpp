#include "order/known_to_all.h"

#include <algorithm>

#include "cuda/stream.h"
#include "machine/world.h"
#include "network/network.h"
#include "order/completions.h"

namespace warploom {

namespace {

constexpr std::size_t kFewCompletions = 4096;
std::size_t g_forget_at = kFewCompletions;

void lower(KnownToAll& times, const Clock& clock) {
  for (AgentId agent = 0; agent < times.size(); agent++) {
    if (times[agent]) times[agent] = std::min(times[agent], clock.agent_time(agent));
  }
}

// Whoever asks later goes on from a host thread or from an operation that is queued now, and its
// clock has what those have: threads of kernels begin with their operation's, and operations come
// behind those that are before them on their stream.
KnownToAll known_to_all() {
  KnownToAll times(agents_made(), ~uint32_t{0});
  for (const auto& process : g_processes) {
    for (const auto& thread : process->threads) {
      if (thread->fiber && thread->fiber->state != FiberState::Done) lower(times, thread->clock);
    }
  }
  for (const auto& device : g_devices) {
    for (const Stream* stream : device->streams) {
      if (stream->queue.empty()) continue;
      const StreamOp& first = *stream->queue.front();
      // An early launch behind it may know no more than it did when it began.
      Clock clock = first.started ? first.begin : first.issued;
      if (!first.started) {
        const bool early = first.programmatic && stream->primary;
        clock.join(early ? stream->primary->begin : stream->clock);
      }
      lower(times, clock);
    }
  }
  return times;
}

}  // namespace

void forget_what_all_know() {
  if (completions() < g_forget_at) return;
  const KnownToAll times = known_to_all();
  forget_completions(times);
  for (nccl::DevComm* dc : nccl::all_devcomms()) {
    for (nccl::Channel* channel : dc->sending) channel->lanes.forget_issuers(times);
  }
  g_forget_at = std::max(kFewCompletions, 2 * completions());
}

}  // namespace warploom
