// Launches through functions, attributes, pools, volumes, symbols, the driver API, NVTX.
#include <cuda.h>
#include <cuda_profiler_api.h>
#include <nvToolsExt.h>
#include <nvtx3/nvToolsExt.h>

#include "expect.h"

__noinline__ __device__ int twice(int value) { return 2 * value; }

__global__ void fill(int* p, int value, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = twice(value);
}
template <class T>
__global__ void scale(T* p, T factor) {
  p[threadIdx.x] *= factor;
}
namespace inner {
__global__ void bump(int* p) { p[threadIdx.x]++; }
}  // namespace inner

// A bare 0 is a number for `first`, and no place for `second`.
template <class T>
__global__ void sum(T first, int* result, int* second) {
  *result = static_cast<int>(first) + sizeof first + (second ? 100 : 0);
}
template <class T>
__global__ void deduced(T value, int* result) {
  *result = static_cast<int>(value) + sizeof value;
}

struct Shape {
  dim3 gridDim, blockDim;
};

static void launch_shape(dim3 gridDim, dim3 blockDim, int* p, int n) {
  fill<<<gridDim, blockDim>>>(p, 4, n);
}

int main() {
  int *p, host[64], value = 5, n = 64, factor = 3;
  CUDA(cudaMalloc((void**)&p, n * sizeof(int)));
  const auto look = [&] {
    CUDA(cudaMemcpy(host, p, sizeof host, cudaMemcpyDeviceToHost));
    return host[63];
  };
  dim3 blockDim(32), gridDim((n + blockDim.x - 1) / blockDim.x);
  void* args[] = {&p, &value, &n};
  CUDA(cudaLaunchKernel((void*)fill, gridDim, blockDim, args, 0, 0));
  EXPECT(look() == 10);
  void* more[] = {(void*)&p, (void*)&factor};
  CUDA(cudaLaunchKernel((const void*)scale<int>, dim3(1), dim3(64), more));
  EXPECT(look() == 30);
  const void* chosen = value > 4 ? (const void*)&inner::bump : (const void*)fill;
  CUDA(cudaLaunchKernel(chosen, 1, 64, more, 0, nullptr));
  EXPECT(look() == 31);
  CUDA(cudaLaunchKernel(&inner::bump, 1, 64, more));
  EXPECT(look() == 32);
  const Shape shape = {2, 32};
  launch_shape(shape.gridDim, shape.blockDim, p, n);
  EXPECT(look() == 8);

  const auto result = [&] {
    look();
    return host[0];
  };
  sum<double><<<1, 1>>>(0, p, 0);
  EXPECT(result() == 8);
  auto other = sum<short>;
  other<<<1, 1>>>(1, p, 0);
  EXPECT(result() == 3);
  deduced<<<1, 1>>>(0, p);
  EXPECT(result() == 4);
  deduced<long long><<<1, 1, 0, 0>>>(0, p);
  EXPECT(result() == 8);

  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(1);
  config.blockDim = dim3(64);
  cudaLaunchAttribute attribute[1];
  attribute[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute[0].val.programmaticStreamSerializationAllowed = 1;
  config.attrs = attribute;
  config.numAttrs = 1;
  CUDA(cudaLaunchKernelEx(&config, scale<int>, p, 2));
  EXPECT(look() == 16);
  CUDA(cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(inner::bump), more));
  EXPECT(look() == 17);

  int grid = 0, block = 0;
  CUDA(cudaOccupancyMaxPotentialBlockSize(&grid, &block, fill, 0, 0));
  EXPECT(grid > 0 && block > 0);
  CUDA(cudaOccupancyMaxPotentialBlockSizeVariableSMem(&grid, &block, fill,
                                                      [](int threads) { return threads * 4; }));
  CUDA(cudaFuncSetAttribute((const void*)fill, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536));

  cudaMemPool_t pool;
  CUDA(cudaDeviceGetDefaultMemPool(&pool, 0));
  unsigned long long threshold = ~0ull, read = 0;
  CUDA(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  CUDA(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &read));
  EXPECT(read == threshold);
  int* pooled;
  CUDA(cudaMallocFromPoolAsync(&pooled, 64, pool, 0));
  CUDA(cudaFreeAsync(pooled, 0));

  cudaPitchedPtr cube;
  const cudaExtent extent = make_cudaExtent(4 * sizeof(int), 3, 2);
  CUDA(cudaMalloc3D(&cube, extent));
  int in[24], out[24];
  for (int i = 0; i < 24; i++) in[i] = i, out[i] = -1;
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(in, 4 * sizeof(int), 4, 3);
  copy.dstPtr = cube;
  copy.extent = extent;
  copy.kind = cudaMemcpyHostToDevice;
  CUDA(cudaMemcpy3D(&copy));
  copy.srcPtr = cube;
  copy.dstPtr = make_cudaPitchedPtr(out, 4 * sizeof(int), 4, 3);
  copy.kind = cudaMemcpyDeviceToHost;
  CUDA(cudaMemcpy3D(&copy));
  EXPECT(out[0] == 0 && out[13] == 13 && out[23] == 23);
  CUDA(cudaFree(cube.ptr));

  int* managed;
  CUDA(cudaMallocManaged(&managed, 64));
  CUDA(cudaMemPrefetchAsync(managed, 64, 0, 0));
  cudaMemLocation place = {cudaMemLocationTypeDevice, 0};
  CUDA(cudaMemPrefetchAsync(managed, 64, place, 0, 0));
  CUDA(cudaMemAdvise(managed, 64, cudaMemAdviseSetReadMostly, 0));
  CUDA(cudaFree(managed));

  EXPECT(cuInit(0) == CUDA_SUCCESS);
  CUdevice device;
  CUcontext context;
  const char* name;
  EXPECT(cuDeviceGet(&device, 0) == CUDA_SUCCESS);
  EXPECT(cuCtxGetCurrent(&context) == CUDA_SUCCESS && context);
  EXPECT(cuGetErrorName(CUDA_ERROR_INVALID_VALUE, &name) == CUDA_SUCCESS && name);
  CUDA(cudaProfilerStart());
  nvtxRangePushA("range");
  nvtxRangePop();
  CUDA(cudaProfilerStop());
  CUDA(cudaThreadSynchronize());
  CUDA(cudaFree(p));
  return failures != 0;
}
