// One process drives all devices: ncclCommInitRankConfig for each in a group, a struct for each
// device, a helper that loops over them, and collectives after which a buffer is made anew.
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

struct Gpu {
  int device = 0;
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
  float *in = nullptr, *out = nullptr, *sum = nullptr;
};

template <typename Work>
void forEachGpu(std::vector<Gpu>& gpus, Work work) {
  for (Gpu& gpu : gpus) {
    CUDACHECK(cudaSetDevice(gpu.device));
    work(gpu);
  }
}

int main(int argc, char** argv) {
  const unsigned seed = argc > 1 ? atoi(argv[1]) : 1;
  int devices = 0;
  CUDACHECK(cudaGetDeviceCount(&devices));
  const size_t count = 29, n = count * devices;
  std::vector<Gpu> gpus(devices);
  for (int d = 0; d < devices; ++d) gpus[d].device = d;

  ncclUniqueId id;
  NCCLCHECK(ncclGetUniqueId(&id));
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 1;
  NCCLCHECK(ncclGroupStart());
  for (Gpu& gpu : gpus) {
    CUDACHECK(cudaSetDevice(gpu.device));
    NCCLCHECK(ncclCommInitRankConfig(&gpu.comm, devices, id, gpu.device, &config));
  }
  NCCLCHECK(ncclGroupEnd());
  forEachGpu(gpus, [&](Gpu& gpu) {
    CUDACHECK(cudaStreamCreateWithFlags(&gpu.stream, cudaStreamNonBlocking));
    CUDACHECK(cudaMalloc(&gpu.in, n * sizeof(float)));
    CUDACHECK(cudaMalloc(&gpu.sum, n * sizeof(float)));
    CUDACHECK(cudaMemset(gpu.sum, 0, n * sizeof(float)));
    CUDACHECK(cudaDeviceSynchronize());
  });
  for (int round = 0; round < 3; ++round) {
    forEachGpu(gpus, [&](Gpu& gpu) {
      CUDACHECK(cudaMalloc(&gpu.out, (n + round) * sizeof(float)));
      fill<<<2, 32, 0, gpu.stream>>>(gpu.in, n, seed, gpu.device, round);
    });
    NCCLCHECK(ncclGroupStart());
    for (Gpu& gpu : gpus) {
      NCCLCHECK(ncclAlltoAll(gpu.in, gpu.out, count, ncclFloat, gpu.comm, gpu.stream));
    }
    NCCLCHECK(ncclGroupEnd());
    NCCLCHECK(ncclGroupStart());
    for (Gpu& gpu : gpus) {
      NCCLCHECK(ncclAllReduce(gpu.out, gpu.in, n, ncclFloat, ncclMax, gpu.comm, gpu.stream));
    }
    NCCLCHECK(ncclGroupEnd());
    forEachGpu(gpus, [&](Gpu& gpu) {
      consume<<<2, 32, 0, gpu.stream>>>(gpu.out, gpu.sum, n);
      consume<<<2, 32, 0, gpu.stream>>>(gpu.in, gpu.sum, n);
    });
    forEachGpu(gpus, [&](Gpu& gpu) {
      CUDACHECK(cudaStreamSynchronize(gpu.stream));
      CUDACHECK(cudaFree(gpu.out));
    });
  }
  std::vector<float> host(n);
  forEachGpu(gpus, [&](Gpu& gpu) {
    CUDACHECK(cudaMemcpy(host.data(), gpu.sum, n * sizeof(float), cudaMemcpyDeviceToHost));
    printf("device %d: %f\n", gpu.device, host[0]);
    CUDACHECK(cudaFree(gpu.in));
    CUDACHECK(cudaFree(gpu.sum));
    CUDACHECK(cudaStreamDestroy(gpu.stream));
  });
  NCCLCHECK(ncclGroupStart());
  for (Gpu& gpu : gpus) NCCLCHECK(ncclCommFinalize(gpu.comm));
  NCCLCHECK(ncclGroupEnd());
  for (Gpu& gpu : gpus) NCCLCHECK(ncclCommDestroy(gpu.comm));
  return 0;
}
