// CORPUS run=2,4
// All-to-all with counts of its own for each pair: counts by MPI, data by grouped sends and receives.
//
// DEFECT SWAPPED_COUNTS collective_mismatch: sends as many as it expects to receive
// DEFECT OFFSET_IN_BYTES out_of_bounds: displacements count elements, pointers are in bytes
// DEFECT NO_GROUP deadlock|group_required: a receive before the send of the same pair, outside of a group
// DEFECT SKIPS_EMPTY deadlock|group_required: the sender leaves out a pair that the receiver does not
#include <algorithm>
#include <cstdio>
#include <numeric>
#include <vector>

#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

static int rank, nranks;

static void cudaOk(cudaError_t e, const char* at) {
  if (e == cudaSuccess) return;
  fprintf(stderr, "rank %d, %s: %s\n", rank, at, cudaGetErrorString(e));
  MPI_Abort(MPI_COMM_WORLD, e);
}
static void ncclOk(ncclResult_t r, const char* at) {
  if (r == ncclSuccess) return;
  fprintf(stderr, "rank %d, %s: %s\n", rank, at, ncclGetErrorString(r));
  MPI_Abort(MPI_COMM_WORLD, r);
}
#define STR2(x) #x
#define STR(x) STR2(x)
#define C(x) cudaOk((x), __FILE__ ":" STR(__LINE__))
#define N(x) ncclOk((x), __FILE__ ":" STR(__LINE__))

static int pairCount(int from, int to) { return (from * 5 + to * 3) % 7 + 1; }

static std::vector<int> offsets(const std::vector<int>& counts) {
  std::vector<int> out(counts.size() + 1, 0);
  std::partial_sum(counts.begin(), counts.end(), out.begin() + 1);
  return out;
}

static void exchange(const int* send, const std::vector<int>& sc, int* recv, const std::vector<int>& rc,
                     ncclComm_t comm, cudaStream_t stream) {
  const std::vector<int> so = offsets(sc), ro = offsets(rc);
#ifndef DEFECT_NO_GROUP
  N(ncclGroupStart());
#endif
  for (int p = 0; p < nranks; p++) {
#ifdef DEFECT_NO_GROUP
    // EXPECT NO_GROUP
    N(ncclRecv(recv + ro[p], rc[p], ncclInt, p, comm, stream));
#endif
#if defined(DEFECT_SWAPPED_COUNTS)
    // EXPECT SWAPPED_COUNTS
    N(ncclSend(send + so[p], rc[p], ncclInt, p, comm, stream));
#elif defined(DEFECT_OFFSET_IN_BYTES)
    // EXPECT OFFSET_IN_BYTES
    N(ncclSend(send + so[p] * sizeof(int), sc[p], ncclInt, p, comm, stream));
#elif defined(DEFECT_SKIPS_EMPTY)
    if (sc[p] > 1) N(ncclSend(send + so[p], sc[p], ncclInt, p, comm, stream));
#else
    // EXPECT NO_GROUP
    N(ncclSend(send + so[p], sc[p], ncclInt, p, comm, stream));
#endif
#ifndef DEFECT_NO_GROUP
    // EXPECT SWAPPED_COUNTS SKIPS_EMPTY
    N(ncclRecv(recv + ro[p], rc[p], ncclInt, p, comm, stream));
#endif
  }
#ifndef DEFECT_NO_GROUP
  // EXPECT SWAPPED_COUNTS SKIPS_EMPTY
  N(ncclGroupEnd());
#endif
}

int main(int argc, char* argv[]) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &nranks);
  C(cudaSetDevice(rank));
  ncclUniqueId id;
  if (rank == 0) N(ncclGetUniqueId(&id));
  MPI_Bcast((void*)&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comm;
  N(ncclCommInitRank(&comm, nranks, id, rank));

  std::vector<int> sc(nranks), rc(nranks), h;
  for (int p = 0; p < nranks; p++) sc[p] = pairCount(rank, p);
  MPI_Alltoall(sc.data(), 1, MPI_INT, rc.data(), 1, MPI_INT, MPI_COMM_WORLD);
  for (int p = 0; p < nranks; p++)
    for (int i = 0; i < sc[p]; i++) h.push_back(rank * 10000 + p * 100 + i);
  const int total = std::accumulate(rc.begin(), rc.end(), 0);
  int *send, *recv;
  C(cudaMalloc((void**)&send, h.size() * sizeof(int)));
  C(cudaMalloc((void**)&recv, total * sizeof(int)));
  C(cudaMemcpy(send, h.data(), h.size() * sizeof(int), cudaMemcpyHostToDevice));
  exchange(send, sc, recv, rc, comm, 0);
  std::vector<int> got(total);
  C(cudaMemcpy(got.data(), recv, total * sizeof(int), cudaMemcpyDeviceToHost));
  int at = 0, bad = 0;
  for (int p = 0; p < nranks; p++)
    for (int i = 0; i < rc[p]; i++) bad += got[at++] != p * 10000 + rank * 100 + i;
  C(cudaFree(send));
  C(cudaFree(recv));
  N(ncclCommDestroy(comm));
  MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (!rank) printf("%d bad\n", bad);
  MPI_Finalize();
  return bad != 0;
}
