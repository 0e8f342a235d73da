// One defect for each macro, and the line that must be named; with no macro nothing is wrong.
#include <vector>

static __global__ void small(float* data) {
  data[threadIdx.x] = 1;  // EXPECT(SMALL_KERNEL): out_of_bounds
}

// More blocks than fit at once, but each waits for itself only.
static __global__ void stuck(float* data) {
  if (threadIdx.x == 1) __syncwarp(0x3);  // EXPECT(STUCK_WARP): deadlock
  __syncthreads();
  data[0] = 1;
}

__global__ void work(float* data, int n, float* other) {
  __shared__ float tile[64];
  const int i = threadIdx.x;
#ifdef SHARED_RACE
  tile[i] = data[i];
  data[i] = tile[(i + 1) % 64];  // EXPECT(SHARED_RACE): shared_memory_race
#else
  tile[i] = data[i];
  __syncthreads();
  data[i] = tile[(i + 1) % 64];
#endif
#ifdef OUT_OF_BOUNDS
  if (i == 63) data[n] = 1;  // EXPECT(OUT_OF_BOUNDS): out_of_bounds
#endif
#ifdef SHARED_BOUNDS
  if (i == 63) tile[i + 1] = 1;  // EXPECT(SHARED_BOUNDS): out_of_bounds
#endif
#ifdef DIVERGENT
  if (i < 32) {
    __syncthreads();  // EXPECT(DIVERGENT): divergent_barrier
  } else {
    __syncthreads();
  }
#endif
#ifdef SKIPPED
  if (i < 32) __syncthreads();  // EXPECT(SKIPPED): divergent_barrier
#endif
#ifdef WARP_MASK
  // Lanes that no mask names wait for nobody: that would only hide what comes later.
  data[i] = __shfl_up_sync(0xffff, data[i], 16);  // EXPECT(WARP_MASK): warp_mask
  data[i] = __shfl_sync(0xffffffff, data[i], 0);
#endif
#ifdef GLOBAL_RACE
  other[0] = static_cast<float>(i);  // EXPECT(GLOBAL_RACE): data_race
#endif
#ifdef HOST_POINTER
  data[i] += other[i];  // EXPECT(HOST_POINTER): device_dereference_host
#endif
#ifdef WAIT
  if (i == 0) {
    while (*(volatile float*)other != 7.0f) {
    }
  }
  __syncthreads();  // EXPECT(WAIT): deadlock
#endif
#ifdef SPIN
  if (i == 0) {
    while (*(volatile float*)other != 7.0f) {  // EXPECT(SPIN): deadlock
    }
  }
#endif
}

int main() {
  constexpr int n = 64;
  float *data, *other;
  cudaMalloc(&data, n * sizeof(float));
  cudaMalloc(&other, n * sizeof(float));
  std::vector<float> host(n, 1.0f);
  cudaMemcpy(data, host.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(other, host.data(), n * sizeof(float), cudaMemcpyHostToDevice);
#ifdef HOST_POINTER
  work<<<1, n>>>(data, n, host.data());
#else
  work<<<1, n>>>(data, n, other);
#endif
#ifdef SMALL_KERNEL
  small<<<1, n + 1>>>(data);
#endif
#ifdef STUCK_WARP
  stuck<<<132 * 32 + 1, 2>>>(data);
#endif
#ifdef STREAM_RACE
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaMemsetAsync(data, 0, n, stream);  // EXPECT(STREAM_RACE): data_race
#endif
#ifdef EARLY_READ
  float* pinned;
  cudaMallocHost(&pinned, 4);
  cudaMemcpyAsync(pinned, data, 4, cudaMemcpyDeviceToHost, 0);
  host[0] += *pinned;  // EXPECT(EARLY_READ): readback_before_sync
#endif
#ifdef EARLY_PAGEABLE
  cudaMemcpyAsync(host.data(), data, 4, cudaMemcpyDeviceToHost, 0);
  host[1] += host[0];  // EXPECT(EARLY_PAGEABLE): readback_before_sync
#endif
#ifdef HOST_DEREFERENCE
  host[0] += data[0];  // EXPECT(HOST_DEREFERENCE): host_dereference
#endif
#ifdef BAD_LAUNCH
  work<<<1, 4096>>>(data, n, other);  // EXPECT(BAD_LAUNCH): launch_error
#endif
  cudaMemcpy(host.data(), data, n * sizeof(float), cudaMemcpyDeviceToHost);
  cudaFree(data);
#ifdef DOUBLE_FREE
  cudaFree(data);  // EXPECT(DOUBLE_FREE): double_free
#endif
#ifdef USE_AFTER_FREE
  cudaMemset(data, 0, 4);  // EXPECT(USE_AFTER_FREE): use_after_free
#endif
  cudaFree(other);
#ifdef CRASH
  *(volatile int*)nullptr = 1;  // EXPECT(CRASH): crash
#endif
  return 0;
}
