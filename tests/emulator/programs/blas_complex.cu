// cuBLAS with complex numbers, beside the same sums on the host in std::complex.
#include <cublas_v2.h>

#include <cmath>
#include <complex>
#include <cstdio>
#include <vector>

static int failures = 0;
#define EXPECT(condition)                                             \
  do {                                                                \
    if (!(condition)) failures++, std::printf("line %d\n", __LINE__); \
  } while (0)
#define BLAS(call) EXPECT((call) == CUBLAS_STATUS_SUCCESS)

// What cuBLAS has for each precision.
struct Single {
  using Real = float;
  using Pair = cuComplex;
  static constexpr double kClose = 1e-3;
#define NAME(name)                 \
  template <class... Args>         \
  static auto name(Args... args) { \
    return cublasC##name(args...); \
  }
#define NAMES                                                                             \
  NAME(axpy)                                                                              \
  NAME(scal) NAME(copy) NAME(swap) NAME(dotu) NAME(dotc) NAME(gemv) NAME(geru) NAME(gerc) \
      NAME(geam) NAME(gemm) NAME(gemm3m) NAME(gemmBatched) NAME(gemmStridedBatched)
  NAMES
#undef NAME
  template <class... Args>
  static auto real_scal(Args... args) {
    return cublasCsscal(args...);
  }
  template <class... Args>
  static auto nrm2(Args... args) {
    return cublasScnrm2(args...);
  }
  template <class... Args>
  static auto asum(Args... args) {
    return cublasScasum(args...);
  }
  template <class... Args>
  static auto amax(Args... args) {
    return cublasIcamax(args...);
  }
  template <class... Args>
  static auto amin(Args... args) {
    return cublasIcamin(args...);
  }
};
struct Double {
  using Real = double;
  using Pair = cuDoubleComplex;
  static constexpr double kClose = 1e-10;
#define NAME(name)                 \
  template <class... Args>         \
  static auto name(Args... args) { \
    return cublasZ##name(args...); \
  }
  NAMES
#undef NAME
  template <class... Args>
  static auto real_scal(Args... args) {
    return cublasZdscal(args...);
  }
  template <class... Args>
  static auto nrm2(Args... args) {
    return cublasDznrm2(args...);
  }
  template <class... Args>
  static auto asum(Args... args) {
    return cublasDzasum(args...);
  }
  template <class... Args>
  static auto amax(Args... args) {
    return cublasIzamax(args...);
  }
  template <class... Args>
  static auto amin(Args... args) {
    return cublasIzamin(args...);
  }
};

template <class Blas>
struct Test {
  using Real = typename Blas::Real;
  using Pair = typename Blas::Pair;
  using Number = std::complex<Real>;
  using Numbers = std::vector<Number>;
  cublasHandle_t handle;

  static Pair pair(Number z) { return {z.real(), z.imag()}; }
  static bool close(Number a, Number b) {
    return std::abs(a - b) < Blas::kClose * (1 + std::abs(b));
  }
  static Numbers numbers(int n, int salt) {
    Numbers all;
    for (int i = 0; i < n; i++) {
      all.push_back(
          Number(Real((i * 7 + salt) % 23) / 8 - 1, Real((i * 5 + 3 * salt) % 19) / 8 - 1));
    }
    return all;
  }
  static Pair* upload(const Numbers& from) {
    Pair* to = nullptr;
    cudaMalloc(&to, from.size() * sizeof(Pair));
    cudaMemcpy(to, from.data(), from.size() * sizeof(Pair), cudaMemcpyHostToDevice);
    return to;
  }
  static Numbers download(const Pair* from, int n) {
    Numbers to(n);
    cudaMemcpy(to.data(), from, n * sizeof(Pair), cudaMemcpyDeviceToHost);
    return to;
  }
  static Number element(const Numbers& a, int ld, cublasOperation_t op, int row, int column) {
    const Number z = op == CUBLAS_OP_N ? a[row + column * ld] : a[column + row * ld];
    return op == CUBLAS_OP_C ? std::conj(z) : z;
  }

