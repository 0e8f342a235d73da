// An event that is recorded again: who asks it is told of its last record, who waits already of the
// one before.
#include "expect.h"

__global__ void wait_for(volatile int* flag) {
  while (*flag == 0) {
  }
}
__global__ void set(int* p, int value) { *p = value; }

int main() {
  int *flag, *seen;
  float ms = -1;
  CUDA(cudaMallocHost(&flag, sizeof(int)));
  CUDA(cudaMallocHost(&seen, sizeof(int)));
  *flag = *seen = 0;
  cudaStream_t held, free, behind;
  for (cudaStream_t* s : {&held, &free, &behind}) {
    CUDA(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
  }
  cudaEvent_t event, begin;
  CUDA(cudaEventCreate(&event));
  CUDA(cudaEventCreate(&begin));

  // Never recorded: nothing to wait for, and no time.
  EXPECT(cudaEventQuery(event) == cudaSuccess);
  CUDA(cudaEventSynchronize(event));
  CUDA(cudaStreamWaitEvent(free, event));
  EXPECT(cudaEventElapsedTime(&ms, begin, event) == cudaErrorInvalidResourceHandle);

  CUDA(cudaEventRecord(begin, free));
  CUDA(cudaEventRecord(event, free));
  CUDA(cudaEventSynchronize(event));
  CUDA(cudaEventElapsedTime(&ms, begin, event));
  EXPECT(ms >= 0);

  // A record that lies behind a kernel that waits is not reached, whatever was reached before.
  wait_for<<<1, 1, 0, held>>>(flag);
  CUDA(cudaEventRecord(event, held));
  CUDA(cudaStreamWaitEvent(behind, event));
  set<<<1, 1, 0, behind>>>(seen, 1);
  EXPECT(cudaEventQuery(event) == cudaErrorNotReady);
  EXPECT(cudaEventElapsedTime(&ms, begin, event) == cudaErrorNotReady);

  // Recorded on a free stream, it is over at once; `behind` still waits for the other record.
  CUDA(cudaEventRecord(event, free));
  CUDA(cudaEventSynchronize(event));
  EXPECT(cudaEventQuery(event) == cudaSuccess);
  CUDA(cudaEventElapsedTime(&ms, begin, event));
  EXPECT(cudaStreamQuery(behind) == cudaErrorNotReady);
  CUDA(cudaEventDestroy(event));
  EXPECT(cudaStreamQuery(behind) == cudaErrorNotReady);
  *static_cast<volatile int*>(flag) = 1;
  CUDA(cudaStreamSynchronize(behind));
  EXPECT(*seen == 1);
  CUDA(cudaDeviceSynchronize());
  return failures != 0;
}
