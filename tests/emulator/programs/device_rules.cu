// What must be of one device, and what need not ("Stream and Event Behavior" in the CUDA C++
// Programming Guide).
#include <cuda_runtime.h>

#include "expect.h"

__global__ void fill(int* p) {
  extern __shared__ int tile[];
  tile[threadIdx.x] = 7;
  p[threadIdx.x] = tile[threadIdx.x];
}

int main() {
  const cudaError_t bad = cudaErrorInvalidResourceHandle;
  const size_t bytes = 32 * sizeof(int);
  int *near, *far;
  cudaStream_t here, there;
  cudaEvent_t first, last, other;
  CUDA(cudaSetDevice(1));
  CUDA(cudaMalloc((void**)&far, bytes));
  CUDA(cudaStreamCreate(&there));
  CUDA(cudaEventCreate(&other));
  CUDA(cudaSetDevice(0));
  CUDA(cudaMalloc((void**)&near, bytes));
  CUDA(cudaStreamCreate(&here));
  CUDA(cudaEventCreate(&first));
  CUDA(cudaEventCreate(&last));
  CUDA(cudaFuncSetAttribute(fill, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000));

  fill<<<1, 32, 60000, here>>>(near);
  CUDA(cudaGetLastError());
  fill<<<1, 32, 256, there>>>(far);
  EXPECT(cudaGetLastError() == bad);
  void* args[] = {&far};
  EXPECT(cudaLaunchKernel((const void*)fill, 1, 32, args, 256, there) == bad);
  EXPECT(cudaLaunchCooperativeKernel((const void*)fill, 1, 32, args, 256, there) == bad);
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(1);
  config.blockDim = dim3(32);
  config.dynamicSmemBytes = 256;
  config.stream = there;
  EXPECT(cudaLaunchKernelExC(&config, (const void*)fill, args) == bad);
  EXPECT(cudaLaunchKernelEx(&config, fill, far) == bad);
  EXPECT(cudaGetLastError() == bad);

  EXPECT(cudaEventRecord(first, there) == bad);
  EXPECT(cudaEventRecordWithFlags(first, there, cudaEventRecordDefault) == bad);
  EXPECT(cudaEventRecord(other, 0) == bad);
  CUDA(cudaEventRecord(first, here));
  CUDA(cudaEventRecord(last, here));
  CUDA(cudaEventRecord(other, there));
  CUDA(cudaStreamWaitEvent(there, last, 0));
  CUDA(cudaMemcpyAsync(far, near, bytes, cudaMemcpyDefault, there));
  CUDA(cudaMemsetAsync(far, 0, bytes, there));
  CUDA(cudaStreamSynchronize(there));
  CUDA(cudaEventSynchronize(other));
  CUDA(cudaEventQuery(other));
  float time;
  EXPECT(cudaEventElapsedTime(&time, first, other) == bad);
  EXPECT(cudaGetLastError() == bad);
  CUDA(cudaEventElapsedTime(&time, first, last));

  CUDA(cudaSetDevice(1));
  fill<<<1, 32, 256, there>>>(far);
  CUDA(cudaGetLastError());
  fill<<<1, 32, 60000, there>>>(far);
  EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
  CUDA(cudaDeviceSynchronize());
  CUDA(cudaFree(near));
  CUDA(cudaFree(far));
  return failures != 0;
}
