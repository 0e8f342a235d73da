// Barriers in memory that count arrivals and bytes (cuda::barrier, mbarrier), and copies that a
// machine of its own makes while the threads go on (cp.async.bulk, cp.async).
#pragma once

#include "device.h"

namespace warploom {

// As large as CUDA's; what it means is known to the runtime alone.
struct alignas(8) PhaseBarrier {
  unsigned long long word;
};
void start_barrier(PhaseBarrier* barrier, unsigned expected);
void end_barrier(PhaseBarrier* barrier);
// Each arrival releases. It gives the state before it: the phase, and 20 bits of missing arrivals.
constexpr unsigned kPendingBits = 20;
unsigned long long arrive_at(PhaseBarrier* barrier, unsigned count, Scope scope);
unsigned long long arrive_early(PhaseBarrier* barrier, unsigned count, Scope scope);
unsigned long long drop_from(PhaseBarrier* barrier, unsigned count, Scope scope);
// The phase ends no earlier than so many further bytes have come.
void expect_bytes(PhaseBarrier* barrier, unsigned bytes, Scope scope);
void complete_bytes(PhaseBarrier* barrier, unsigned bytes, Scope scope);
// A device tells phases apart by their parity: a token may be of the last phase, and no older.
void check_token(const PhaseBarrier* barrier, unsigned long long phase);
// Is the phase over? If so, the thread acquires what its arrivals released.
void wait_at(const PhaseBarrier* barrier, unsigned long long phase, Scope scope);
bool phase_is_over(const PhaseBarrier* barrier, unsigned long long phase, Scope scope);
bool parity_is_over(const PhaseBarrier* barrier, unsigned parity, Scope scope);
void wait_parity(const PhaseBarrier* barrier, unsigned parity, Scope scope);

WARPLOOM_UNCHECKED constexpr unsigned long long phase_of(unsigned long long state) {
  return state >> kPendingBits;
}

// One side is shared memory, or both are. `done` gets the bytes; without it they are of the
// thread's open group.
void bulk_copy(void* to, const void* from, unsigned bytes, PhaseBarrier* done);
void bulk_commit();
// Until no more than `left` groups are on their way, or (`read`) have not been read.
void bulk_wait(unsigned left, bool read);
// Copies of a thread to the shared memory of its block, of up to 16 bytes each (cp.async). `size`:
// what one instruction copies, which must fit its addresses, or 0. False: the caller copies at
// once, by accesses of its own.
bool copies_later(const void* to, const void* from, unsigned size);
// Of `bytes`, the first `kept` come from the source, and the rest becomes zero.
void copy_later(void* to, const void* from, unsigned bytes, unsigned kept);
void copies_commit();
void copies_wait(unsigned left);  // until no more than `left` groups are on their way
void copies_wait_all();
// The phase ends no earlier than the thread's copies so far; `counted`: that is one of its
// arrivals.
void arrive_behind_copies(PhaseBarrier* barrier, bool counted, Scope scope);
// Who learns of this fence knows the barriers that the thread has initialized, and nothing else.
void fence_inits();
// What threads did before in these spaces is seen by the copies that are issued after
// (fence.proxy.async).
void proxy_fence(bool shared, bool global);

}  // namespace warploom
