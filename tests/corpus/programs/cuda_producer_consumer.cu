// CORPUS run=1
// Warp specialization in one block: half of the threads load, the other half compute, through two
// shared buffers and four cuda::barriers.
//
// DEFECT NO_FULL_WAIT shared_memory_race: computes before the buffer is full
// DEFECT EARLY_EMPTY shared_memory_race: gives the buffer back before it was read
// DEFECT WRONG_BUFFER shared_memory_race: waits for one buffer and reads the other
// DEFECT WRONG_COUNT deadlock: the barrier expects only the consumers
#include <cuda/barrier>

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <iostream>
#include <vector>

using block_barrier = cuda::barrier<cuda::thread_scope_block>;
constexpr int kWorkers = 32, kChunk = 32;

__device__ void produce(block_barrier full[2], block_barrier empty[2], int (*buffer)[kChunk],
                        const int* in, int chunks, int lane) {
  for (int c = 0; c < chunks; ++c) {
    // EXPECT WRONG_COUNT
    empty[c % 2].arrive_and_wait();
    // EXPECT NO_FULL_WAIT EARLY_EMPTY WRONG_BUFFER
    buffer[c % 2][lane] = in[c * kChunk + lane];
    block_barrier::arrival_token token = full[c % 2].arrive();
    (void)token;
  }
}

__device__ void consume(block_barrier full[2], block_barrier empty[2], int (*buffer)[kChunk],
                        int* out, int chunks, int lane) {
  (void)empty[0].arrive();
  (void)empty[1].arrive();
  int best = 0;
  for (int c = 0; c < chunks; ++c) {
#if !defined(DEFECT_NO_FULL_WAIT)
    // EXPECT WRONG_COUNT
    full[c % 2].arrive_and_wait();
#endif
#if defined(DEFECT_WRONG_BUFFER)
    int at = (c + 1) % 2;
#else
    int at = c % 2;
#endif
#if defined(DEFECT_EARLY_EMPTY)
    (void)empty[c % 2].arrive();
#endif
    // EXPECT NO_FULL_WAIT EARLY_EMPTY WRONG_BUFFER
    for (int i = 0; i < kChunk; ++i) best = max(best, buffer[at][i] ^ lane);
#if !defined(DEFECT_EARLY_EMPTY)
    (void)empty[c % 2].arrive();
#endif
  }
  out[lane] = best;
}

__global__ void pipeline(const int* in, int* out, int chunks) {
  __shared__ block_barrier bar[4];
  __shared__ int buffer[2][kChunk];
  auto block = cooperative_groups::this_thread_block();
#if defined(DEFECT_WRONG_COUNT)
  const int expected = 2 * kWorkers + 1;
#else
  const int expected = 2 * kWorkers;
#endif
  if (block.thread_rank() < 4) init(bar + block.thread_rank(), expected);
  block.sync();
  const int lane = block.thread_rank() % kWorkers;
  if (block.thread_rank() < kWorkers) {
    produce(bar, bar + 2, buffer, in, chunks, lane);
  } else {
    consume(bar, bar + 2, buffer, out, chunks, lane);
  }
}

int main() {
  const int chunks = 5;
  std::vector<int> in(chunks * kChunk), out(kWorkers);
  for (size_t i = 0; i < in.size(); ++i) in[i] = (i * 2654435761u) >> 16 & 1023;
  int *din, *dout;
  if (cudaMalloc(&din, in.size() * sizeof(int)) || cudaMalloc(&dout, kWorkers * sizeof(int))) return 2;
  if (cudaMemcpy(din, in.data(), in.size() * sizeof(int), cudaMemcpyDefault)) return 2;
  pipeline<<<1, 2 * kWorkers>>>(din, dout, chunks);
  if (cudaPeekAtLastError() || cudaMemcpy(out.data(), dout, kWorkers * sizeof(int), cudaMemcpyDefault)) return 2;
  int errors = 0;
  for (int lane = 0; lane < kWorkers; ++lane) {
    int best = 0;
    for (int v : in) best = std::max(best, v ^ lane);
    errors += best != out[lane];
  }
  std::cout << errors << " errors\n";
  cudaFree(din);
  cudaFree(dout);
  return errors != 0;
}
