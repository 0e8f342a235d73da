// cuBLAS by its first interface: a line for each result that is wrong.
#include <cublas.h>

#include <cstdio>

static int wrong = 0;
#define IS(found, wanted)  \
  if ((found) != (wanted)) \
  printf("%d: %s is %g\n", __LINE__, #found, static_cast<double>(found)), wrong = 1

template <class T>
static void vectors(T (*dot)(int, const T*, int, const T*, int), T (*norm)(int, const T*, int),
                    void (*axpy)(int, T, const T*, int, T*, int)) {
  const T x[4] = {1, -7, 2, 0}, y[4] = {1, 1, 1, 1};
  T *a = nullptr, *b = nullptr, read[4];
  IS(cublasAlloc(4, sizeof(T), reinterpret_cast<void**>(&a)), CUBLAS_STATUS_SUCCESS);
  IS(cublasAlloc(4, sizeof(T), reinterpret_cast<void**>(&b)), CUBLAS_STATUS_SUCCESS);
  cublasSetVector(4, sizeof(T), x, 1, a, 1);
  cublasSetVector(4, sizeof(T), y, 1, b, 1);
  IS(dot(4, a, 1, b, 1), -4);
  IS(norm(4, b, 1), 2);
  axpy(4, 3, a, 1, b, 1);
  cublasGetVector(4, sizeof(T), b, 1, read, 1);
  IS(read[1], -20);
  IS(cublasFree(a), CUBLAS_STATUS_SUCCESS);
  IS(cublasFree(b), CUBLAS_STATUS_SUCCESS);
}

int main(int count, char**) {
  IS(cublasAlloc(4, 4, nullptr), CUBLAS_STATUS_NOT_INITIALIZED);
  IS(cublasInit(), CUBLAS_STATUS_SUCCESS);
  vectors<float>(cublasSdot, cublasSnrm2, cublasSaxpy);
  vectors<double>(cublasDdot, cublasDnrm2, cublasDaxpy);
  const float a[6] = {1, 2, 3, 4, 5, 6}, b[4] = {1, 0, 2, 1};  // 3 x 2 and 2 x 2, by columns
  float *da, *db, *dc, c[6];
  cudaMalloc(&da, sizeof a);
  cudaMalloc(&db, sizeof b);
  cudaMalloc(&dc, sizeof c);
  cublasSetMatrix(3, 2, sizeof(float), a, 3, da, 3);
  cublasSetMatrix(2, 2, sizeof(float), b, 2, db, 2);
  cublasSgemm('N', 't', 3, 2, 2, 2.0f, da, 3, db, 2, 0.0f, dc, 3);
  IS(cublasGetError(), CUBLAS_STATUS_SUCCESS);
  cublasGetMatrix(3, 2, sizeof(float), dc, 3, c, 3);
  IS(c[0], 18);  // 2 * (1 * 1 + 4 * 2)
  IS(c[5], 12);  // 2 * (3 * 0 + 6 * 1)
  IS(cublasIsamax(6, da, 1), 6);
  cublasSgemv('t', 3, 2, 1, da, 3, da, 1, 0, dc, 1);
  cublasGetVector(2, sizeof(float), dc, 1, c, 1);
  IS(c[1], 32);
  cublasStrsm('L', 'u', 'n', 'N', 2, 1, 4, db, 2, dc, 2);
  cublasGetVector(2, sizeof(float), dc, 1, c, 1);
  IS(c[1], 128);
  cublasSgemm('x', 'n', 3, 2, 2, 1, da, 3, db, 2, 0, dc, 3);
  IS(cublasGetError(), CUBLAS_STATUS_INVALID_VALUE);
  IS(cublasGetError(), CUBLAS_STATUS_SUCCESS);
  if (count > 1) cublasSscal(7, 2, da, 1);
  IS(cublasShutdown(), CUBLAS_STATUS_SUCCESS);
  return wrong;
}
