// Planted defects for compute-sanitizer, one per argument.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
__global__ void past_end(int* to, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  to[i] = n;
}
__global__ void shared_past_end(int* to) {
  __shared__ int s[32];
  s[threadIdx.x] = threadIdx.x;
  to[threadIdx.x] = s[0];
}
__global__ void race(int* to) {
  __shared__ int s[64];
  s[threadIdx.x] = threadIdx.x;
  to[threadIdx.x] = s[63 - threadIdx.x];
}
__global__ void unset(const int* from, int* to) { to[threadIdx.x] = from[threadIdx.x] + 1; }
__global__ void divergent(int* to) {
  __shared__ int s[64];
  if (threadIdx.x < 32) {
    s[threadIdx.x] = 1;
    __syncthreads();
  }
  to[threadIdx.x] = s[threadIdx.x % 32];
}
__global__ void masked(int* to) {
  if (threadIdx.x < 16) __syncwarp(0xffffffffu);
  to[threadIdx.x] = 1;
}
__device__ int deref(const int* p) { return *p; }
__global__ void misaligned(char* from, int* to) { *to = deref((const int*)(from + 1)); }
__global__ void host_pointer(int* to, int* host) { to[0] = *host; }
int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "none";
  int *a, *b;
  cudaMalloc(&a, 64 * sizeof(int));
  cudaMalloc(&b, 64 * sizeof(int));
  cudaMemset(b, 0, 64 * sizeof(int));
  if (!strcmp(what, "past_end")) past_end<<<1, 96>>>(b, 3);
  if (!strcmp(what, "shared_past_end")) shared_past_end<<<1, 64>>>(b);
  if (!strcmp(what, "race")) race<<<1, 64>>>(b);
  if (!strcmp(what, "unset")) unset<<<1, 64>>>(a, b);
  if (!strcmp(what, "divergent")) divergent<<<1, 64>>>(b);
  if (!strcmp(what, "masked")) masked<<<1, 32>>>(b);
  if (!strcmp(what, "misaligned")) misaligned<<<1, 1>>>((char*)a, b);
  if (!strcmp(what, "host_pointer")) {
    int* h = (int*)malloc(4);
    host_pointer<<<1, 1>>>(b, h);
  }
  if (!strcmp(what, "bad_launch")) past_end<<<1, 4096>>>(b, 1);
  if (!strcmp(what, "use_after_free")) {
    cudaFree(a);
    past_end<<<1, 32>>>(a, 1);
    a = nullptr;
  }
  if (!strcmp(what, "double_free")) {
    cudaFree(a);
    cudaFree(a);
  }
  cudaError_t e = cudaDeviceSynchronize();
  int host[64];
  cudaMemcpy(host, b, sizeof host, cudaMemcpyDeviceToHost);
  printf("%s: %s, %d\n", what, cudaGetErrorString(e), host[0]);
  if (strcmp(what, "leak")) {
    cudaFree(a);
    cudaFree(b);
  }
  return 0;
}
