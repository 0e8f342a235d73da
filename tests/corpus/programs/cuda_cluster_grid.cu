// CORPUS run=1
// Blocks in clusters of four meet at a barrier of the whole grid that they make of atomics, and then turn
// the array round. Each block fills a multiprocessor.
//
// DEFECT ALL_SMS not_resident: as many blocks as multiprocessors, some of which are in no cluster of four
// DEFECT NO_BARRIER data_race: a block reads what another one has not written yet
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

namespace {

constexpr unsigned kThreads = 32, kCluster = 4, kShared = 200 << 10;

__device__ unsigned g_arrived;

__device__ void meet() {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(&g_arrived, 1u);
    while (*(volatile unsigned*)&g_arrived < gridDim.x) {
    }
    __threadfence();
  }
  __syncthreads();
}

__global__ void __cluster_dims__(kCluster, 1, 1) turn(int* values, int* turned) {
  extern __shared__ int reserve[];
  reserve[threadIdx.x] = static_cast<int>(threadIdx.x);
  const unsigned i = blockIdx.x * kThreads + threadIdx.x, last = gridDim.x * kThreads - 1;
  // EXPECT NO_BARRIER
  values[i] = static_cast<int>(3 * i) + reserve[threadIdx.x];
#ifndef DEFECT_NO_BARRIER
  meet();
#endif
  // EXPECT NO_BARRIER
  turned[i] = values[last - i];
}

bool failed(cudaError_t error) {
  if (error != cudaSuccess) std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  return error != cudaSuccess;
}

}  // namespace

int main() {
  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute shape = {};
  shape.id = cudaLaunchAttributeClusterDimension;
  shape.val.clusterDim.x = kCluster;
  shape.val.clusterDim.y = shape.val.clusterDim.z = 1;
  config.gridDim = dim3(kCluster);
  config.blockDim = dim3(kThreads);
  config.dynamicSmemBytes = kShared;
  config.attrs = &shape;
  config.numAttrs = 1;
  int clusters = 0, sms = 0;
  if (failed(cudaFuncSetAttribute(turn, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared))) return 1;
  if (failed(cudaOccupancyMaxActiveClusters(&clusters, turn, &config))) return 1;
  if (failed(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0))) return 1;
#ifdef DEFECT_ALL_SMS
  const unsigned blocks = static_cast<unsigned>(sms) / kCluster * kCluster;
#else
  const unsigned blocks = static_cast<unsigned>(clusters) * kCluster;
#endif
  const unsigned count = blocks * kThreads;
  int *values, *turned;
  if (failed(cudaMalloc(&values, count * sizeof(int)))) return 1;
  if (failed(cudaMalloc(&turned, count * sizeof(int)))) return 1;
  // EXPECT ALL_SMS
  turn<<<blocks, kThreads, kShared>>>(values, turned);
  if (failed(cudaGetLastError())) return 1;
  std::vector<int> got(count);
  if (failed(cudaMemcpy(got.data(), turned, count * sizeof(int), cudaMemcpyDeviceToHost))) return 1;
  unsigned wrong = 0;
  for (unsigned i = 0; i < count; i++) {
    const unsigned from = count - 1 - i;
    wrong += got[i] != static_cast<int>(3 * from + from % kThreads);
  }
  if (failed(cudaFree(values)) || failed(cudaFree(turned))) return 1;
  std::printf("%u of %u are wrong\n", wrong, count);
  return wrong ? 1 : 0;
}
