// Each MPI process drives all the devices that it sees, each as a rank of one communicator.
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDACHECK(cmd)                                                                    \
  do {                                                                                   \
    cudaError_t e = cmd;                                                                 \
    if (e != cudaSuccess) {                                                              \
      printf("CUDA error %s:%d '%s'\n", __FILE__, __LINE__, cudaGetErrorString(e));      \
      exit(EXIT_FAILURE);                                                                \
    }                                                                                    \
  } while (0)
#define NCCLCHECK(cmd)                                                                    \
  do {                                                                                   \
    ncclResult_t r = cmd;                                                                \
    if (r != ncclSuccess) {                                                              \
      printf("NCCL error %s:%d '%s'\n", __FILE__, __LINE__, ncclGetErrorString(r));      \
      exit(EXIT_FAILURE);                                                                \
    }                                                                                    \
  } while (0)

// New input for each round, different on each rank; small enough that sums are exact.
__global__ void fill(float* data, size_t n, unsigned seed, int rank, int round) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    unsigned z = (seed * 977u + rank * 131u + round * 31u + unsigned(i)) * 2654435761u;
    data[i] = static_cast<float>(static_cast<int>((z >> 24) % 9) - 4);
  }
}

// Uses what arrived, so that what a round gets wrong shows at the end.
__global__ void consume(const float* data, float* sum, size_t n) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    sum[i] = sum[i] * 0.5f + data[i];
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int process, processes, devices;
  MPI_Comm_rank(MPI_COMM_WORLD, &process);
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  CUDACHECK(cudaGetDeviceCount(&devices));
  const int local = devices / processes > 0 ? devices / processes : devices;
  const int ranks = local * processes, first = devices == ranks ? process * local : 0;
  ncclUniqueId id;
  if (process == 0) NCCLCHECK(ncclGetUniqueId(&id));
  MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);

  const unsigned seed = argc > 1 ? atoi(argv[1]) : 1;
  const size_t count = 33, n = count * ranks;
  std::vector<ncclComm_t> comms(local);
  std::vector<cudaStream_t> streams(local);
  std::vector<float*> in(local), out(local), sum(local);
  NCCLCHECK(ncclGroupStart());
  for (int i = 0; i < local; ++i) {
    CUDACHECK(cudaSetDevice(first + i));
    NCCLCHECK(ncclCommInitRank(&comms[i], ranks, id, process * local + i));
  }
  NCCLCHECK(ncclGroupEnd());
  for (int i = 0; i < local; ++i) {
    CUDACHECK(cudaSetDevice(first + i));
    CUDACHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
    CUDACHECK(cudaMalloc(&in[i], n * sizeof(float)));
    CUDACHECK(cudaMalloc(&out[i], n * sizeof(float)));
    CUDACHECK(cudaMalloc(&sum[i], n * sizeof(float)));
    CUDACHECK(cudaMemset(sum[i], 0, n * sizeof(float)));
    CUDACHECK(cudaMemset(out[i], 0, n * sizeof(float)));
    CUDACHECK(cudaDeviceSynchronize());
  }
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < local; ++i) {
      CUDACHECK(cudaSetDevice(first + i));
      fill<<<2, 32, 0, streams[i]>>>(in[i], n, seed, process * local + i, round);
    }
    // Only the first two ranks take part.
    NCCLCHECK(ncclGroupStart());
    for (int i = 0; i < local; ++i) {
      const int rank = process * local + i;
      if (rank == 0) NCCLCHECK(ncclSend(in[i], n, ncclFloat, 1, comms[i], streams[i]));
      if (rank == 1) NCCLCHECK(ncclRecv(out[i], n, ncclFloat, 0, comms[i], streams[i]));
    }
    NCCLCHECK(ncclGroupEnd());
    for (int i = 0; i < local; ++i) {
      CUDACHECK(cudaSetDevice(first + i));
      consume<<<2, 32, 0, streams[i]>>>(out[i], sum[i], n);
    }
    NCCLCHECK(ncclGroupStart());
    for (int i = 0; i < local; ++i) {
      NCCLCHECK(ncclAllReduce(in[i], out[i], n, ncclFloat, ncclSum, comms[i], streams[i]));
    }
    NCCLCHECK(ncclGroupEnd());
    for (int i = 0; i < local; ++i) {
      CUDACHECK(cudaSetDevice(first + i));
      consume<<<2, 32, 0, streams[i]>>>(out[i], sum[i], n);
    }
  }
  std::vector<float> host(n);
  for (int i = 0; i < local; ++i) {
    CUDACHECK(cudaSetDevice(first + i));
    CUDACHECK(cudaStreamSynchronize(streams[i]));
    CUDACHECK(cudaMemcpy(host.data(), sum[i], n * sizeof(float), cudaMemcpyDeviceToHost));
    if (process == 0) printf("rank %d: %f\n", i, host[0]);
    CUDACHECK(cudaFree(in[i]));
    CUDACHECK(cudaFree(out[i]));
    CUDACHECK(cudaFree(sum[i]));
    CUDACHECK(cudaStreamDestroy(streams[i]));
    NCCLCHECK(ncclCommDestroy(comms[i]));
  }
  MPI_Finalize();
  return 0;
}
