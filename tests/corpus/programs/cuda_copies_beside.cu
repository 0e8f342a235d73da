// CORPUS run=1
// Rows come into shared memory by cp.async and by a bulk copy, on a stream of its own, while weights that
// another stream has uploaded are read directly.
//
// DEFECT OVERLAP overlapping_buffers: the results move by less than their length within one buffer
#include <cuda/barrier>
#include <cuda/ptx>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <utility>
#include <vector>

#define MUST(call)                                                              \
  if ((call) != cudaSuccess) {                                                  \
    std::fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(call)); \
    return 1;                                                                   \
  }

constexpr int kLanes = 128, kRows = 4;
using Barrier = cuda::barrier<cuda::thread_scope_block>;

__global__ void by_threads(const float* rows, const float* weights, float* out) {
  __shared__ float row[kLanes];
  const int lane = threadIdx.x;
  __pipeline_memcpy_async(&row[lane], &rows[blockIdx.x * kLanes + lane], sizeof(float));
  __pipeline_commit();
  __pipeline_wait_prior(0);
  out[blockIdx.x * kLanes + lane] = row[lane] * weights[lane];
}

__global__ void in_bulk(const float* rows, const float* weights, float* out) {
  __shared__ alignas(16) float row[kLanes];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ Barrier ready;
  const int lane = threadIdx.x;
  if (lane == 0) {
    init(&ready, kLanes);
    cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);
  }
  __syncthreads();
  Barrier::arrival_token token;
  if (lane == 0) {
    cuda::device::memcpy_async_tx(row, rows + blockIdx.x * kLanes,
                                  cuda::aligned_size_t<16>(sizeof row), ready);
    token = cuda::device::barrier_arrive_tx(ready, 1, sizeof row);
  } else {
    token = ready.arrive();
  }
  ready.wait(std::move(token));
  out[blockIdx.x * kLanes + lane] += row[lane] * weights[lane];
}

int main() {
  std::vector<float> rows(kRows * kLanes), weights(kLanes);
  for (int i = 0; i < kRows * kLanes; ++i) rows[i] = static_cast<float>(i % 9);
  for (int i = 0; i < kLanes; ++i) weights[i] = static_cast<float>(i % 4 + 1);
  float *input, *scale, *out;
  MUST(cudaMalloc(&input, rows.size() * sizeof(float)));
  MUST(cudaMalloc(&scale, kLanes * sizeof(float)));
  MUST(cudaMalloc(&out, (kRows + 1) * kLanes * sizeof(float)));
  cudaStream_t uploads, work;
  MUST(cudaStreamCreateWithFlags(&uploads, cudaStreamNonBlocking));
  MUST(cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking));
  MUST(cudaMemcpyAsync(scale, weights.data(), kLanes * sizeof(float), cudaMemcpyHostToDevice, uploads));
  MUST(cudaMemcpyAsync(input, rows.data(), rows.size() * sizeof(float), cudaMemcpyHostToDevice, work));
  MUST(cudaStreamSynchronize(uploads));
  by_threads<<<kRows, kLanes, 0, work>>>(input, scale, out);
  MUST(cudaGetLastError());
  in_bulk<<<kRows, kLanes, 0, work>>>(input, scale, out);
  MUST(cudaGetLastError());
#ifdef DEFECT_OVERLAP
  const int length = kRows * kLanes;
#else
  const int length = kLanes;
#endif
  // EXPECT OVERLAP
  MUST(cudaMemcpyAsync(out + kLanes, out, length * sizeof(float), cudaMemcpyDeviceToDevice, work));
  std::vector<float> got(kLanes);
  MUST(cudaMemcpyAsync(got.data(), out + kLanes, kLanes * sizeof(float), cudaMemcpyDeviceToHost, work));
  MUST(cudaStreamSynchronize(work));
  int wrong = 0;
  for (int i = 0; i < kLanes; ++i) wrong += got[i] != 2 * rows[i] * weights[i];
  if (wrong) std::printf("%d elements are wrong\n", wrong);
  MUST(cudaStreamDestroy(uploads));
  MUST(cudaStreamDestroy(work));
  MUST(cudaFree(input));
  MUST(cudaFree(scale));
  MUST(cudaFree(out));
  return wrong != 0;
}
