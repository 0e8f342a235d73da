// CORPUS run=2,4
// One process, all devices, one thread: ncclCommInitAll and groups, as in NCCL's first example.
//
// DEFECT NO_GROUP deadlock: one thread calls for each device in turn, and the first call waits
// DEFECT ONE_STREAM_SYNC readback_before_sync: waits for the first device only
// DEFECT GROUP_OPEN group_unclosed: the group is never ended
// DEFECT SAME_DEVICE duplicate_device: two ranks of one communicator on one device
#include <stdio.h>
#include <stdlib.h>
#include "cuda_runtime.h"
#include "nccl.h"

#define CUDACHECK(cmd) do {                         \
  cudaError_t err = cmd;                            \
  if (err != cudaSuccess) {                         \
    printf("Failed: Cuda error %s:%d '%s'\n",       \
        __FILE__,__LINE__,cudaGetErrorString(err)); \
    exit(EXIT_FAILURE);                             \
  }                                                 \
} while(0)

#define NCCLCHECK(cmd) do {                         \
  ncclResult_t res = cmd;                           \
  if (res != ncclSuccess) {                         \
    printf("Failed, NCCL error %s:%d '%s'\n",       \
        __FILE__,__LINE__,ncclGetErrorString(res)); \
    exit(EXIT_FAILURE);                             \
  }                                                 \
} while(0)

#define MAX_DEV 8
#define SIZE 1000

__global__ void fill(float* p, int dev) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < SIZE) p[i] = dev * 100 + i % 10;
}

int main(int argc, char* argv[])
{
  ncclComm_t comms[MAX_DEV];
  int nDev = 0, devs[MAX_DEV];
  CUDACHECK(cudaGetDeviceCount(&nDev));
  if (nDev > MAX_DEV) nDev = MAX_DEV;
  for (int i = 0; i < nDev; i++) devs[i] = i;
#ifdef DEFECT_SAME_DEVICE
  devs[nDev - 1] = 0;
#endif

  float* sendbuff[MAX_DEV];
  float* recvbuff[MAX_DEV];
  float* host[MAX_DEV];
  cudaStream_t s[MAX_DEV];
  for (int i = 0; i < nDev; ++i) {
    CUDACHECK(cudaSetDevice(devs[i]));
    CUDACHECK(cudaMalloc((void**)&sendbuff[i], SIZE * sizeof(float)));
    CUDACHECK(cudaMalloc((void**)&recvbuff[i], SIZE * sizeof(float)));
    CUDACHECK(cudaMallocHost((void**)&host[i], SIZE * sizeof(float)));
    CUDACHECK(cudaStreamCreate(&s[i]));
  }
  // EXPECT SAME_DEVICE
  NCCLCHECK(ncclCommInitAll(comms, nDev, devs));

  for (int i = 0; i < nDev; ++i) {
    CUDACHECK(cudaSetDevice(devs[i]));
    fill<<<(SIZE + 255) / 256, 256, 0, s[i]>>>(sendbuff[i], i);
    CUDACHECK(cudaGetLastError());
  }
#ifndef DEFECT_NO_GROUP
  // EXPECT GROUP_OPEN
  NCCLCHECK(ncclGroupStart());
#endif
  for (int i = 0; i < nDev; ++i) {
    // EXPECT NO_GROUP
    NCCLCHECK(ncclAllReduce((const void*)sendbuff[i], (void*)recvbuff[i], SIZE, ncclFloat, ncclSum, comms[i], s[i]));
#ifdef DEFECT_NO_GROUP
    CUDACHECK(cudaSetDevice(i));
    // EXPECT NO_GROUP
    CUDACHECK(cudaStreamSynchronize(s[i]));
#endif
  }
#if !defined(DEFECT_NO_GROUP) && !defined(DEFECT_GROUP_OPEN)
  NCCLCHECK(ncclGroupEnd());
#endif

  for (int i = 0; i < nDev; ++i) {
    CUDACHECK(cudaSetDevice(i));
    // EXPECT ONE_STREAM_SYNC
    CUDACHECK(cudaMemcpyAsync(host[i], recvbuff[i], SIZE * sizeof(float), cudaMemcpyDeviceToHost, s[i]));
  }
  for (int i = 0; i < nDev; ++i) {
    CUDACHECK(cudaSetDevice(i));
#ifdef DEFECT_ONE_STREAM_SYNC
    CUDACHECK(cudaStreamSynchronize(s[0]));
#else
    CUDACHECK(cudaStreamSynchronize(s[i]));
#endif
  }
  int wrong = 0;
  for (int i = 0; i < nDev; ++i) {
    for (int j = 0; j < SIZE; j++) {
      // EXPECT ONE_STREAM_SYNC
      wrong += host[i][j] != 50 * nDev * (nDev - 1) + nDev * (j % 10);
    }
  }
  for (int i = 0; i < nDev; ++i) {
    CUDACHECK(cudaSetDevice(i));
    CUDACHECK(cudaStreamSynchronize(s[i]));
    CUDACHECK(cudaFree(sendbuff[i]));
    CUDACHECK(cudaFree(recvbuff[i]));
    CUDACHECK(cudaFreeHost(host[i]));
    CUDACHECK(cudaStreamDestroy(s[i]));
    ncclCommDestroy(comms[i]);
  }
  if (wrong) return 1;
  printf("Success \n");
  return 0;
}
