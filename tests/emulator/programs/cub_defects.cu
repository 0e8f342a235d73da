// What goes wrong around CUB: each defect by its name.
#include <cuda_runtime.h>

#include <cstring>
#include <cub/block/block_reduce.cuh>
#include <cub/cub.cuh>

constexpr int kThreads = 128, kBlocks = 4, kSize = kThreads * kBlocks;

__global__ void sums(const float* in, float* out, bool twice) {
  using Reduce = cub::BlockReduce<float, kThreads>;
  __shared__ typename Reduce::TempStorage temp;
  const float value = in[blockIdx.x * kThreads + threadIdx.x];
  const float sum = Reduce(temp).Sum(value);
  if (!twice) __syncthreads();
  const float squares = Reduce(temp).Sum(value * value);  // 16
  if (threadIdx.x == 0) out[blockIdx.x] = sum + squares;
}

int main(int count, char** args) {
  const auto is = [&](const char* name) { return count > 1 && !std::strcmp(args[1], name); };
  float *in, *out, *total, host = 0;
  cudaStream_t one, two;
  cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking);
  cudaMalloc(&in, kSize * sizeof(float));
  cudaMalloc(&out, kSize * sizeof(float));
  cudaMalloc(&total, 2 * sizeof(float));
  cudaMemset(in, 0, kSize * sizeof(float));
  cudaDeviceSynchronize();
  sums<<<kBlocks, kThreads, 0, one>>>(in, out, is("reuse"));
  if (!is("streams")) cudaStreamSynchronize(one);
  void* temp = nullptr;
  size_t bytes = 0;
  const int n = is("bounds") ? kSize + 1 : kBlocks;
  cub::DeviceReduce::Sum(temp, bytes, is("bounds") ? in : out, total, n, two);
  cudaMalloc(&temp, bytes);
  cub::DeviceReduce::Sum(temp, bytes, is("bounds") ? in : out, total, n, two);  // 38
  if (is("storage")) {
    cub::DeviceReduce::Sum(temp, bytes, in, total + 1, kBlocks, one);  // 40
  }
  cudaMemcpyAsync(&host, total, sizeof host, cudaMemcpyDeviceToHost, two);
  cudaDeviceSynchronize();
  return host != 0;
}
