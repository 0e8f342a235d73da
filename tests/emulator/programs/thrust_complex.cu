// thrust::complex on host and device, beside std::complex.
#include <thrust/complex.h>
#include <thrust/device_vector.h>
#include <thrust/reduce.h>
#include <thrust/transform.h>

#include <complex>
#include <cstdio>
#include <sstream>
#include <vector>

static int failures = 0;
#define EXPECT(condition)                                             \
  do {                                                                \
    if (!(condition)) failures++, std::printf("line %d\n", __LINE__); \
  } while (0)

template <class T>
using C = thrust::complex<T>;
static_assert(sizeof(C<float>) == 8 && alignof(C<float>) == 8);
static_assert(sizeof(C<double>) == 16 && alignof(C<double>) == 16);
static_assert(std::is_same_v<decltype(C<float>() + 1.0), C<double>>);
static_assert(std::is_same_v<decltype(C<float>() * C<double>()), C<double>>);

template <class T>
__host__ __device__ void compute(const C<T>& a, const C<T>& b, C<T>* out) {
  C<T> sum = a;
  sum += b;
  sum -= T(0.5);
  sum *= a;
  sum /= b;
  const C<T> all[] = {a + b,
                      a - b,
                      a * b,
                      a / b,
                      T(2) * a,
                      a / T(2),
                      T(2) / a,
                      T(1) + a,
                      -a,
                      +a,
                      thrust::conj(a),
                      C<T>(thrust::abs(a), thrust::arg(a)),
                      C<T>(thrust::norm(a)),
                      thrust::polar(T(2), T(0.5)),
                      thrust::exp(a),
                      thrust::log(a),
                      thrust::sqrt(a),
                      thrust::pow(a, b),
                      thrust::pow(a, T(2)),
                      thrust::sin(a),
                      thrust::cosh(a),
                      thrust::atan(a), thrust::asin(a), thrust::acos(a), thrust::acosh(b), thrust::tan(a), thrust::tanh(b), thrust::sqrt(-b), thrust::log10(b),
                      sum};
  for (const C<T>& z : all) *out++ = z;
}
template <class T>
std::vector<std::complex<T>> expected(std::complex<T> a, std::complex<T> b) {
  return {a + b,
          a - b,
          a * b,
          a / b,
          T(2) * a,
          a / T(2),
          T(2) / a,
          T(1) + a,
          -a,
          +a,
          std::conj(a),
          {std::abs(a), std::arg(a)},
          {std::norm(a), 0},
          std::polar(T(2), T(0.5)),
          std::exp(a),
          std::log(a),
          std::sqrt(a),
          std::pow(a, b),
          std::pow(a, std::complex<T>(2)),
          std::sin(a),
          std::cosh(a),
          std::atan(a), std::asin(a), std::acos(a), std::acosh(b), std::tan(a), std::tanh(b), std::sqrt(-b), std::log10(b),
          (a + b - T(0.5)) * a / b};
}
template <class T>
__global__ void kernel(C<T> a, C<T> b, C<T>* out) {
  if (threadIdx.x == 0) compute(a, b, out);
}

template <class T>
void test(double close) {
  const C<T> a(T(1.25), T(-0.5)), b(T(0.75), T(2));
  const auto right = expected(std::complex<T>(a), std::complex<T>(b));
  std::vector<C<T>> here(right.size());
  compute(a, b, here.data());
  thrust::device_vector<C<T>> there(right.size());
  kernel<<<1, 32>>>(a, b, thrust::raw_pointer_cast(there.data()));
  const thrust::host_vector<C<T>> got = there;
  for (size_t i = 0; i < right.size(); i++) {
    EXPECT(std::abs(std::complex<T>(here[i]) - right[i]) < close);
    EXPECT(std::abs(std::complex<T>(got[i]) - right[i]) < close);
  }
  EXPECT(a == C<T>(std::complex<T>(a)) && a != b && C<T>(3) == T(3) && T(3) == C<T>(3));
  EXPECT(a == std::complex<T>(T(1.25), T(-0.5)));
  C<T> z = T(4);
  z.imag(T(1));
  z.real(T(2));
  EXPECT(z.real() == 2 && z.imag() == 1);
  std::stringstream text;
  text << z;
  C<T> again;
  text >> again;
  EXPECT(again == z);
}

struct Square {
  __device__ C<float> operator()(C<float> z) const { return z * z; }
};

int main() {
  test<float>(1e-4);
  test<double>(1e-12);
  thrust::device_vector<C<float>> z(100, C<float>(0, 1));
  thrust::transform(z.begin(), z.end(), z.begin(), Square());
  EXPECT(thrust::reduce(z.begin(), z.end(), C<float>(0, 0)) == C<float>(-100, 0));
  return failures != 0;
}
