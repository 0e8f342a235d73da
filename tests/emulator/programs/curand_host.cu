// What cuRAND's host generators give, a line each.
#include <curand.h>

#include <cstdio>
#include <cstring>
#include <vector>

#define TRY(call) \
  if (curandStatus_t status = (call)) return printf("%s: %d\n", #call, static_cast<int>(status)), 1

template <class T>
static std::vector<T> read_back(const T* device, size_t count) {
  std::vector<T> host(count);
  cudaMemcpy(host.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost);
  return host;
}
template <class T>
static void moments(const char* name, const std::vector<T>& values) {
  double sum = 0, squares = 0;
  for (T value : values) sum += value, squares += double(value) * value;
  const double mean = sum / values.size();
  printf("%s %.6f %.6f\n", name, mean, squares / values.size() - mean * mean);
}

static int bits(curandRngType_t type, bool host) {
  constexpr size_t kCount = 9000;
  curandGenerator_t generator;
  unsigned* numbers;
  cudaMalloc(&numbers, kCount * sizeof *numbers);
  TRY(curandCreateGenerator(&generator, type));
  TRY(curandSetPseudoRandomGeneratorSeed(generator, 1234));
  TRY(curandGenerate(generator, numbers, 4097));
  TRY(curandGenerate(generator, numbers + 4097, kCount - 4097));
  const std::vector<unsigned> first = read_back(numbers, kCount);
  printf("numbers %u %u %u %u\n", first[0], first[1], first[4096], first[8191]);
  if (!host) return 0;
  std::vector<unsigned> own(kCount);
  TRY(curandDestroyGenerator(generator));
  TRY(curandCreateGeneratorHost(&generator, type));
  TRY(curandSetPseudoRandomGeneratorSeed(generator, 1234));
  TRY(curandGenerate(generator, own.data(), kCount));
  printf("same %d\n", own == first);
  TRY(curandSetGeneratorOffset(generator, 4000));
  TRY(curandGenerate(generator, own.data(), 100));
  printf("offset %d\n", memcmp(own.data(), first.data() + 4000, 100 * sizeof(unsigned)) == 0);
  return 0;
}

template <class T>
static int distributions(curandGenerator_t generator, T* values, size_t count,
                         curandStatus_t (*uniform)(curandGenerator_t, T*, size_t),
                         curandStatus_t (*normal)(curandGenerator_t, T*, size_t, T, T),
                         curandStatus_t (*log_normal)(curandGenerator_t, T*, size_t, T, T)) {
  TRY(uniform(generator, values, count));
  moments("uniform", read_back(values, count));
  TRY(normal(generator, values, count, 3, 2));
  moments("normal", read_back(values, count));
  TRY(log_normal(generator, values, count, 0, 0.5));
  moments("log_normal", read_back(values, count));
  printf("odd %d\n", normal(generator, values, count - 1, 0, 1));
  return 0;
}

int main(int count, char** words) {
  if (count > 1 && !strcmp(words[1], "quasi")) {
    curandGenerator_t generator;
    return curandCreateGenerator(&generator, CURAND_RNG_QUASI_SOBOL32);
  }
  if (count > 1 && !strcmp(words[1], "race")) {
    curandGenerator_t generator;
    cudaStream_t stream;
    float* values;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaMalloc(&values, 64 * sizeof *values);
    TRY(curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_DEFAULT));
    TRY(curandSetStream(generator, stream));
    TRY(curandGenerateUniform(generator, values, 64));
    read_back(values, 64);
    return 0;
  }
  constexpr size_t kCount = 20000;
  curandGenerator_t generator;
  void* values;
  cudaMalloc(&values, kCount * sizeof(double));
  if (bits(CURAND_RNG_PSEUDO_DEFAULT, true) || bits(CURAND_RNG_PSEUDO_PHILOX4_32_10, true) ||
      bits(CURAND_RNG_PSEUDO_MTGP32, false))
    return 1;
  TRY(curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_XORWOW));
  if (distributions<float>(generator, static_cast<float*>(values), kCount, &curandGenerateUniform<>,
                           &curandGenerateNormal<>, &curandGenerateLogNormal<>) ||
      distributions<double>(generator, static_cast<double*>(values), kCount,
                            &curandGenerateUniformDouble<>, &curandGenerateNormalDouble<>,
                            &curandGenerateLogNormalDouble<>))
    return 1;
  for (double mean : {4.0, 2000.0}) {
    TRY(curandGeneratePoisson(generator, static_cast<unsigned*>(values), kCount, mean));
    moments("poisson", read_back(static_cast<unsigned*>(values), kCount));
  }
  return curandDestroyGenerator(generator);
}
