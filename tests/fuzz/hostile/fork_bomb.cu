// Forks until it is stopped; its children outlive it where nobody ends them.
#include <cuda_runtime.h>
#include <unistd.h>
int main() {
  cudaFree(nullptr);
  for (;;) {
    fork();
  }
}
