// Indices, shared memory, barriers, warp operations and atomics give what CUDA documents.
#include <vector>

#include "expect.h"

__global__ void indices(int* out) {
  const int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] = block * 1000 + thread;
}

__global__ void reverse(int* data, int n) {
  extern __shared__ int dynamic[];
  __shared__ int fixed[64], sum;
  const int i = threadIdx.x;
  if (i == 0) sum = 0;
  dynamic[i] = data[i];
  __syncthreads();
  fixed[i] = dynamic[n - 1 - i];
  atomicAdd(&sum, 1);
  __syncthreads();
  data[i] = fixed[i] + 100 * sum;
}

__global__ void warps(unsigned* out) {
  const unsigned lane = threadIdx.x % 32;
  unsigned value = lane;
  for (int step = 16; step; step /= 2) value += __shfl_down_sync(~0u, value, step);
  if (lane == 0) out[0] = value;
  const unsigned up = __shfl_up_sync(~0u, lane, 3), bfly = __shfl_xor_sync(~0u, lane, 5);
  const unsigned part = __shfl_sync(~0u, lane, 1, 8);
  const unsigned ballot = __ballot_sync(~0u, lane % 3 == 0);
  const unsigned same = __match_any_sync(~0u, lane % 4);
  if (lane == 9) {
    out[1] = up;
    out[2] = bfly;
    out[3] = part;
    out[4] = ballot;
    out[5] = same;
    out[6] = __popc(ballot) + __clz(1) + __ffs(8) + __brev(1u) / 0x80000000u;
  }
  const int all = __all_sync(~0u, lane < 32), any = __any_sync(~0u, lane == 40);
  const unsigned total = __reduce_add_sync(~0u, lane);
  if (lane == 0) out[7] = all * 10 + any, out[8] = total;
  const double wide = __shfl_sync(~0u, lane * 0.5, 31);
  if (lane == 0) out[9] = static_cast<unsigned>(wide * 2);
}

__global__ void votes(int* out) {
  const int count = __syncthreads_count(threadIdx.x % 2);
  const int all = __syncthreads_and(threadIdx.x < 100), any = __syncthreads_or(threadIdx.x == 100);
  if (threadIdx.x == 0) out[0] = count, out[1] = all, out[2] = any;
}

__global__ void atomics(int* v, unsigned* wrap, float* f, unsigned long long* cas) {
  atomicAdd(&v[0], 2);
  atomicMax(&v[1], static_cast<int>(threadIdx.x));
  atomicMin(&v[2], -static_cast<int>(threadIdx.x));
  atomicOr(&v[3], 1 << (threadIdx.x % 8));
  atomicInc(wrap, 9);
  atomicAdd(f, 0.5f);
  unsigned long long seen = *cas, want;
  do {
    want = seen;
    seen = atomicCAS(cas, want, want + 3);
  } while (seen != want);
}

template <int N>
__device__ int instance() {
  __shared__ int slot[N];
  if (threadIdx.x == 0) slot[N - 1] = N;
  __syncthreads();
  return slot[N - 1];
}
__global__ void instances(int* out) {
  const int a = instance<2>(), b = instance<5>();
  if (threadIdx.x == 0) out[0] = a * 10 + b;
}

// What a thread holds in registers, on its stack, or as an exception in flight outlives a barrier.
__device__ __attribute__((noinline)) double meet(double value) {
  __syncthreads();
  return value + 1;
}
__host__ __device__ double step(double sum, double kept, int round) {
  return sum * 2 + kept - round;
}
__global__ void held(double* out) {
  const int i = threadIdx.x;
  double kept[4] = {i + 0.5, i + 1.5, i + 2.5, i + 3.5}, sum = i;
  for (int round = 0; round < 5; round++) {
    sum = step(meet(sum), kept[round % 4], round) + __syncthreads_count(i % 2);
    kept[round % 4] += sum;
  }
  out[i] = sum;
}
void check_barriers() {
  constexpr int n = 64;
  double *d, h[n];
  CUDA(cudaMalloc(&d, sizeof h));
  held<<<1, n>>>(d);
  CUDA(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; i++) {
    double kept[4] = {i + 0.5, i + 1.5, i + 2.5, i + 3.5}, sum = i;
    for (int round = 0; round < 5; round++) {
      sum = step(sum + 1, kept[round % 4], round) + n / 2;
      kept[round % 4] += sum;
    }
    EXPECT(h[i] == sum);
  }
}

int main() {
  check_barriers();
  int* d;
  CUDA(cudaMalloc(&d, 4096 * sizeof(int)));
  const dim3 grid(2, 3, 2), block(4, 2, 3);
  indices<<<grid, block>>>(d);
  std::vector<int> h(12 * 24);
  CUDA(cudaMemcpy(h.data(), d, h.size() * sizeof(int), cudaMemcpyDeviceToHost));
  for (int i = 0; i < 12 * 24; i++) EXPECT(h[i] == i / 24 * 1000 + i % 24);

  std::vector<int> in(64);
  for (int i = 0; i < 64; i++) in[i] = i;
  CUDA(cudaMemcpy(d, in.data(), 256, cudaMemcpyHostToDevice));
  reverse<<<1, 64, 64 * sizeof(int)>>>(d, 64);
  CUDA(cudaMemcpy(in.data(), d, 256, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 64; i++) EXPECT(in[i] == 63 - i + 6400);

  unsigned* u;
  CUDA(cudaMalloc(&u, 64));
  warps<<<1, 32>>>(u);
  unsigned w[10];
  CUDA(cudaMemcpy(w, u, sizeof w, cudaMemcpyDeviceToHost));
  EXPECT(w[0] == 496 && w[1] == 6 && w[2] == 12 && w[3] == 9);
  EXPECT(w[4] == 0x49249249u && w[5] == 0x22222222u && w[6] == 11 + 31 + 4 + 1);
  EXPECT(w[7] == 10 && w[8] == 496 && w[9] == 31);

  votes<<<1, 96>>>(d);
  CUDA(cudaMemcpy(h.data(), d, 12, cudaMemcpyDeviceToHost));
  EXPECT(h[0] == 48 && h[1] == 1 && h[2] == 0);

  CUDA(cudaMemset(d, 0, 64));
  unsigned long long* cas;
  float* f;
  CUDA(cudaMalloc(&cas, 8));
  CUDA(cudaMalloc(&f, 4));
  CUDA(cudaMemset(cas, 0, 8));
  CUDA(cudaMemset(f, 0, 4));
  CUDA(cudaMemset(u, 0, 4));
  atomics<<<4, 64>>>(d, u, f, cas);
  float sum = 0;
  unsigned long long total = 0;
  CUDA(cudaMemcpy(h.data(), d, 16, cudaMemcpyDeviceToHost));
  CUDA(cudaMemcpy(&sum, f, 4, cudaMemcpyDeviceToHost));
  CUDA(cudaMemcpy(&total, cas, 8, cudaMemcpyDeviceToHost));
  CUDA(cudaMemcpy(w, u, 4, cudaMemcpyDeviceToHost));
  EXPECT(h[0] == 512 && h[1] == 63 && h[2] == -63 && h[3] == 255);
  EXPECT(w[0] == 256 % 10 && sum == 128.0f && total == 768);

  instances<<<1, 32>>>(d);
  CUDA(cudaMemcpy(h.data(), d, 4, cudaMemcpyDeviceToHost));
  EXPECT(h[0] == 25);
  CUDA(cudaDeviceSynchronize());
  return failures != 0;
}
