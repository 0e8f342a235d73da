// Writes all over the emulator's address space.
#include <cuda_runtime.h>
int main() {
  cudaFree(nullptr);
  int here = 0;
  for (long at = -4096; at < (1L << 40); at += 4096) {
    *reinterpret_cast<volatile long*>(reinterpret_cast<char*>(&here) + at) = at;
  }
}
