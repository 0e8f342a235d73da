// Rates and latencies of one GPU: memory, arithmetic, shared memory, atomics, barriers.
#include <cooperative_groups.h>

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

// What one step of a dependent chain does; kIlp chains run side by side in each thread.
struct Fma {
  static constexpr const char* name = "fma_f32";
  using Type = float;
  static __device__ float step(float x) { return fmaf(x, 0.999f, 0.001f); }
};
struct FmaDouble {
  static constexpr const char* name = "fma_f64";
  using Type = double;
  static __device__ double step(double x) { return fma(x, 0.999, 0.001); }
};
struct Integer {
  static constexpr const char* name = "mad_i32";
  using Type = unsigned;
  static __device__ unsigned step(unsigned x) { return x * x + 1013904223u; }
};
struct Divide {
  static constexpr const char* name = "div_f32";
  using Type = float;
  static __device__ float step(float x) { return 1.0f / (x + 1.0f); }
};
struct Exponential {
  static constexpr const char* name = "expf";
  using Type = float;
  static __device__ float step(float x) { return expf(-x); }
};
struct Root {
  static constexpr const char* name = "sqrtf";
  using Type = float;
  static __device__ float step(float x) { return sqrtf(x + 1.0f); }
};
struct Sine {
  static constexpr const char* name = "sinf";
  using Type = float;
  static __device__ float step(float x) { return sinf(x); }
};

template <typename Op, int kIlp>
__global__ void chain(typename Op::Type* out, int steps) {
  typename Op::Type x[kIlp];
  for (int k = 0; k < kIlp; ++k) x[k] = typename Op::Type(threadIdx.x + k) / 64;
  for (int i = 0; i < steps; ++i) {
#pragma unroll
    for (int k = 0; k < kIlp; ++k) x[k] = Op::step(x[k]);
  }
  typename Op::Type sum = 0;
  for (int k = 0; k < kIlp; ++k) sum += x[k];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

template <typename Op>
void arithmetic(cudaStream_t stream, void* out) {
  constexpr int kSteps = 4096;
  auto* to = static_cast<typename Op::Type*>(out);
  for (int ctas : {1, 132, 264}) {
    for (int threads : {32, 256, 1024}) {
      auto t = timed(stream, 5, [&] { chain<Op, 4><<<ctas, threads, 0, stream>>>(to, kSteps); });
      report(Op::name,
             field("ctas", ctas) + ", " + field("threads", threads) + ", " + field("chains", 4),
             "Gop/s", rate(1e-3 * 4.0 * kSteps * ctas * threads, t));
    }
  }
  auto t = timed(stream, 5, [&] { chain<Op, 1><<<1, 32, 0, stream>>>(to, 16 * kSteps); });
  report(Op::name, field("latency_of", Op::name), "ns per step", scaled(t, 1e3 / (16 * kSteps)));
}

// Cycles of one thread block's loop, by clock64 around it, divided by the steps.
template <typename Body>
__device__ void clocked(long long* cycles, int steps, Body body) {
  __syncthreads();
  long long begin = clock64();
  for (int i = 0; i < steps; ++i) body(i);
  __syncthreads();
  if (threadIdx.x == 0) *cycles = clock64() - begin;
}

__global__ void sync_threads(long long* cycles, int steps) {
  clocked(cycles, steps, [](int) { __syncthreads(); });
}

__global__ void sync_warp(long long* cycles, int steps) {
  clocked(cycles, steps, [](int) { __syncwarp(); });
}

__global__ void shuffle(long long* cycles, int steps, int* out) {
  int x = threadIdx.x;
  clocked(cycles, steps, [&](int) { x += __shfl_xor_sync(~0u, x, 1); });
  out[threadIdx.x] = x;
}

__global__ void reduce_shared(long long* cycles, int steps, float* out) {
  __shared__ float sums[1024];
  float kept = 0;
  clocked(cycles, steps, [&](int i) {
    sums[threadIdx.x] = threadIdx.x + i;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
      if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
      __syncthreads();
    }
    kept += sums[0];
  });
  out[threadIdx.x] = kept;
}

