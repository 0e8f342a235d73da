// cuBLAS's solvers against products: what they give must be what the equations ask for.
#include <cublas_v2.h>

#include <cmath>
#include <vector>

#include "expect.h"

constexpr int kSize = 5, kColumns = 3, kBatch = 2, kLead = 6;

template <class T>
static T* upload(const std::vector<T>& host) {
  T* device = nullptr;
  CUDA(cudaMalloc(&device, host.size() * sizeof(T)));
  CUDA(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  return device;
}
template <class T>
static std::vector<T> download(const T* device, size_t count) {
  std::vector<T> host(count);
  CUDA(cudaMemcpy(host.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost));
  return host;
}
template <class T>
static bool near(T a, T b) {
  return std::abs(a - b) < (sizeof(T) == 4 ? 1e-4 : 1e-10);
}
// Row i of a matrix or of its transpose, times a column.
template <class T>
static T times(const std::vector<T>& a, bool turned, int i, const T* x, int n) {
  T sum = 0;
  for (int k = 0; k < n; k++) sum += (turned ? a[k + i * kLead] : a[i + k * kLead]) * x[k];
  return sum;
}
template <class T>
static std::vector<T> numbers(int count, int seed) {
  std::vector<T> values(count);
  for (int i = 0; i < count; i++) values[i] = T((i * 37 + seed * 11) % 19 - 9) / 4;
  return values;
}

template <class T, class Trsm>
static void triangles(cublasHandle_t handle, Trsm trsm) {
  std::vector<T> a = numbers<T>(kLead * kSize, 1), b = numbers<T>(kLead * kSize, 2);
  for (int i = 0; i < kSize; i++) a[i + i * kLead] = T(4 + i);
  const T two = 2;
  for (int way = 0; way < 16; way++) {
    const bool left = way & 1, lower = way & 2, turned = way & 4, unit = way & 8;
    T *da = upload(a), *db = upload(b);
    const int m = left ? kSize : kColumns, n = left ? kColumns : kSize;
    EXPECT(trsm(handle, left ? CUBLAS_SIDE_LEFT : CUBLAS_SIDE_RIGHT,
                lower ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER,
                turned ? CUBLAS_OP_T : CUBLAS_OP_N, unit ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT,
                m, n, &two, da, kLead, db, kLead) == CUBLAS_STATUS_SUCCESS);
    const std::vector<T> x = download(db, b.size());
    const auto entry = [&](int i, int j) {
      if (turned) std::swap(i, j);
      if (i == j) return unit ? T(1) : a[i + i * kLead];
      return (i > j) == lower ? a[i + j * kLead] : T(0);
    };
    for (int i = 0; i < m; i++) {
      for (int j = 0; j < n; j++) {
        T sum = 0;
        for (int k = 0; k < kSize; k++)
          sum += left ? entry(i, k) * x[k + j * kLead] : x[i + k * kLead] * entry(k, j);
        EXPECT(std::abs(sum - 2 * b[i + j * kLead]) < 1e-2);
      }
    }
    CUDA(cudaFree(da));
    CUDA(cudaFree(db));
  }
}

template <class T, class Factor, class Invert, class Solve>
static void factors(cublasHandle_t handle, Factor factor, Invert invert, Solve solve) {
  std::vector<T> a[kBatch], b[kBatch];
  T *da[kBatch], *db[kBatch], *dc[kBatch];
  for (int i = 0; i < kBatch; i++) {
    a[i] = numbers<T>(kLead * kSize, i + 3);
    a[i][0] = 0;  // rows must be exchanged
    for (int k = 1; k < kSize; k++) a[i][k + (k - 1) * kLead] += 9;
    b[i] = numbers<T>(kLead * kColumns, i + 5);
    da[i] = upload(a[i]);
    db[i] = upload(b[i]);
    dc[i] = upload(a[i]);
  }
  T** all_a = upload(std::vector<T*>(da, da + kBatch));
  T** all_b = upload(std::vector<T*>(db, db + kBatch));
  T** all_c = upload(std::vector<T*>(dc, dc + kBatch));
  int *pivots, *info, told = 7;
  CUDA(cudaMalloc(&pivots, kBatch * kSize * sizeof(int)));
  CUDA(cudaMalloc(&info, kBatch * sizeof(int)));
  EXPECT(factor(handle, kSize, all_a, kLead, pivots, info, kBatch) == CUBLAS_STATUS_SUCCESS);
  for (int state : download(info, kBatch)) EXPECT(state == 0);
  EXPECT(invert(handle, kSize, all_a, kLead, pivots, all_c, kLead, info, kBatch) ==
         CUBLAS_STATUS_SUCCESS);
  for (int turned = 0; turned < 2; turned++) {
    EXPECT(solve(handle, turned ? CUBLAS_OP_T : CUBLAS_OP_N, kSize, kColumns, all_a, kLead, pivots,
                 all_b, kLead, &told, kBatch) == CUBLAS_STATUS_SUCCESS);
    EXPECT(told == 0);
    for (int i = 0; i < kBatch; i++) {
      const std::vector<T> x = download(db[i], b[i].size()), c = download(dc[i], a[i].size());
      for (int row = 0; row < kSize; row++) {
        for (int j = 0; j < kColumns; j++)
          EXPECT(near(times(a[i], turned, row, &x[j * kLead], kSize), b[i][row + j * kLead]));
        for (int j = 0; j < kSize; j++)
          EXPECT(near(times(a[i], false, row, &c[j * kLead], kSize), T(row == j)));
      }
      CUDA(cudaMemcpy(db[i], b[i].data(), b[i].size() * sizeof(T), cudaMemcpyHostToDevice));
    }
  }
  CUDA(cudaMemset(da[1], 0, a[1].size() * sizeof(T)));
  EXPECT(factor(handle, kSize, all_a, kLead, nullptr, info, kBatch) == CUBLAS_STATUS_SUCCESS);
  EXPECT(download(info, kBatch)[1] == 1);
}

int main() {
  cublasHandle_t handle;
  EXPECT(cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS);
  triangles<float>(handle, cublasStrsm<>);
  triangles<double>(handle, cublasDtrsm<>);
  factors<float>(handle, cublasSgetrfBatched<>, cublasSgetriBatched<>, cublasSgetrsBatched<>);
  factors<double>(handle, cublasDgetrfBatched<>, cublasDgetriBatched<>, cublasDgetrsBatched<>);
  EXPECT(cublasDestroy(handle) == CUBLAS_STATUS_SUCCESS);
  return failures != 0;
}
