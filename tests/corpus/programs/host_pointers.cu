// CORPUS run=2,4
// Each rank fills a table on its host, keeps it sorted with the C library, and the ranks compare
// what they have: by messages, never by pointers.
//
// DEFECT RAW_POINTER foreign_memory: ranks exchange where their tables lie, and read them there
// DEFECT COPY_FROM_PEER foreign_memory: cudaMemcpy reads the host memory of another rank
// DEFECT OUT_OF_RUNTIME emulator_access: an index that walks off a library's function
// DEFECT DEVICE_TO_LIBC host_dereference: memcmp gets a pointer to the device
#include <cuda_runtime.h>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#define OK(call)                        \
  do {                                  \
    if ((call) != cudaSuccess) {        \
      fprintf(stderr, "%s\n", #call);   \
      MPI_Abort(MPI_COMM_WORLD, 1);     \
    }                                   \
  } while (0)

static int ascending(const void* a, const void* b) {
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int entries = 256;
  std::vector<int> table(entries);
  for (int i = 0; i < entries; ++i) table[i] = (i * 7919 + rank * 31) % 1000;
  qsort(table.data(), table.size(), sizeof(int), ascending);

  // The first entry of the next rank.
  int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  int theirs = -1;
#if defined(DEFECT_RAW_POINTER) || defined(DEFECT_COPY_FROM_PEER)
  int* mine = table.data();
  std::vector<int*> all(ranks);
  MPI_Allgather(&mine, sizeof(mine), MPI_BYTE, all.data(), sizeof(mine), MPI_BYTE, MPI_COMM_WORLD);
#endif
#if defined(DEFECT_RAW_POINTER)
  // EXPECT RAW_POINTER
  theirs = all[next][0];
#else
  MPI_Sendrecv(table.data(), 1, MPI_INT, before, 0, &theirs, 1, MPI_INT, next, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
#endif

  int* device = nullptr;
  OK(cudaMalloc(&device, entries * sizeof(int)));
  const int* source = table.data();
#if defined(DEFECT_COPY_FROM_PEER)
  source = all[next];
#endif
  // EXPECT COPY_FROM_PEER
  OK(cudaMemcpy(device, source, entries * sizeof(int), cudaMemcpyHostToDevice));
  std::vector<int> back(entries);
  OK(cudaMemcpy(back.data(), device, entries * sizeof(int), cudaMemcpyDeviceToHost));
#if defined(DEFECT_DEVICE_TO_LIBC)
  // EXPECT DEVICE_TO_LIBC
  bool same = memcmp(device, table.data(), entries * sizeof(int)) == 0;
#else
  bool same = memcmp(back.data(), table.data(), entries * sizeof(int)) == 0;
#endif

  const unsigned char* name = reinterpret_cast<const unsigned char*>("table");
#if defined(DEFECT_OUT_OF_RUNTIME)
  name = reinterpret_cast<const unsigned char*>(&cudaFree);
#endif
  // EXPECT OUT_OF_RUNTIME
  int letters = name[0] != 0;

  std::vector<int> firsts(ranks);
  MPI_Allgather(&table[0], 1, MPI_INT, firsts.data(), 1, MPI_INT, MPI_COMM_WORLD);
  int good = same && letters == 1 && theirs == firsts[next];
  int all_good = 0;
  MPI_Allreduce(&good, &all_good, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  std::string text = "rank " + std::to_string(rank) + " of " + std::to_string(ranks);
  if (rank == 0) printf("%s: %s\n", text.c_str(), all_good ? "equal" : "different");
  OK(cudaFree(device));
  MPI_Finalize();
  return all_good ? 0 : 1;
}
