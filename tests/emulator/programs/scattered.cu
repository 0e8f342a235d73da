// Accesses that make no runs in the history: neighbors in three dimensions, and a permutation.
#include <vector>

#include "expect.h"

constexpr int kSide = 96;
constexpr size_t kAll = size_t{kSide} * kSide * kSide;

__device__ size_t at(int x, int y, int z) { return (size_t(z) * kSide + y) * kSide + x; }

__global__ void step(const float* from, float* to) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  const int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x < 1 || y < 1 || z < 1 || x > kSide - 2 || y > kSide - 2 || z > kSide - 2) return;
  to[at(x, y, z)] = from[at(x - 1, y, z)] + from[at(x + 1, y, z)] + from[at(x, y - 1, z)] +
                    from[at(x, y + 1, z)] + from[at(x, y, z - 1)] + from[at(x, y, z + 1)] -
                    5.0f * from[at(x, y, z)];
}

__global__ void permute(const float* from, float* to) {
  const size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  to[i * 30011 % kAll] = from[i];
}

__global__ void in_order(float* to) { to[size_t{blockIdx.x} * blockDim.x + threadIdx.x] += 1.0f; }

int main() {
  std::vector<float> values(kAll, 1.0f);
  float *a, *b;
  CUDA(cudaMalloc(&a, kAll * sizeof(float)));
  CUDA(cudaMalloc(&b, kAll * sizeof(float)));
  CUDA(cudaMemcpy(a, values.data(), kAll * sizeof(float), cudaMemcpyHostToDevice));
  CUDA(cudaMemcpy(b, values.data(), kAll * sizeof(float), cudaMemcpyHostToDevice));
#ifdef ROWS
  const dim3 blocks[] = {dim3(32, 4, 2)};
#else
  const dim3 blocks[] = {dim3(32, 4, 2), dim3(8, 8, 8)};
#endif
  for (const dim3 block : blocks) {
    const dim3 grid(kSide / block.x, kSide / block.y, kSide / block.z);
    step<<<grid, block>>>(a, b);
    step<<<grid, block>>>(b, a);
    in_order<<<kAll / 256, 256>>>(a);
#ifdef IN_PLACE
    step<<<grid, block>>>(a, a);
#endif
  }
#ifndef ROWS
  permute<<<kAll / 128, 128>>>(a, b);
#endif
#ifdef OTHER_STREAM
  cudaStream_t other;
  CUDA(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  permute<<<kAll / 128, 128, 0, other>>>(b, a);
#endif
  CUDA(cudaDeviceSynchronize());
  CUDA(cudaMemcpy(values.data(), b, kAll * sizeof(float), cudaMemcpyDeviceToHost));
#ifdef ROWS
  EXPECT(values[0] == 1.0f);
#else
  EXPECT(values[0] == 3.0f);
#endif
  return failures != 0;
}
