// cuRAND's MRG32k3a: its numbers on the device, by jumps, and from a host generator.
#include <curand.h>
#include <curand_kernel.h>

#include <cmath>
#include <cstdio>
#include <vector>

#define EXPECT(condition)                                 \
  do {                                                    \
    if (!(condition)) std::printf("line %d\n", __LINE__); \
  } while (0)

struct Start {
  unsigned long long seed, subsequence, offset;
};
constexpr int kEach = 4;

__global__ void draw(const Start* starts, double* numbers, unsigned* bits, float* uniform,
                     double* uniform_double) {
  const int i = threadIdx.x;
  curandStateMRG32k3a_t state;
  curand_init(starts[i].seed, starts[i].subsequence, starts[i].offset, &state);
  curandStateMRG32k3a_t one = state, two = state, three = state;
  for (int k = 0; k < kEach; k++) {
    numbers[i * kEach + k] = curand_MRG32k3a(&state);
    bits[i * kEach + k] = curand(&one);
    uniform[i * kEach + k] = curand_uniform(&two);
    uniform_double[i * kEach + k] = curand_uniform_double(&three);
  }
}
__global__ void jumps(double* numbers) {
  curandStateMRG32k3a state;
  curand_init(7, 0, 0, &state);
  skipahead(1000, &state);
  skipahead_subsequence(3, &state);
  skipahead_sequence(5, &state);
  numbers[0] = curand_MRG32k3a(&state);
}
__global__ void moments(float* normal, double* normal_double) {
  curandStateMRG32k3a state;
  const int i = threadIdx.x;
  curand_init(5, i, 0, &state);
  for (int k = 0; k < 64; k++) {
    normal[i * 64 + k] = curand_normal(&state);
    normal_double[i * 64 + k] = curand_normal_double(&state);
  }
}

template <class T>
static std::vector<T> download(const T* from, size_t n) {
  std::vector<T> to(n);
  cudaMemcpy(to.data(), from, n * sizeof(T), cudaMemcpyDeviceToHost);
  return to;
}
template <class T>
static T* allocate(size_t n) {
  T* made = nullptr;
  cudaMalloc(&made, n * sizeof(T));
  return made;
}
template <class T>
static void expect_moments(const std::vector<T>& x, double mean, double variance) {
  double sum = 0, squares = 0;
  for (const double value : x) sum += value, squares += value * value;
  sum /= x.size();
  EXPECT(std::abs(sum - mean) < 0.04);
  EXPECT(std::abs(squares / x.size() - sum * sum - variance) < 0.06);
}

static void sequences() {
  const Start starts[] = {
      {0, 0, 0}, {1234, 0, 0}, {0x123456789abcdefull, 5, 1000000007}, {99, (1ull << 51) + 2, 3}};
  constexpr int n = 4;
  auto* given = allocate<Start>(n);
  cudaMemcpy(given, starts, sizeof starts, cudaMemcpyHostToDevice);
  auto* numbers = allocate<double>(n * kEach);
  auto* bits = allocate<unsigned>(n * kEach);
  auto* uniform = allocate<float>(n * kEach);
  auto* uniform_double = allocate<double>(n * kEach);
  draw<<<1, n>>>(given, numbers, bits, uniform, uniform_double);
  const auto all = download(numbers, n * kEach);
  const auto words = download(bits, n * kEach);
  const auto singles = download(uniform, n * kEach);
  const auto doubles = download(uniform_double, n * kEach);
  for (int i = 0; i < n * kEach; i++)
    std::printf("%.0f %u %.9g %.17g\n", all[i], words[i], singles[i], doubles[i]);
  jumps<<<1, 1>>>(numbers);
  std::printf("jumped %.0f\n", download(numbers, 1)[0]);
  auto* normal = allocate<float>(64 * 64);
  auto* normal_double = allocate<double>(64 * 64);
  moments<<<1, 64>>>(normal, normal_double);
  expect_moments(download(normal, 64 * 64), 0, 1);
  expect_moments(download(normal_double, 64 * 64), 0, 1);
}

static void generators() {
  constexpr size_t kMany = 81920 + 2;
  curandGenerator_t generator, here;
  EXPECT(curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_MRG32K3A) == CURAND_STATUS_SUCCESS);
  EXPECT(curandCreateGeneratorHost(&here, CURAND_RNG_PSEUDO_MRG32K3A) == CURAND_STATUS_SUCCESS);
  for (const auto one : {generator, here}) curandSetPseudoRandomGeneratorSeed(one, 1234);
  auto* words = allocate<unsigned>(kMany);
  EXPECT(curandGenerate(generator, words, kMany) == CURAND_STATUS_SUCCESS);
  const auto all = download(words, kMany);
  std::printf("memory %u %u %u %u\n", all[0], all[1], all[81919], all[81920]);
  unsigned few[2];
  EXPECT(curandSetGeneratorOffset(here, 81919) == CURAND_STATUS_SUCCESS);
  EXPECT(curandGenerate(here, few, 2) == CURAND_STATUS_SUCCESS);
  EXPECT(few[0] == all[81919] && few[1] == all[81920]);
  auto* x = allocate<float>(20000);
  auto* y = allocate<double>(20000);
  EXPECT(curandGenerateUniform(generator, x, 20000) == CURAND_STATUS_SUCCESS);
  expect_moments(download(x, 20000), 0.5, 1.0 / 12);
  EXPECT(curandGenerateUniformDouble(generator, y, 20000) == CURAND_STATUS_SUCCESS);
  expect_moments(download(y, 20000), 0.5, 1.0 / 12);
  EXPECT(curandGenerateNormal(generator, x, 20000, 2, 1) == CURAND_STATUS_SUCCESS);
  expect_moments(download(x, 20000), 2, 1);
  EXPECT(curandGenerateNormalDouble(generator, y, 20000, -1, 0.5) == CURAND_STATUS_SUCCESS);
  expect_moments(download(y, 20000), -1, 0.25);
  curandDestroyGenerator(generator);
  curandDestroyGenerator(here);
}

int main() {
  sequences();
  generators();
}
