// Multimem addresses: where a team's windows are in them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/layout.h"
#include "nccl/nccl_objects.h"

namespace warploom::nccl {

// NVLink SHARP needs two devices that share memory.
inline bool multimem_supported(const Clique& clique) { return clique.lsa_size > 1; }

// The first address of a team whose member 0 is rank `first`; made when first asked for. nullptr
// when there are no addresses left.
void* multimem_base(Clique& clique, int first, int ranks, int stride);
void* lsa_multimem_base(Clique& clique, int rank);
// The window's address in the team at `base`.
void* multimem_address(WindowSet& set, const void* base, std::size_t offset);
// Ends the run if `base` is no team's: the barrier session `what` asked for multimem.
void check_multimem_barrier(const DevComm& dc, const void* base, const char* what);
// An ordinary load or store of a multimem address: reports it and ends the run.
[[noreturn]] void refuse_plain_access(const void* p, bool write);

}  // namespace warploom::nccl
