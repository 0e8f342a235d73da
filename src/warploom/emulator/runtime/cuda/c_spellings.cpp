// What C programs call by one name where C++ has templates.
#include "../../include/cuda_runtime.h"

extern "C" {

cudaError_t cudaMalloc(void** pointer, size_t bytes) { return warploom::allocate(pointer, bytes); }

cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  return warploom::allocate_pitch(pointer, pitch, width, height);
}

cudaError_t cudaMallocHost(void** pointer, size_t bytes) {
  return warploom::allocate_host(pointer, bytes);
}

cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned) {
  return warploom::allocate_host(pointer, bytes);
}

cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned) {
  return warploom::allocate_managed(pointer, bytes);
}

cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
  return warploom::allocate_async(pointer, bytes, stream);
}
}
