// What MPI finds when a process ends.
#pragma once

namespace warploom {

struct Process;

namespace mpi {

// The process ends, and says that all went well.
void check_finalized(const Process& process);

}  // namespace mpi

}  // namespace warploom
