// Never ends, in the preprocessor.
#include "program.cu"
#include <cuda_runtime.h>
int main() { return cudaFree(nullptr); }
