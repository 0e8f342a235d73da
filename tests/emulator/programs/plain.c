/* C, not C++: what nvcc gives to the C compiler. */
#include <cuda_runtime.h>
#include <mpi-ext.h>
#include <mpi.h>
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>

enum { kCount = 64 };
struct job {
  int rank, class;
  float *send, *recv;
};

#define CHECK(call)                                   \
  if ((call) != 0) {                                  \
    printf("%s:%d: %s\n", __FILE__, __LINE__, #call); \
    return 1;                                         \
  }

static int run(struct job* this, int ranks, ncclUniqueId id) {
  float* host = malloc(kCount * sizeof *host);
  for (int i = 0; i < kCount; i++) host[i] = this->rank + i;
  struct cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, this->rank));
  CHECK(cudaMalloc((void**)&this->send, kCount * sizeof(float)));
  CHECK(cudaMalloc((void**)&this->recv, kCount * sizeof(float)));
  cudaStream_t stream;
  cudaEvent_t done;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  CHECK(cudaMemcpyAsync(this->send, host, kCount * sizeof(float), cudaMemcpyHostToDevice, stream));
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 1;
  ncclComm_t comm;
  CHECK(ncclCommInitRankConfig(&comm, ranks, id, this->rank, &config));
  CHECK(ncclAllReduce(this->send, this->recv, kCount, ncclFloat, ncclSum, comm, stream));
  CHECK(cudaEventRecord(done, stream));
  CHECK(cudaEventSynchronize(done));
  CHECK(cudaMemcpy(host, this->recv, kCount * sizeof(float), cudaMemcpyDeviceToHost));
  CHECK(host[3] != ranks * (ranks - 1) / 2 + 3 * ranks);
  CHECK(ncclCommDestroy(comm));
  CHECK(cudaEventDestroy(done));
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFree(this->send));
  CHECK(cudaFree(this->recv));
  free(host);
  return properties.warpSize != 32 || MPIX_Query_cuda_support() != 1;
}

int main(int argc, char** argv) {
  int ranks;
  struct job* new = malloc(sizeof *new);
  *new = (struct job){.class = 1};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &new->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CHECK(cudaSetDevice(new->rank));
  ncclUniqueId id;
  if (new->rank == 0) CHECK(ncclGetUniqueId(&id));
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  int failed = run(new, ranks, id);
  free(new);
  MPI_Finalize();
  return failed;
}
