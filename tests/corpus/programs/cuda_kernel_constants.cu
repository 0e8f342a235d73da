// CORPUS run=1
// A filter whose settings are a parameter of the kernel in constant memory, and a scale that a pointer leads
// to. Each thread may change its plain parameters.
//
// DEFECT STORE data_race: the kernel normalizes its settings in place
// DEFECT SCALE data_race: the kernel changes a constant parameter through a cast
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

constexpr int kTaps = 4, kThreads = 64, kItems = 256;

struct Settings {
  float taps[kTaps];
  int count;
};

__device__ float filtered(const Settings& settings, const float* from) {
  float sum = 0;
  for (int i = 0; i < settings.count; i++) sum += settings.taps[i] * from[i];
  return sum;
}

__global__ void filter(const float* in, float* out, const __grid_constant__ Settings settings,
                       const float scale, int items) {
  const int stride = gridDim.x * blockDim.x;
  const float* by = &scale;
#ifdef DEFECT_STORE
  // EXPECT STORE
  const_cast<Settings&>(settings).count = kTaps;
#endif
#ifdef DEFECT_SCALE
  // EXPECT SCALE
  *const_cast<float*>(by) = 2.0f;
#endif
  items -= kTaps;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < items; i += stride) {
    out[i] = filtered(settings, in + i) * *by;
  }
}

int main() {
  std::vector<float> values(kItems), results(kItems);
  for (int i = 0; i < kItems; i++) values[i] = static_cast<float>(i % 11);
  float *in, *out;
  if (cudaMalloc(&in, kItems * sizeof(float)) || cudaMalloc(&out, kItems * sizeof(float))) return 1;
  if (cudaMemset(out, 0, kItems * sizeof(float))) return 1;
  if (cudaMemcpy(in, values.data(), kItems * sizeof(float), cudaMemcpyHostToDevice)) return 1;
  const Settings settings = {{1, 2, 3, 4}, kTaps};
  filter<<<2, kThreads>>>(in, out, settings, 2.0f, kItems);
  if (cudaGetLastError()) return 1;
  if (cudaMemcpy(results.data(), out, kItems * sizeof(float), cudaMemcpyDeviceToHost)) return 1;
  int wrong = 0;
  for (int i = 0; i < kItems - kTaps; i++) {
    float sum = 0;
    for (int k = 0; k < kTaps; k++) sum += settings.taps[k] * values[i + k];
    wrong += results[i] != 2 * sum;
  }
  if (cudaFree(in) || cudaFree(out)) return 1;
  std::printf("%d are wrong\n", wrong);
  return wrong ? 1 : 0;
}
