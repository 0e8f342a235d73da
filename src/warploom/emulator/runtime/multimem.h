// Multimem addresses: where a team's windows are in them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "layout.h"
#include "nccl_objects.h"

namespace warploom::nccl {

// Nothing is mapped here: an address is only a name for the members' memory.
constexpr std::size_t kMultimemTeam = std::size_t{16} << 30;  // the addresses of one team

inline bool in_multimem(const void* p) {
  return reinterpret_cast<uintptr_t>(p) - g_places.multimem <
         kMultimemTeam * g_places.multimem_teams;
}

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
