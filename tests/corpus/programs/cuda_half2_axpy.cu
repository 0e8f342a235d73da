// CORPUS run=1
// y = a x + y in half2 and bfloat162, one template over both, with an odd element at the end.
//
// DEFECT NO_TAIL_GUARD out_of_bounds: the pair behind the odd last element lies outside
// DEFECT ALIASED data_race: shifts the output by one element, so that threads read what others write
// DEFECT WRONG_SIZE out_of_bounds: the copy back counts four bytes for each half
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define OK(call)                                                             \
  if (cudaError_t status_ = (call); status_ != cudaSuccess) {                \
    std::fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(status_)); \
    std::exit(1);                                                            \
  }

template <typename T>
struct Traits;
template <>
struct Traits<__half> {
  using Pair = __half2;
  __device__ static Pair both(float v) { return __float2half2_rn(v); }
  static float host(__half v) { return __half2float(v); }
  static __half from(float v) { return __float2half(v); }
};
template <>
struct Traits<__nv_bfloat16> {
  using Pair = __nv_bfloat162;
  __device__ static Pair both(float v) { return __float2bfloat162_rn(v); }
  static float host(__nv_bfloat16 v) { return __bfloat162float(v); }
  static __nv_bfloat16 from(float v) { return __float2bfloat16(v); }
};

template <typename T>
__global__ void axpy(float a, const T* x, T* y, int n) {
  using Pair = typename Traits<T>::Pair;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
#if defined(DEFECT_NO_TAIL_GUARD)
  const int pairs = (n + 1) / 2;
#else
  const int pairs = n / 2;
#endif
#if defined(DEFECT_ALIASED)
  if (i + 1 < n) {
    // EXPECT ALIASED
    y[i + 1] = __hfma(T(a), x[i], y[i]);
  }
#else
  if (i < pairs) {
    const Pair* px = reinterpret_cast<const Pair*>(x);
    Pair* py = reinterpret_cast<Pair*>(y);
    // EXPECT NO_TAIL_GUARD
    py[i] = __hfma2(Traits<T>::both(a), px[i], py[i]);
  }
  if (i == 0 && n % 2) y[n - 1] = __hfma(T(a), x[n - 1], y[n - 1]);
#endif
}

template <typename T>
int run(const char* name) {
  const int n = 333;
  std::vector<T> x(n), y(n), out(n);
  for (int i = 0; i < n; ++i) {
    x[i] = Traits<T>::from(float(i % 16));
    y[i] = Traits<T>::from(float(i % 5));
  }
  T *dx, *dy;
  OK(cudaMalloc(&dx, n * sizeof(T)));
  OK(cudaMalloc(&dy, n * sizeof(T)));
  OK(cudaMemcpy(dx, x.data(), n * sizeof(T), cudaMemcpyHostToDevice));
  OK(cudaMemcpy(dy, y.data(), n * sizeof(T), cudaMemcpyHostToDevice));
  axpy<T><<<(n + 127) / 128, 128>>>(2.0f, dx, dy, n);
  OK(cudaGetLastError());
#if defined(DEFECT_WRONG_SIZE)
  out.resize(2 * n);
  // EXPECT WRONG_SIZE
  OK(cudaMemcpy(out.data(), dy, n * 4, cudaMemcpyDeviceToHost));
#else
  OK(cudaMemcpy(out.data(), dy, n * sizeof(T), cudaMemcpyDeviceToHost));
#endif
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += Traits<T>::host(out[i]) != 2.0f * (i % 16) + i % 5;
  std::printf("%s: %d wrong\n", name, wrong);
  OK(cudaFree(dx));
  OK(cudaFree(dy));
  return wrong;
}

int main() { return run<__half>("half") + run<__nv_bfloat16>("bfloat16") ? 1 : 0; }
