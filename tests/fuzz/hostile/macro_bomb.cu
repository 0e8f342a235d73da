// Grows without end, in the preprocessor.
#include <cuda_runtime.h>
#define A(x) x x x x x x x x x x
#define B(x) A(A(A(A(x))))
#define C(x) B(B(x))
int main() { C(cudaFree(nullptr);) }
