// Asks for launches that no device can make.
#include <cuda_runtime.h>
__global__ void nothing(int*) {}
int main() {
  nothing<<<dim3(0, 0, 0), 0>>>(nullptr);
  nothing<<<dim3(2147483647, 65535, 65535), dim3(1024, 1024, 1024)>>>(nullptr);
  nothing<<<1, 1, 1ull << 60>>>(nullptr);
  nothing<<<1, 1, 0, reinterpret_cast<cudaStream_t>(12345)>>>(reinterpret_cast<int*>(-1));
  cudaFree(reinterpret_cast<void*>(0x1234));
  cudaMemcpy(reinterpret_cast<void*>(1), reinterpret_cast<void*>(2), ~0ull, cudaMemcpyDefault);
  cudaMalloc(nullptr, 1);
  return 0;
}
