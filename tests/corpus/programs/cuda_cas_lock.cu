// CORPUS run=1
// An account that blocks change behind a lock of compare-and-swap and exchange, in the old style:
// both atomics are relaxed, and the fences around the critical section make the order.
//
// DEFECT NO_FENCE_INSIDE data_race: nothing orders the section's reads behind the taking of the lock
// DEFECT NO_FENCE_OUTSIDE data_race: the lock is given back before the section's writes are published
// DEFECT BLOCK_FENCES scope_too_narrow: fences of block scope between blocks
#include <cuda_runtime.h>

#include <stdio.h>

#ifdef DEFECT_BLOCK_FENCES
#define FENCE() __threadfence_block()
#else
#define FENCE() __threadfence()
#endif

struct Account {
  int lock;
  int balance;
  int bookings;
};

__global__ void book(Account *account, int *slots, const int *amounts, int each) {
  if (threadIdx.x != 0) return;
  slots[blockIdx.x] = each;
  FENCE();  // for whoever reads the slots in the section
  for (int i = 0; i < each; ++i) {
    while (atomicCAS(&account->lock, 0, 1) != 0) {
    }
#ifndef DEFECT_NO_FENCE_INSIDE
    FENCE();
#endif
    // EXPECT NO_FENCE_INSIDE NO_FENCE_OUTSIDE BLOCK_FENCES
    account->balance += amounts[blockIdx.x * each + i];
    // EXPECT NO_FENCE_INSIDE NO_FENCE_OUTSIDE BLOCK_FENCES
    account->bookings += 1;
#ifndef DEFECT_NO_FENCE_OUTSIDE
    FENCE();
#endif
    atomicExch(&account->lock, 0);
  }
}

int main(void) {
  const int blocks = 6, each = 5;
  Account *account, result;
  int *slots, *amounts, host[blocks * each], want = 0;
  for (int i = 0; i < blocks * each; ++i) want += host[i] = 3 * i - 17;
  if (cudaMalloc(&account, sizeof *account) != cudaSuccess) return 2;
  if (cudaMalloc(&slots, blocks * sizeof(int)) != cudaSuccess) return 2;
  if (cudaMalloc(&amounts, sizeof host) != cudaSuccess) return 2;
  if (cudaMemset(account, 0, sizeof *account) != cudaSuccess) return 2;
  if (cudaMemcpy(amounts, host, sizeof host, cudaMemcpyHostToDevice) != cudaSuccess) return 2;
  book<<<blocks, 32>>>(account, slots, amounts, each);
  if (cudaGetLastError() != cudaSuccess || cudaDeviceSynchronize() != cudaSuccess) return 2;
  if (cudaMemcpy(&result, account, sizeof result, cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
  const int good = result.balance == want && result.bookings == blocks * each;
  printf("balance %d of %d, %d bookings: %s\n", result.balance, want, result.bookings,
         good ? "PASS" : "FAIL");
  cudaFree(amounts);
  cudaFree(slots);
  cudaFree(account);
  return good ? 0 : 1;
}
