// CORPUS run=1
// Histogram in shared memory per block, merged by global atomics; bytes are read four at a time.
//
// DEFECT PLAIN_INCREMENT shared_memory_race: threads increment a bin without an atomic
// DEFECT NO_SYNC_ZERO shared_memory_race: counts while others still clear the bins
// DEFECT NO_SYNC_MERGE shared_memory_race: merges while others still count
// DEFECT PLAIN_MERGE data_race: blocks add to the result without an atomic
// DEFECT BIN_RANGE out_of_bounds: the largest value has no bin
#include "cuda_runtime.h"
#include "device_launch_parameters.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifdef DEFECT_BIN_RANGE
#define BINS 99
#else
#define BINS 100
#endif

__device__ void count(unsigned *bins, unsigned char value)
{
#ifdef DEFECT_PLAIN_INCREMENT
    // EXPECT PLAIN_INCREMENT
    bins[value]++;
#else
    // EXPECT BIN_RANGE NO_SYNC_ZERO NO_SYNC_MERGE
    atomicAdd(&bins[value], 1u);
#endif
}

__global__ void histogramKernel(const uchar4 *data, unsigned *result, int quads)
{
    __shared__ unsigned bins[BINS];
    for (int b = threadIdx.x; b < BINS; b += blockDim.x)
    {
        // EXPECT NO_SYNC_ZERO
        bins[b] = 0;
    }
#ifndef DEFECT_NO_SYNC_ZERO
    __syncthreads();
#endif
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < quads; i += gridDim.x * blockDim.x)
    {
        uchar4 q = data[i];
        count(bins, q.x);
        count(bins, q.y);
        count(bins, q.z);
        count(bins, q.w);
    }
#ifndef DEFECT_NO_SYNC_MERGE
    __syncthreads();
#endif
    for (int b = threadIdx.x; b < BINS; b += blockDim.x)
    {
#ifdef DEFECT_PLAIN_MERGE
        // EXPECT PLAIN_MERGE
        result[b] += bins[b];
#else
        // EXPECT NO_SYNC_MERGE
        atomicAdd(result + b, bins[b]);
#endif
    }
}

int main()
{
    const int n = 4000;
    static unsigned char data[n];
    unsigned expected[100] = { 0 }, result[BINS];
    for (int i = 0; i < n; i++)
    {
        data[i] = (unsigned char)((i * 7919u >> 3) % 100);
        expected[data[i]]++;
    }
    unsigned char *devData = 0;
    unsigned *devResult = 0;
    cudaError_t cudaStatus = cudaMalloc((void **)&devData, n);
    if (cudaStatus != cudaSuccess) goto Error;
    cudaStatus = cudaMalloc((void **)&devResult, sizeof(result));
    if (cudaStatus != cudaSuccess) goto Error;
    cudaStatus = cudaMemcpy(devData, data, n, cudaMemcpyHostToDevice);
    if (cudaStatus != cudaSuccess) goto Error;
    cudaStatus = cudaMemset(devResult, 0, sizeof(result));
    if (cudaStatus != cudaSuccess) goto Error;
    histogramKernel<<<4, 64>>>((const uchar4 *)devData, devResult, n / 4);
    cudaStatus = cudaGetLastError();
    if (cudaStatus != cudaSuccess) goto Error;
    cudaStatus = cudaDeviceSynchronize();
    if (cudaStatus != cudaSuccess) goto Error;
    cudaStatus = cudaMemcpy(result, devResult, sizeof(result), cudaMemcpyDeviceToHost);
Error:
    cudaFree(devData);
    cudaFree(devResult);
    if (cudaStatus != cudaSuccess)
    {
        fprintf(stderr, "failed: %s\n", cudaGetErrorString(cudaStatus));
        return 1;
    }
    return memcmp(result, expected, sizeof(result)) ? 1 : 0;
}
