// CORPUS run=1
// Atomics of the program's own, by compare-and-swap: kernel and host raise a maximum together, and
// the kernel sums in a variable of the device. The loops begin with a plain read, which the swap
// checks.
//
// DEFECT HOST_STORES data_race: the host stores the new maximum instead of swapping it in
// DEFECT HOST_LOOKS readback_before_sync: the host looks at the maximum while the kernel raises it
// DEFECT PLAIN_SUM data_race: threads add to the sum without the swap
#include <cuda_runtime.h>

#include <cstdio>

__device__ double sum;

__device__ void add(double *address, double value) {
  unsigned long long *bits = (unsigned long long *)address;
  // EXPECT PLAIN_SUM
  unsigned long long old = *bits, assumed;
#ifdef DEFECT_PLAIN_SUM
  assumed = old;
  // EXPECT PLAIN_SUM
  *bits = __double_as_longlong(value + __longlong_as_double(assumed));
#else
  do {
    assumed = old;
    old = atomicCAS(bits, assumed, __double_as_longlong(value + __longlong_as_double(assumed)));
  } while (assumed != old);
#endif
}

__global__ void raise(int *most, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  // EXPECT HOST_STORES HOST_LOOKS
  atomicMax_system(most, i);
  add(&sum, i % 7);
}

static void raiseOnHost(int *most, int value) {
#if defined(DEFECT_HOST_STORES)
  int expected = *most;
  // EXPECT HOST_STORES
  if (value > expected) *most = value;
#elif defined(DEFECT_HOST_LOOKS)
  int expected;
  do {
    expected = __sync_fetch_and_add(most, 0);
  } while (!__sync_bool_compare_and_swap(most, expected, value > expected ? value : expected));
  // EXPECT HOST_LOOKS
  if (*most < value) printf("lost\n");
#else
  int expected, old;
  do {
    expected = *most;
    old = __sync_val_compare_and_swap(most, expected, value > expected ? value : expected);
  } while (old != expected);
#endif
}

int main() {
  const int n = 1000;
  int *most;
  double want = 0, got = 0;
  if (cudaMallocManaged((void **)&most, sizeof(int)) != cudaSuccess) return 1;
  *most = 0;
  raise<<<(n + 127) / 128, 128>>>(most, n);
  if (cudaGetLastError() != cudaSuccess) return 1;
  for (int i = n; i < n + 50; i++) raiseOnHost(most, i);
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  for (int i = 0; i < n; i++) want += i % 7;
  if (cudaMemcpyFromSymbol(&got, sum, sizeof(double)) != cudaSuccess) return 1;
  bool pass = *most == n + 49 && got == want;
  if (cudaFree(most) != cudaSuccess) return 1;
  printf("Result = %s\n", pass ? "PASS" : "FAIL");
  return pass ? 0 : 1;
}
