// ncclCommSplit.
#include <algorithm>

#include "nccl/nccl_objects.h"

namespace warploom::nccl {

namespace {

struct SplitArgument {
  int color, key, rank;
  ncclComm* comm;  // of the parent
  ncclComm* child;
};

// Makes the new cliques once all ranks of the parent have said their color.
void make_children(std::vector<SplitArgument*> all) {
  std::stable_sort(all.begin(), all.end(), [](const auto* a, const auto* b) {
    return std::tie(a->color, a->key, a->rank) < std::tie(b->color, b->key, b->rank);
  });
  std::size_t i = 0;
  while (i < all.size()) {
    std::size_t end = i;
    while (end < all.size() && all[end]->color == all[i]->color) end++;
    if (all[i]->color != NCCL_SPLIT_NOCOLOR) {
      Clique* clique = new_clique(static_cast<int>(end - i));
      for (std::size_t m = i; m < end; m++) {
        ncclComm* child = all[m]->child;
        join_clique(clique, static_cast<int>(m - i), all[m]->comm->device, child);
        child->process = all[m]->comm->process;
      }
    }
    i = end;
  }
}

}  // namespace

}  // namespace warploom::nccl

using namespace warploom;
using namespace warploom::nccl;

extern "C" {

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* out,
                           ncclConfig_t* config) {
  ncclComm* parent = usable(comm, "ncclCommSplit");
  if (!parent || !out || !config_valid(config)) return ncclInvalidArgument;
  if (color < 0 && color != NCCL_SPLIT_NOCOLOR) return ncclInvalidArgument;
  auto mine = std::make_shared<SplitArgument>(SplitArgument{
      color, key, parent->rank, parent, color == NCCL_SPLIT_NOCOLOR ? nullptr : new ncclComm});
  *out = mine->child;
  auto meeting = std::make_shared<std::shared_ptr<HostMeeting>>();
  return run_host_task({[=] {
                          *meeting = post_meeting(parent, "ncclCommSplit", "", mine.get());
                          if ((*meeting)->arrived < parent->clique->size) return;
                          std::vector<SplitArgument*> all;
                          for (void* a : (*meeting)->argument) {
                            all.push_back(static_cast<SplitArgument*>(a));
                          }
                          make_children(std::move(all));
                        },
                        [=]() -> ncclResult_t {
                          await_meeting(parent, **meeting);
                          price_new_comm(parent->clique->size);
                          if (mine->child) {
                            mine->child->process = &current_process();
                            mine->child->rma_contexts = parent->rma_contexts;
                            mine->child->rma_signals = parent->rma_signals;
                            configure(mine->child, config);
                            begin_in_background(parent, mine->child, config);
                          }
                          return in_background(parent);
                        }});
}

}  // extern "C"
