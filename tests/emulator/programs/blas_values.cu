// cuBLAS against loops on the host: every call that is emulated, in all its forms.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cmath>
#include <vector>

#include "expect.h"

#define BLAS(call) EXPECT((call) == CUBLAS_STATUS_SUCCESS)

static cublasHandle_t handle;

template <class T>
struct Device {
  T* data;
  size_t size;
  explicit Device(const std::vector<T>& from) : size(from.size()) {
    CUDA(cudaMalloc(&data, size * sizeof(T)));
    BLAS(cublasSetVector(static_cast<int>(size), sizeof(T), from.data(), 1, data, 1));
  }
  std::vector<T> get() const {
    std::vector<T> out(size);
    BLAS(cublasGetVector(static_cast<int>(size), sizeof(T), data, 1, out.data(), 1));
    return out;
  }
  ~Device() { CUDA(cudaFree(data)); }
};

template <class T>
std::vector<T> numbers(int n, int salt) {
  std::vector<T> out(n);
  for (int i = 0; i < n; i++) out[i] = T(float((i * 7 + salt * 5) % 13 - 6));
  return out;
}
template <class T>
bool close(const std::vector<T>& a, const std::vector<T>& b) {
  for (size_t i = 0; i < a.size(); i++) {
    if (std::abs(double(a[i]) - double(b[i])) > 1e-3 * (1 + std::abs(double(b[i])))) return false;
  }
  return a.size() == b.size();
}

static void vectors(int n) {
  const auto x = numbers<float>(2 * n, 1), y = numbers<float>(n, 2);
  Device<float> dx(x), dy(y);
  const float alpha = 3;
  auto want = y;
  // Every other element of x, from its end.
  for (int i = 0; i < n; i++) want[i] += alpha * x[2 * (n - 1 - i)];
  BLAS(cublasSaxpy(handle, n, &alpha, dx.data, -2, dy.data, 1));
  EXPECT(close(dy.get(), want));
  float dot = 0, norm = 0, sum = 0, host_dot = 0, host_square = 0, host_sum = 0;
  int most = 0, least = 0, host_most = 0, host_least = 0;
  for (int i = 0; i < n; i++) {
    host_dot += x[i] * want[i];
    host_square += x[i] * x[i];
    host_sum += std::abs(x[i]);
    if (std::abs(x[i]) > std::abs(x[host_most])) host_most = i;
    if (std::abs(x[i]) < std::abs(x[host_least])) host_least = i;
  }
  BLAS(cublasSdot(handle, n, dx.data, 1, dy.data, 1, &dot));
  BLAS(cublasSnrm2(handle, n, dx.data, 1, &norm));
  BLAS(cublasSasum(handle, n, dx.data, 1, &sum));
  BLAS(cublasIsamax(handle, n, dx.data, 1, &most));
  BLAS(cublasIsamin(handle, n, dx.data, 1, &least));
  EXPECT(std::abs(dot - host_dot) <= 1e-4f * std::abs(host_dot) + 1e-3f && sum == host_sum);
  EXPECT(std::abs(norm - std::sqrt(host_square)) < 1e-3f * norm);
  EXPECT(most == host_most + 1 && least == host_least + 1);
  BLAS(cublasSscal(handle, n, &alpha, dy.data, 1));
  BLAS(cublasSswap(handle, n, dx.data, 1, dy.data, 1));
  BLAS(cublasScopy(handle, n, dx.data, 1, dx.data + n, 1));
  for (float& value : want) value *= alpha;
  auto both = want;
  both.insert(both.end(), want.begin(), want.end());
  EXPECT(close(dx.get(), both));
  EXPECT(close(dy.get(), std::vector<float>(x.begin(), x.begin() + n)));
  BLAS(cublasSnrm2(handle, 0, dx.data, 1, &norm));
  EXPECT(norm == 0);
}

static void on_the_device() {
  Device<double> x(numbers<double>(3000, 1)), y(numbers<double>(3000, 3)), results({0, 0, 2});
  Device<int> where({7});
  BLAS(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));
  BLAS(cublasDdot(handle, 3000, x.data, 1, y.data, 1, results.data));
  BLAS(cublasDasum(handle, 3000, y.data, 1, results.data + 1));
  BLAS(cublasIdamax(handle, 0, y.data, 1, where.data));
  BLAS(cublasDscal(handle, 2, results.data + 2, results.data, 1));
  BLAS(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
  double dot = 0, sum = 0;
  const auto hx = x.get(), hy = y.get();
  for (int i = 0; i < 3000; i++) dot += hx[i] * hy[i], sum += std::abs(hy[i]);
  EXPECT(close(results.get(), std::vector<double>{2 * dot, 2 * sum, 2}));
  EXPECT(where.get()[0] == 0);
}