  void vectors() {
    const int n = 3000, stride = 2;
    const Numbers x = numbers(n * stride, 1), y = numbers(n, 2);
    const Number alpha(Real(0.5), Real(-2));
    const Pair factor = pair(alpha);
    const Real half = Real(0.5);
    Pair *dx = upload(x), *dy = upload(y);
    Number dotu = 0, dotc = 0;
    double squares = 0, sum = 0;
    int most = 0, least = 0;
    const auto size = [&](int i) {
      return std::abs(x[i * stride].real()) + std::abs(x[i * stride].imag());
    };
    for (int i = 0; i < n; i++) {
      dotu += x[i * stride] * y[i];
      dotc += std::conj(x[i * stride]) * y[i];
      squares += std::norm(x[i * stride]);
      sum += size(i);
      if (size(i) > size(most)) most = i;
      if (size(i) < size(least)) least = i;
    }
    Pair got;
    Real real;
    int index;
    BLAS(Blas::dotu(handle, n, dx, stride, dy, 1, &got));
    EXPECT(close({got.x, got.y}, dotu));
    BLAS(Blas::dotc(handle, n, dx, stride, dy, 1, &got));
    EXPECT(close({got.x, got.y}, dotc));
    BLAS(Blas::nrm2(handle, n, dx, stride, &real));
    EXPECT(close(real, Number(Real(std::sqrt(squares)))));
    BLAS(Blas::asum(handle, n, dx, stride, &real));
    EXPECT(close(real, Number(Real(sum))));
    BLAS(Blas::amax(handle, n, dx, stride, &index));
    EXPECT(index == most + 1);
    BLAS(Blas::amin(handle, n, dx, stride, &index));
    EXPECT(index == least + 1);
    BLAS(Blas::axpy(handle, n, &factor, dx, stride, dy, 1));
    BLAS(Blas::scal(handle, n, &factor, dx, stride));
    BLAS(Blas::real_scal(handle, n, &half, dx, stride));
    const Numbers sums = download(dy, n), scaled = download(dx, n * stride);
    for (int i = 0; i < n; i += 97) {
      EXPECT(close(sums[i], y[i] + alpha * x[i * stride]));
      EXPECT(close(scaled[i * stride], alpha * half * x[i * stride]));
      EXPECT(scaled[i * stride + 1] == x[i * stride + 1]);
    }
    BLAS(Blas::swap(handle, n, dx, stride, dy, 1));
    EXPECT(download(dy, 3)[2] == scaled[2 * stride] && download(dx, 5)[2 * stride] == sums[2]);
    BLAS(Blas::copy(handle, n, dy, 1, dx, stride));
    EXPECT(download(dx, 5)[2 * stride] == scaled[2 * stride]);
    cudaFree(dx);
    cudaFree(dy);
  }

  void products(cublasOperation_t op_a, cublasOperation_t op_b) {
    const int m = 21, n = 34, k = 17, lda = 40, ldb = 41, ldc = 22, batch = 2;
    const Numbers a = numbers(lda * 40 * batch, 3), b = numbers(ldb * 40 * batch, 4);
    const Numbers c = numbers(ldc * n * batch, 5);
    const Number alpha(Real(1.5), Real(0.25)), beta(Real(-0.5), Real(1));
    const Pair factor = pair(alpha), keep = pair(beta);
    Pair *da = upload(a), *db = upload(b), *dc = upload(c), *again = upload(c), *third = upload(c);
    const Pair* each_a[] = {da, da + lda * 40};
    const Pair* each_b[] = {db, db + ldb * 40};
    Pair* each_c[] = {third, third + ldc * n};
    const Pair **all_a, **all_b;
    Pair** all_c;
    cudaMalloc(&all_a, sizeof each_a);
    cudaMalloc(&all_b, sizeof each_b);
    cudaMalloc(&all_c, sizeof each_c);
    cudaMemcpy(all_a, each_a, sizeof each_a, cudaMemcpyHostToDevice);
    cudaMemcpy(all_b, each_b, sizeof each_b, cudaMemcpyHostToDevice);
    cudaMemcpy(all_c, each_c, sizeof each_c, cudaMemcpyHostToDevice);
    BLAS(Blas::gemmStridedBatched(handle, op_a, op_b, m, n, k, &factor, da, lda, lda * 40, db, ldb,
                                  ldb * 40, &keep, dc, ldc, ldc * n, batch));
    BLAS(Blas::gemm(handle, op_a, op_b, m, n, k, &factor, da, lda, db, ldb, &keep, again, ldc));
    BLAS(Blas::gemmBatched(handle, op_a, op_b, m, n, k, &factor, all_a, lda, all_b, ldb, &keep,
                           all_c, ldc, batch));
    const Numbers got = download(dc, ldc * n * batch), one = download(again, ldc * n);
    const Numbers other = download(third, ldc * n * batch);
    for (int number = 0; number < batch; number++) {
      const Numbers mine(a.begin() + number * lda * 40, a.end()),
          his(b.begin() + number * ldb * 40, b.end());
      for (int row = 0; row < m; row++) {
        for (int column = 0; column < n; column++) {
          Number sum = 0;
          for (int i = 0; i < k; i++)
            sum += element(mine, lda, op_a, row, i) * element(his, ldb, op_b, i, column);
          const int at = number * ldc * n + row + column * ldc;
          const Number right = alpha * sum + beta * c[at];
          EXPECT(close(got[at], right) && close(other[at], right));
          if (number == 0) EXPECT(close(one[at], right));
        }
      }
    }
    EXPECT(got[m] == c[m]);
    for (void* p : {(void*)da, (void*)db, (void*)dc, (void*)again, (void*)third, (void*)all_a,
                    (void*)all_b, (void*)all_c})
      cudaFree(p);
  }

