// CORPUS run=1
// A chain of blocks, with the host at its head: each takes what the one before has left behind its
// flag, and leaves its own. The readers' fences and acquires reach as far as the writers'.
//
// DEFECT BLOCK_FENCE scope_too_narrow: the reader's fence does not reach the other block
// DEFECT BLOCK_ACQUIRE scope_too_narrow: nor does its acquire
// DEFECT BLOCK_ARRIVAL scope_too_narrow: nor does the fence behind a relaxed addition
// DEFECT DEVICE_FENCE scope_too_narrow: the first block's fence does not reach the host
#include <cuda/atomic>

#include <cuda_runtime.h>

#include <atomic>
#include <cstdio>

constexpr int kBlocks = 9;

struct Mail {
  int value;
  int flag;
};

__device__ int take_from_host(Mail* mail) {
  while (*(volatile int*)&mail->flag == 0) {
  }
#if defined(DEFECT_DEVICE_FENCE)
  __threadfence();
#else
  __threadfence_system();
#endif
  // EXPECT DEVICE_FENCE
  return mail->value;
}

__device__ int take(Mail* mail, int way) {
  if (way == 0) {
    while (*(volatile int*)&mail->flag == 0) {
    }
#if defined(DEFECT_BLOCK_FENCE)
    __threadfence_block();
#else
    __threadfence_block();
    __threadfence();
#endif
  } else if (way == 1) {
#if defined(DEFECT_BLOCK_ACQUIRE)
    cuda::atomic_ref<int, cuda::thread_scope_block> flag(mail->flag);
#else
    cuda::atomic_ref<int, cuda::thread_scope_device> flag(mail->flag);
#endif
    while (flag.load(cuda::memory_order_acquire) == 0) {
    }
  } else {
    while (atomicAdd(&mail->flag, 0) == 0) {
    }
#if defined(DEFECT_BLOCK_ARRIVAL)
    cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_block);
#else
    cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
#endif
  }
  // EXPECT BLOCK_FENCE BLOCK_ACQUIRE BLOCK_ARRIVAL
  return mail->value;
}

__global__ void chain(Mail* first, Mail* mails) {
  __shared__ int taken;
  int b = blockIdx.x;
  if (threadIdx.x == 0) taken = b == 0 ? take_from_host(first) : take(&mails[b - 1], b % 3);
  __syncthreads();
  if (threadIdx.x == 0) {
    // EXPECT BLOCK_FENCE BLOCK_ACQUIRE BLOCK_ARRIVAL
    mails[b].value = taken + b;
    __threadfence();
    atomicExch(&mails[b].flag, 1);
  }
}

int main() {
  Mail *first, *mails;
  if (cudaMallocHost((void**)&first, sizeof(Mail)) != cudaSuccess) return 1;
  if (cudaMalloc((void**)&mails, kBlocks * sizeof(Mail)) != cudaSuccess) return 1;
  if (cudaMemset(mails, 0, kBlocks * sizeof(Mail)) != cudaSuccess) return 1;
  first->flag = 0;
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  chain<<<kBlocks, 32>>>(first, mails);
  if (cudaGetLastError() != cudaSuccess) return 1;
  // EXPECT DEVICE_FENCE
  first->value = 5;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  *(volatile int*)&first->flag = 1;
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  Mail last;
  if (cudaMemcpy(&last, mails + kBlocks - 1, sizeof last, cudaMemcpyDeviceToHost) != cudaSuccess)
    return 1;
  bool pass = last.value == 5 + kBlocks * (kBlocks - 1) / 2;
  printf("%s\n", pass ? "PASS" : "FAIL");
  if (cudaFree(mails) != cudaSuccess || cudaFreeHost(first) != cudaSuccess) return 1;
  return pass ? 0 : 1;
}