// op(A)(i, j) of a matrix in columns
template <class T>
double at(const std::vector<T>& a, cublasOperation_t op, int i, int j, int ld, size_t from = 0) {
  return double(float(a[from + (op == CUBLAS_OP_N ? i + j * size_t(ld) : j + i * size_t(ld))]));
}

static void products(int m, int n, int k) {
  const cublasOperation_t ops[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};
  for (const auto op_a : ops) {
    for (const auto op_b : ops) {
      const int lda = (op_a == CUBLAS_OP_N ? m : k) + 2, ldb = (op_b == CUBLAS_OP_N ? k : n) + 1;
      const auto a = numbers<float>(lda * std::max(m, k), 1);
      const auto b = numbers<float>(ldb * std::max(n, k), 2);
      auto c = numbers<float>((m + 3) * n, 3);
      Device<float> da(a), db(b), dc(c);
      const float alpha = 2, beta = -1;
      BLAS(cublasSgemm(handle, op_a, op_b, m, n, k, &alpha, da.data, lda, db.data, ldb, &beta,
                       dc.data, m + 3));
      for (int j = 0; j < n; j++) {
        for (int i = 0; i < m; i++) {
          double sum = 0;
          for (int t = 0; t < k; t++) sum += at(a, op_a, i, t, lda) * at(b, op_b, t, j, ldb);
          c[i + j * (m + 3)] = float(alpha * sum + beta * c[i + j * (m + 3)]);
        }
      }
      EXPECT(close(dc.get(), c));
    }
  }
}

template <class T, class Call>
void batch(Call call) {
  const int m = 5, n = 4, k = 6, count = 3;
  const auto a = numbers<T>(m * k * count, 1), b = numbers<T>(k * n * count, 2);
  std::vector<T> c(m * n * count);
  for (int z = 0; z < count; z++) {
    for (int i = 0; i < m; i++) {
      for (int j = 0; j < n; j++) {
        double sum = 0;
        for (int t = 0; t < k; t++) {
          sum += at(a, CUBLAS_OP_N, i, t, m, z * m * k) * at(b, CUBLAS_OP_N, t, j, k, z * k * n);
        }
        c[z * m * n + i + j * m] = T(float(sum));
      }
    }
  }
  Device<T> da(a), db(b);
  T* fresh;  // with beta = 0 nobody needs to have written what is overwritten
  CUDA(cudaMalloc(&fresh, c.size() * sizeof(T)));
  call(da.data, db.data, fresh, m, n, k, count);
  std::vector<T> got(c.size());
  CUDA(cudaMemcpy(got.data(), fresh, got.size() * sizeof(T), cudaMemcpyDeviceToHost));
  EXPECT(close(got, c));
  CUDA(cudaFree(fresh));
}

static void batches() {
  const float one = 1, zero = 0;
  const __half half_one = 1.0f, half_zero = 0.0f;
  const auto n = CUBLAS_OP_N;
  batch<float>([&](float* a, float* b, float* c, int m, int cols, int k, int count) {
    BLAS(cublasSgemmStridedBatched(handle, n, n, m, cols, k, &one, a, m, m * k, b, k, k * cols,
                                   &zero, c, m, m * cols, count));
  });
  batch<float>([&](float* a, float* b, float* c, int m, int cols, int k, int count) {
    std::vector<float*> as, bs, cs;
    for (int z = 0; z < count; z++) {
      as.push_back(a + z * m * k), bs.push_back(b + z * k * cols), cs.push_back(c + z * m * cols);
    }
    Device<float*> da(as), db(bs), dc(cs);
    BLAS(cublasSgemmBatched(handle, n, n, m, cols, k, &one, da.data, m, db.data, k, &zero, dc.data,
                            m, count));
  });
  batch<__half>([&](__half* a, __half* b, __half* c, int m, int cols, int k, int count) {
    BLAS(cublasHgemmStridedBatched(handle, n, n, m, cols, k, &half_one, a, m, m * k, b, k, k * cols,
                                   &half_zero, c, m, m * cols, count));
  });
  batch<__nv_bfloat16>([&](void* a, void* b, void* c, int m, int cols, int k, int count) {
    BLAS(cublasGemmStridedBatchedEx(handle, n, n, m, cols, k, &one, a, CUDA_R_16BF, m, m * k, b,
                                    CUDA_R_16BF, k, k * cols, &zero, c, CUDA_R_16BF, m, m * cols,
                                    count, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT_TENSOR_OP));
  });
  batch<double>([&](double* a, double* b, double* c, int m, int cols, int k, int count) {
    const double alpha = 1, beta = 0;
    for (int z = 0; z < count; z++) {
      BLAS(cublasGemmEx(handle, n, n, m, cols, k, &alpha, a + z * m * k, CUDA_R_64F, m,
                        b + z * k * cols, CUDA_R_64F, k, &beta, c + z * m * cols, CUDA_R_64F, m,
                        CUBLAS_COMPUTE_64F, CUBLAS_GEMM_DEFAULT));
    }
  });
}

