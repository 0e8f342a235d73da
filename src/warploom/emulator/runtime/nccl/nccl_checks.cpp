// What must be in order when a process ends.
#include "nccl/nccl_checks.h"

#include "nccl/nccl_group.h"
#include "network/devcomm.h"

namespace warploom {

using namespace nccl;

namespace {

void warn_leak(const char* what, const char* cure, const Frames& where) {
  report_finding({.kind = kinds::leak,
                  .message = format("%s is still there when the process ends", what),
                  .hint = cure,
                  .warning = true,
                  .where = where});
}

// Its process has ended, or ends now, and it neither finalized nor destroyed the communicator.
bool was_left(const ncclComm& comm, const Process& ending) {
  return !comm.finalized && !comm.destroyed && (comm.process == &ending || comm.process->exited);
}

// ncclCommFinalize is for all ranks (NCCL's user guide). Looked at when the later of two ends.
void check_finalized_together(const ncclComm& comm, const Process& ending) {
  for (const ncclComm* other : comm.clique->members) {
    if (!other || other == &comm) continue;
    const ncclComm& caller = comm.finalized ? comm : *other;
    const ncclComm& absent = comm.finalized ? *other : comm;
    if (!caller.finalized || !was_left(absent, ending)) continue;
    report_finding({.kind = kinds::collective_mismatch,
                    .message = format("rank %d of a communicator calls ncclCommFinalize, and rank "
                                      "%d ends without it",
                                      caller.rank, absent.rank),
                    .hint = "let every rank finalize or destroy its communicator",
                    .where = *caller.finalized,
                    .other = absent.created});
    return;
  }
}

}  // namespace

void nccl_process_exit_checks(int rank, int code) {
  const Process& process = current_process();
  for (const Frames& where : open_groups(process)) {
    report_finding({.kind = kinds::group_unclosed,
                    .message = format("rank %d ends with a group that was opened and never closed: "
                                      "its calls were not issued",
                                      rank),
                    .hint = "call ncclGroupEnd for each ncclGroupStart",
                    .where = where});
  }
  if (code != 0) return;  // a process that failed has left everything as it was
  for (const DevComm* dc : all_devcomms()) {
    if (dc->comm->process == &process && dc->live) {
      warn_leak("a device communicator", "call ncclDevCommDestroy", dc->created);
    }
  }
  for (const ncclWindow_t window : all_windows()) {
    if (window->comm->process == &process && window->live && !window->internal) {
      warn_leak("a registered window", "call ncclCommWindowDeregister", window->registered);
    }
  }
  for (const ncclComm* comm : all_comms()) {
    if (comm->process != &process) continue;
    if (!comm->destroyed) warn_leak("a communicator", "call ncclCommDestroy", comm->created);
    check_finalized_together(*comm, process);
  }
}

}  // namespace warploom
