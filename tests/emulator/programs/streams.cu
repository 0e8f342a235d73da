// Order between streams, events, the default stream, callbacks and copies.
#include <vector>

#include "expect.h"

__global__ void set(int* p, int value, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) p[i] = value;
}
__global__ void add(int* p, int value, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) p[i] += value;
}

static void on_host(void* data) { ++*static_cast<int*>(data); }

int main() {
  constexpr int n = 1000;
  int *a, *b, *pinned, calls = 0;
  CUDA(cudaMalloc(&a, n * sizeof(int)));
  CUDA(cudaMalloc(&b, n * sizeof(int)));
  CUDA(cudaMallocHost(&pinned, n * sizeof(int)));
  cudaStream_t s, t, blocking;
  cudaEvent_t ready, begin, end;
  CUDA(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CUDA(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
  CUDA(cudaStreamCreate(&blocking));
  CUDA(cudaEventCreate(&ready));
  CUDA(cudaEventCreate(&begin));
  CUDA(cudaEventCreate(&end));

  // An event orders two streams that are otherwise free.
  CUDA(cudaEventRecord(begin, s));
  set<<<1, 128, 0, s>>>(a, 1, n);
  CUDA(cudaEventRecord(ready, s));
  CUDA(cudaStreamWaitEvent(t, ready));
  add<<<1, 128, 0, t>>>(a, 2, n);
  CUDA(cudaMemcpyAsync(pinned, a, n * sizeof(int), cudaMemcpyDeviceToHost, t));
  CUDA(cudaLaunchHostFunc(t, on_host, &calls));
  CUDA(cudaEventRecord(end, t));
  CUDA(cudaStreamSynchronize(t));
  EXPECT(pinned[0] == 3 && pinned[n - 1] == 3 && calls == 1);
  float ms = -1;
  CUDA(cudaEventElapsedTime(&ms, begin, end));
  EXPECT(ms > 0);

  // The default stream waits for blocking streams, and they wait for it.
  set<<<1, 128, 0, blocking>>>(b, 5, n);
  add<<<1, 128>>>(b, 6, n);
  add<<<1, 128, 0, blocking>>>(b, 7, n);
  std::vector<int> host(n);
  CUDA(cudaMemcpy(host.data(), b, n * sizeof(int), cudaMemcpyDeviceToHost));
  EXPECT(host[0] == 18 && host[n - 1] == 18);

  // Setting what the host can see is over when the call returns.
  CUDA(cudaMemset(pinned, 0, n * sizeof(int)));
  EXPECT(pinned[0] == 0 && pinned[n - 1] == 0);
  add<<<1, 128, 0, t>>>(pinned, 4, n);
  CUDA(cudaStreamSynchronize(t));
  EXPECT(pinned[0] == 4 && pinned[n - 1] == 4);

  // A query ends the wait without blocking.
  set<<<1, 128, 0, s>>>(a, 9, n);
  while (cudaStreamQuery(s) == cudaErrorNotReady) {
  }
  CUDA(cudaMemcpy2D(host.data(), 8, a, 16, 8, 10, cudaMemcpyDeviceToHost));
  EXPECT(host[0] == 9 && host[19] == 9);
  CUDA(cudaEventDestroy(ready));
  CUDA(cudaStreamDestroy(s));
  CUDA(cudaStreamDestroy(t));
  CUDA(cudaStreamDestroy(blocking));
  CUDA(cudaFreeHost(pinned));
  CUDA(cudaFree(a));
  CUDA(cudaFree(b));
  return failures != 0;
}
