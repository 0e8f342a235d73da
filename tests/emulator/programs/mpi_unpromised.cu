// Two ranks that go on only where MPI does more than it promises, by a macro each; with none they
// do not.
#include <cuda_runtime.h>
#include <mpi.h>

#include <cstdio>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);  // END
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  cudaSetDevice(rank);
  const int other = 1 - rank;
  int mine = rank + 1, sum = 0, got = 0, both[2] = {};
  MPI_Status* ignored = MPI_STATUS_IGNORE;
#if defined(SEND)
  MPI_Send(&mine, 1, MPI_INT, other, 0, MPI_COMM_WORLD);  // EXPECT
  MPI_Recv(&got, 1, MPI_INT, other, 0, MPI_COMM_WORLD, ignored);
#elif defined(SCAN)
  if (rank == 1) MPI_Recv(&got, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, ignored);
  MPI_Scan(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);  // EXPECT
  if (rank == 0) MPI_Send(&mine, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
#elif defined(GATHER)
  if (rank == 0) MPI_Recv(&got, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, ignored);
  MPI_Gather(&mine, 1, MPI_INT, both, 1, MPI_INT, 0, MPI_COMM_WORLD);  // EXPECT
  if (rank == 1) MPI_Send(&mine, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
#elif defined(BCASTS)
  MPI_Comm own[2];
  MPI_Comm_dup(MPI_COMM_WORLD, &own[0]);
  MPI_Comm_dup(MPI_COMM_WORLD, &own[1]);
  for (int i = 0; i < 2; i++) {
    const int root = i ? other : rank;
    MPI_Bcast(root == rank ? &mine : &got, 1, MPI_INT, root, own[root]);  // EXPECT
  }
#elif defined(TAG)
  MPI_Sendrecv(&mine, 1, MPI_INT, other, 40000, &got, 1, MPI_INT, other, 40000,
               MPI_COMM_WORLD,  // EXPECT
               ignored);
#else
  int *limit = nullptr, known = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &limit, &known);
  const int tag = known ? *limit : 0;
  MPI_Scan(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Gather(&mine, 1, MPI_INT, both, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Bcast(&got, 1, MPI_INT, 1, MPI_COMM_WORLD);
  if (rank == 0) MPI_Send(&mine, 1, MPI_INT, 1, tag, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(&got, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, ignored);
  MPI_Reduce(&mine, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
#endif
  printf("%d %d %d\n", sum, got, both[1]);
#ifdef ENDS
  if (rank == 1) return 0;
#endif
  MPI_Finalize();
  return 0;
}
