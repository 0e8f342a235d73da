// Barriers across ranks (LSA, GIN and both), and the barriers of groups of threads.
#include <utility>

#include "kernels/kernel.h"
#include "metering/meter.h"
#include "network/gin.h"
#include "network/multimem.h"
#include "timing/timing.h"
#include "timing/transport_time.h"

namespace warploom::nccl {

namespace {

struct Place {
  DevComm* dc;
  BarrierSlot* slot;
  std::size_t member;
};

const char* session(const BarrierRef& b) {
  if (!b.gin) return "ncclLsaBarrierSession";
  return b.kind == BarrierKind::HybridWorld ? "ncclBarrierSession" : "ncclGinBarrierSession";
}

DevComm& device_comm(const BarrierRef& b) {
  return b.gin ? require_gin({b.state, b.context}, session(b)) : alive(b.state, session(b));
}

Place place_of(const BarrierRef& b) {
  DevComm& dc = device_comm(b);
  const int base = dc.rank - b.team.rank * b.team.stride;
  BarrierSlot& slot = dc.set->barriers[{b.gin, b.handle, base, b.team.stride, b.team.ranks, b.index,
                                        b.gin ? b.context : 0}];
  if (slot.members.empty()) {
    slot.ranks = b.team.ranks;
    slot.members.resize(static_cast<std::size_t>(b.team.ranks));
  }
  return {&dc, &slot, static_cast<std::size_t>(b.team.rank)};
}

int world_rank(const DevComm& dc, const BarrierRef& b, std::size_t member) {
  return dc.rank + (static_cast<int>(member) - b.team.rank) * b.team.stride;
}

// Does the barrier behind the handle serve this team?
void check_team(const DevComm& dc, const BarrierRef& b, const BarrierDefinition& definition) {
  const bool same = b.team.ranks == definition.team.ranks &&
                    (b.team.ranks == 1 || b.team.stride == definition.team.stride);
  // In 2.28 a barrier is one signal for any team; later each member has a slot of its own.
  if (same || (b.gin && g_config.nccl_version < 22900)) return;
  fail({.kind = kinds::barrier_team,
        .message = format("%s: a team of %d ranks (stride %d) on a %s that was made for %d ranks "
                          "(stride %d)",
                          session(b), b.team.ranks, b.team.stride, definition.name.c_str(),
                          definition.team.ranks, definition.team.stride),
        .hint = g_config.nccl_version >= 23000
                    ? "use the handle of the team: worldGinBarrier for the world, railGinBarrier "
                      "for the rail, lsaBarrier for the LSA team"
                    : "use the handle of the team; for the world ask for one with "
                      "ncclGinBarrierCreateRequirement, or use ncclBarrierSession",
        .other = dc.created});
}

void check_index(const DevComm& dc, const BarrierRef& b) {
  const auto& definitions = dc.set->definitions;
  const auto it = definitions.find({b.gin, b.handle});
  if (it == definitions.end()) {
    fail({.kind = kinds::barrier_index,
          .message =
              format("%s: the requirements asked for no barrier behind this handle", session(b)),
          .hint = "set the count in the requirements (lsaBarrierCount, railGinBarrierCount, "
                  "worldGinBarrierCount or barrierCount)",
          .other = dc.created});
  }
  check_team(dc, b, it->second);
  if (b.index < static_cast<uint32_t>(it->second.count)) return;
  fail({.kind = kinds::barrier_index,
        .message = format("%s: barrier %u is used, but %s is %d", session(b), b.index,
                          it->second.requirement, it->second.count),
        .hint = "ask for as many barriers as there are blocks that use one",
        .other = dc.created});
}

void check_reach(const DevComm& dc, const BarrierRef& b) {
  const int lsa = dc.set->clique->lsa_size;
  for (std::size_t m = 0; m < static_cast<std::size_t>(b.team.ranks); m++) {
    const int rank = world_rank(dc, b, m);
    // The barrier over both kinds of team goes by way of the LSA team where GIN does not connect.
    if (b.kind == BarrierKind::HybridWorld) continue;
    if (b.gin) {
      reach_peer(dc, b.team, static_cast<int>(m), session(b));
    } else if (rank < 0 || rank >= dc.set->clique->size || rank / lsa != dc.rank / lsa) {
      fail({.kind = kinds::barrier_team,
            .message = format("%s: rank %d is not in the LSA team of rank %d, which has %d ranks",
                              session(b), rank, dc.rank, lsa),
            .hint = "an LSA barrier reaches the LSA team only; use a GIN barrier for the world",
            .other = dc.created});
    }
  }
}

// One group of threads uses a barrier at a time.
void check_owner(BarrierSlot::Member& member, const BarrierRef& b) {
  const GpuThread* thread = current_thread();
  if (!thread) return;
  const Frames where = capture_frames();
  const Actor self = current_actor(where.pc[0]);
  if (member.used && member.user.op == self.op && member.user.block != self.block &&
      !self.clock->covers_block(member.user.op, member.user.block, member.user.thread,
                                member.user.time)) {
    report_finding({.kind = kinds::barrier_shared,
                    .message = format("%s: blocks %u and %u of one kernel use barrier %u",
                                      session(b), member.user.block, self.block, b.index),
                    .hint = "give each block a barrier of its own (index blockIdx.x), and ask for "
                            "as many",
                    .where = where,
                    .other = member.where});
  }
  member.used = true;
  member.user = self;
  member.user.clock = nullptr;
  member.where = where;
}

// What the running group has released before a relaxed arrival: the fences that were made, and what
// came before the kernel, whose start is one.
Clock fenced_clock() {
  const GpuThread* self = current_thread();
  if (!self) return {};
  Clock clock = self->block->kernel->before;
  for (const GpuThread& thread : self->block->threads) {
    if (thread.fenced && thread.fence_scope == Scope::System) clock.join(thread.fence_release);
  }
  return clock;
}

void forget_stores() {
  GpuThread* self = current_thread();
  if (!self || !std::exchange(self->block->stored_to_peers, false)) return;
  for (GpuThread& thread : self->block->threads) thread.stored_to = -1;
}

// The puts of this rank to each member that the barrier's fence settles: those issued before it.
void note_puts(DevComm& dc, const BarrierRef& b, BarrierSlot::Arrival& arrival) {
  const Clock now = release_clock();
  for (std::size_t m = 0; m < static_cast<std::size_t>(b.team.ranks); m++) {
    const int rank = world_rank(dc, b, m);
    for (uint32_t c = 0; c < static_cast<uint32_t>(dc.set->contexts); c++) {
      if (!b.all_contexts && b.kind != BarrierKind::HybridWorld && c != b.context) continue;
      Channel* line = find_channel(dc, rank, c, false);
      if (!line || !line->issued) continue;
      line->fenced = line->issued;
      arrival.puts[{static_cast<int>(m), c}] = {line->issued, line->lanes.before(now)};
    }
  }
}

std::string late_members(const BarrierSlot& slot, uint64_t round, const DevComm& dc,
                         const BarrierRef& b) {
  std::vector<int> late;
  for (std::size_t m = 0; m < slot.members.size(); m++) {
    if (slot.members[m].arrived < round) late.push_back(world_rank(dc, b, m));
  }
  return join_numbers(late);
}

const BarrierSlot::Arrival& arrival_of(const BarrierSlot::Member& member, uint64_t round) {
  return member.arrivals[static_cast<std::size_t>(round - 1 - member.dropped)];
}

// How many members have arrived in a round.
int& present_in(BarrierSlot& slot, uint64_t round) {
  const auto index = static_cast<std::size_t>(round - 1 - slot.ended);
  if (slot.present.size() <= index) slot.present.resize(index + 1);
  return slot.present[index];
}

// Arrivals that everybody has seen are of no more use.
void drop_old(BarrierSlot& slot) {
  uint64_t seen = ~uint64_t{0};
  for (const auto& member : slot.members) seen = std::min(seen, member.waited);
  for (; slot.ended < seen; slot.ended++) slot.present.pop_front();
  for (auto& member : slot.members) {
    while (member.dropped < seen && !member.arrivals.empty()) {
      member.arrivals.pop_front();
      member.dropped++;
    }
  }
}

// The order of all arrivals of a round. It is one object for all, which later joins notice.
void join_arrivals(BarrierSlot& slot, uint64_t round) {
  if (slot.joined_round == round) return;
  slot.joined = slot.joined_before = {};
  bool whole = true;  // a member may wait without having arrived itself
  for (const auto& member : slot.members) {
    const bool here = member.arrived >= round && round > member.dropped;
    whole &= here;
    if (!here) continue;
    slot.joined.join(arrival_of(member, round).clock);
    slot.joined_before.join(arrival_of(member, round).before);
  }
  slot.joined.settle();
  slot.joined_before.settle();
  slot.joined_round = whole ? round : 0;
}

}  // namespace

void open_barrier(const BarrierRef& b) {
  if (g_timed && current_thread()) meter_handles();
  const DevComm& dc = device_comm(b);
  check_index(dc, b);
  check_reach(dc, b);
  if (b.multimem) check_multimem_barrier(dc, b.multimem_base, session(b));
}

void close_barrier(const BarrierRef& b) {
  if (const GpuThread* thread = current_thread(); !thread) return;
  Place place = place_of(b);
  // The end of the session is the last use of the barrier by this group.
  BarrierSlot::Member& member = place.slot->members[place.member];
  if (member.used) {
    member.user = current_actor(capture_frames().pc[0]);
    member.user.clock = nullptr;
  }
}

void barrier_arrive(const BarrierRef& b, Order order, uint32_t fence) {
  settle_work();
  take_turn();
  Place place = place_of(b);
  BarrierSlot::Member& member = place.slot->members[place.member];
  check_owner(member, b);
  BarrierSlot::Arrival arrival;
  if (releases(order)) {
    arrival.clock = release_clock();
    forget_stores();
  } else {
    arrival.clock = fenced_clock();
  }
  if (const GpuThread* self = current_thread()) arrival.before = self->block->kernel->before;
  if (b.gin && (fence & kFencePut)) note_puts(*place.dc, b, arrival);
  member.arrivals.push_back(std::move(arrival));
  member.arrived++;
  trace([&] {
    return format("%s arrives at barrier %u, round %llu%s", session(b), b.index,
                  static_cast<unsigned long long>(member.arrived),
                  releases(order) ? "" : " (relaxed)");
  });
  note_event();
  BarrierSlot& slot = *place.slot;
  // Who waits needs all others. A team of one may wait first, and arrive when the round has ended.
  if (member.arrived > slot.ended && ++present_in(slot, member.arrived) + 1 >= slot.ranks) {
    slot.waiters.notify_all();
  }
}

bool barrier_wait(const BarrierRef& b, Order order, uint32_t fence, const char* op,
                  uint64_t cycles) {
  Place place = place_of(b);
  DevComm& dc = *place.dc;
  BarrierSlot& slot = *place.slot;
  const uint64_t round = slot.members[place.member].waited + 1;
  const auto complete = [&slot, round, self = place.member] {
    if (round <= slot.ended) return true;  // another group has waited for it in this one's place
    const bool here = slot.members[self].arrived >= round;
    return present_in(slot, round) - here + 1 == slot.ranks;
  };
  const WaitReason reason{op, [&slot, round, &dc, b] {
                            return format("barrier %u on rank %d: rank %s has not arrived", b.index,
                                          dc.rank, late_members(slot, round, dc, b).c_str());
                          }};
  if (cycles == kForever) {
    slot.waiters.wait_until(complete, reason);
  } else if (!slot.waiters.wait_or_expire(complete, reason, cycles)) {
    return false;
  }
  const GpuThread* thread = current_thread();
  const void* block = thread ? thread->block : nullptr;
  if (round <= slot.ended) {
    if (slot.members[place.member].waiter == block) return true;  // its threads are told otherwise
    report_finding({.kind = kinds::barrier_shared,
                    .message = format("%s: two groups of threads wait at barrier %u at a time",
                                      session(b), b.index),
                    .hint = "give each kernel a barrier of its own, or order the two kernels"});
    return true;
  }
  pass_barrier(b.gin, b.team.ranks);
  join_arrivals(slot, round);
  Clock clock = slot.joined;
  if (!acquires(order)) acquire_clock(slot.joined_before);
  for (std::size_t m = 0; m < slot.members.size(); m++) {
    BarrierSlot::Member& member = slot.members[m];
    if (member.arrived < round || round <= member.dropped) continue;
    const BarrierSlot::Arrival& arrival = arrival_of(member, round);
    DevComm& sender = *dc.set->members[static_cast<std::size_t>(world_rank(dc, b, m))];
    const auto self = static_cast<int>(place.member);
    for (auto to_me = arrival.puts.lower_bound({self, 0});
         to_me != arrival.puts.end() && to_me->first.first == self; ++to_me) {
      Channel& line = channel(sender, dc.rank, to_me->first.second, false);
      reach(line.landed_by, 0);
      land(line, to_me->second.turn);
      for (const LanePlace& put : to_me->second.before) clock.channel_landed(put.lane, put.number);
    }
  }
  slot.members[place.member].waited = round;
  slot.members[place.member].waiter = block;
  drop_old(slot);
  observe(clock, order);
  if (b.gin && (fence & kFenceGet)) flush({b.state, b.context}, order);
  return true;
}

// --- groups of threads ---------------------------------------------------------------------------

namespace {

int site_of(const char* op) {
  unsigned hash = 2166136261u;
  for (const char* c = op; *c; c++) hash = (hash ^ static_cast<unsigned char>(*c)) * 16777619u;
  return -1 - static_cast<int>(hash & 0x3FFFFFFF);
}

void report_partial(const char* op, unsigned took_part, unsigned expected, const char* group) {
  report_finding({.kind = kinds::partial_coop,
                  .message = format("%s: %u of %u threads of its %s take part", op, took_part,
                                    expected, group),
                  .hint = "all threads of the group make the call; pass ncclCoopThread() where "
                          "one thread makes it"});
}

}  // namespace

void sync_block(const char* op) {
  GpuThread* thread = current_thread();
  if (!thread) stop_unsupported(op, "it was called outside of a kernel");
  const dim3 shape = thread->block->kernel->config.block;
  if (shape.y * shape.z > 1) {
    report_finding({.kind = kinds::coop_cta_2d,
                    .message = format("%s with ncclCoopCta in a block of %u x %u x %u threads: the "
                                      "group counts threadIdx.x only, so %u threads have rank 0",
                                      op, shape.x, shape.y, shape.z, shape.y * shape.z),
                    .hint = "launch the kernel with one-dimensional blocks"});
  }
  const auto expected = static_cast<unsigned>(thread->block->threads.size());
  thread->group_call = op;
  const auto took_part = static_cast<unsigned>(voting_barrier(BarrierVote::Count, 1, site_of(op)));
  thread->group_call = nullptr;
  if (took_part < expected) report_partial(op, took_part, expected, "block");
}

void sync_lanes(unsigned mask, const char* op) {
  GpuThread* thread = current_thread();
  if (!thread) stop_unsupported(op, "it was called outside of a kernel");
  const auto threads = static_cast<unsigned>(thread->block->threads.size());
  const unsigned left = threads - thread->linear / 32u * 32u;
  const unsigned expected = left >= 32 ? mask : mask & ((1u << left) - 1);
  uint64_t present[32];
  warp_gather(mask, 1, present);
  warp_barrier(mask);
  unsigned took_part = 0;
  for (unsigned lane = 0; lane < 32; lane++) took_part += present[lane] != 0;
  const auto wanted = static_cast<unsigned>(__builtin_popcount(expected));
  if (took_part < wanted) report_partial(op, took_part, wanted, "lanes");
}

void sync_warps(unsigned first, unsigned count, unsigned barrier, const char* op) {
  GpuThread* thread = current_thread();
  if (!thread) stop_unsupported(op, "it was called outside of a kernel");
  const unsigned warp = thread->linear / 32u;
  if (warp < first || warp >= first + count) {
    report_partial(op, 0, count * 32, "warps (a thread outside of them calls it)");
  }
  named_barrier(barrier, count * 32, site_of(op));
}

}  // namespace warploom::nccl
