// Work for bench/fiber_memory.py: all threads of all blocks wait at one barrier of the grid.
#include <cooperative_groups.h>
#include <cstdlib>

__global__ void meet(int* out) {
  cooperative_groups::this_grid().sync();
  if (blockIdx.x == 0 && threadIdx.x == 0) *out = 1;
}

int main(int argc, char** argv) {
  const int blocks = argc > 1 ? std::atoi(argv[1]) : 1;
  int* out;
  cudaMalloc(&out, sizeof(int));
  void* args[] = {&out};
  if (cudaLaunchCooperativeKernel((void*)meet, dim3(blocks), dim3(256), args) != cudaSuccess) return 1;
  int done = 0;
  cudaMemcpy(&done, out, sizeof done, cudaMemcpyDeviceToHost);
  return done ? 0 : 1;
}
