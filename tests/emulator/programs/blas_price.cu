// What cuBLAS takes in modelled time: each line is a call and its microseconds.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cstdio>

template <class Call>
void measure(const char* name, Call call) {
  cudaEvent_t begin, end;
  float ms = 0;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  cudaDeviceSynchronize();
  cudaEventRecord(begin);
  call();
  cudaEventRecord(end);
  cudaEventSynchronize(end);
  cudaEventElapsedTime(&ms, begin, end);
  std::printf("%s %.3f\n", name, ms * 1000);
}

int main() {
  constexpr int n = 256;
  cublasHandle_t handle;
  float *a, *b, *c;
  cublasCreate(&handle);
  for (float** p : {&a, &b, &c}) {
    cudaMalloc(p, n * n * sizeof(float));
    cudaMemset(*p, 0, n * n * sizeof(float));
  }
  const float one = 1;
  const auto op = CUBLAS_OP_N;
  measure("scal", [&] { cublasSscal(handle, n, &one, a, 1); });
  measure("small", [&] { cublasSgemm(handle, op, op, 64, 64, 64, &one, a, n, b, n, &one, c, n); });
  measure("large", [&] { cublasSgemm(handle, op, op, n, n, n, &one, a, n, b, n, &one, c, n); });
  measure("half", [&] {
    cublasGemmEx(handle, op, op, n, n, n, &one, a, CUDA_R_16F, n, b, CUDA_R_16F, n, &one, c,
                 CUDA_R_16F, n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  });
}
