// Warp operations: shuffles, votes, __syncwarp.
#include <algorithm>
#include <array>
#include <span>

#include "host/program_range.h"
#include "kernels/kernel.h"
#include "memory/fresh.h"
#include "order/equal_stores.h"
#include "report/report.h"
#include "timing/timing.h"

namespace warploom {

namespace {

unsigned lanes_of(const Block& block, unsigned warp) {
  const auto threads = static_cast<unsigned>(block.threads.size());
  const unsigned left = threads - warp * 32;
  return left >= 32 ? ~0u : (1u << left) - 1;
}

// The first warp operation of a block: only such blocks keep count of their lanes.
void begin_warps(Block& block) {
  const std::size_t warps = (block.threads.size() + 31) / 32;
  block.last_meeting.assign(warps, nullptr);
  block.live_lanes.assign(warps, 0);
  for (const GpuThread& thread : block.threads) {
    if (!thread.finished) block.live_lanes[thread.linear / 32] |= 1u << thread.linear % 32;
  }
}

WarpState& make_state(Block& block, unsigned warp, unsigned mask) {
  block.warps.push_back(std::make_unique<WarpState>());
  WarpState& state = *block.warps.back();
  state.warp = warp;
  state.mask = mask;
  state.reason.detail = [&state] {
    return format("lanes 0x%08x of mask 0x%08x have arrived", state.arrived, state.mask);
  };
  return state;
}

WarpState& state_of(Block& block, unsigned warp, unsigned mask) {
  if (block.last_meeting.empty()) begin_warps(block);
  WarpState*& last = block.last_meeting[warp];
  if (last && last->mask == mask) return *last;
  auto same = [&](const auto& s) { return s->warp == warp && s->mask == mask; };
  const auto it = std::ranges::find_if(block.warps, same);
  last = it != block.warps.end() ? it->get() : &make_state(block, warp, mask);
  return *last;
}

void open_warp(Block& block, WarpState& state) {
  std::copy(std::begin(state.value), std::end(state.value), std::begin(state.out));
  state.present = state.arrived;
  state.arrived = 0;
  state.generation++;
  block.meetings--;
  if (g_timed) meet_warp(state.waiting);
  note_progress();
  wake_block(block, state.waiting);
}

const char* name_of(WarpOperation operation) {
  static constexpr const char* kNames[] = {
      "__syncwarp",        "__shfl_sync",       "__shfl_up_sync",    "__shfl_down_sync",
      "__shfl_xor_sync",   "__ballot_sync",     "__any_sync",        "__all_sync",
      "__match_any_sync",  "__match_all_sync",  "__reduce_add_sync", "__reduce_min_sync",
      "__reduce_max_sync", "__reduce_and_sync", "__reduce_or_sync",  "__reduce_xor_sync",
      "a reduction"};
  return kNames[static_cast<unsigned>(operation) & 0xFF];
}

// What the lanes have acquired becomes known to all of them, and what they did before is ordered.
void order_warp(Block& block, unsigned warp) {
  Clock joined = block.clock;
  bool any = false;
  const auto first = warp * 32;
  for (unsigned t = first; t < first + 32 && t < block.threads.size(); t++) {
    if (!block.threads[t].has_own_clock) continue;
    joined.join(block.threads[t].own);
    any = true;
  }
  block.warp_base[warp] = ++block.time;
  if (!any) return;
  for (unsigned t = first; t < first + 32 && t < block.threads.size(); t++) {
    GpuThread& thread = block.threads[t];
    if (!thread.has_own_clock) {
      thread.has_own_clock = true;
      block.with_own_clock.push_back(&thread);
    }
    thread.own = joined;
  }
}

}  // namespace

// As at a barrier (barrier.cpp): all lanes of `mask` that still run deposit a value.
extern "C" Context* warploom_meet_quickly(unsigned mask, uint64_t value, WarpOperation operation) {
  Fiber* self = g_current;
  GpuThread* thread = self->gpu;
  if (!thread) return nullptr;
  Block& block = *self->block;
  if (block.last_meeting.empty()) return nullptr;
  const unsigned lane = thread->linear % 32u, bit = 1u << lane;
  WarpState* state = block.last_meeting[thread->linear / 32u];
  if (!state || state->mask != mask || state->operation != operation || !(state->missing & bit) ||
      state->missing == bit || g_stores_pending ||
      state->waiting.size() == state->waiting.capacity()) {
    return nullptr;
  }
  state->waiting.push_back(self);
  Fiber* next = block.next_at_once();
  if (!next) {
    state->waiting.pop_back();
    return nullptr;
  }
  thread->meeting = state;
  state->value[lane] = value;
  state->arrived |= bit;
  state->missing &= ~bit;
  self->state = FiberState::InWarp;
  hand_over(next);
  return next;
}

// All lanes of a mask must make the same call (the programming guide's warp functions).
static void report_mixed(const WarpState& state, unsigned lane, WarpOperation operation) {
  const std::string own = name_of(operation);
  const std::string others = name_of(state.operation);
  const bool of_types = own == others;
  report_finding({.kind = kinds::warp_mask,
                  .message = format("lane %u calls %s, where other lanes of mask 0x%08x call %s%s",
                                    lane, own.c_str(), state.mask,
                                    of_types ? "it with another type or operation" : "",
                                    of_types ? "" : others.c_str()),
                  .hint = "all lanes of a mask make the same call: give each branch a mask of its "
                          "own lanes"});
}

// The meeting of the lanes of `mask`, at which the thread is from now on.
static WarpState& come_to_meeting(GpuThread& self, unsigned mask, WarpOperation operation) {
  const char* what = name_of(operation);
  Block& block = *self.block;
  const unsigned warp = self.linear / 32u, lane = self.linear % 32u;
  mask &= lanes_of(block, warp);
  if (!(mask >> lane & 1)) {
    report_finding({.kind = kinds::warp_mask,
                    .message = format("lane %u calls %s with mask 0x%08x, which leaves it out",
                                      lane, what, mask),
                    .hint = "the mask must name every lane that makes the call"});
    mask = 1u << lane;  // nobody waits for it, so it waits for nobody
  }
  WarpState& state = state_of(block, warp, mask);
  self.meeting = &state;
  if (state.arrived) {
    if (state.operation != operation) report_mixed(state, lane, operation);
    return state;
  }
  block.meetings++;
  std::fill(std::begin(state.value), std::end(state.value), 0);
  state.missing = mask & block.live_lanes[warp];
  state.operation = operation;
  state.reason.what = what;
  state.waiting.reserve(32);
  return state;
}

extern "C" Context* warploom_meet_slowly(unsigned mask, uint64_t value, WarpOperation operation) {
  GpuThread* self = current_thread();
  if (!self)
    stop_unsupported(name_of(operation), "a warp operation was called outside of a kernel");
  if (g_stores_pending) settle_stores();
  Block& block = *self->block;
  const unsigned lane = self->linear % 32u;
  WarpState& state = come_to_meeting(*self, mask, operation);
  state.value[lane] = value;
  state.arrived |= 1u << lane;
  state.missing &= ~(1u << lane);
  if (!state.missing) {
    open_warp(block, state);
    return self->fiber;
  }
  state.waiting.push_back(self->fiber);
  self->fiber->state = FiberState::InWarp;
  return block.pass_on();
}

void warp_order() {
  GpuThread& self = *current_thread();
  WarpState& state = *self.meeting;
  // The first lane to leave does it for all.
  if (state.ordered == state.generation) return;
  state.ordered = state.generation;
  Block& block = *self.block;
  if ((block.live_lanes[state.warp] & ~state.present) == 0) {
    order_warp(block, state.warp);
    return;
  }
  // No vector: the call that frees it would be the last one here, and taken for the program's.
  std::array<GpuThread*, 32> threads;
  std::size_t count = 0;
  for (unsigned lane = 0; lane < 32; lane++) {
    if (state.present >> lane & 1) threads[count++] = &block.threads[state.warp * 32 + lane];
  }
  order_part(block, std::span(threads.data(), count));
}

// The value of a lane that has ended, or is not in the mask.
[[gnu::noinline, gnu::cold]] static uint64_t absent_value(const WarpState& state, unsigned source) {
  const GpuThread& self = *current_thread();
  const char* why = state.mask >> source & 1                          ? "has ended"
                    : lanes_of(*self.block, state.warp) >> source & 1 ? "is not in the mask"
                                                                      : "does not exist";
  const uint32_t word = note_undefined(
      format("lane %u takes the value of lane %u, which %s", self.linear % 32u, source, why));
  return uint64_t{word} << 32 | word;
}

uint64_t warp_value(uint64_t value, unsigned source) {
  const WarpState& state = *current_thread()->meeting;
  source %= 32;
  if (state.present >> source & 1) [[likely]]
    return state.out[source];
  return g_config.race ? absent_value(state, source) : value;
}

void refuse_width(int width) {
  report_finding({.kind = kinds::warp_mask,
                  .message = format("a shuffle within groups of %d lanes", width),
                  .hint = "a width is 1, 2, 4, 8, 16 or 32"});
  stop_run();
}

unsigned warp_present() { return current_thread()->meeting->present; }

void warp_values(unsigned mask, uint64_t out[32]) {
  const WarpState& state = *current_thread()->meeting;
  program_writes(out, 32 * sizeof *out);
  for (unsigned lane = 0; lane < 32; lane++) out[lane] = mask >> lane & 1 ? state.out[lane] : 0;
}

unsigned warp_votes(unsigned mask) {
  WarpState& state = *current_thread()->meeting;
  if (state.counted != state.generation) {
    state.counted = state.generation;
    state.votes = 0;
    for (unsigned lane = 0; lane < 32; lane++) state.votes |= (state.out[lane] != 0) << lane;
  }
  return state.votes & mask;
}

// Any subset that holds the caller would be a legal answer. Hardware keeps lanes together until
// they branch, and programs of its time rely on that: so we wait until nobody else can come.
unsigned active_mask(int site) {
  GpuThread* self = current_thread();
  if (!self) stop_unsupported("__activemask", "it was called outside of a kernel");
  Block& block = *self->block;
  const unsigned warp = self->linear / 32u, lane = self->linear % 32u;
  auto same = [&](const Gathering& g) { return g.warp == warp && g.site == site; };
  auto it = std::find_if(block.gatherings.begin(), block.gatherings.end(), same);
  if (it == block.gatherings.end()) {
    block.gatherings.push_back({warp, site});
    it = std::prev(block.gatherings.end());
  }
  it->mask |= 1u << lane;
  it->waiting.push_back(g_current);
  self->gathered = 0;
  while (!self->gathered) block_current({"__activemask", {}});
  return self->gathered;
}

void release_gatherings(Block& block) {
  std::vector<Gathering> all;
  all.swap(block.gatherings);
  for (Gathering& gathering : all) {
    for (Fiber* fiber : gathering.waiting) fiber->gpu->gathered = gathering.mask;
    wake_all(gathering.waiting);
  }
}

void warps_after_exit(Block& block, const GpuThread& thread) {
  const unsigned warp = thread.linear / 32, bit = 1u << thread.linear % 32;
  block.live_lanes[warp] &= ~bit;
  if (!block.meetings) return;
  for (const auto& state : block.warps) {
    if (state->warp != warp || !(state->missing & bit)) continue;
    state->missing &= ~bit;
    if (!state->missing) open_warp(block, *state);
  }
}

}  // namespace warploom
