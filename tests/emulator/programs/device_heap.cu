// malloc, free, new and delete in device code take from the device's heap, and the heap is checked.
#include <cstdlib>
#include <memory>

#include "expect.h"

struct Node {
  int value;
  Node* next;
  __device__ explicit Node(int v) : value(v), next(nullptr) {}
};
__device__ Node* lists[64];

__global__ void build(int n) {
  Node* first = nullptr;
  for (int i = 0; i < n; i++) {
    Node* node = new Node(i);
    node->next = first;
    first = node;
  }
  lists[threadIdx.x] = first;
}
// Another kernel finds what the first one left.
__global__ void take_down(int* out) {
  int total = 0;
  for (Node* node = lists[threadIdx.x]; node;) {
    total += node->value;
    Node* gone = node;
    node = node->next;
    delete gone;
  }
  out[threadIdx.x] = total;
}
__global__ void shared_buffer(int* out) {
  __shared__ int* data;
  if (threadIdx.x == 0) data = static_cast<int*>(malloc(blockDim.x * sizeof(int)));
  __syncthreads();
#ifdef PAST_THE_END
  data[threadIdx.x + 1] = static_cast<int>(threadIdx.x);  // EXPECT(PAST_THE_END): out_of_bounds
  data[0] = 0;
#else
  data[threadIdx.x] = static_cast<int>(threadIdx.x);
#endif
#ifndef NO_BARRIER
  __syncthreads();
#endif
  out[threadIdx.x] = data[blockDim.x - 1 - threadIdx.x];  // EXPECT(NO_BARRIER): data_race
  __syncthreads();
  if (threadIdx.x == 0) free(data);
#ifdef TWICE
  if (threadIdx.x == 0) free(data);  // EXPECT(TWICE): double_free
#endif
#ifdef NOT_OF_THE_HEAP
  if (threadIdx.x == 0) free(out);  // EXPECT(NOT_OF_THE_HEAP): invalid_free
#endif
}
__global__ void exhaust(int* got) {
  int count = 0;
  for (int i = 0; i < 100; i++) count += malloc(16 << 10) != nullptr;
  atomicAdd(got, count);
}

int main() {
  int *out, host[64], zero = 0;
  CUDA(cudaMalloc(&out, sizeof host));
  build<<<1, 64>>>(10);
  take_down<<<1, 64>>>(out);
  CUDA(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
  for (int value : host) EXPECT(value == 45);
  shared_buffer<<<1, 64>>>(out);
  CUDA(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
#if !defined(PAST_THE_END) && !defined(NO_BARRIER)
  for (int i = 0; i < 64; i++) EXPECT(host[i] == 63 - i);
#endif
  // Two threads ask for 1.6 MiB each; the heap has room for one MiB in all.
  CUDA(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 1 << 20));
  CUDA(cudaMemcpy(out, &zero, sizeof zero, cudaMemcpyHostToDevice));
  exhaust<<<1, 2>>>(out);
  CUDA(cudaMemcpy(host, out, sizeof zero, cudaMemcpyDeviceToHost));
  EXPECT(host[0] == 64);
  // The host's own heap is none of the device's.
  auto owned = std::make_unique<int[]>(8);
  owned[7] = 7;
  char* text = static_cast<char*>(std::malloc(16));
  std::free(text);
#ifdef HOST_FREES
  std::free(out);  // EXPECT(HOST_FREES): invalid_free
#endif
  CUDA(cudaFree(out));
  return failures;
}
