// CORPUS run=2
// One process, two devices: the host reads and writes the memory of the one that is not current.
// A synchronous copy runs on the device whose memory it is, behind all that it was given.
//
// DEFECT READ_ASYNC data_race: the copy goes with the current device's stream only
// DEFECT WRITE_ASYNC data_race: so does this one
// DEFECT FAR_SET data_race: a memset goes with the current device, whosever memory it sets
// DEFECT FREE_STREAM data_race: a non-blocking stream takes no part in the default streams' order
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#define TRY(x)                                                          \
  do {                                                                  \
    cudaError_t status_ = (x);                                          \
    if (status_ != cudaSuccess) {                                       \
      fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorName(status_)); \
      exit(2);                                                          \
    }                                                                   \
  } while (0)

const int kItems = 96;

// EXPECT READ_ASYNC WRITE_ASYNC FAR_SET FREE_STREAM
__global__ void fill(int* to, int value) { to[threadIdx.x] = value + threadIdx.x; }

int main() {
  int *far_, *host;
  const size_t bytes = kItems * sizeof(int);
  cudaStream_t filling;
  TRY(cudaMallocHost(&host, bytes));
  TRY(cudaSetDevice(1));
  TRY(cudaMalloc(&far_, bytes));
#ifdef DEFECT_FREE_STREAM
  TRY(cudaStreamCreateWithFlags(&filling, cudaStreamNonBlocking));
#else
  TRY(cudaStreamCreate(&filling));
#endif
  fill<<<1, kItems, 0, filling>>>(far_, 10);
  TRY(cudaGetLastError());

  TRY(cudaSetDevice(0));
#ifdef DEFECT_READ_ASYNC
  // EXPECT READ_ASYNC
  TRY(cudaMemcpyAsync(host, far_, bytes, cudaMemcpyDeviceToHost));
  TRY(cudaDeviceSynchronize());
#else
  // EXPECT FREE_STREAM
  TRY(cudaMemcpy(host, far_, bytes, cudaMemcpyDeviceToHost));
#endif
  bool good = host[1] == 11;

  TRY(cudaSetDevice(1));
  fill<<<1, kItems>>>(far_, 20);
  TRY(cudaGetLastError());
  TRY(cudaSetDevice(0));
#ifdef DEFECT_WRITE_ASYNC
  // EXPECT WRITE_ASYNC
  TRY(cudaMemcpyAsync(far_, host, bytes, cudaMemcpyHostToDevice));
  TRY(cudaDeviceSynchronize());
#else
  TRY(cudaMemcpy(far_, host, bytes, cudaMemcpyHostToDevice));
#endif
#ifdef DEFECT_FAR_SET
  TRY(cudaSetDevice(1));
  fill<<<1, kItems>>>(far_, 30);
  TRY(cudaGetLastError());
  TRY(cudaSetDevice(0));
  // EXPECT FAR_SET
  TRY(cudaMemset(far_, 0, bytes));
  TRY(cudaDeviceSynchronize());
#endif
  TRY(cudaSetDevice(1));
  TRY(cudaDeviceSynchronize());
  int again[kItems];
  TRY(cudaMemcpy(again, far_, bytes, cudaMemcpyDeviceToHost));
  good = good && again[2] == 12;
  TRY(cudaStreamDestroy(filling));
  TRY(cudaFreeHost(host));
  TRY(cudaFree(far_));
  puts(good ? "ok" : "wrong");
  return good ? 0 : 1;
}
