// Attributes of communicators: those that MPI itself gives them.
#include "mpi/mpi_objects.h"

namespace warploom::mpi {

namespace {

// Programs get their addresses, and may only read them.
const int kLargestTag = kTagMost, kAnyRank = MPI_ANY_SOURCE, kNoHost = MPI_PROC_NULL, kYes = 1,
          kFirstProgram = 0, kLastCode = MPI_ERR_LASTCODE;

const int* attribute(int key) {
  switch (key) {
    case MPI_TAG_UB:
      return &kLargestTag;
    case MPI_IO:
      return &kAnyRank;
    case MPI_HOST:
      return &kNoHost;
    case MPI_WTIME_IS_GLOBAL:
      return &kYes;
    case MPI_APPNUM:
      return &kFirstProgram;
    case MPI_LASTUSEDCODE:
      return &kLastCode;
    default:
      return nullptr;
  }
}

}  // namespace

}  // namespace warploom::mpi

using namespace warploom;
using namespace warploom::mpi;

extern "C" {

int MPI_Comm_get_attr(MPI_Comm comm, int key, void* value, int* flag) {
  constexpr const char* kName = "MPI_Comm_get_attr";
  enter(comm, kName);
  require(flag != nullptr && value != nullptr, kName, "the results' addresses must not be NULL");
  // How many there could be is not said: MPI allows that.
  const int* found = attribute(key);
  if (!found && key != MPI_UNIVERSE_SIZE) {
    stop_unsupported(kName, "attributes of the program's own are not emulated");
  }
  *flag = found != nullptr;
  if (found) *static_cast<const int**>(value) = found;
  return MPI_SUCCESS;
}

}  // extern "C"
