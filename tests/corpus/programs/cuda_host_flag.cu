// CORPUS run=1
// A running kernel and the host talk through mapped memory: requests go down, answers come back,
// each behind a flag, while the kernel stays resident.
//
// DEFECT DEVICE_FENCE scope_too_narrow: __threadfence does not reach the host
// DEFECT NO_FENCE readback_before_sync: nothing keeps the answer before its flag
// DEFECT NO_WAIT readback_before_sync: the host reads the answer without waiting for its flag
// DEFECT EARLY_REQUEST data_race: the host writes the next request while the last one is read
// DEFECT COVERED_WRITE data_race: the kernel clears what it reads by __ldg, and the host writes again
#include <cuda_runtime.h>

#include <atomic>
#include <cstdio>

#define REQUESTS 5
#define LANES 32

typedef struct {
  int request[LANES];
  int answer[LANES];
  volatile int asked;
  volatile int answered;
} Mailbox;

__global__ void server(Mailbox* box) {
  for (int round = 1; round <= REQUESTS; round++) {
    if (threadIdx.x == 0) {
      while (box->asked < round) {
      }
      __threadfence_system();
    }
    __syncthreads();
    // EXPECT EARLY_REQUEST
    int x = box->request[threadIdx.x];
#if defined(DEFECT_COVERED_WRITE)
    // EXPECT COVERED_WRITE
    x = __ldg(&box->request[threadIdx.x]);
    // EXPECT COVERED_WRITE
    if (round < REQUESTS) box->request[threadIdx.x] = 0;
#endif
    // EXPECT NO_FENCE NO_WAIT DEVICE_FENCE
    box->answer[threadIdx.x] = x * x + round;
#if defined(DEFECT_DEVICE_FENCE)
    __threadfence();
#elif !defined(DEFECT_NO_FENCE)
    __threadfence_system();
#endif
    __syncthreads();
    if (threadIdx.x == 0) box->answered = round;
  }
}

int main(void) {
  Mailbox *box, *dev;
  int wrong = 0;
  if (cudaSetDeviceFlags(cudaDeviceMapHost) != cudaSuccess) return 1;
  if (cudaHostAlloc((void**)&box, sizeof(Mailbox), cudaHostAllocMapped) != cudaSuccess) return 1;
  if (cudaHostGetDevicePointer((void**)&dev, box, 0) != cudaSuccess) return 1;
  box->asked = box->answered = 0;
  server<<<1, LANES>>>(dev);
  if (cudaGetLastError() != cudaSuccess) return 1;
  for (int round = 1; round <= REQUESTS; round++) {
    // EXPECT EARLY_REQUEST
    for (int i = 0; i < LANES; i++) box->request[i] = i + round;
    std::atomic_thread_fence(std::memory_order_seq_cst);
    box->asked = round;
#if defined(DEFECT_EARLY_REQUEST)
    if (round < REQUESTS) continue;
#endif
#if !defined(DEFECT_NO_WAIT)
    while (box->answered < round) {
    }
    std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
    // EXPECT NO_FENCE NO_WAIT DEVICE_FENCE
    for (int i = 0; i < LANES; i++) wrong += box->answer[i] != (i + round) * (i + round) + round;
  }
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  cudaFreeHost(box);
  printf(wrong ? "FAIL: %d wrong\n" : "PASS\n", wrong);
  return wrong ? 1 : 0;
}
