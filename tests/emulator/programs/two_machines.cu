// Several machines: each process sees the devices of its own, numbered from 0, and finds its place
// by the host's name, by the shared communicator or by what a launcher would tell it.
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "expect.h"

int rank_by_host_name(int rank, int size) {
  char own[256] = {};
  EXPECT(0 == gethostname(own, sizeof own));
  std::vector<char> all(256 * static_cast<size_t>(size));
  MPI_Allgather(own, 256, MPI_CHAR, all.data(), 256, MPI_CHAR, MPI_COMM_WORLD);
  int before = 0;
  for (int i = 0; i < rank; i++)
    before += std::strcmp(own, &all[256 * static_cast<size_t>(i)]) == 0;
  return before;
}

int main(int argc, char** argv) {
  const int per_machine = argc > 1 ? std::atoi(argv[1]) : 1;
  int rank = 0, size = 0, devices = 0, local = -1, number = -1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  EXPECT(0 == cudaGetDeviceCount(&devices));
  EXPECT(devices == per_machine);
  EXPECT(rank_by_host_name(rank, size) == rank % per_machine);
  MPI_Comm machine;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &machine);
  MPI_Comm_rank(machine, &local);
  EXPECT(local == rank % per_machine);
  EXPECT(std::atoi(std::getenv("OMPI_COMM_WORLD_LOCAL_RANK")) == local);
  EXPECT(std::atoi(std::getenv("OMPI_COMM_WORLD_RANK")) == rank);
  EXPECT(cudaSetDevice(devices) == cudaErrorInvalidDevice);
  cudaGetLastError();
  EXPECT(0 == cudaSetDevice(local));
  EXPECT(0 == cudaGetDevice(&number));
  EXPECT(number == local);
  float *values, sum = 0, own = static_cast<float>(rank + 1);
  EXPECT(0 == cudaMalloc(&values, sizeof(float)));
  cudaPointerAttributes attributes;
  EXPECT(0 == cudaPointerGetAttributes(&attributes, values));
  EXPECT(attributes.device == local);
  EXPECT(0 == cudaMemcpy(values, &own, sizeof own, cudaMemcpyHostToDevice));
  ncclUniqueId id;
  if (rank == 0) EXPECT(0 == ncclGetUniqueId(&id));
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comm;
  EXPECT(0 == ncclCommInitRank(&comm, size, id, rank));
  EXPECT(0 == ncclCommCuDevice(comm, &number));
  EXPECT(number == local);
  EXPECT(0 == ncclAllReduce(values, values, 1, ncclFloat, ncclSum, comm, nullptr));
  EXPECT(0 == cudaMemcpy(&sum, values, sizeof sum, cudaMemcpyDeviceToHost));
  EXPECT(sum == static_cast<float>(size * (size + 1) / 2));
  EXPECT(0 == ncclCommDestroy(comm));
  EXPECT(0 == cudaFree(values));
  MPI_Comm_free(&machine);
  MPI_Finalize();
  return failures;
}
