// cuBLAS: bands and triangles, against the whole matrix on the host.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "expect.h"

#define BLAS(call) EXPECT((call) == CUBLAS_STATUS_SUCCESS)

static cublasHandle_t handle;
using Numbers = std::vector<double>;

static double* upload(const Numbers& from) {
  double* data = nullptr;
  CUDA(cudaMalloc(&data, from.size() * sizeof(double)));
  CUDA(cudaMemcpy(data, from.data(), from.size() * sizeof(double), cudaMemcpyHostToDevice));
  return data;
}

// a: m x n by columns; y = 2 op(a) x + 3 y, with y all ones and x = 1, 2, ...
static Numbers wanted(const Numbers& a, int m, int n, bool turned) {
  Numbers y(turned ? n : m);
  for (int i = 0; i < (int)y.size(); i++) {
    double sum = 0;
    for (int j = 0; j < (turned ? m : n); j++) sum += (turned ? a[j + i * m] : a[i + j * m]) * (j + 1);
    y[i] = 2 * sum + 3;
  }
  return y;
}

static void expect(double* y, const Numbers& want) {
  Numbers got(want.size());
  CUDA(cudaMemcpy(got.data(), y, got.size() * sizeof(double), cudaMemcpyDeviceToHost));
  for (size_t i = 0; i < got.size(); i++) EXPECT(std::abs(got[i] - want[i]) < 1e-9);
}

int main() {
  BLAS(cublasCreate(&handle));
  const double two = 2, three = 3;
  Numbers counting(9);
  for (int i = 0; i < 9; i++) counting[i] = i + 1;
  double* x = upload(counting);
  // What the band does not use is nobody's: NaN would show.
  const int m = 7, n = 9, below = 2, above = 1, lda = below + above + 2;
  Numbers whole(m * n), band(lda * n, std::nan(""));
  for (int j = 0; j < n; j++) {
    for (int i = std::max(0, j - above); i <= std::min(m - 1, j + below); i++) {
      band[above + i - j + j * lda] = whole[i + j * m] = i * 3 - j + 5;
    }
  }
  double* kept = upload(band);
  for (bool turned : {false, true}) {
    double* y = upload(Numbers(turned ? n : m, 1));
    BLAS(cublasDgbmv(handle, turned ? CUBLAS_OP_T : CUBLAS_OP_N, m, n, below, above, &two, kept, lda,
                     x, 1, &three, y, 1));
    expect(y, wanted(whole, m, n, turned));
  }
  for (cublasFillMode_t fill : {CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER}) {
    const bool upper = fill == CUBLAS_FILL_MODE_UPPER;
    const int k = 2;
    Numbers full(n * n), narrow(n * n), half(n * n, std::nan("")), packed;
    Numbers bands((k + 1) * n, std::nan(""));
    for (int j = 0; j < n; j++) {
      for (int i = 0; i < n; i++) {
        full[i + j * n] = (i + 1) * (j + 1) % 5 - 2;
        if (std::abs(i - j) <= k) narrow[i + j * n] = full[i + j * n];
        if (upper ? i > j : i < j) continue;
        half[i + j * n] = full[i + j * n];
        packed.push_back(full[i + j * n]);
        if (std::abs(i - j) <= k) bands[(upper ? k : 0) + i - j + j * (k + 1)] = full[i + j * n];
      }
    }
    double* y = upload(Numbers(n, 1));
    BLAS(cublasDsymv(handle, fill, n, &two, upload(half), n, x, 1, &three, y, 1));
    expect(y, wanted(full, n, n, false));
    y = upload(Numbers(n, 1));
    BLAS(cublasDspmv(handle, fill, n, &two, upload(packed), x, 1, &three, y, 1));
    expect(y, wanted(full, n, n, false));
    y = upload(Numbers(n, 1));
    BLAS(cublasDsbmv(handle, fill, n, k, &two, upload(bands), k + 1, x, 1, &three, y, 1));
    expect(y, wanted(narrow, n, n, false));
  }
  EXPECT(cublasDgbmv(handle, CUBLAS_OP_N, m, n, below, above, &two, kept, 3, x, 1, &three, x, 1) ==
         CUBLAS_STATUS_INVALID_VALUE);
  BLAS(cublasDestroy(handle));
  return failures != 0;
}
