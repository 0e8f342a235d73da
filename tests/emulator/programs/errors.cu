// Error codes: returned, remembered and reset as the runtime API says.
#include <cstring>

#include "expect.h"

__global__ void nothing() {}

int main() {
  void* p = nullptr;
  EXPECT(cudaMalloc(&p, 100ull << 30) == cudaErrorMemoryAllocation);
  EXPECT(cudaGetLastError() == cudaErrorMemoryAllocation);
  EXPECT(cudaGetLastError() == cudaSuccess);
  EXPECT(cudaSetDevice(99) == cudaErrorInvalidDevice);
  EXPECT(cudaPeekAtLastError() == cudaErrorInvalidDevice);
  EXPECT(cudaPeekAtLastError() == cudaErrorInvalidDevice);
  cudaGetLastError();
  nothing<<<1, 2000>>>();
  EXPECT(cudaGetLastError() == cudaErrorInvalidConfiguration);
  nothing<<<0, 32>>>();
  EXPECT(cudaGetLastError() == cudaErrorInvalidConfiguration);
  nothing<<<dim3(1, 70000), 32>>>();
  EXPECT(cudaGetLastError() == cudaErrorInvalidConfiguration);
  nothing<<<1, 32>>>();
  EXPECT(cudaGetLastError() == cudaSuccess);
  int host = 0;
  CUDA(cudaMalloc(&p, 64));
  EXPECT(cudaMemcpy(p, &host, 4, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
  EXPECT(cudaMemcpy(p, &host, 4, static_cast<cudaMemcpyKind>(77)) ==
         cudaErrorInvalidMemcpyDirection);
  EXPECT(cudaMemcpy(nullptr, &host, 4, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  cudaGetLastError();
  EXPECT(std::strcmp(cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue") == 0);
  cudaDeviceProp prop;
  CUDA(cudaGetDeviceProperties(&prop, 0));
  EXPECT(prop.warpSize == 32 && prop.major == 9 && prop.multiProcessorCount > 0);
  CUDA(cudaFree(p));
  CUDA(cudaDeviceSynchronize());
  return failures != 0;
}
