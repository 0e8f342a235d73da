// Shifts by the width of the value or more, which a GPU answers with 0 or the sign.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>

#define SHL(x, n) ((x) << (n))
__device__ __noinline__ unsigned left(unsigned x, int n) { return x << n; }
__device__ __noinline__ int right(int x, int n) { return x >> n; }
__device__ __noinline__ unsigned plain_right(unsigned x, unsigned n) { return x >> n; }
__device__ __noinline__ unsigned long long wide(unsigned long long x, int n) { return x << n; }
template <int N>
__device__ constexpr unsigned fixed(unsigned x) {
  constexpr unsigned bit = 1u << N;
  return x >> (N & 31) | bit;
}

__global__ void shift(long long* out, int n, int how) {
  int at = 0;
  out[at++] = left(1, n);
  out[at++] = left(1, -1);
  out[at++] = right(-5, n);
  out[at++] = right(5, n);
  out[at++] = plain_right(~0u, n);
  out[at++] = wide(3, 2 * n);
  out[at++] = wide(3, n);
  out[at++] = static_cast<unsigned char>(200) << n;
  out[at++] = left(3, 4) + plain_right(256u, 4) + right(-256, 4) + fixed<4>(n);
  out[at++] = (1ull << (n + 1)) >> n;
  if (how) out[at] = SHL(1u, n);  // EXPECT
}

int main(int argc, char**) {
  long long* out = nullptr;
  cudaMallocManaged(&out, 11 * sizeof *out);
  shift<<<1, 1>>>(out, 32, argc > 1);
  cudaDeviceSynchronize();
  for (int i = 0; i < 10; ++i) std::printf("%lld ", out[i]);
}
