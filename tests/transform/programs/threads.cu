// A thread for each device; the unique id is a variable that all threads see.
#include <cuda_runtime.h>
#include <nccl.h>

#include <cstdio>
#include <cstdlib>
#include <thread>
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

static ncclUniqueId id;

static void work(int rank, int ranks, unsigned seed) {
  CUDACHECK(cudaSetDevice(rank));
  ncclComm_t comm;
  NCCLCHECK(ncclCommInitRank(&comm, ranks, id, rank));
  cudaStream_t stream;
  CUDACHECK(cudaStreamCreate(&stream));
  const size_t count = 31, n = count * ranks;
  float *in, *out, *sum;
  CUDACHECK(cudaMalloc(&in, n * sizeof(float)));
  CUDACHECK(cudaMalloc(&out, n * sizeof(float)));
  CUDACHECK(cudaMalloc(&sum, n * sizeof(float)));
  CUDACHECK(cudaMemsetAsync(sum, 0, n * sizeof(float), stream));
  CUDACHECK(cudaMemsetAsync(out, 0, n * sizeof(float), stream));
  for (int round = 0; round < 3; ++round) {
    fill<<<2, 32, 0, stream>>>(in, n, seed, rank, round);
    NCCLCHECK(ncclReduceScatter(in, out, count, ncclFloat, ncclSum, comm, stream));
    consume<<<2, 32, 0, stream>>>(out, sum, n);
    NCCLCHECK(ncclBroadcast(in, out, n, ncclFloat, round % ranks, comm, stream));
    consume<<<2, 32, 0, stream>>>(out, sum, n);
    NCCLCHECK(ncclGroupStart());
    NCCLCHECK(ncclSend(in, count, ncclFloat, (rank + 1) % ranks, comm, stream));
    NCCLCHECK(ncclRecv(out, count, ncclFloat, (rank + ranks - 1) % ranks, comm, stream));
    NCCLCHECK(ncclGroupEnd());
    consume<<<2, 32, 0, stream>>>(out, sum, n);
  }
  std::vector<float> host(n);
  CUDACHECK(cudaMemcpyAsync(host.data(), sum, n * sizeof(float), cudaMemcpyDeviceToHost, stream));
  CUDACHECK(cudaStreamSynchronize(stream));
  printf("rank %d: %f\n", rank, host[0]);
  CUDACHECK(cudaFree(in));
  CUDACHECK(cudaFree(out));
  CUDACHECK(cudaFree(sum));
  CUDACHECK(cudaStreamDestroy(stream));
  NCCLCHECK(ncclCommDestroy(comm));
}

int main(int argc, char** argv) {
  const unsigned seed = argc > 1 ? atoi(argv[1]) : 1;
  int devices = 0;
  CUDACHECK(cudaGetDeviceCount(&devices));
  NCCLCHECK(ncclGetUniqueId(&id));
  std::vector<std::thread> threads;
  for (int d = 0; d < devices; ++d) threads.emplace_back(work, d, devices, seed);
  for (std::thread& thread : threads) thread.join();
  return 0;
}
