// CORPUS run=1
// A chain of kernels by programmatic dependent launch: each may begin before the one ahead of it
// has ended, sets up what is its own meanwhile, and waits before it touches what the others do.
//
// DEFECT NO_WAIT data_race: a kernel reads what the one ahead of it wrote, without the wait
// DEFECT WAIT_TOO_LATE data_race: the wait comes after the read
// DEFECT WRITES_TOO_EARLY data_race: it writes over what the kernel ahead of it still reads
// DEFECT LINK_MISSING data_race: a kernel between the two that waits for nothing passes nothing on
// DEFECT EARLY_BY_PTX data_race: the kernel ahead lets it begin by PTX, and it does not wait
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

static void ok(cudaError_t status, int line) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%d: %s\n", line, cudaGetErrorString(status));
  std::exit(1);
}
#define OK(call) ok((call), __LINE__)

enum { kThreads = 64, kBlocks = 4, kItems = kThreads * kBlocks };

__global__ void scale(const float* in, const float* weights, float* out, float* spare) {
  __shared__ float own[kThreads];
  const int i = blockIdx.x * kThreads + threadIdx.x;
  own[threadIdx.x] = weights[i];  // written long before: no need to wait for it
#if defined(DEFECT_WRITES_TOO_EARLY)
  // EXPECT WRITES_TOO_EARLY
  if (spare != nullptr) spare[i] = 0;
#endif
#if defined(DEFECT_EARLY_BY_PTX)
  asm volatile("griddepcontrol.launch_dependents;");
#elif defined(DEFECT_WAIT_TOO_LATE)
  // EXPECT WAIT_TOO_LATE
  const float early = in[(i + kThreads) % kItems];
  cudaGridDependencySynchronize();
#elif !defined(DEFECT_NO_WAIT)
  if (threadIdx.x == 0) cudaTriggerProgrammaticLaunchCompletion();
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
#if !defined(DEFECT_WAIT_TOO_LATE)
  // EXPECT NO_WAIT EARLY_BY_PTX WRITES_TOO_EARLY LINK_MISSING
  const float early = in[(i + kThreads) % kItems];
#endif
  // EXPECT NO_WAIT WAIT_TOO_LATE EARLY_BY_PTX LINK_MISSING
  out[i] = early * own[threadIdx.x];
}

#if defined(DEFECT_LINK_MISSING)
__global__ void nothing() {}
#endif

// Here one thread of each block waits, for all of them.
__global__ void shift(const float* in, float* out) {
  if (threadIdx.x == 0) cudaGridDependencySynchronize();
  __syncthreads();
  const int i = blockIdx.x * kThreads + threadIdx.x;
  out[i] = in[(i + 1) % kItems] + 1.0f;
  cudaTriggerProgrammaticLaunchCompletion();
}

int main() {
  std::vector<float> host(kItems, 2.0f);
  float *x, *y, *z, *weights;
  const size_t bytes = kItems * sizeof(float);
  for (float** p : {&x, &y, &z, &weights}) OK(cudaMalloc(p, bytes));
  cudaStream_t stream;
  OK(cudaStreamCreate(&stream));
  OK(cudaMemcpy(weights, host.data(), bytes, cudaMemcpyHostToDevice));
  OK(cudaMemcpyAsync(x, host.data(), bytes, cudaMemcpyHostToDevice, stream));

  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(kBlocks);
  config.blockDim = dim3(kThreads);
  config.stream = stream;
  cudaLaunchAttribute overlap[1];
  overlap[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap[0].val.programmaticStreamSerializationAllowed = 1;
  config.attrs = overlap;
  config.numAttrs = 1;
  for (int round = 0; round < 2; ++round) {
    float* none = nullptr;
    OK(cudaLaunchKernelEx(&config, scale, x, weights, y, none));
#if defined(DEFECT_LINK_MISSING)
    OK(cudaLaunchKernelEx(&config, nothing));
#endif
    OK(cudaLaunchKernelEx(&config, scale, y, weights, z, x));
    OK(cudaLaunchKernelEx(&config, shift, z, x));
  }
  // What is launched in the usual way comes after all of it.
  scale<<<kBlocks, kThreads, 0, stream>>>(x, weights, y, static_cast<float*>(nullptr));
  OK(cudaGetLastError());
  OK(cudaMemcpyAsync(host.data(), y, bytes, cudaMemcpyDeviceToHost, stream));
  OK(cudaStreamSynchronize(stream));
  const bool good = host[5] == ((2.0f * 4 + 1) * 4 + 1) * 2;
  for (float* p : {x, y, z, weights}) OK(cudaFree(p));
  OK(cudaStreamDestroy(stream));
  std::printf("%s\n", good ? "PASS" : "FAIL");
  return good ? 0 : 1;
}