  void matrices(cublasOperation_t op) {
    const int m = 33, n = 18, lda = 35;
    const Numbers a = numbers(lda * lda, 6), x = numbers(m + n, 7), y = numbers(m + n, 8);
    const Number alpha(Real(0.5), Real(1)), beta(Real(2), Real(-1));
    const Pair factor = pair(alpha), keep = pair(beta);
    Pair *da = upload(a), *dx = upload(x), *dy = upload(y), *dc = upload(a);
    BLAS(Blas::gemv(handle, op, m, n, &factor, da, lda, dx, 1, &keep, dy, 1));
    const int outputs = op == CUBLAS_OP_N ? m : n, terms = op == CUBLAS_OP_N ? n : m;
    const Numbers got = download(dy, m + n);
    for (int row = 0; row < outputs; row++) {
      Number sum = 0;
      for (int i = 0; i < terms; i++) sum += element(a, lda, op, row, i) * x[i];
      EXPECT(close(got[row], alpha * sum + beta * y[row]));
    }
    BLAS(Blas::geam(handle, op, CUBLAS_OP_N, n, n, &factor, da, lda, &keep, da, lda, dc, lda));
    const Numbers sums = download(dc, lda * lda);
    for (int at = 0; at < n; at++) {
      EXPECT(
          close(sums[at + 3 * lda], alpha * element(a, lda, op, at, 3) + beta * a[at + 3 * lda]));
    }
    BLAS(op == CUBLAS_OP_C ? Blas::gerc(handle, m, n, &factor, dx, 1, dx, 1, da, lda)
                           : Blas::geru(handle, m, n, &factor, dx, 1, dx, 1, da, lda));
    const Numbers added = download(da, lda * lda);
    for (int at = 0; at < m; at++) {
      const Number other = op == CUBLAS_OP_C ? std::conj(x[5]) : x[5];
      EXPECT(close(added[at + 5 * lda], a[at + 5 * lda] + alpha * x[at] * other));
    }
    for (Pair* p : {da, dx, dy, dc}) cudaFree(p);
  }

  // A result and a factor in memory of the device.
  void on_device() {
    const Numbers x = numbers(64, 9);
    Pair* dx = upload(x);
    Pair* result = upload(Numbers(1));
    Number sum = 0;
    for (const Number z : x) sum += std::conj(z) * z;
    cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE);
    BLAS(Blas::dotc(handle, 64, dx, 1, dx, 1, result));
    BLAS(Blas::scal(handle, 64, result, dx, 1));
    cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST);
    EXPECT(close(download(result, 1)[0], sum));
    EXPECT(close(download(dx, 4)[3], sum * x[3]));
    cudaFree(dx);
    cudaFree(result);
  }

  void all() {
    vectors();
    on_device();
    for (const auto a : {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C}) {
      matrices(a);
      for (const auto b : {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C}) products(a, b);
    }
  }
};

int main() {
  cublasHandle_t handle;
  BLAS(cublasCreate(&handle));
  Test<Single>{handle}.all();
  Test<Double>{handle}.all();
  BLAS(cublasDestroy(handle));
  return failures != 0;
}
