#include "kernels/async_lane.h"

#include "cuda/stream.h"
#include "kernels/kernel.h"
#include "order/clock.h"

namespace warploom {

namespace {

uint32_t g_async_lanes = 0;

}  // namespace

uint32_t AsyncLane::issue(const Kernel& from) {
  if (op != from.op->op) {
    const uint32_t number = kAsyncBlocks | (g_async_lanes++ % (kCopyBlocks - kAsyncBlocks));
    *this = {from.op->op, number, 0, {}, from.before};
  }
  flying.insert(++issued);
  return issued;
}

Clock AsyncLane::clock(uint32_t below) const {
  Clock known = before;
  if (op) known.advance_block(op, block, below, 0, 0);
  return known;
}

// Neighbors are threads of their own: nothing orders two copies of one lane.
Actor actor_of(const AsyncLane& lane, uint32_t number, const Clock& before, uint32_t pc) {
  return {.op = lane.op,
          .block = lane.block,
          .thread = static_cast<uint16_t>(number % 1024),
          .time = number,
          .clock = &before,
          .pc = pc};
}

}  // namespace warploom
