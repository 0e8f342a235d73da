// cuRAND on the device: known answers, jumps, and the moments of distributions.
#include <cuda_runtime.h>
#include <curand_kernel.h>

#include <cmath>
#include <cstdlib>
#include <vector>

#include "expect.h"

__global__ void known(unsigned* out) {
  // Of the authors of Philox: counter and key of zeros, and of ones.
  const uint4 zeros = curand_Philox4x32_10(make_uint4(0, 0, 0, 0), make_uint2(0, 0));
  const uint4 ones = curand_Philox4x32_10(make_uint4(~0u, ~0u, ~0u, ~0u), make_uint2(~0u, ~0u));
  const uint4 both[] = {zeros, ones};
  for (int i = 0; i < 2; i++) {
    out[4 * i] = both[i].x;
    out[4 * i + 1] = both[i].y;
    out[4 * i + 2] = both[i].z;
    out[4 * i + 3] = both[i].w;
  }
  curandState state;
  curand_init(0x123456789, 5, 2, &state);
  for (int i = 8; i < 11; i++) out[i] = curand(&state);
}

template <class State>
__device__ int check_jumps() {
  State one, two;
  int wrong = 0;
  curand_init(1234, 5, 0, &one);
  for (int i = 0; i < 13; i++) curand(&one);
  curand_init(1234, 5, 13, &two);
  wrong |= curand(&one) != curand(&two);
  curand_init(1234, 3, 14, &two);
  skipahead_sequence(2, &two);
  wrong |= (curand(&one) != curand(&two)) << 1;
  skipahead(1000, &one);
  for (int i = 0; i < 1000; i++) curand(&two);
  wrong |= (curand(&one) != curand(&two)) << 2;
  curand_init(1235, 5, 15, &two);
  wrong |= (curand(&one) == curand(&two)) << 3;
  // The steps by which cuRAND's header calls them.
  two = one;
  wrong |= (curand_uniform(&one) != _curand_uniform(curand(&two))) << 29;
  State three = one, four = one;
  const unsigned x = curand(&three), y = curand(&three);
  wrong |= (curand_normal(&four) != _curand_box_muller(x, y).x) << 30;
  return wrong;
}
__global__ void jumps(int* wrong) {
  wrong[0] = check_jumps<curandState>();
  wrong[1] = check_jumps<curandStatePhilox4_32_10_t>();
}

__global__ void setup(curandState* states, unsigned long long seed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  curand_init(seed, i, 0, &states[i]);
}
template <class State>
__device__ void draw(State& state, float* uniform, float* normal, int i, int count, int n) {
  for (int k = 0; k < count; k++) {
    uniform[i + k * n] = curand_uniform(&state);
    normal[i + k * n] = curand_normal(&state);
  }
}
__global__ void draws(curandState* states, float* uniform, float* normal, int count, bool philox) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  if (philox) {
    curandStatePhilox4_32_10_t state;
    curand_init(7, i, 0, &state);
    draw(state, uniform, normal, i, count, n);
  } else {
    curandState state = states[i];
    draw(state, uniform, normal, i, count, n);
    states[i] = state;
  }
}
__global__ void other(curandStateScrambledSobol32* state) {
  curand_init(1, 2, 3, state);  // 80
}

static void moments(const std::vector<float>& x, double mean, double variance) {
  double sum = 0, squares = 0;
  for (const float value : x) sum += value, squares += value * value;
  sum /= x.size();
  EXPECT(std::abs(sum - mean) < 0.02);
  EXPECT(std::abs(squares / x.size() - sum * sum - variance) < 0.05);
}

int main(int count, char**) {
  constexpr int n = 256, each = 64;
  unsigned* bits;
  int* wrong;
  CUDA(cudaMalloc(&bits, 11 * sizeof(unsigned)));
  CUDA(cudaMalloc(&wrong, 2 * sizeof(int)));
  known<<<1, 1>>>(bits);
  jumps<<<1, 1>>>(wrong);
  unsigned got[11];
  int faults[2];
  CUDA(cudaMemcpy(got, bits, sizeof got, cudaMemcpyDeviceToHost));
  CUDA(cudaMemcpy(faults, wrong, sizeof faults, cudaMemcpyDeviceToHost));
  const unsigned want[8] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8,
                            0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd};
  for (int i = 0; i < 8; i++) EXPECT(got[i] == want[i]);
  std::printf("xorwow %u %u %u\n", got[8], got[9], got[10]);
  EXPECT(faults[0] == 0);
  EXPECT(faults[1] == 0);
  curandState* states;
  float *uniform, *normal;
  CUDA(cudaMalloc(&states, n * sizeof(curandState)));
  CUDA(cudaMalloc(&uniform, n * each * sizeof(float)));
  CUDA(cudaMalloc(&normal, n * each * sizeof(float)));
  setup<<<n / 64, 64>>>(states, 42);
  std::vector<float> host(n * each);
  for (const bool philox : {false, true}) {
    draws<<<n / 64, 64>>>(states, uniform, normal, each, philox);
    CUDA(cudaMemcpy(host.data(), uniform, host.size() * sizeof(float), cudaMemcpyDeviceToHost));
    moments(host, 0.5, 1.0 / 12);
    CUDA(cudaMemcpy(host.data(), normal, host.size() * sizeof(float), cudaMemcpyDeviceToHost));
    moments(host, 0, 1);
  }
  if (count > 1) {
    curandStateScrambledSobol32* state;
    CUDA(cudaMalloc(&state, sizeof *state));
    other<<<1, 1>>>(state);
    CUDA(cudaDeviceSynchronize());
  }
  return failures != 0;
}
