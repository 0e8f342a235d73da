// CORPUS run=2
// One process, two devices: each has a stream, events and a kernel with much shared memory; halves
// of a sum go from one to the other. Waits for events may cross devices; records of them, launches
// and what cudaFuncSetAttribute allows are of one device.
//
// DEFECT FOREIGN_EVENT data_race: an event of the other device cannot be recorded, so nobody waits
// DEFECT FOREIGN_STREAM launch_error: a launch into a stream of a device that is not the current one
// DEFECT FOREIGN_ARRAY launch_error: the same through cudaLaunchKernelExC
// DEFECT FOREIGN_COOP launch_error: the same, cooperative
// DEFECT ALLOWED_ELSEWHERE launch_error: shared memory was asked for on the other device only
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#define MUST(call)                                                      \
  do {                                                                  \
    if ((call) != cudaSuccess) {                                        \
      std::fprintf(stderr, "line %d: %s failed\n", __LINE__, #call);    \
      std::exit(1);                                                     \
    }                                                                   \
  } while (0)

#if defined(DEFECT_FOREIGN_STREAM) || defined(DEFECT_FOREIGN_ARRAY) || defined(DEFECT_FOREIGN_COOP)
#define KEEPS_DEVICE
#elif !defined(DEFECT_FOREIGN_EVENT) && !defined(DEFECT_ALLOWED_ELSEWHERE)
#define LOOKS
#endif

constexpr int kThreads = 128, kShared = 60000;

// EXPECT FOREIGN_EVENT
__global__ void first(int* out) { out[threadIdx.x] = 3 * threadIdx.x; }

__global__ void second(const int* in, int* out) {
  extern __shared__ int tile[];
  // EXPECT FOREIGN_EVENT
  tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[kThreads - 1 - threadIdx.x];
}

int main() {
  int *a, *b, host[kThreads];
  cudaStream_t left, right;
  [[maybe_unused]] cudaError_t last;  // of a call whose error goes unseen
  cudaEvent_t done_left, done_right;
  MUST(cudaSetDevice(0));
  MUST(cudaMalloc(&a, sizeof host));
  MUST(cudaStreamCreateWithFlags(&left, cudaStreamNonBlocking));
  MUST(cudaEventCreateWithFlags(&done_left, cudaEventDisableTiming));
#if defined(DEFECT_ALLOWED_ELSEWHERE)
  MUST(cudaFuncSetAttribute(second, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared));
#endif
  MUST(cudaSetDevice(1));
  MUST(cudaDeviceEnablePeerAccess(0, 0));
  MUST(cudaMalloc(&b, sizeof host));
  MUST(cudaStreamCreateWithFlags(&right, cudaStreamNonBlocking));
  MUST(cudaEventCreateWithFlags(&done_right, cudaEventDisableTiming));
#if !defined(DEFECT_ALLOWED_ELSEWHERE)
  MUST(cudaFuncSetAttribute(second, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared));
#endif

#if !defined(KEEPS_DEVICE)
  MUST(cudaSetDevice(0));
#endif
#if defined(DEFECT_FOREIGN_ARRAY)
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(1);
  config.blockDim = dim3(kThreads);
  config.stream = left;
  void* args[] = {&a};
  // EXPECT FOREIGN_ARRAY
  last = cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(first), args);
#elif defined(DEFECT_FOREIGN_COOP)
  void* args[] = {&a};
  // EXPECT FOREIGN_COOP
  last = cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(first), 1, kThreads, args, 0,
                                     left);
#else
  // EXPECT FOREIGN_STREAM
  first<<<1, kThreads, 0, left>>>(a);
#endif
#if defined(LOOKS)
  MUST(cudaGetLastError());
#endif
#if defined(DEFECT_FOREIGN_EVENT)
  last = cudaEventRecord(done_right, left);
  MUST(cudaStreamWaitEvent(right, done_right, 0));
#else
  MUST(cudaEventRecord(done_left, left));
  MUST(cudaStreamWaitEvent(right, done_left, 0));
#endif
  MUST(cudaSetDevice(1));
  // EXPECT ALLOWED_ELSEWHERE
  second<<<1, kThreads, kShared, right>>>(a, b);
#if defined(LOOKS)
  MUST(cudaGetLastError());
#endif
  MUST(cudaMemcpyAsync(host, b, sizeof host, cudaMemcpyDeviceToHost, right));
  MUST(cudaEventRecord(done_right, right));
  // Neither a copy nor a wait of the host asks which device is current.
  MUST(cudaSetDevice(0));
  MUST(cudaEventSynchronize(done_right));
  MUST(cudaMemcpyAsync(b, a, sizeof host, cudaMemcpyDefault, right));
  MUST(cudaStreamSynchronize(right));
  bool good = true;
  for (int i = 0; i < kThreads; ++i) good = good && host[i] == 3 * (kThreads - 1 - i);
  MUST(cudaStreamDestroy(left));
  MUST(cudaStreamDestroy(right));
  MUST(cudaEventDestroy(done_left));
  MUST(cudaEventDestroy(done_right));
  MUST(cudaFree(a));
  MUST(cudaFree(b));
  std::printf("%s\n", good ? "PASS" : "FAIL");
  return good ? 0 : 1;
}
