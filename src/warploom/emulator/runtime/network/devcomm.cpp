#include "network/devcomm.h"

#include <unordered_set>

#include "metering/meter.h"
#include "timing/timing.h"

namespace warploom::nccl {

namespace {
std::vector<DevComm*> g_devcomms;
std::unordered_set<const void*> g_states;
}  // namespace

const std::vector<DevComm*>& all_devcomms() { return g_devcomms; }

void add_devcomm(DevComm* made) {
  g_devcomms.push_back(made);
  g_states.insert(made);
}

bool is_devcomm(const void* state) { return g_states.contains(state); }

DevComm& alive(void* state, const char* what) {
  if (!g_states.contains(state)) {
    fail({.kind = kinds::use_after_destroy,
          .message = format("%s uses a device communicator that was never created", what),
          .hint = "check what ncclDevCommCreate returned, and pass the communicator by value to "
                  "the kernel"});
  }
  auto& dc = *static_cast<DevComm*>(state);
  if (g_current && g_current->process && g_current->process != dc.comm->process) {
    fail({.kind = kinds::foreign_memory,
          .message = format("%s uses a device communicator of another process", what),
          .hint = "a handle means nothing in other processes: make one in each",
          .other = dc.created});
  }
  if (!dc.live) {
    fail({.kind = kinds::use_after_destroy,
          .message = format("%s uses a device communicator that was destroyed", what),
          .hint = "synchronize the stream before ncclDevCommDestroy",
          .other = dc.destroyed});
  }
  return dc;
}

DevComm& require_gin(const Gin& gin, const char* what) {
  settle_work();
  take_turn();
  DevComm& dc = alive(gin.state, what);
  if (!dc.set->gin) {
    fail({.kind = kinds::gin_not_enabled,
          .message = format("%s: the device communicator was created without GIN", what),
          .hint = g_config.nccl_version >= 22907
                      ? "set ginConnectionType = NCCL_GIN_CONNECTION_FULL in the requirements"
                      : "ask for signals (ginSignalCount) or set ginForceEnable",
          .other = dc.created});
  }
  if (gin.context >= static_cast<uint32_t>(dc.set->contexts)) {
    fail({.kind = kinds::context_index,
          .message = format("GIN context %u is used, but the device communicator has %d",
                            gin.context, dc.set->contexts),
          .hint = "ask for more with ginContextCount, and take the index modulo "
                  "devComm.ginContextCount: the count is a hint",
          .other = dc.created});
  }
  return dc;
}

void check_context(const Gin& gin) { require_gin(gin, "ncclGin"); }

}  // namespace warploom::nccl