static void level_two() {
  const int m = 70, n = 45, lda = 71;
  const auto a = numbers<float>(lda * n, 1), x = numbers<float>(m + n, 2);
  Device<float> da(a), dx(x), dy(numbers<float>(m + n, 3)), dt(numbers<float>(m * n, 4));
  const float alpha = 2, beta = 3, zero = 0;
  auto y = numbers<float>(m + n, 3);
  BLAS(cublasSgemv(handle, CUBLAS_OP_N, m, n, &alpha, da.data, lda, dx.data, 1, &beta, dy.data, 1));
  for (int i = 0; i < m; i++) {
    double sum = 0;
    for (int j = 0; j < n; j++) sum += a[i + j * lda] * x[j];
    y[i] = float(alpha * sum + beta * y[i]);
  }
  EXPECT(close(dy.get(), y));
  BLAS(cublasSgemv(handle, CUBLAS_OP_T, m, n, &alpha, da.data, lda, dx.data, 1, &zero, dy.data, 1));
  for (int j = 0; j < n; j++) {
    double sum = 0;
    for (int i = 0; i < m; i++) sum += a[i + j * lda] * x[i];
    y[j] = float(alpha * sum);
  }
  EXPECT(close(dy.get(), y));
  BLAS(cublasSger(handle, m, n, &alpha, dx.data, 1, dx.data + m, 1, da.data, lda));
  auto turned = a;
  for (int j = 0; j < n; j++) {
    for (int i = 0; i < m; i++) turned[i + j * lda] += alpha * x[i] * x[m + j];
  }
  EXPECT(close(da.get(), turned));
  BLAS(cublasSgeam(handle, CUBLAS_OP_T, CUBLAS_OP_N, n, m, &alpha, da.data, lda, &zero, dt.data, n,
                   dt.data, n));
  std::vector<float> want(m * n);
  for (int i = 0; i < m; i++) {
    for (int j = 0; j < n; j++) want[j + i * n] = alpha * turned[i + j * lda];
  }
  EXPECT(close(dt.get(), want));
}

static void wrong_arguments() {
  float one = 1, *p = nullptr;
  const auto n = CUBLAS_OP_N;
  EXPECT(cublasSgemm(nullptr, n, n, 1, 1, 1, &one, p, 1, p, 1, &one, p, 1) ==
         CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT(cublasSgemm(handle, n, n, 4, 4, 4, &one, p, 3, p, 4, &one, p, 4) ==
         CUBLAS_STATUS_INVALID_VALUE);
  EXPECT(cublasSgemm(handle, CUBLAS_OP_T, n, 4, 4, 3, &one, p, 3, p, 2, &one, p, 4) ==
         CUBLAS_STATUS_INVALID_VALUE);
  EXPECT(cublasSgemm(handle, n, n, -1, 4, 4, &one, p, 4, p, 4, &one, p, 4) ==
         CUBLAS_STATUS_INVALID_VALUE);
  BLAS(cublasSgemm(handle, n, n, 0, 4, 4, &one, p, 4, p, 4, &one, p, 4));
  EXPECT(cublasSgemv(handle, n, 4, 4, &one, p, 4, p, 0, &one, p, 1) == CUBLAS_STATUS_INVALID_VALUE);
  EXPECT(cublasSdot(handle, 4, p, 1, p, 1, nullptr) == CUBLAS_STATUS_INVALID_VALUE);
  BLAS(cublasSaxpy(handle, 0, &one, p, 1, p, 1));
  EXPECT(cublasCreate(nullptr) == CUBLAS_STATUS_INVALID_VALUE);
  EXPECT(cublasSetStream(nullptr, nullptr) == CUBLAS_STATUS_NOT_INITIALIZED);
}

// A result on the host waits for the stream; nothing else does.
static void captured() {
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CUDA(cudaStreamCreate(&stream));
  BLAS(cublasSetStream(handle, stream));
  Device<float> x(numbers<float>(100, 1));
  CUDA(cudaDeviceSynchronize());
  const float alpha = 2;
  CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  BLAS(cublasSscal(handle, 100, &alpha, x.data, 1));
  CUDA(cudaStreamEndCapture(stream, &graph));
  CUDA(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 2; i++) CUDA(cudaGraphLaunch(exec, stream));
  CUDA(cudaStreamSynchronize(stream));
  auto want = numbers<float>(100, 1);
  for (float& value : want) value *= 4;
  EXPECT(close(x.get(), want));
  BLAS(cublasSetStream(handle, nullptr));
}

int main() {
  BLAS(cublasCreate(&handle));
  int version = 0;
  BLAS(cublasGetVersion(handle, &version));
  EXPECT(version >= 110000);
  vectors(100);
  vectors(5000);
  on_the_device();
  products(5, 7, 9);
  products(67, 40, 33);
  batches();
  level_two();
  wrong_arguments();
  captured();
  BLAS(cublasDestroy(handle));
  return failures != 0;
}
