// Peer access between the GPUs of one host: copies, loads and stores of kernels, latency.
#include "measure.h"

namespace {

constexpr size_t kBytes = size_t{256} << 20;

__global__ void touch(float4* to, size_t count) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
       i += size_t(gridDim.x) * blockDim.x) {
    to[i] = make_float4(i, 1, 2, 3);
  }
}

__global__ void move(const float4* from, float4* to, size_t count) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
       i += size_t(gridDim.x) * blockDim.x) {
    to[i] = from[i];
  }
}

__global__ void chase(const volatile unsigned* word, int steps, unsigned* out) {
  unsigned at = 0;
  for (int i = 0; i < steps; ++i) at = word[at];
  *out = at;
}

// Two kernels on two GPUs hand a number to and fro through flags in each other's memory.
__global__ void ping_pong(volatile int* mine, volatile int* theirs, int rounds, bool first) {
  for (int i = 1; i <= rounds; ++i) {
    if (first) *theirs = i;
    while (*mine < i) {
    }
    if (!first) *theirs = i;
  }
}

__global__ void atomic_remote(int* to, int steps) {
  for (int i = 0; i < steps; ++i) atomicAdd_system(to, 1);
}

}  // namespace

int main() {
  int devices;
  CUDA(cudaGetDeviceCount(&devices));
  if (devices < 2) {
    fprintf(stderr, "two GPUs are needed, got %d\n", devices);
    return 3;
  }
  char* memory[2];
  char* local[2];
  cudaStream_t stream[2];
  for (int d : {0, 1}) {
    CUDA(cudaSetDevice(d));
    int can = 0;
    CUDA(cudaDeviceCanAccessPeer(&can, d, 1 - d));
    int native = 0, rank = 0;
    CUDA(cudaDeviceGetP2PAttribute(&native, cudaDevP2PAttrNativeAtomicSupported, d, 1 - d));
    CUDA(cudaDeviceGetP2PAttribute(&rank, cudaDevP2PAttrPerformanceRank, d, 1 - d));
    printf(
        "{\"bench\": \"peer\", \"from\": %d, \"access\": %d, \"native_atomics\": %d, "
        "\"performance_rank\": %d}\n",
        d, can, native, rank);
    if (!can) return 3;
    CUDA(cudaDeviceEnablePeerAccess(1 - d, 0));
    CUDA(cudaMalloc(&memory[d], kBytes));
    CUDA(cudaMalloc(&local[d], kBytes));
    CUDA(cudaStreamCreateWithFlags(&stream[d], cudaStreamNonBlocking));
    touch<<<528, 512>>>((float4*)memory[d], kBytes / 16);
    touch<<<528, 512>>>((float4*)local[d], kBytes / 16);
    CUDA(cudaDeviceSynchronize());
  }
  CUDA(cudaSetDevice(0));
  for (size_t bytes = 8; bytes <= kBytes; bytes *= 8) {
    auto t = timed(stream[0], 11,
                   [&] { CUDA(cudaMemcpyPeerAsync(memory[1], 1, local[0], 0, bytes, stream[0])); });
    report("memcpy_peer", field("bytes", bytes), "us", t);
  }
  for (int threads : {256, 512, 1024}) {
    for (int ctas : {1, 2, 4, 8, 16, 32, 64, 132, 264}) {
      size_t bytes = ctas < 8 ? kBytes / 16 : kBytes;
      std::string f =
          field("ctas", ctas) + ", " + field("threads", threads) + ", " + field("bytes", bytes);
      auto s = timed(stream[0], 7, [&] {
        move<<<ctas, threads, 0, stream[0]>>>((float4*)local[0], (float4*)memory[1], bytes / 16);
      });
      report("peer_store", f, "GB/s", rate(1e-3 * bytes, s));
      auto l = timed(stream[0], 7, [&] {
        move<<<ctas, threads, 0, stream[0]>>>((float4*)memory[1], (float4*)local[0], bytes / 16);
      });
      report("peer_load", f, "GB/s", rate(1e-3 * bytes, l));
    }
  }
  unsigned* out;
  CUDA(cudaMalloc(&out, sizeof *out));
  CUDA(cudaMemset(local[0], 0, 4096));
  CUDA(cudaMemset(memory[1], 0, 4096));
  CUDA(cudaDeviceSynchronize());
  constexpr int kSteps = 2000;
  for (char* place : {local[0], memory[1]}) {
    auto t =
        timed(stream[0], 7, [&] { chase<<<1, 1, 0, stream[0]>>>((unsigned*)place, kSteps, out); });
    report("volatile_load_latency", field("where", place == local[0] ? "own" : "peer"), "ns",
           scaled(t, 1e3 / kSteps));
    auto a = timed(stream[0], 7,
                   [&] { atomic_remote<<<132, 32, 0, stream[0]>>>((int*)place + 64, 20); });
    report("atomic_add_system", field("where", place == local[0] ? "own" : "peer"), "Gop/s",
           rate(1e-3 * 132 * 32 * 20, a));
  }
  int* flag[2];
  std::vector<double> values;
  for (int d : {0, 1}) {
    CUDA(cudaSetDevice(d));
    CUDA(cudaMalloc(&flag[d], sizeof(int)));
  }
  for (int i = 0; i < 7; ++i) {
    constexpr int kRounds = 1000;
    for (int d : {0, 1}) {
      CUDA(cudaSetDevice(d));
      CUDA(cudaMemset(flag[d], 0, sizeof(int)));
      CUDA(cudaDeviceSynchronize());
    }
    cudaEvent_t begin, end;
    CUDA(cudaSetDevice(0));
    CUDA(cudaEventCreate(&begin));
    CUDA(cudaEventCreate(&end));
    CUDA(cudaSetDevice(1));
    ping_pong<<<1, 1, 0, stream[1]>>>(flag[1], flag[0], kRounds, false);
    CUDA(cudaSetDevice(0));
    CUDA(cudaEventRecord(begin, stream[0]));
    ping_pong<<<1, 1, 0, stream[0]>>>(flag[0], flag[1], kRounds, true);
    CUDA(cudaEventRecord(end, stream[0]));
    CUDA(cudaEventSynchronize(end));
    float ms;
    CUDA(cudaEventElapsedTime(&ms, begin, end));
    values.push_back(ms * 1e6 / kRounds);
  }
  report("flag_round_trip", "", "ns", spread(values));
  return 0;
}
