// Kernels on one device: launches, memory, arithmetic, waves, barriers, streams.
#include <chrono>

#include "timing.h"

namespace {

__global__ void nothing() {}

__global__ void copy(float4* to, const float4* from, size_t count) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
       i += size_t(gridDim.x) * blockDim.x) {
    to[i] = from[i];
  }
}

__global__ void read(const float4* from, float* out, size_t count) {
  float sum = 0;
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
       i += size_t(gridDim.x) * blockDim.x) {
    float4 v = from[i];
    sum += v.x + v.y + v.z + v.w;
  }
  if (sum == 12345.0f) *out = sum;
}

__global__ void write(float4* to, size_t count) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
       i += size_t(gridDim.x) * blockDim.x) {
    to[i] = make_float4(1, 2, 3, 4);
  }
}

// Four chains of multiplications and additions.
__global__ void multiply(float* out, int rounds) {
  float a = threadIdx.x, b = a + 1, c = a + 2, d = a + 3;
  for (int i = 0; i < rounds; i++) {
    a = a * 1.0001f + 0.5f;
    b = b * 1.0001f + 0.5f;
    c = c * 1.0001f + 0.5f;
    d = d * 1.0001f + 0.5f;
  }
  if (a + b + c + d == 12345.0f) *out = a;
}

__global__ void barriers(int rounds) {
  for (int i = 0; i < rounds; i++) __syncthreads();
}

__global__ void one_address(float* sum) { atomicAdd(sum, 1.0f); }

__global__ void strided(float* to, const float* from, size_t count, size_t stride) {
  size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (i < count) to[i] = from[i * stride];
}

// A queue of pieces of work, taken by whoever is free.
__global__ void from_queue(int* next, float* out, int pieces, int rounds) {
  __shared__ int mine;
  for (;;) {
    if (threadIdx.x == 0) mine = atomicAdd(next, 1);
    __syncthreads();
    if (mine >= pieces) return;
    float a = threadIdx.x;
    for (int i = 0; i < rounds; i++) a = a * 1.0001f + 0.5f;
    if (a == 12345.0f) *out = a;
    __syncthreads();
  }
}

__global__ void ticks(long long* cycles, unsigned long long* nanoseconds, float* out) {
  long long before = clock64();
  unsigned long long start = 0, stop = 0;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
  float a = threadIdx.x;
  for (int i = 0; i < 1000; i++) a = a * 1.0001f + 0.5f;
  if (a == 12345.0f) *out = a;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(stop));
  cycles[0] = clock64() - before;
  nanoseconds[0] = stop - start;
}

void launches(cudaStream_t s) {
  for (int count : {1, 10, 100}) {
    char name[64];
    snprintf(name, sizeof name, "launch/back_to_back/%d", count);
    tell(name, microseconds(s, [&] {
                 for (int i = 0; i < count; i++) nothing<<<1, 32, 0, s>>>();
               }) / count);
  }
  for (int blocks : {132, 1056, 10560}) {
    // Behind a long kernel the launches are queued, and the host no longer counts.
    float* out;
    CUDA(cudaMalloc(&out, 4));
    auto queued = [&](int kernels) {
      return microseconds(s, [&] {
        multiply<<<1, 32, 0, s>>>(out, 20000);
        for (int i = 0; i < kernels; i++) nothing<<<blocks, 32, 0, s>>>();
      });
    };
    char name[64];
    snprintf(name, sizeof name, "launch/queued/%d", blocks);
    tell(name, (queued(11) - queued(1)) / 10);
    CUDA(cudaFree(out));
  }
  for (int kernels : {1, 10, 100}) {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CUDA(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < kernels; i++) nothing<<<1, 32, 0, s>>>();
    CUDA(cudaStreamEndCapture(s, &graph));
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    char name[64];
    snprintf(name, sizeof name, "launch/graph/%d", kernels);
    tell(name, microseconds(s, [&] { CUDA(cudaGraphLaunch(exec, s)); }));
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaGraphDestroy(graph));
  }
}

