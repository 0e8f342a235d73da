// ncclCommShrink and ncclCommGrow: communicators with fewer or more ranks.
#include <algorithm>
#include <cstring>

#include "nccl/nccl_objects.h"

namespace warploom::nccl {

namespace {

// The ranks that stay meet here; those that are left out do not call.
struct Shrinking {
  std::vector<int> excluded;
  Frames where;
  std::vector<ncclComm*> children;  // by rank of the parent
  int arrived = 0;
  WaitQueue done;
  Clock clock;
};
std::map<std::pair<uint64_t, uint64_t>, std::shared_ptr<Shrinking>> g_shrinking;

bool leaves_out(const Shrinking& s, int rank) {
  return std::binary_search(s.excluded.begin(), s.excluded.end(), rank);
}

void make_child(const Clique& parent, Shrinking& s) {
  Clique* clique = new_clique(parent.size - static_cast<int>(s.excluded.size()));
  int rank = 0;
  for (ncclComm* member : parent.members) {
    ncclComm* child = s.children[static_cast<std::size_t>(member->rank)];
    if (!child) continue;
    join_clique(clique, rank++, member->device, child);
    child->process = member->process;
    child->rma_contexts = member->rma_contexts;
    child->rma_signals = member->rma_signals;
  }
  clique->clock.join(s.clock);
  s.done.notify_all();
}

std::shared_ptr<Shrinking> meet(ncclComm* parent, std::vector<int> excluded, ncclComm* child) {
  const Clique& clique = *parent->clique;
  auto& slot = g_shrinking[{clique.id, parent->shrinks++}];
  if (!slot) {
    slot = std::make_shared<Shrinking>();
    slot->excluded = excluded;
    slot->where = capture_frames();
    slot->children.resize(static_cast<std::size_t>(clique.size));
  }
  if (slot->excluded != excluded) {
    fail({.kind = kinds::collective_mismatch,
          .message = format("ncclCommShrink: rank %d leaves out rank %s, another one rank %s",
                            parent->rank, join_numbers(excluded).c_str(),
                            join_numbers(slot->excluded).c_str()),
          .hint = "pass the same ranks to exclude on every rank that stays",
          .other = slot->where});
  }
  slot->children[static_cast<std::size_t>(parent->rank)] = child;
  slot->clock.join(release_clock());
  if (++slot->arrived == clique.size - static_cast<int>(excluded.size())) make_child(clique, *slot);
  return slot;
}

void await(const Clique& clique, Shrinking& s) {
  const int stay = clique.size - static_cast<int>(s.excluded.size());
  s.done.wait_until(
      [&] { return s.arrived == stay; },
      {"ncclCommShrink", [&s, &clique] {
         std::vector<bool> here;
         for (int r = 0; r < clique.size; r++) {
           here.push_back(leaves_out(s, r) || s.children[static_cast<std::size_t>(r)]);
         }
         return format("rank %s has not called it", clique.missing(here).c_str());
       }});
  acquire_clock(s.clock);
}

}  // namespace

}  // namespace warploom::nccl

using namespace warploom;
using namespace warploom::nccl;

extern "C" {

ncclResult_t ncclCommShrink(ncclComm_t comm, int* list, int count, ncclComm_t* out,
                            ncclConfig_t* config, int) {
  ncclComm* parent = usable(comm, "ncclCommShrink");
  if (!parent || !out || !list || count <= 0 || !config_valid(config)) return ncclInvalidArgument;
  *out = nullptr;
  std::vector<int> excluded(list, list + count);
  std::sort(excluded.begin(), excluded.end());
  excluded.erase(std::unique(excluded.begin(), excluded.end()), excluded.end());
  if (excluded.front() < 0 || excluded.back() >= parent->clique->size) return ncclInvalidArgument;
  if (std::binary_search(excluded.begin(), excluded.end(), parent->rank)) {
    return set_error(parent, ncclInvalidArgument, "an excluded rank must not call ncclCommShrink");
  }
  auto* child = new ncclComm;
  *out = child;
  auto slot = std::make_shared<std::shared_ptr<Shrinking>>();
  return run_host_task({[=] { *slot = meet(parent, excluded, child); },
                        [=]() -> ncclResult_t {
                          await(*parent->clique, **slot);
                          price_new_comm(parent->clique->size);
                          child->process = &current_process();
                          configure(child, config);
                          begin_in_background(parent, child, config);
                          return in_background(parent);
                        }});
}

ncclResult_t ncclCommGetUniqueId(ncclComm_t comm, ncclUniqueId* id) {
  ncclComm* parent = usable(comm, "ncclCommGetUniqueId");
  if (!parent || !id) return ncclInvalidArgument;
  *id = grow_id(*parent);
  return ncclSuccess;
}

ncclResult_t ncclCommGrow(ncclComm_t comm, int ranks, const ncclUniqueId* id, int rank,
                          ncclComm_t* out, ncclConfig_t* config) {
  if (!out || ranks <= 0 || !config_valid(config)) return ncclInvalidArgument;
  *out = nullptr;
  if (!comm) {
    if (rank < 0 || rank >= ranks || !id) return ncclInvalidArgument;
    return init_rank(out, ranks, *id, rank, current_host().device, config, "ncclCommGrow");
  }
  ncclComm* parent = usable(comm, "ncclCommGrow");
  if (!parent || rank != -1) return ncclInvalidArgument;
  if (ranks <= parent->clique->size) {
    return set_error(parent, ncclInvalidArgument, "ncclCommGrow must add ranks");
  }
  const ncclUniqueId mine = grow_id(*parent);
  parent->grows++;
  return init_rank(out, ranks, mine, parent->rank, parent->device, config, "ncclCommGrow");
}

}  // extern "C"