__global__ void reduce_shuffle(long long* cycles, int steps, float* out) {
  __shared__ float sums[32];
  float kept = 0;
  clocked(cycles, steps, [&](int i) {
    float x = threadIdx.x + i;
    for (int half = 16; half > 0; half /= 2) x += __shfl_xor_sync(~0u, x, half);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = x;
    __syncthreads();
    if (threadIdx.x < 32) {
      x = threadIdx.x < blockDim.x / 32 ? sums[threadIdx.x] : 0;
      for (int half = 16; half > 0; half /= 2) x += __shfl_xor_sync(~0u, x, half);
      if (threadIdx.x == 0) sums[0] = x;
    }
    __syncthreads();
    kept += sums[0];
    __syncthreads();
  });
  out[threadIdx.x] = kept;
}

// Each thread loads words `stride` apart, so that a warp meets `stride` ways of bank conflict.
__global__ void load_shared(long long* cycles, int steps, int stride, int* out) {
  __shared__ int words[2048];
  for (int i = threadIdx.x; i < 2048; i += blockDim.x) words[i] = 0;
  int at = (threadIdx.x * stride) % 2048, sum = 0;
  clocked(cycles, steps, [&](int) {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      int v = *(volatile int*)&words[(at + k * 64) % 2048];
      sum += v;
    }
  });
  out[threadIdx.x] = sum;
}

__global__ void load_shared_latency(long long* cycles, int steps, int* out) {
  __shared__ int next[64];
  if (threadIdx.x < 64) next[threadIdx.x] = (threadIdx.x + 1) % 64;
  int at = 0;
  clocked(cycles, steps, [&](int) { at = next[at]; });
  out[threadIdx.x] = at;
}

__global__ void atomic_shared(long long* cycles, int steps, int stride, int* out) {
  __shared__ int words[1024];
  words[threadIdx.x] = 0;
  clocked(cycles, steps, [&](int) { atomicAdd(&words[threadIdx.x * stride], 1); });
  out[threadIdx.x] = words[threadIdx.x];
}

__global__ void fences(long long* cycles, int steps, int scope, int* to) {
  clocked(cycles, steps, [&](int i) {
    to[threadIdx.x] = i;
    if (scope == 0) __threadfence_block();
    if (scope == 1) __threadfence();
    if (scope == 2) __threadfence_system();
  });
}

template <typename Launch>
void in_block(const char* name, const std::string& fields, long long* cycles, int steps,
              Launch launch) {
  std::vector<double> values;
  for (int i = 0; i < 5; ++i) {
    launch();
    CUDA(cudaDeviceSynchronize());
    long long taken;
    CUDA(cudaMemcpy(&taken, cycles, sizeof taken, cudaMemcpyDeviceToHost));
    values.push_back(double(taken) / steps);
  }
  report(name, fields, "cycles", spread(values));
}

void blocks(long long* cycles, int* out) {
  constexpr int kSteps = 1000;
  for (int threads : {32, 64, 128, 256, 512, 1024}) {
    std::string f = field("threads", threads);
    in_block("syncthreads", f, cycles, kSteps,
             [&] { sync_threads<<<1, threads>>>(cycles, kSteps); });
    in_block("reduce_shared_tree", f, cycles, kSteps,
             [&] { reduce_shared<<<1, threads>>>(cycles, kSteps, (float*)out); });
    in_block("reduce_shuffle", f, cycles, kSteps,
             [&] { reduce_shuffle<<<1, threads>>>(cycles, kSteps, (float*)out); });
    in_block("shuffle", f, cycles, kSteps, [&] { shuffle<<<1, threads>>>(cycles, kSteps, out); });
    for (int stride : {1, 2, 4, 8, 16, 32}) {
      in_block("shared_load_x4", f + ", " + field("ways", stride), cycles, kSteps,
               [&] { load_shared<<<1, threads>>>(cycles, kSteps, stride, out); });
    }
    for (int stride : {0, 1}) {
      in_block("shared_atomic_add", f + ", " + field("same_address", stride == 0 ? 1 : 0), cycles,
               kSteps, [&] { atomic_shared<<<1, threads>>>(cycles, kSteps, stride, out); });
    }
    for (int scope : {0, 1, 2}) {
      const char* names[] = {"block", "device", "system"};
      in_block("store_and_fence", f + ", " + field("scope", names[scope]), cycles, kSteps,
               [&] { fences<<<1, threads>>>(cycles, kSteps, scope, out); });
    }
  }
  in_block("syncwarp", "", cycles, kSteps, [&] { sync_warp<<<1, 32>>>(cycles, kSteps); });
  in_block("shared_load_latency", "", cycles, kSteps,
           [&] { load_shared_latency<<<1, 64>>>(cycles, kSteps, out); });
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

template <typename T>
__global__ void atomic_global(T* to, int steps, int mode, int span) {
  unsigned id = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = 0; i < steps; ++i) {
    unsigned at = mode == 0 ? 0 : mode == 1 ? id % span : (id * 2654435761u + i * 40503u) % span;
    atomicAdd(to + at, T(1));
  }
}

