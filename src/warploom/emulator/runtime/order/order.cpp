// What the running fiber has ordered before: given away by a release, taken over by an acquire.
#include "kernels/kernel.h"
#include "machine/world.h"
#include "order/completions.h"
#include "order/host_suspects.h"
#include "order/race.h"

namespace warploom {

Clock release_clock() {
  if (GpuThread* thread = current_thread()) {
    Block& block = *thread->block;
    Clock clock = effective_clock(*thread);
    const OpId op = block.op;
    const uint32_t warp_base = block.warp_base[thread->linear / 32];
    if (warp_base > block.base) {
      const unsigned first = thread->linear / 32 * 32u;
      for (unsigned lane = first; lane < first + 32 && lane < block.threads.size(); lane++) {
        clock.advance_block(op, block.number, block.base, static_cast<uint16_t>(lane),
                            warp_base - 1);
      }
    }
    clock.advance_block(op, block.number, block.base, thread->linear, block.time);
    block.time++;
    // Who knows of this release knows of the puts that were seen before; the thread does so itself.
    clock.forget_puts();
    if (thread->has_own_clock) thread->own = clock;
    return clock;
  }
  HostThread& host = current_host();
  settle_host_suspects();
  host.clock.advance(host.agent, host.time);
  host.time++;
  host.op = 0;
  return host.clock;
}

void acquire_clock(const Clock& clock) {
  GpuThread* thread = current_thread();
  if (g_config.race && !clock.seen_puts().empty()) {
    const Actor self = current_actor(0);
    acquire_puts(clock, *self.clock, moment_of(self));
  }
  if (!thread) {
    current_host().clock.join(clock);
    current_host().clock.settle();
    return;
  }
  if (!thread->has_own_clock) {
    thread->own = thread->block->clock;
    thread->has_own_clock = true;
    thread->block->with_own_clock.push_back(thread);
  }
  thread->own.join(clock);
}

}  // namespace warploom
