// The happens-before check: who touched each four bytes last, and was that ordered before us?
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "order/clock.h"
#include "schedule/fiber.h"

namespace warploom {

enum class Scope;
struct Atomicity;

enum class OpKind : uint8_t { Host, Kernel, Copy, Collective, Channel };

// One operation, for ordering and for reports.
struct Op {
  OpKind kind = OpKind::Host;
  AgentId agent = 0;  // Host, Kernel, Copy, Collective
  uint32_t time = 0;  // of the agent
  ChannelId channel = 0;
  int rank = 0;           // NCCL/MPI rank or device on whose behalf it runs
  const char* name = "";  // kernel or call; must outlive the run
  Frames frames;          // where it was issued
  bool overlaps = false;  // see StreamOp::overlaps
  uint32_t launch = 0;    // of a kernel: how often the rank has started it
  int device = -1;        // Kernel: where it runs
  uint64_t issued = 0;    // order of issue, of Kernel, Copy and Collective
};

OpId new_op(const Op& op);
constexpr std::size_t kOpsInChunk = 4096;
extern std::vector<std::unique_ptr<Op[]>> g_ops;  // references stay valid
inline const Op& op_of(OpId id) {
  WARPLOOM_INVARIANT(id / kOpsInChunk < g_ops.size());
  return g_ops[id / kOpsInChunk][id % kOpsInChunk];
}
AgentId new_agent();
AgentId agents_made();

// Who accesses memory. For a kernel thread: `block` and `thread` place it, `time` is the block's
// interval, and what its own block did before `base` is ordered. For a channel: `time` is the
// put's sequence number. For the rest only `op` counts.
struct Actor {
  OpId op = 0;
  uint32_t block = 0;
  uint16_t thread = 0;
  uint32_t time = 0;
  uint32_t base = 0;
  uint32_t warp_base = 0;
  const Clock* clock = nullptr;
  uint32_t pc = 0;
  bool init = false;  // it initializes a barrier in memory
  uint32_t copy =
      0;  // the number of a cp.async that the thread issues; 0: it makes the access itself
};

void create_history(int devices, std::size_t device_bytes);

// The running fiber as an actor (host thread or GPU thread), for an access at `pc`.
Actor current_actor(uint32_t pc);

// Check an access against the history and enter it. Each conflict becomes one finding.
// Memory that is not shadowed (ordinary host memory) is ignored.
void access_read(const Actor& actor, const void* address, std::size_t bytes);
void access_write(const Actor& actor, const void* address, std::size_t bytes);
void access_atomic(const Actor& actor, const void* address, std::size_t bytes, bool writes,
                   Atomicity atomic);

constexpr std::size_t kWidestAccess = 16;  // bytes of one instruction

// Decides on stores that raced: both may have stored the same value. Called before anything else
// can change memory, and at the end.
void settle_stores();

// The words that a plain read got which raced with an atomic. It is no defect where a
// compare-and-swap of the same thread compares with just that: then the thread learns whether it
// was an old value.
struct ReadWord {
  unsigned mask = 0;  // of its bytes; none: nothing to check
  uint32_t value = 0;
};
ReadWord read_word(const void* word, unsigned mask);
// What a compare-and-swap of `bytes` at `address` says of the word that was read at `place`.
enum class Compared { Elsewhere, Same, Different };
Compared compare_word(const ReadWord& read, const void* place, const void* address, unsigned bytes,
                      const uint64_t (&expected)[2]);
// The running GPU thread does a compare-and-swap: is it one of what its suspect read?
void check_suspect(const void* address, unsigned bytes, const uint64_t (&expected)[2]);
// The running GPU thread ends, or has a further suspect: what no compare-and-swap has checked is a
// race.
void settle_suspect();

// The history of a range will be touched as a whole.
void prefer_huge_history(uintptr_t start, std::size_t bytes);
// Forget the history of a range: it was freed, or given to a new owner.
void forget_history(const void* address, std::size_t bytes);

// --- release and acquire of the running fiber --------------------------------------------------
// The clock of what is ordered before "now" for the running fiber; later accesses are not in it.
Clock release_clock();
void acquire_clock(const Clock& clock);

}  // namespace warploom
