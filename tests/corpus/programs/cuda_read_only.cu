// CORPUS run=1
// A filter reads its input and its weights through the read-only cache; one block's result feeds
// the next launch. More shared memory than 48 KiB is asked for. A kernel of its own sets the
// constant by which the filter divides.
//
// DEFECT IN_PLACE data_race: the filter writes over what it reads by __ldg
// DEFECT BY_PTX data_race: the same by ld.global.nc
// DEFECT CONSTANT_SET data_race: the filter itself sets the constant that it reads behind a barrier
// DEFECT CONSTANT_ADD data_race: the same by an atomic, after it has read it
// DEFECT NOT_ASKED launch_error: more than 48 KiB of shared memory without cudaFuncSetAttribute
// DEFECT TOO_MUCH launch_error: more than a block can have
#include <cuda_runtime.h>

#include <cstdio>
#include <utility>
#include <vector>

constexpr int kThreads = 128, kTile = 20000;

__device__ float ones[4] = {1, 1, 1, 1};
__constant__ int divisor = 1;

__global__ void set_divisor(int* where, int value) { *where = value; }

__device__ __forceinline__ float read(const float* p) {
#if defined(DEFECT_BY_PTX)
  float value;
  // EXPECT BY_PTX
  asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(value) : "l"(p));
  return value;
#else
  // EXPECT IN_PLACE
  return __ldg(p);
#endif
}

template <int Width>
__global__ void filter(const float* in, float* out, int* constant, int n) {
  extern __shared__ float tile[];
#if defined(DEFECT_CONSTANT_SET)
  // EXPECT CONSTANT_SET
  if (threadIdx.x == 0) *constant = Width;
#endif
  for (int i = threadIdx.x; i < n; i += kThreads) {
    // EXPECT IN_PLACE BY_PTX
    tile[i] = read(&in[i]) * read(&ones[i % 4]);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += kThreads) {
    float sum = 0;
    for (int k = 0; k < Width; ++k) sum += tile[(i + k) % n];
    // EXPECT IN_PLACE BY_PTX CONSTANT_SET CONSTANT_ADD
    out[i] = sum / divisor;
  }
#if defined(DEFECT_CONSTANT_ADD)
  __syncthreads();
  // EXPECT CONSTANT_ADD
  if (threadIdx.x == 0) atomicAdd(constant, 1);
#endif
}

int main() {
  const int n = kTile, bytes = n * sizeof(float);
  std::vector<float> values(n, 3.0f);
  float *a, *b;
  if (cudaMalloc(&a, bytes) != cudaSuccess || cudaMalloc(&b, bytes) != cudaSuccess) return 1;
  if (cudaMemcpy(a, values.data(), bytes, cudaMemcpyHostToDevice) != cudaSuccess) return 1;
#if !defined(DEFECT_NOT_ASKED)
  if (cudaFuncSetAttribute(filter<4>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) !=
      cudaSuccess)
    return 1;
#endif
  int* constant;
  if (cudaGetSymbolAddress(reinterpret_cast<void**>(&constant), divisor) != cudaSuccess) return 1;
  set_divisor<<<1, 1>>>(constant, 4);
  for (int step = 0; step < 2; ++step) {
#if defined(DEFECT_IN_PLACE) || defined(DEFECT_BY_PTX)
    b = a;
#endif
#if defined(DEFECT_TOO_MUCH)
    // EXPECT TOO_MUCH
    filter<4><<<1, kThreads, 229 << 10>>>(a, b, constant, n);
#else
    // EXPECT NOT_ASKED
    filter<4><<<1, kThreads, bytes>>>(a, b, constant, n);
#endif
    std::swap(a, b);
  }
#if !defined(DEFECT_NOT_ASKED) && !defined(DEFECT_TOO_MUCH)
  if (cudaGetLastError() != cudaSuccess) return 1;
#endif
  if (cudaMemcpy(values.data(), a, bytes, cudaMemcpyDeviceToHost) != cudaSuccess) return 1;
  bool pass = values[7] == 3.0f && values[n - 1] == 3.0f;
  std::printf("%s\n", pass ? "PASS" : "FAIL");
  if (cudaFree(a) != cudaSuccess) return 1;
  if (b != a && cudaFree(b) != cudaSuccess) return 1;
  return pass ? 0 : 1;
}
