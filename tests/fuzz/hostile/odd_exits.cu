// Leaves in the middle of things: longjmp out of a kernel, exit in a destructor, a signal to all.
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <cuda_runtime.h>
static jmp_buf back;
struct Leaver {
  ~Leaver() { _Exit(0); }
} leaver;
__global__ void jump() { longjmp(back, 1); }
int main() {
  if (setjmp(back) == 0) {
    jump<<<2, 2>>>();
    cudaDeviceSynchronize();
  }
  kill(0, SIGTERM);
  raise(SIGSEGV);
}
