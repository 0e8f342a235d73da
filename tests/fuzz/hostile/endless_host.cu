// Never ends, on the host.
#include <cuda_runtime.h>
int main() {
  cudaFree(nullptr);
  for (volatile long i = 0;; ++i) {
  }
}
