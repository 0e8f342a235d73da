// What the programs of this folder share: time by events, and one line for each case.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#define CUDA(call)                                                                     \
  do {                                                                                 \
    cudaError_t status_ = (call);                                                      \
    if (status_ != cudaSuccess) {                                                      \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status_)); \
      exit(1);                                                                         \
    }                                                                                  \
  } while (0)

inline void tell(const char* name, double value) { printf("%s %.6g\n", name, value); }

// Microseconds of `work` on `stream`, by events around it, after a first call.
template <typename Work>
double microseconds(cudaStream_t stream, const Work& work) {
  cudaEvent_t begin, end;
  CUDA(cudaEventCreate(&begin));
  CUDA(cudaEventCreate(&end));
  work();
  CUDA(cudaStreamSynchronize(stream));
  CUDA(cudaEventRecord(begin, stream));
  work();
  CUDA(cudaEventRecord(end, stream));
  CUDA(cudaEventSynchronize(end));
  float milliseconds;
  CUDA(cudaEventElapsedTime(&milliseconds, begin, end));
  CUDA(cudaEventDestroy(begin));
  CUDA(cudaEventDestroy(end));
  return milliseconds * 1e3;
}
