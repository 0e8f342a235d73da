// Rates and latency of device memory: loads, stores, copies between host and device.
#pragma once

#include "device_cycles.h"
#include "measure.h"

namespace {

constexpr size_t kBytes = size_t{1} << 30;
const int kCtas[] = {1, 2, 4, 8, 16, 32, 64, 132, 264, 528, 1056};

__global__ void fill(float4* to, size_t count, float value) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
       i += size_t(gridDim.x) * blockDim.x) {
    to[i] = make_float4(value, i, value, i);
  }
}

__global__ void copy(const float4* from, float4* to, size_t count) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
       i += size_t(gridDim.x) * blockDim.x) {
    to[i] = from[i];
  }
}

__global__ void copy_one(const float* from, float* to, size_t count) {
  size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (i < count) to[i] = from[i];
}

__global__ void copy_strided(const float* from, float* to, size_t count, int stride) {
  size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (i < count / stride) to[i] = from[i * stride];
}

__global__ void read(const float4* from, float* to, size_t count) {
  float sum = 0;
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
       i += size_t(gridDim.x) * blockDim.x) {
    float4 v = from[i];
    sum += v.x + v.y + v.z + v.w;
  }
  if (sum == 12345.678f) *to = sum;
}

void memory(cudaStream_t stream) {
  char *a, *b;
  CUDA(cudaMalloc(&a, kBytes));
  CUDA(cudaMalloc(&b, kBytes));
  fill<<<1056, 512, 0, stream>>>((float4*)a, kBytes / 16, 1.5f);
  fill<<<1056, 512, 0, stream>>>((float4*)b, kBytes / 16, 2.5f);
  for (size_t bytes : {kBytes, size_t{16} << 20}) {
    for (int ctas : kCtas) {
      size_t part = ctas < 32 ? std::min(bytes, size_t{64} << 20) : bytes;
      std::string fields =
          field("bytes", part) + ", " + field("ctas", ctas) + ", " + field("threads", 512);
      size_t n = part / 16;
      auto c = timed(stream, 7, [&] { copy<<<ctas, 512, 0, stream>>>((float4*)a, (float4*)b, n); });
      report("copy_read_plus_write", fields, "GB/s", rate(2e-3 * part, c));
      auto r = timed(stream, 7, [&] { read<<<ctas, 512, 0, stream>>>((float4*)a, (float*)b, n); });
      report("read", fields, "GB/s", rate(1e-3 * part, r));
      auto w = timed(stream, 7, [&] { fill<<<ctas, 512, 0, stream>>>((float4*)b, n, 3.f); });
      report("write", fields, "GB/s", rate(1e-3 * part, w));
    }
  }
  for (int stride : {1, 2, 4, 8, 32}) {
    size_t n = kBytes / 4;
    int blocks = n / stride / 256;
    auto t = timed(stream, 7, [&] {
      copy_strided<<<blocks, 256, 0, stream>>>((float*)a, (float*)b, n, stride);
    });
    report("copy_strided_load", field("stride_floats", stride) + ", " + field("threads", 256),
           "useful GB/s", rate(8e-3 * n / stride, t));
  }
  for (size_t bytes = 4096; bytes <= kBytes; bytes *= 16) {
    size_t n = bytes / 4;
    auto t = timed(stream, 11,
                   [&] { copy_one<<<(n + 255) / 256, 256, 0, stream>>>((float*)a, (float*)b, n); });
    report("copy_float_per_thread", field("bytes", bytes), "us", t);
    auto m = timed(stream, 11,
                   [&] { CUDA(cudaMemcpyAsync(b, a, bytes, cudaMemcpyDeviceToDevice, stream)); });
    report("memcpy_device_to_device", field("bytes", bytes), "us", m);
    auto s = timed(stream, 11, [&] { CUDA(cudaMemsetAsync(b, 1, bytes, stream)); });
    report("memset", field("bytes", bytes), "us", s);
  }
  char *pinned, *pageable = static_cast<char*>(malloc(size_t{64} << 20));
  CUDA(cudaMallocHost(&pinned, size_t{64} << 20));
  std::fill(pageable, pageable + (size_t{64} << 20), 1);
  std::fill(pinned, pinned + (size_t{64} << 20), 1);
  for (size_t bytes = 8; bytes <= size_t{64} << 20; bytes *= 8) {
    for (char* host : {pinned, pageable}) {
      std::string fields =
          field("bytes", bytes) + ", " + field("host", host == pinned ? "pinned" : "pageable");
      auto h = timed(stream, 7, [&] {
        CUDA(cudaMemcpyAsync(a, host, bytes, cudaMemcpyHostToDevice, stream));
      });
      report("memcpy_host_to_device", fields, "us", h);
      auto d = timed(stream, 7, [&] {
        CUDA(cudaMemcpyAsync(host, a, bytes, cudaMemcpyDeviceToHost, stream));
      });
      report("memcpy_device_to_host", fields, "us", d);
    }
  }
  CUDA(cudaFreeHost(pinned));
  free(pageable);
  CUDA(cudaFree(a));
  CUDA(cudaFree(b));
}

__global__ void chase(const unsigned* next, long long* cycles, int steps, unsigned* out) {
  unsigned at = *out;  // go on where the last run ended: lines that no cache has seen
  clocked(cycles, steps, [&](int) { at = __ldcg(next + at); });
  *out = at;
}

__global__ void chase_cached(const unsigned* next, long long* cycles, int steps, unsigned* out) {
  unsigned at = *out;
  clocked(cycles, steps, [&](int) { at = __ldca(next + at); });
  *out = at;
}

void latency(long long* cycles, int* out) {
  // A line for each step, far enough apart that nothing is fetched ahead.
  for (size_t bytes : {size_t{64} << 10, size_t{8} << 20, kBytes}) {
    size_t lines = bytes / 256;
    std::vector<unsigned> next(bytes / 4);
    size_t step = lines / 2 + 12345 % lines;
    step |= 1;
    for (size_t i = 0; i < lines; ++i) next[i * 64] = ((i + step) % lines) * 64;
    unsigned* device;
    CUDA(cudaMalloc(&device, bytes));
    CUDA(cudaMemcpy(device, next.data(), bytes, cudaMemcpyHostToDevice));
    int steps = int(std::min<size_t>(lines, 20000));
    CUDA(cudaMemset(out, 0, sizeof *out));
    in_block("load_latency_l2_or_memory", field("bytes", bytes), cycles, steps,
             [&] { chase<<<1, 1>>>(device, cycles, steps, (unsigned*)out); });
    in_block("load_latency_cached", field("bytes", bytes), cycles, steps,
             [&] { chase_cached<<<1, 1>>>(device, cycles, steps, (unsigned*)out); });
    CUDA(cudaFree(device));
  }
}

}  // namespace