void memory(cudaStream_t s, float4* a, float4* b, size_t bytes) {
  const size_t count = bytes / sizeof(float4);
  for (int blocks : {1, 4, 16, 64, 264}) {
    char name[64];
    auto rate = [&](const char* what, double times, double us) {
      snprintf(name, sizeof name, "memory/%s/%d", what, blocks);
      tell(name, times * bytes / us * 1e-3);
    };
    rate("copy", 2, microseconds(s, [&] { copy<<<blocks, 512, 0, s>>>(b, a, count); }));
    rate("read", 1, microseconds(s, [&] { read<<<blocks, 512, 0, s>>>(a, (float*)b, count); }));
    rate("write", 1, microseconds(s, [&] { write<<<blocks, 512, 0, s>>>(b, count); }));
  }
  const int elements = 1 << 17;
  for (size_t stride : {1, 2, 8, 16}) {
    char name[64];
    snprintf(name, sizeof name, "memory/strided_us/%zu", stride);
    tell(name, microseconds(s, [&] {
           strided<<<elements / 256, 256, 0, s>>>((float*)b, (float*)a, elements, stride);
         }));
  }
  tell("memory/atomic_one_address_us",
       microseconds(s, [&] { one_address<<<132, 256, 0, s>>>((float*)b); }));
}

void arithmetic(cudaStream_t s, float* out) {
  for (int blocks : {1, 132, 264, 1056}) {
    auto time = [&](int rounds) {
      return microseconds(s, [&] { multiply<<<blocks, 256, 0, s>>>(out, rounds); });
    };
    const double us = time(320) - time(64);  // without the launch
    char name[64];
    snprintf(name, sizeof name, "arithmetic/fma_gops/%d", blocks);
    tell(name, blocks * 256 * 4 * 256 / us * 1e-3);
  }
  double few = microseconds(s, [&] { barriers<<<1, 256, 0, s>>>(10); });
  double many = microseconds(s, [&] { barriers<<<1, 256, 0, s>>>(110); });
  tell("arithmetic/barrier_ns", (many - few) * 10);
  int* next;
  CUDA(cudaMalloc(&next, 4));
  for (int blocks : {1, 4, 16}) {
    char name[64];
    snprintf(name, sizeof name, "arithmetic/queue_us/%d", blocks);
    tell(name, microseconds(s, [&] {
           CUDA(cudaMemsetAsync(next, 0, 4, s));
           from_queue<<<blocks, 64, 0, s>>>(next, out, 64, 2000);
         }));
  }
}

void streams(float* out) {
  cudaStream_t s, t;
  CUDA(cudaStreamCreate(&s));
  CUDA(cudaStreamCreate(&t));
  cudaEvent_t fork, join;
  CUDA(cudaEventCreate(&fork));
  CUDA(cudaEventCreate(&join));
  const int rounds = 40000;
  tell("streams/one", microseconds(s, [&] {
         multiply<<<1, 32, 0, s>>>(out, rounds);
         multiply<<<1, 32, 0, s>>>(out, rounds);
       }));
  tell("streams/two", microseconds(s, [&] {
         CUDA(cudaEventRecord(fork, s));
         CUDA(cudaStreamWaitEvent(t, fork, 0));
         multiply<<<1, 32, 0, s>>>(out, rounds);
         multiply<<<1, 32, 0, t>>>(out, rounds);
         CUDA(cudaEventRecord(join, t));
         CUDA(cudaStreamWaitEvent(s, join, 0));
       }));
  // Launches return at once, and the host can ask.
  auto start = std::chrono::steady_clock::now();
  multiply<<<1, 32, 0, s>>>(out, rounds);
  CUDA(cudaEventRecord(join, s));
  tell("streams/launched_us",
       std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
  int asked = 0;
  while (cudaEventQuery(join) == cudaErrorNotReady) asked++;
  tell("streams/asked", asked);
  tell("streams/done_us",
       std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
}

}  // namespace

int main(int argc, char** argv) {
  const size_t bytes = argc > 1 ? strtoull(argv[1], nullptr, 10) : size_t{1} << 20;
  cudaStream_t s;
  CUDA(cudaStreamCreate(&s));
  float4 *a, *b;
  CUDA(cudaMalloc(&a, bytes < (16 << 20) ? 16 << 20 : bytes));
  CUDA(cudaMalloc(&b, bytes < (16 << 20) ? 16 << 20 : bytes));
  CUDA(cudaMemset(a, 0, bytes));
  launches(s);
  memory(s, a, b, bytes);
  arithmetic(s, (float*)b);
  streams((float*)b);
  long long* cycles;
  unsigned long long* nanoseconds;
  CUDA(cudaMallocManaged(&cycles, 8));
  CUDA(cudaMallocManaged(&nanoseconds, 8));
  ticks<<<1, 32, 0, s>>>(cycles, nanoseconds, (float*)b);
  CUDA(cudaDeviceSynchronize());
  tell("ticks/cycles", (double)cycles[0]);
  tell("ticks/nanoseconds", (double)nanoseconds[0]);
  return 0;
}
