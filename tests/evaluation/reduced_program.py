"""A program of one process that reduces over two devices, works on the sums and reads them."""

INCLUDES = """\
#include <cuda_runtime.h>
#include <nccl.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
constexpr int kCount = 64;
"""
KERNEL = """\
// EVOLVE-BLOCK-START kernel
__global__ void finish(const float* sum, float* out) {
  out[threadIdx.x] = 3 * sum[threadIdx.x] + threadIdx.x;
}
// EVOLVE-BLOCK-END
"""
# ALLOCATE gives device d the place of its results, READ takes them.
MAIN = """\
int main(int argc, char** argv) {
  const int seed = argc > 1 ? std::atoi(argv[1]) : 7;
  ncclComm_t comms[2];
  ncclCommInitAll(comms, 2, nullptr);
  float *in[2], *sum[2], *out[2];
  cudaStream_t streams[2];
  float total = 0;
  for (int d = 0; d < 2; d++) {
    cudaSetDevice(d);
    cudaStreamCreate(&streams[d]);
    std::vector<float> host(kCount);
    for (int i = 0; i < kCount; i++) host[i] = float((i * 37 + d * 11 + seed % 1000) % 101) / 7;
    cudaMalloc(&in[d], kCount * sizeof(float));
    cudaMalloc(&sum[d], kCount * sizeof(float));
    ALLOCATE
    cudaMemcpy(in[d], host.data(), kCount * sizeof(float), cudaMemcpyHostToDevice);
  }
  ncclGroupStart();
  for (int d = 0; d < 2; d++)
    ncclAllReduce(in[d], sum[d], kCount, ncclFloat, ncclSum, comms[d], streams[d]);
  ncclGroupEnd();
  for (int d = 0; d < 2; d++) {
    cudaSetDevice(d);
    // EVOLVE-BLOCK-START launch
    finish<<<1, kCount, 0, streams[d]>>>(sum[d], out[d]);
    // EVOLVE-BLOCK-END
    cudaStreamSynchronize(streams[d]);
    READ
  }
  std::printf("%f\\n", total);
  return 0;
}
"""
