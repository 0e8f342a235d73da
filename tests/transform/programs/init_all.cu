// One process drives all devices: ncclCommInitAll, then groups over the devices, as in NCCL's first
// example. Each stage of a round uses what the one before left.
#include <cuda_runtime.h>
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

int main(int argc, char* argv[]) {
  const unsigned seed = argc > 1 ? atoi(argv[1]) : 1;
  const size_t count = 37;
  int nDev = 0;
  CUDACHECK(cudaGetDeviceCount(&nDev));
  std::vector<int> devs(nDev);
  for (int i = 0; i < nDev; ++i) devs[i] = i;
  const size_t n = count * nDev;

  std::vector<ncclComm_t> comms(nDev);
  float** sendbuff = (float**)malloc(nDev * sizeof(float*));
  float** recvbuff = (float**)malloc(nDev * sizeof(float*));
  float** sums = (float**)malloc(nDev * sizeof(float*));
  cudaStream_t* s = (cudaStream_t*)malloc(sizeof(cudaStream_t) * nDev);
  for (int i = 0; i < nDev; ++i) {
    CUDACHECK(cudaSetDevice(i));
    CUDACHECK(cudaMalloc((void**)sendbuff + i, n * sizeof(float)));
    CUDACHECK(cudaMalloc((void**)recvbuff + i, n * sizeof(float)));
    CUDACHECK(cudaMalloc((void**)sums + i, n * sizeof(float)));
    CUDACHECK(cudaMemset(sums[i], 0, n * sizeof(float)));
    CUDACHECK(cudaMemset(recvbuff[i], 0, n * sizeof(float)));
    CUDACHECK(cudaStreamCreate(s + i));
  }
  NCCLCHECK(ncclCommInitAll(comms.data(), nDev, devs.data()));

  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < nDev; ++i) {
      CUDACHECK(cudaSetDevice(i));
      fill<<<2, 32, 0, s[i]>>>(sendbuff[i], n, seed, i, round);
    }
    NCCLCHECK(ncclGroupStart());
    for (int i = 0; i < nDev; ++i) {
      NCCLCHECK(ncclAllReduce((const void*)sendbuff[i], (void*)recvbuff[i], n, ncclFloat, ncclSum,
                              comms[i], s[i]));
    }
    NCCLCHECK(ncclGroupEnd());
    for (int i = 0; i < nDev; ++i) {
      CUDACHECK(cudaSetDevice(i));
      consume<<<2, 32, 0, s[i]>>>(recvbuff[i], sums[i], n);
    }
    NCCLCHECK(ncclGroupStart());
    for (int i = 0; i < nDev; ++i) {
      NCCLCHECK(ncclAllGather(sendbuff[i], recvbuff[i], count, ncclFloat, comms[i], s[i]));
    }
    NCCLCHECK(ncclGroupEnd());
    for (int i = 0; i < nDev; ++i) {
      CUDACHECK(cudaSetDevice(i));
      consume<<<2, 32, 0, s[i]>>>(recvbuff[i], sums[i], n);
    }
    NCCLCHECK(ncclGroupStart());
    for (int i = 0; i < nDev; ++i) {
      NCCLCHECK(ncclSend(sendbuff[i], n, ncclFloat, (i + 1) % nDev, comms[i], s[i]));
      NCCLCHECK(ncclRecv(recvbuff[i], n, ncclFloat, (i + nDev - 1) % nDev, comms[i], s[i]));
    }
    NCCLCHECK(ncclGroupEnd());
    for (int i = 0; i < nDev; ++i) {
      CUDACHECK(cudaSetDevice(i));
      consume<<<2, 32, 0, s[i]>>>(recvbuff[i], sums[i], n);
    }
  }
  std::vector<float> result(n);
  for (int i = 0; i < nDev; ++i) {
    CUDACHECK(cudaSetDevice(i));
    CUDACHECK(cudaStreamSynchronize(s[i]));
    CUDACHECK(cudaMemcpy(result.data(), sums[i], n * sizeof(float), cudaMemcpyDeviceToHost));
    printf("device %d: %f\n", i, result[0]);
  }
  for (int i = 0; i < nDev; ++i) {
    CUDACHECK(cudaSetDevice(i));
    CUDACHECK(cudaFree(sendbuff[i]));
    CUDACHECK(cudaFree(recvbuff[i]));
    CUDACHECK(cudaFree(sums[i]));
    CUDACHECK(cudaStreamDestroy(s[i]));
  }
  for (int i = 0; i < nDev; ++i) ncclCommDestroy(comms[i]);
  return 0;
}
