// Variables of the device: who may touch them, and in which order.
#include "expect.h"

__device__ int counter = 3, table[4] = {1, 2, 3, 4};
__constant__ float weights[8];
__managed__ int shared_value = 1;
__device__ volatile int flag;
static __device__ struct {
  int x;
} unnamed_type;
__device__ int* pointer;

__device__ int read_counter() { return counter; }

__global__ void use(float* out) {
  if (threadIdx.x == 0) {
    counter = read_counter() + table[3];
    shared_value++;
    flag = 1;
    unnamed_type.x = 4;
#ifdef PAST_THE_END
    *(long long*)&table[3] = 1;  // EXPECT(PAST_THE_END): out_of_bounds
#endif
  }
  out[threadIdx.x] = weights[threadIdx.x % 8];
#ifdef RACE
  table[0] = static_cast<int>(threadIdx.x);  // EXPECT(RACE): data_race
#endif
}

__global__ void same_value(int* done) {
  *done = 1;
#ifdef SAME_BUT_ONE
  if (threadIdx.x == 7) *done = 2;  // EXPECT(SAME_BUT_ONE): data_race
#endif
}

int main() {
  float *out, host[32], in[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  int value = 0, *address;
  CUDA(cudaMalloc(&out, sizeof host));
  CUDA(cudaMemcpyToSymbol(weights, in, sizeof in));
  cudaStream_t s;
  CUDA(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  use<<<1, 32, 0, s>>>(out);
#ifndef NO_SYNC
  CUDA(cudaStreamSynchronize(s));
#endif
  in[0] = 9;
  CUDA(cudaMemcpyToSymbol(weights, in, sizeof in));  // EXPECT(NO_SYNC): data_race
  CUDA(cudaStreamSynchronize(s));
  CUDA(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
  EXPECT(host[7] == 7 && host[31] == 7);
  CUDA(cudaMemcpyFromSymbol(&value, counter, sizeof value));
  EXPECT(value == 7);
  EXPECT(shared_value == 2);
  CUDA(cudaMemcpyFromSymbol(&value, table, sizeof value, 2 * sizeof(int)));
  EXPECT(value == 3);
  CUDA(cudaGetSymbolAddress((void**)&address, table));
  CUDA(cudaMemcpy(&value, address + 1, sizeof value, cudaMemcpyDeviceToHost));
  EXPECT(value == 2);
  std::size_t bytes = 0;
  CUDA(cudaGetSymbolSize(&bytes, table));
  EXPECT(bytes == 16);
#ifdef HOST_READS
  value = counter;  // EXPECT(HOST_READS): host_dereference
#endif
  CUDA(cudaMemcpyToSymbolAsync(table, in, 4, 0, cudaMemcpyHostToDevice, s));
  int* done;
  CUDA(cudaMalloc(&done, sizeof(int)));
  same_value<<<2, 32, 0, s>>>(done);
  CUDA(cudaMemcpyAsync(&value, done, sizeof value, cudaMemcpyDeviceToHost, s));
  CUDA(cudaStreamSynchronize(s));
  EXPECT(value != 0);
  CUDA(cudaFree(done));
  CUDA(cudaFree(out));
  return failures != 0;
}
