// Prints without end.
#include <cuda_runtime.h>
#include <cstdio>
int main() {
  cudaFree(nullptr);
  for (;;) puts("Verification: PASS");
}
