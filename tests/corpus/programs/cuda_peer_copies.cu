// CORPUS run=2
// One process, two devices: a buffer goes there and back by synchronous copies, which come after
// all that both devices were given before, and before all that they are given later. The host does
// not wait for a copy between devices.
//
// DEFECT PEER_ASYNC data_race: the copy goes with its own stream only, not with the other device's
// DEFECT COPY_ASYNC data_race: the copy back does not wait for the device that it reads from
// DEFECT FREE_STREAM data_race: a non-blocking stream takes no part in the default streams' order
// DEFECT NO_HOST_WAIT data_race|readback_before_sync: a copy between devices does not stop the host
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#define TRY(x)                                                        \
  do {                                                                \
    cudaError_t status_ = (x);                                        \
    if (status_ != cudaSuccess) {                                     \
      fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorName(status_)); \
      exit(2);                                                        \
    }                                                                 \
  } while (0)

const int kItems = 96;

// EXPECT PEER_ASYNC FREE_STREAM
__global__ void fill(int* to, int value) { to[threadIdx.x] = value + threadIdx.x; }
// EXPECT PEER_ASYNC COPY_ASYNC
__global__ void twice(int* v) { v[threadIdx.x] *= 2; }
// EXPECT NO_HOST_WAIT
__global__ void tell(const int* v, int* out) { *out = v[kItems - 1]; }

int main() {
  int *near_, *far_, *told;
  const size_t bytes = kItems * sizeof(int);
  cudaStream_t filling;
  TRY(cudaSetDevice(1));
  TRY(cudaMalloc(&far_, bytes));
  TRY(cudaSetDevice(0));
  TRY(cudaMalloc(&near_, bytes));
  TRY(cudaMallocHost(&told, sizeof(int)));
#ifdef DEFECT_FREE_STREAM
  TRY(cudaStreamCreateWithFlags(&filling, cudaStreamNonBlocking));
#else
  TRY(cudaStreamCreate(&filling));
#endif

  fill<<<1, kItems, 0, filling>>>(near_, 10);
  TRY(cudaGetLastError());
  TRY(cudaSetDevice(1));
#ifdef DEFECT_PEER_ASYNC
  // EXPECT PEER_ASYNC
  TRY(cudaMemcpyPeerAsync(far_, 1, near_, 0, bytes, 0));
#else
  // EXPECT FREE_STREAM
  TRY(cudaMemcpyPeer(far_, 1, near_, 0, bytes));
#endif
  twice<<<1, kItems>>>(far_);
  TRY(cudaGetLastError());
  TRY(cudaSetDevice(0));
#ifdef DEFECT_COPY_ASYNC
  // EXPECT COPY_ASYNC
  TRY(cudaMemcpyAsync(near_, far_, bytes, cudaMemcpyDefault));
#else
  TRY(cudaMemcpy(near_, far_, bytes, cudaMemcpyDefault));
#endif
  tell<<<1, 1>>>(near_, told);
  TRY(cudaGetLastError());
  TRY(cudaMemcpy2D(far_, 32 * sizeof(int), near_, 32 * sizeof(int), 8 * sizeof(int), 3,
                   cudaMemcpyDeviceToDevice));
#ifndef DEFECT_NO_HOST_WAIT
  TRY(cudaDeviceSynchronize());
#endif
  // EXPECT NO_HOST_WAIT
  const bool good = *told == 2 * (10 + kItems - 1);
  TRY(cudaDeviceSynchronize());
  TRY(cudaStreamDestroy(filling));
  TRY(cudaFreeHost(told));
  TRY(cudaFree(near_));
  TRY(cudaFree(far_));
  puts(good ? "ok" : "wrong");
  return good ? 0 : 1;
}
