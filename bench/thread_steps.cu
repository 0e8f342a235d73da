// Work for bench/thread_steps.py: a block reduction, one by warps, and a kernel without a wait.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

__global__ void with_barriers(const float* in, float* out) {
  __shared__ float part[256];
  const int i = threadIdx.x;
  part[i] = in[blockIdx.x * 256 + i];
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (i < half) part[i] += part[i + half];
    __syncthreads();
  }
  if (i == 0) atomicAdd(out, part[0]);
}

__global__ void with_shuffles(const float* in, float* out) {
  float sum = in[blockIdx.x * 256 + threadIdx.x];
  for (int half = 16; half > 0; half /= 2) sum += __shfl_down_sync(0xFFFFFFFF, sum, half);
  if (threadIdx.x % 32 == 0) atomicAdd(out, sum);
}

__global__ void without_waits(const float* in, float* out) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  out[i] = in[i] * 2.0f + 1.0f;
}

// The memory is that of all blocks, however many run: what it takes is no matter of the threads.
constexpr int kBlocks = 4096, kThreads = kBlocks * 256;

int main(int argc, char** argv) {
  const std::string kernel = argc > 1 ? argv[1] : "";
  const int blocks = argc > 2 ? std::atoi(argv[2]) : kBlocks, n = blocks * 256;
  float *in, *out;
  cudaMalloc(&in, kThreads * sizeof(float));
  cudaMalloc(&out, kThreads * sizeof(float));
  std::vector<float> host(kThreads, 1.0f);
  cudaMemcpy(in, host.data(), kThreads * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemset(out, 0, sizeof(float));
  if (kernel == "barriers") {
    with_barriers<<<blocks, 256>>>(in, out);
  } else if (kernel == "shuffles") {
    with_shuffles<<<blocks, 256>>>(in, out);
  } else {
    without_waits<<<blocks, 256>>>(in, out);
  }
  cudaMemcpy(host.data(), out, sizeof(float), cudaMemcpyDeviceToHost);
  return host[0] == (kernel.empty() ? 3.0f : n) ? 0 : 1;
}
