// Windows that are the same on every rank, of buffers that came from different places.
#include <mpi.h>
#include <nccl_device.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#define OK(call)                                 \
  do {                                           \
    if ((call) != 0) {                           \
      std::printf("%s failed\n", #call);         \
      std::exit(1);                              \
    }                                            \
  } while (0)

static char* of_its_own(size_t bytes) {
  void* memory;
  OK(ncclMemAlloc(&memory, bytes));
  return static_cast<char*>(memory);
}

static char* stand_in(size_t bytes) {
  void* memory;
  OK(ncclMemAlloc(&memory, bytes));
  return static_cast<char*>(memory);
}

static std::vector<ncclWindow_t> g_windows;

static void add(ncclComm_t comm, char* base, size_t bytes) {
  g_windows.push_back(nullptr);
  OK(ncclCommWindowRegister(comm, base, bytes, &g_windows.back(), NCCL_WIN_COLL_SYMMETRIC));
}

__global__ void store(ncclWindow_t window, int value) {
  *(int*)ncclGetLocalPointer(window, 0) = value;
}

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  OK(cudaSetDevice(rank));
  ncclUniqueId id;
  if (rank == 0) OK(ncclGetUniqueId(&id));
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comm;
  OK(ncclCommInitRank(&comm, 2, id, rank));
  const bool first = rank == 0;
  const std::string mode = argv[1];
  g_windows.reserve(8);
  char *a = nullptr, *b = nullptr;
  if (mode == "sizes") {  // each rank has a buffer of a size of its own, and one for the other's
    a = first ? of_its_own(4096) : stand_in(4096);
    b = first ? stand_in(8192) : of_its_own(8192);
    add(comm, a, 4096);
    add(comm, b, 8192);
  } else if (mode == "pool") {  // the same with one size, handles in a list
    a = first ? of_its_own(4096) : stand_in(4096);
    b = first ? stand_in(4096) : of_its_own(4096);
    add(comm, a, 4096);
    add(comm, b, 4096);
  } else if (mode == "pairs") {  // what one rank sends from is where the other one receives
    char* send = of_its_own(4096);
    char* receive = stand_in(4096);
    ncclWindow_t windows[2];
    char* bases[2] = {first ? send : receive, first ? receive : send};
    for (int i = 0; i < 2; i++) {
      OK(ncclCommWindowRegister(comm, bases[i], 4096, &windows[i], NCCL_WIN_COLL_SYMMETRIC));
    }
    g_windows.assign(windows, windows + 2);
  } else {  // "swapped": the handles are taken for each other
    char* send = of_its_own(4096);
    char* receive = stand_in(4096);
    ncclWindow_t windows[2];
    for (int i = 0; i < 2; i++) {
      const int at = first ? i : 1 - i;
      char* base = at == 0 ? send : receive;
      OK(ncclCommWindowRegister(comm, base, 4096, &windows[at], NCCL_WIN_COLL_SYMMETRIC));
    }
    g_windows.assign(windows, windows + 2);
  }
  for (ncclWindow_t window : g_windows) store<<<1, 1>>>(window, rank);
  OK(cudaDeviceSynchronize());
  std::printf("rank %d is done\n", rank);
  for (ncclWindow_t window : g_windows) OK(ncclCommWindowDeregister(comm, window));
  OK(ncclCommDestroy(comm));
  MPI_Finalize();
}
