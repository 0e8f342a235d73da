// nvcuda::wmma against sums on the host, and what goes wrong with it.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

#include <cstdio>
#include <string>
#include <vector>

#include "expect.h"

using namespace nvcuda;

template <int m, int n, int k, class In, class Sum, class LayoutA, class LayoutB>
__global__ void multiply(const In* a, const In* b, Sum* c) {
  using Type = std::conditional_t<std::is_same_v<In, float>, wmma::precision::tf32, In>;
  wmma::fragment<wmma::matrix_a, m, n, k, Type, LayoutA> fa;
  wmma::fragment<wmma::matrix_b, m, n, k, Type, LayoutB> fb;
  wmma::fragment<wmma::accumulator, m, n, k, Sum> fc;
  constexpr bool rows_a = std::is_same_v<LayoutA, wmma::row_major>;
  constexpr bool rows_b = std::is_same_v<LayoutB, wmma::row_major>;
  wmma::fill_fragment(fc, Sum(1.0f));
  wmma::load_matrix_sync(fa, a, rows_a ? k : m);
  wmma::load_matrix_sync(fb, b, rows_b ? n : k);
  wmma::mma_sync(fc, fa, fb, fc);
  for (int i = 0; i < fc.num_elements; i++) fc.x[i] = fc.x[i] + fc.x[i];
  wmma::store_matrix_sync(c, fc, n, wmma::mem_row_major);
}

template <int m, int n, int k, class In, class Sum, class LayoutA, class LayoutB>
static void check() {
  In *a, *b;
  Sum* c;
  CUDA(cudaMallocManaged(&a, m * k * sizeof(In)));
  CUDA(cudaMallocManaged(&b, k * n * sizeof(In)));
  CUDA(cudaMallocManaged(&c, m * n * sizeof(Sum)));
  constexpr bool rows_a = std::is_same_v<LayoutA, wmma::row_major>;
  constexpr bool rows_b = std::is_same_v<LayoutB, wmma::row_major>;
  const auto value = [](int i, int j) { return (i * 3 + j * 5) % 7 - 3; };
  // Of a float the cores read 10 bits of the mantissa.
  constexpr float kUnread = std::is_same_v<In, float> ? 1.0f + 0x1p-12f : 1.0f;
  for (int i = 0; i < k; i++) {
    for (int j = 0; j < m; j++)
      a[rows_a ? j * k + i : i * m + j] = In(kUnread * float(value(j, i)));
    for (int j = 0; j < n; j++)
      b[rows_b ? i * n + j : j * k + i] = In(kUnread * float(value(j, i + 1)));
  }
  multiply<m, n, k, In, Sum, LayoutA, LayoutB><<<1, dim3(16, 2)>>>(a, b, c);
  CUDA(cudaDeviceSynchronize());
  for (int i = 0; i < m; i++) {
    for (int j = 0; j < n; j++) {
      int sum = 1;
      for (int l = 0; l < k; l++) sum += value(i, l) * value(j, l + 1);
      EXPECT(float(c[i * n + j]) == float(2 * sum));
    }
  }
}

// Two warps: the second reads tiles that the first has just stored.
__global__ void chain(const half* a, float* c, bool wait) {
  __shared__ float tile[16 * 16];
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  if (threadIdx.x < 32) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
    wmma::fill_fragment(sum, 0.0f);
    wmma::load_matrix_sync(fa, a, 16);
    wmma::load_matrix_sync(fb, a, 16);
    wmma::mma_sync(sum, fa, fb, sum);
    wmma::store_matrix_sync(tile, sum, 16, wmma::mem_row_major);
  }
  if (wait) __syncthreads();
  if (threadIdx.x >= 32) {
    wmma::load_matrix_sync(sum, tile, 16, wmma::mem_row_major);
    wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
  }
}

// A tile is filled again once the warp has loaded it.
__global__ void refill(float* c) {
  __shared__ half tile[16 * 16];
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  for (int i = threadIdx.x; i < 256; i += 32) tile[i] = 1.0f;
  __syncwarp();
  wmma::load_matrix_sync(fa, tile, 16);
  for (int i = threadIdx.x; i < 256; i += 32) tile[255 - i] = 2.0f;
  __syncwarp();
  wmma::load_matrix_sync(fb, tile, 16);
  wmma::mma_sync(sum, fa, fb, sum);
  wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
}

int main(int, char** argv) {
  const std::string mode = argv[1];
  using wmma::col_major, wmma::row_major;
  if (mode == "good") {
    check<16, 16, 16, half, float, row_major, row_major>();
    check<32, 8, 16, half, float, row_major, col_major>();
    check<8, 32, 16, half, half, col_major, row_major>();
    check<16, 16, 16, __nv_bfloat16, float, col_major, col_major>();
    check<16, 16, 8, float, float, row_major, col_major>();
    check<8, 8, 4, double, double, row_major, col_major>();
    check<16, 16, 16, signed char, int, row_major, col_major>();
    return failures != 0;
  }
  half* a;
  float *c, got;
  const int columns = mode == "out_of_bounds" ? 15 : 16;
  CUDA(cudaMalloc(&a, 16 * columns * sizeof(half)));
  CUDA(cudaMemset(a, 0, 16 * columns * sizeof(half)));
  CUDA(cudaMalloc(&c, 256 * sizeof(float)));
  chain<<<1, 64>>>(a, c, mode != "shared_memory_race");
  if (mode == "refilled") refill<<<1, 32>>>(c);
  CUDA(cudaMemcpy(&got, c, sizeof got, cudaMemcpyDeviceToHost));
  if (mode == "refilled") EXPECT(got == 32);
  return failures != 0;
}
