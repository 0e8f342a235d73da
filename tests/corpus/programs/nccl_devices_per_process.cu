// CORPUS run=2,4
// A process drives all devices it finds, each as a rank of one communicator that is made by grouped
// ncclCommInitRankConfig calls; sums in place, then an average.
//
// DEFECT INIT_NO_GROUP deadlock: outside of a group, the first initialization waits for the others
// DEFECT WRONG_STREAM data_race: the kernel runs on the default stream of the other device
// DEFECT OP collective_mismatch: the devices do not agree on the operation
#include <cuda_runtime.h>
#include <nccl.h>

#include <cstdio>
#include <memory>
#include <vector>

#define REQUIRE(expr, ok)                                                   \
  do {                                                                      \
    if ((expr) != (ok)) {                                                   \
      std::fprintf(stderr, "%s:%d: %s failed\n", __FILE__, __LINE__, #expr); \
      return 1;                                                             \
    }                                                                       \
  } while (0)

struct Gpu {
  int device;
  float* buffer = nullptr;
  cudaStream_t stream = nullptr;
  ncclComm_t comm = nullptr;
};

constexpr int kFloats = 96;

__global__ void ramp(float* p, float start) { p[threadIdx.x] = start + threadIdx.x; }

int main() {
  int count = 0;
  REQUIRE(cudaGetDeviceCount(&count), cudaSuccess);
  std::vector<Gpu> gpus;
  for (int d = 0; d < count; ++d) gpus.push_back({d});
  ncclUniqueId id;
  REQUIRE(ncclGetUniqueId(&id), ncclSuccess);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 1;
  config.minCTAs = 1;
#if !defined(DEFECT_INIT_NO_GROUP)
  REQUIRE(ncclGroupStart(), ncclSuccess);
#endif
  for (Gpu& g : gpus) {
    REQUIRE(cudaSetDevice(g.device), cudaSuccess);
    // EXPECT INIT_NO_GROUP
    REQUIRE(ncclCommInitRankConfig(&g.comm, count, id, g.device, &config), ncclSuccess);
  }
#if !defined(DEFECT_INIT_NO_GROUP)
  REQUIRE(ncclGroupEnd(), ncclSuccess);
#endif
  for (Gpu& g : gpus) {
    REQUIRE(cudaSetDevice(g.device), cudaSuccess);
    REQUIRE(cudaStreamCreateWithFlags(&g.stream, cudaStreamNonBlocking), cudaSuccess);
    REQUIRE(ncclMemAlloc((void**)&g.buffer, kFloats * sizeof(float)), ncclSuccess);
#if defined(DEFECT_WRONG_STREAM)
    // EXPECT WRONG_STREAM
    ramp<<<1, kFloats>>>(g.buffer, float(g.device));
#else
    ramp<<<1, kFloats, 0, g.stream>>>(g.buffer, float(g.device));
#endif
    REQUIRE(cudaGetLastError(), cudaSuccess);
  }
  REQUIRE(ncclGroupStart(), ncclSuccess);
  for (Gpu& g : gpus) {
    ncclRedOp_t op = ncclSum;
#if defined(DEFECT_OP)
    if (g.device == 1) op = ncclMax;
#endif
    // EXPECT WRONG_STREAM OP
    REQUIRE(ncclAllReduce(g.buffer, g.buffer, kFloats, ncclFloat, op, g.comm, g.stream), ncclSuccess);
  }
  // EXPECT WRONG_STREAM OP
  REQUIRE(ncclGroupEnd(), ncclSuccess);
  // Calls of one group are not ordered among each other: what follows on the same buffer has its own.
  REQUIRE(ncclGroupStart(), ncclSuccess);
  for (Gpu& g : gpus) {
    REQUIRE(ncclAllReduce(g.buffer, g.buffer, kFloats, ncclFloat, ncclAvg, g.comm, g.stream), ncclSuccess);
  }
  REQUIRE(ncclGroupEnd(), ncclSuccess);
  int wrong = 0;
  for (Gpu& g : gpus) {
    std::unique_ptr<float[]> got(new float[kFloats]);
    REQUIRE(cudaSetDevice(g.device), cudaSuccess);
    REQUIRE(cudaStreamSynchronize(g.stream), cudaSuccess);
    REQUIRE(cudaMemcpy(got.get(), g.buffer, kFloats * sizeof(float), cudaMemcpyDeviceToHost), cudaSuccess);
    for (int i = 0; i < kFloats; ++i) wrong += got[i] != count * (count - 1) / 2 + count * i;
  }
  for (Gpu& g : gpus) {
    REQUIRE(cudaSetDevice(g.device), cudaSuccess);
    REQUIRE(cudaStreamDestroy(g.stream), cudaSuccess);
    REQUIRE(ncclMemFree(g.buffer), ncclSuccess);
    REQUIRE(ncclCommDestroy(g.comm), ncclSuccess);
  }
  std::printf("%d devices: %s\n", count, wrong ? "different" : "equal");
  return wrong != 0;
}
