// Reads without end, in the preprocessor.
#include "/dev/zero"
#include <cuda_runtime.h>
int main() { return cudaFree(nullptr); }
