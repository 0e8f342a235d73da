// Each process drives as many devices as there are for it, as under mpirun on a full node.
#include <mpi-ext.h>
#include <mpi.h>
#include <nccl.h>

#include <cstring>
#include <string>
#include <vector>

#include "expect.h"

__global__ void fill(int* p, int value) { *p = value; }

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks, devices = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CUDA(cudaGetDeviceCount(&devices));
  const int own = devices / ranks, first = rank * own;
  EXPECT(own == 2 && MPIX_Query_cuda_support() == 1);
  char library[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(library, &length);
  EXPECT(OPEN_MPI && std::string(library).starts_with("Open MPI v4.1") &&
         std::strlen(library) == static_cast<size_t>(length));
  ncclUniqueId id;
  if (rank == 0) ncclGetUniqueId(&id);
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  std::vector<ncclComm_t> comms(own);
  std::vector<int*> values(own);
  std::vector<cudaStream_t> streams(own);
  ncclGroupStart();
  for (int i = 0; i < own; i++) {
    CUDA(cudaSetDevice(first + i));
    EXPECT(ncclCommInitRank(&comms[i], devices, id, first + i) == ncclSuccess);
  }
  EXPECT(ncclGroupEnd() == ncclSuccess);
  for (int i = 0; i < own; i++) {
    CUDA(cudaSetDevice(first + i));
    CUDA(cudaMalloc(&values[i], sizeof(int)));
    CUDA(cudaStreamCreate(&streams[i]));
    fill<<<1, 1, 0, streams[i]>>>(values[i], first + i);
  }
  ncclGroupStart();
  for (int i = 0; i < own; i++) {
    EXPECT(ncclAllReduce(values[i], values[i], 1, ncclInt, ncclSum, comms[i], streams[i]) ==
           ncclSuccess);
  }
  EXPECT(ncclGroupEnd() == ncclSuccess);
  for (int i = 0; i < own; i++) {
    int sum = -1;
    CUDA(cudaSetDevice(first + i));
    CUDA(cudaStreamSynchronize(streams[i]));
    CUDA(cudaMemcpy(&sum, values[i], sizeof sum, cudaMemcpyDeviceToHost));
    EXPECT(sum == devices * (devices - 1) / 2);
    CUDA(cudaFree(values[i]));
    CUDA(cudaStreamDestroy(streams[i]));
    ncclCommDestroy(comms[i]);
  }
  MPI_Finalize();
  return failures != 0;
}
