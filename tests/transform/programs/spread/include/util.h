#pragma once
#include <cstdio>
#include <cstdlib>
#define CUDA(call) do { cudaError_t e = (call); if (e != cudaSuccess) { fprintf(stderr, "%s\n", cudaGetErrorString(e)); exit(1); } } while (0)
#define NCCL(call) do { ncclResult_t r = (call); if (r != ncclSuccess) { fprintf(stderr, "%s\n", ncclGetErrorString(r)); exit(1); } } while (0)
