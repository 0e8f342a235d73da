// CORPUS run=1
// Rows of a table are added up by 128 threads, while one thread of a warp of its own has the next
// row brought in by cp.async.bulk: two stages, each with a full and an empty mbarrier. The sums go
// back to the table's end by a bulk store. All in inline PTX, as hand-written Hopper kernels are.
//
// DEFECT NO_WAIT missing_wait: adds a row up before it has come
// DEFECT NO_EXPECT missing_wait: the phase ends without the bytes
// DEFECT FEW_BYTES deadlock: expects half of the bytes that come
// DEFECT WRONG_PARITY deadlock: waits for the parity that never comes
// DEFECT OVER_ARRIVAL deadlock|missing_wait|destination_overwrite|async_misuse: a warp arrives where one thread is counted
// DEFECT EARLY_EMPTY destination_overwrite|missing_wait: gives the stage back before it was read
// DEFECT NO_INIT_SYNC shared_memory_race|async_misuse: uses barriers that may not be initialized
// DEFECT NO_FENCE missing_proxy_fence: the bulk store may miss what threads wrote
// DEFECT NO_READ_WAIT missing_wait: the block may end before its sums were read
// DEFECT ODD_SIZE misaligned: the size is no multiple of 16
// DEFECT INVALIDATED async_misuse: invalidates a barrier and waits for it
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                    \
  do {                                                                                 \
    cudaError_t status = (call);                                                       \
    if (status != cudaSuccess) {                                                       \
      std::fprintf(stderr, "%s at line %d\n", cudaGetErrorString(status), __LINE__);   \
      std::exit(1);                                                                    \
    }                                                                                  \
  } while (0)

constexpr int kColumns = 128, kStages = 2;

__device__ uint32_t smem(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}
__device__ void init_barrier(uint64_t* bar, uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(smem(bar)), "r"(count) : "memory");
}
__device__ void arrive(uint64_t* bar) {
  // EXPECT OVER_ARRIVAL
  asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(smem(bar)) : "memory");
}
__device__ void arrive_expect(uint64_t* bar, uint32_t bytes) {
  // EXPECT NO_INIT_SYNC
  asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(smem(bar)), "r"(bytes) : "memory");
}
__device__ void wait(uint64_t* bar, uint32_t parity) {
  // EXPECT WRONG_PARITY FEW_BYTES OVER_ARRIVAL NO_INIT_SYNC INVALIDATED
  asm volatile(
      "{\n"
      "  .reg .pred done;\n"
      "AGAIN:\n"
      "  mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "  @done bra READY;\n"
      "  bra AGAIN;\n"
      "READY:\n"
      "}\n" ::"r"(smem(bar)), "r"(parity) : "memory");
}
__device__ void load(void* to, const void* from, uint32_t bytes, uint64_t* bar) {
  // EXPECT EARLY_EMPTY ODD_SIZE OVER_ARRIVAL NO_EXPECT
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(smem(to)), "l"(from), "r"(bytes), "r"(smem(bar)) : "memory");
}
__device__ void store(void* to, const void* from, uint32_t bytes) {
  // EXPECT NO_FENCE NO_READ_WAIT
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(smem(from)), "r"(bytes) : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
#if !defined(DEFECT_NO_READ_WAIT)
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
#endif
}

__device__ void produce(const float* table, int rows, float (*stage)[kColumns], uint64_t* full, uint64_t* empty) {
  for (int row = 0; row < rows; row++) {
    const int at = row % kStages;
    wait(empty + at, row / kStages % 2 ^ 1);
#if defined(DEFECT_NO_EXPECT)
    arrive(full + at);
#elif defined(DEFECT_FEW_BYTES)
    arrive_expect(full + at, sizeof stage[0] / 2);
#else
    arrive_expect(full + at, sizeof stage[0]);
#endif
#if defined(DEFECT_ODD_SIZE)
    load(stage[at], table + row * kColumns, sizeof stage[0] - 4, full + at);
#else
    load(stage[at], table + row * kColumns, sizeof stage[0], full + at);
#endif
  }
}

__device__ float consume(int rows, float (*stage)[kColumns], uint64_t* full, uint64_t* empty, int column) {
  float sum = 0;
  for (int row = 0; row < rows; row++) {
    const int at = row % kStages;
#if defined(DEFECT_WRONG_PARITY)
    wait(full + at, row % 2);
#elif !defined(DEFECT_NO_WAIT)
    wait(full + at, row / kStages % 2);
#endif
#if defined(DEFECT_EARLY_EMPTY)
    arrive(empty + at);
#endif
    // EXPECT NO_WAIT NO_EXPECT EARLY_EMPTY OVER_ARRIVAL
    sum += stage[at][column];
#if defined(DEFECT_EARLY_EMPTY)
#elif defined(DEFECT_OVER_ARRIVAL)
    __syncwarp();
    arrive(empty + at);
#else
    __syncwarp();
    if (column % 32 == 0) arrive(empty + at);
#endif
  }
  return sum;
}

__global__ void add_rows(const float* table, float* sums, int rows) {
  __shared__ alignas(128) float stage[kStages][kColumns];
  __shared__ alignas(128) float out[kColumns];
  __shared__ uint64_t full[kStages], empty[kStages];
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; i++) {
      // EXPECT NO_INIT_SYNC
      init_barrier(full + i, 1);
#if defined(DEFECT_EARLY_EMPTY)
      init_barrier(empty + i, kColumns);
#else
      init_barrier(empty + i, kColumns / 32);
#endif
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
#if !defined(DEFECT_NO_INIT_SYNC)
  __syncthreads();
#endif
  if (threadIdx.x >= kColumns) {
    if (threadIdx.x == kColumns) produce(table, rows, stage, full, empty);
    return;
  }
  out[threadIdx.x] = consume(rows, stage, full, empty, threadIdx.x);
#if !defined(DEFECT_NO_FENCE)
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
  asm volatile("bar.sync 1, %0;" ::"n"(kColumns) : "memory");
  if (threadIdx.x != 0) return;
  store(sums, out, sizeof out);
#if defined(DEFECT_INVALIDATED)
  asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(smem(full)) : "memory");
  wait(full, 1);
#endif
}

int main() {
  const int rows = 7;
  std::vector<float> table(rows * kColumns), sums(kColumns);
  for (size_t i = 0; i < table.size(); i++) table[i] = static_cast<float>(i * 31 % 101);
  float *device_table, *device_sums;
  CHECK(cudaMalloc(&device_table, table.size() * sizeof(float)));
  CHECK(cudaMalloc(&device_sums, sums.size() * sizeof(float)));
  CHECK(cudaMemcpy(device_table, table.data(), table.size() * sizeof(float), cudaMemcpyHostToDevice));
  add_rows<<<1, kColumns + 32>>>(device_table, device_sums, rows);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(sums.data(), device_sums, sums.size() * sizeof(float), cudaMemcpyDeviceToHost));
  int errors = 0;
  for (int c = 0; c < kColumns; c++) {
    float expected = 0;
    for (int r = 0; r < rows; r++) expected += table[r * kColumns + c];
    errors += sums[c] != expected;
  }
  std::printf("%d errors\n", errors);
  CHECK(cudaFree(device_table));
  CHECK(cudaFree(device_sums));
  return errors != 0;
}
