// Takes all the memory there is.
#include <cuda_runtime.h>
#include <cstdlib>
#include <cstring>
int main() {
  cudaFree(nullptr);
  for (;;) {
    void* part = malloc(64 << 20);
    if (part != nullptr) memset(part, 1, 64 << 20);
  }
}
