// What goes wrong around cuBLAS: each defect by its name.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cstring>

int main(int count, char** args) {
  const auto is = [&](const char* name) { return count > 1 && !std::strcmp(args[1], name); };
  constexpr int n = 64;
  cublasHandle_t handle;
  cudaStream_t one, two;
  cudaEvent_t event;
  float *a, *b, *c, *result;
  const float alpha = 1, beta = 0;
  cublasCreate(&handle);
  cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking);
  cudaEventCreate(&event);
  for (float** p : {&a, &b, &c}) cudaMalloc(p, n * n * sizeof(float));
  cudaMallocHost(&result, sizeof(float));
  if (!is("fresh")) cudaMemset(a, 0, n * n * sizeof(float));
  cudaMemset(b, 0, n * n * sizeof(float));
  cudaDeviceSynchronize();

  cublasSetStream(handle, one);
  const int ld = is("bounds") ? n + 1 : n;
  cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &alpha, a, ld, b, n, &beta, c, n);  // 27
  cudaEventRecord(event, one);
  if (!is("streams")) cudaStreamWaitEvent(two, event, 0);
  cublasSetStream(handle, two);
  cublasSscal(handle, n, &alpha, c, 1);  // 31
  if (is("readback")) {
    cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE);
    *result = 0;
    cublasSasum(handle, n, c, 1, result);  // 35
    const bool wrong = *result != 0;       // 36
    cudaDeviceSynchronize();
    return wrong;
  }
  float sum = 1;
  cublasSasum(handle, n, c, 1, &sum);
  cudaDeviceSynchronize();
  cublasDestroy(handle);
  return is("fresh") ? sum > 1 : sum != 0;
}
