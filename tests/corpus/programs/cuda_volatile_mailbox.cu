// CORPUS run=1
// Pairs of blocks pass messages through two slots in turn: fields and turn counters are volatile,
// and fences keep them in order.
//
// DEFECT NO_WRITER_FENCE stale_read: nothing keeps the fields before the turn that announces them
// DEFECT NO_READER_FENCE stale_read: nothing keeps the reads behind the turn
// DEFECT BLOCK_FENCE stale_read: the fence orders the fields for the writer's own block only
// DEFECT LATE_FENCE stale_read: the last field is written behind the fence
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

constexpr int kPairs = 3, kRounds = 6;

struct Slot {
  int source;
  long long amount;
  unsigned turn;
};
struct Mailbox {
  Slot slots[2];
  unsigned taken;
};

__device__ long long amount_of(int pair, unsigned round) { return 1000LL * (pair + 1) + round; }

__device__ void send(volatile Mailbox* box, int pair) {
  for (unsigned round = 1; round <= kRounds; ++round) {
    while (box->taken + 2 < round) {
    }
    __threadfence();
    volatile Slot* slot = &box->slots[round % 2];
    slot->source = pair * 100 + int(round);
#if !defined(DEFECT_LATE_FENCE)
    slot->amount = amount_of(pair, round);
#endif
#if defined(DEFECT_BLOCK_FENCE)
    __threadfence_block();
#elif !defined(DEFECT_NO_WRITER_FENCE)
    __threadfence();
#endif
#if defined(DEFECT_LATE_FENCE)
    slot->amount = amount_of(pair, round);
#endif
    slot->turn = round;
  }
}

__device__ long long receive(volatile Mailbox* box, int* mistakes, int pair) {
  long long sum = 0;
  for (unsigned round = 1; round <= kRounds; ++round) {
    volatile Slot* slot = &box->slots[round % 2];
    while (slot->turn != round) {
    }
#if !defined(DEFECT_NO_READER_FENCE)
    __threadfence();
#endif
    // EXPECT NO_WRITER_FENCE NO_READER_FENCE BLOCK_FENCE
    if (slot->source != pair * 100 + int(round)) ++*mistakes;
    // EXPECT NO_WRITER_FENCE NO_READER_FENCE BLOCK_FENCE LATE_FENCE
    sum += slot->amount;
    __threadfence();
    box->taken = round;
  }
  return sum;
}

__global__ void exchange(Mailbox* boxes, long long* sums, int* mistakes) {
  const int pair = blockIdx.x / 2;
  if (threadIdx.x != 0) return;
  if (blockIdx.x % 2 == 0) {
    send(&boxes[pair], pair);
  } else {
    sums[pair] = receive(&boxes[pair], &mistakes[pair], pair);
  }
}

#define TRY(call)                                                                  \
  if ((call) != cudaSuccess) {                                                     \
    std::printf("%s failed: %s\n", #call, cudaGetErrorString(cudaGetLastError())); \
    return 2;                                                                      \
  }

int main() {
  Mailbox* boxes;
  long long* sums;
  int* mistakes;
  TRY(cudaMalloc(&boxes, kPairs * sizeof(Mailbox)));
  TRY(cudaMalloc(&sums, kPairs * sizeof(long long)));
  TRY(cudaMalloc(&mistakes, kPairs * sizeof(int)));
  TRY(cudaMemset(boxes, 0, kPairs * sizeof(Mailbox)));
  TRY(cudaMemset(mistakes, 0, kPairs * sizeof(int)));
  exchange<<<2 * kPairs, 32>>>(boxes, sums, mistakes);
  TRY(cudaGetLastError());
  std::vector<long long> got(kPairs);
  std::vector<int> wrong(kPairs);
  TRY(cudaMemcpy(got.data(), sums, kPairs * sizeof(long long), cudaMemcpyDeviceToHost));
  TRY(cudaMemcpy(wrong.data(), mistakes, kPairs * sizeof(int), cudaMemcpyDeviceToHost));
  bool good = true;
  for (int pair = 0; pair < kPairs; ++pair) {
    const long long expected = 1000LL * (pair + 1) * kRounds + kRounds * (kRounds + 1) / 2;
    good = good && got[pair] == expected && wrong[pair] == 0;
  }
  TRY(cudaFree(boxes));
  TRY(cudaFree(sums));
  TRY(cudaFree(mistakes));
  std::puts(good ? "all amounts arrived" : "amounts are wrong");
  return good ? 0 : 1;
}