template <typename T>
void atomics(cudaStream_t stream, const char* type, T* to) {
  const char* modes[] = {"one_address", "own_address", "scattered"};
  for (int mode : {0, 1, 2}) {
    for (int ctas : {1, 132, 1056}) {
      int steps = mode == 0 ? 16 : 64;
      auto t = timed(stream, 5,
                     [&] { atomic_global<<<ctas, 256, 0, stream>>>(to, steps, mode, 1 << 20); });
      report("global_atomic_add",
             field("type", type) + ", " + field("mode", modes[mode]) + ", " + field("ctas", ctas) +
                 ", " + field("threads", 256),
             "Gop/s", rate(1e-3 * steps * ctas * 256.0, t));
    }
  }
}

__global__ void grid_sync(int steps) {
  auto grid = cooperative_groups::this_grid();
  for (int i = 0; i < steps; ++i) grid.sync();
}

void grids(cudaStream_t stream) {
  for (int ctas : {1, 16, 132, 264, 528}) {
    int steps = 100;
    void* args[] = {&steps};
    auto t = timed(stream, 5, [&] {
      CUDA(cudaLaunchCooperativeKernel((void*)grid_sync, ctas, 256, args, 0, stream));
    });
    report("grid_sync", field("ctas", ctas) + ", " + field("threads", 256), "us",
           scaled(t, 1.0 / steps));
  }
}

__global__ void spin(long long cycles) {
  long long begin = clock64();
  while (clock64() - begin < cycles) {
  }
}

}  // namespace

int main() {
  cudaDeviceProp p;
  CUDA(cudaGetDeviceProperties(&p, 0));
  printf(
      "{\"bench\": \"device\", \"name\": \"%s\", \"sms\": %d, \"l2_bytes\": %d, "
      "\"memory_bytes\": %zu, \"shared_per_sm\": %zu}\n",
      p.name, p.multiProcessorCount, p.l2CacheSize, p.totalGlobalMem, p.sharedMemPerMultiprocessor);
  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  void* out;
  long long* cycles;
  CUDA(cudaMalloc(&out, 8 << 20));
  CUDA(cudaMemset(out, 0, 8 << 20));
  CUDA(cudaMalloc(&cycles, sizeof *cycles));
  spin<<<1, 1, 0, stream>>>(200000000);  // wake the clocks
  auto t = timed(stream, 3, [&] { spin<<<1, 1, 0, stream>>>(20000000); });
  report("sm_clock", "", "GHz", rate(20e3, t));
  memory(stream);
  arithmetic<Fma>(stream, out);
  arithmetic<FmaDouble>(stream, out);
  arithmetic<Integer>(stream, out);
  arithmetic<Divide>(stream, out);
  arithmetic<Exponential>(stream, out);
  arithmetic<Root>(stream, out);
  arithmetic<Sine>(stream, out);
  blocks(cycles, (int*)out);
  latency(cycles, (int*)out);
  atomics<int>(stream, "int", (int*)out);
  atomics<float>(stream, "float", (float*)out);
  grids(stream);
  return 0;
}
