// A stream that two host threads use: who synchronizes waits for what was queued before, and not
// for what the other thread queues meanwhile.
#include <cuda_runtime.h>
#include <cuda/atomic>

#include <thread>

#include "expect.h"

using Flag = cuda::atomic_ref<int, cuda::thread_scope_system>;

__global__ void wait_for(int* flag, int* out, int value) {
  while (Flag(*flag).load(cuda::memory_order_acquire) == 0) {
  }
  *out = value;
}

int main() {
  int *flags, *out, seen = 0;
  cudaStream_t stream;
  CUDA(cudaMallocHost(&flags, 2 * sizeof(int)));
  CUDA(cudaMalloc(&out, sizeof(int)));
  CUDA(cudaStreamCreate(&stream));
  flags[0] = flags[1] = 0;
  wait_for<<<1, 1, 0, stream>>>(&flags[0], out, 1);
  std::thread second([&] {
    CUDA(cudaSetDevice(0));
    wait_for<<<1, 1, 0, stream>>>(&flags[1], out, 2);
    Flag(flags[0]).store(1, cuda::memory_order_release);
    CUDA(cudaStreamSynchronize(stream));
  });
  CUDA(cudaStreamSynchronize(stream));
  Flag(flags[1]).store(1, cuda::memory_order_release);
  second.join();
  CUDA(cudaMemcpy(&seen, out, sizeof seen, cudaMemcpyDeviceToHost));
  EXPECT(seen == 2);
  CUDA(cudaStreamDestroy(stream));
  CUDA(cudaFree(out));
  CUDA(cudaFreeHost(flags));
  return failures;
}
