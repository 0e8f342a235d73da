// CORPUS run=1
// Copy in, compute, copy out in chunks over three streams of one kind each, with pinned buffers
// used in turn; events carry each chunk from stream to stream, and back before a slot is reused.
//
// DEFECT NO_IN_EVENT data_race: the kernel does not wait for its chunk
// DEFECT NO_OUT_EVENT data_race: the result is copied out while it is computed
// DEFECT NO_SLOT_EVENT data_race: a chunk is copied into a slot that the kernel still reads
// DEFECT HOST_REFILL data_race: the host refills a pinned buffer whose copy may be under way
// DEFECT FREE_INSIDE invalid_free: frees a pointer that was moved on, not what was allocated
// DEFECT FREE_PINNED_INSIDE invalid_free: the same with pinned memory
// DEFECT EARLY_CHECK readback_before_sync: the host checks results that may be on their way
#include <cuda_runtime.h>

#include <array>
#include <cstdio>
#include <cstdlib>

constexpr int kChunk = 256, kChunks = 6, kSlots = 2;

static void must(cudaError_t e) {
  if (e != cudaSuccess) {
    std::fprintf(stderr, "%s\n", cudaGetErrorName(e));
    std::exit(3);
  }
}

__global__ void square(const float* in, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  // EXPECT NO_IN_EVENT NO_OUT_EVENT NO_SLOT_EVENT
  out[i] = in[i] * in[i];
}

struct Slot {
  float *pinned, *in, *out;
  cudaEvent_t loaded, computed, copied;
};

int main() {
  std::array<Slot, kSlots> slots;
  float* results;
  const size_t bytes = kChunk * sizeof(float);
  must(cudaMallocHost(&results, kChunks * bytes));
  for (Slot& s : slots) {
    must(cudaHostAlloc(&s.pinned, bytes, cudaHostAllocDefault));
    must(cudaMalloc(&s.in, bytes));
    must(cudaMalloc(&s.out, bytes));
    for (cudaEvent_t* e : {&s.loaded, &s.computed, &s.copied}) {
      must(cudaEventCreateWithFlags(e, cudaEventDisableTiming));
    }
  }
  std::array<cudaStream_t, 3> streams;
  for (auto& s : streams) must(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  auto [up, work, down] = streams;

  for (int c = 0; c < kChunks; ++c) {
    Slot& s = slots[c % kSlots];
    if (c >= kSlots) {
#ifndef DEFECT_HOST_REFILL
      must(cudaEventSynchronize(s.loaded));
#endif
#ifndef DEFECT_NO_SLOT_EVENT
      must(cudaStreamWaitEvent(up, s.computed, 0));
#endif
      must(cudaStreamWaitEvent(work, s.copied, 0));
    }
    // EXPECT HOST_REFILL
    for (int i = 0; i < kChunk; ++i) s.pinned[i] = float(c * kChunk + i) * 0.25f;
    // EXPECT NO_SLOT_EVENT HOST_REFILL NO_IN_EVENT
    must(cudaMemcpyAsync(s.in, s.pinned, bytes, cudaMemcpyHostToDevice, up));
    must(cudaEventRecord(s.loaded, up));
#ifndef DEFECT_NO_IN_EVENT
    must(cudaStreamWaitEvent(work, s.loaded, 0));
#endif
    // EXPECT NO_IN_EVENT NO_OUT_EVENT
    square<<<kChunk / 64, 64, 0, work>>>(s.in, s.out);
    must(cudaGetLastError());
    must(cudaEventRecord(s.computed, work));
#ifndef DEFECT_NO_OUT_EVENT
    must(cudaStreamWaitEvent(down, s.computed, 0));
#endif
    // EXPECT NO_OUT_EVENT EARLY_CHECK
    must(cudaMemcpyAsync(results + c * kChunk, s.out, bytes, cudaMemcpyDeviceToHost, down));
    must(cudaEventRecord(s.copied, down));
  }
#ifndef DEFECT_EARLY_CHECK
  must(cudaStreamSynchronize(down));
#endif
  bool good = true;
  for (int i = 0; i < kChunks * kChunk; ++i) {
    const float x = float(i) * 0.25f;
    // EXPECT EARLY_CHECK
    good = good && results[i] == x * x;
  }
  must(cudaDeviceSynchronize());
  for (auto& s : streams) must(cudaStreamDestroy(s));
  for (Slot& s : slots) {
    for (cudaEvent_t e : {s.loaded, s.computed, s.copied}) must(cudaEventDestroy(e));
#ifdef DEFECT_FREE_PINNED_INSIDE
    s.pinned += kChunk / 2;
#endif
    // EXPECT FREE_PINNED_INSIDE
    must(cudaFreeHost(s.pinned));
#ifdef DEFECT_FREE_INSIDE
    s.in++;
#endif
    // EXPECT FREE_INSIDE
    must(cudaFree(s.in));
    must(cudaFree(s.out));
  }
  must(cudaFreeHost(results));
  std::printf("%s\n", good ? "success" : "failure");
  return good ? 0 : 1;
}
