// What MPI_Finalize finds undone: "the user must ensure that all pending communications involving
// the process are complete", and each message that was sent is received (MPI 3.1, 8.7).
#include <algorithm>

#include "mpi/mpi_objects.h"

namespace warploom::mpi {

namespace {

void report_pending() {
  std::vector<const warploom_mpi_request*> pending;
  for (const warploom_mpi_request* request : g_request_handles.living()) {
    // A persistent request that is not started holds nothing back.
    const auto* started = request->start ? request->started.get() : request;
    if (started) pending.push_back(started);
  }
  // They are kept by address, which differs from run to run.
  std::ranges::sort(pending, [](const auto* one, const auto* other) {
    return one->where.pc[0] < other->where.pc[0];
  });
  for (const warploom_mpi_request* request : pending) {
    report_finding({.kind = kinds::mpi_mismatch,
                    .message = format("the %s is not completed when its rank calls MPI_Finalize",
                                      request->what),
                    .hint = "complete each request, for example with MPI_Wait: until then nobody "
                            "knows that the message has come or gone",
                    .where = request->where,
                    .host = true});
  }
}

void report_unreceived() {
  const int self = current_process().rank;
  for (const auto& [handle, comm] : communicators()) {
    for (std::size_t rank = 0; comm && rank < comm->arrived.size(); rank++) {
      if (comm->world[rank] != self) continue;
      match_late(*comm, static_cast<int>(rank));
      for (const auto& message : comm->arrived[rank]) {
        const int sender = comm->world[static_cast<std::size_t>(message->source)];
        report_finding(
            {.kind = kinds::mpi_mismatch,
             .message =
                 format("rank %d sends %zu bytes to rank %d (tag %d), which calls "
                        "MPI_Finalize and has not received them",
                        message->source, message->data.size(), message->destination, message->tag),
             .hint = "receive each message, or do not send it",
             .where = message->where,
             .rank = sender,
             .host = true});
      }
    }
  }
}

}  // namespace

void report_unfinished() {
  report_pending();
  report_unreceived();
}

}  // namespace warploom::mpi
