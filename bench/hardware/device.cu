// Rates and latencies of one GPU: memory, arithmetic, shared memory, atomics, barriers.
#include <cooperative_groups.h>

#include "device_arithmetic.h"
#include "device_blocks.h"
#include "device_memory.h"
#include "measure.h"

namespace {

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
