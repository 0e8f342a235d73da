// CORPUS run=1
// What the threads of a warp and of a block do together: sums by shuffles, votes in a loop, a
// barrier of half of the block, vector loads from shared memory beside dynamic memory, and a
// functor.
//
// DEFECT OTHER_SHUFFLE warp_mask: half of the lanes of a mask shuffle down, the others across
// DEFECT VOTE_LEFT warp_mask: lanes leave the loop of votes at different times
// DEFECT PART_OF_WARP divergent_barrier: every other lane comes to a barrier of whole warps
// DEFECT ODD_COUNT divergent_barrier: the barrier counts 50 threads
// DEFECT ODD_PLACE misaligned: three floats before it take the tile off its place
// DEFECT TOO_MUCH launch_error: variables and dynamic memory are more than 48 KiB together
// DEFECT REFERENCE device_dereference_host: the functor is a parameter by reference
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define MUST(call)                                                   \
  do {                                                               \
    if ((call) != cudaSuccess) {                                     \
      std::fprintf(stderr, "line %d: %s failed\n", __LINE__, #call); \
      std::exit(1);                                                  \
    }                                                                \
  } while (0)

constexpr int kThreads = 128;

struct Scale {
  float by;
  __device__ float operator()(float x) const { return by * x; }
};

#ifdef DEFECT_REFERENCE
#define TAKEN const Function&
#else
#define TAKEN Function
#endif
#ifdef DEFECT_ODD_PLACE
constexpr int kFirst = 3;
#else
constexpr int kFirst = 4;
#endif

template <class Function>
// EXPECT REFERENCE
__global__ void sums(const float* in, float* out, TAKEN scale) {
  __shared__ float first[kFirst];
  // EXPECT TOO_MUCH
  __shared__ float tile[kThreads * 4];
  extern __shared__ float totals[];
  const unsigned all = 0xffffffffu;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int i = threadIdx.x; i < kThreads * 4; i += kThreads) tile[i] = scale(in[i]);
  if (threadIdx.x < 3) first[threadIdx.x] = in[threadIdx.x];
  __syncthreads();

  // EXPECT ODD_PLACE
  const float4 mine = reinterpret_cast<const float4*>(tile)[threadIdx.x];
  float sum = mine.x + mine.y + mine.z + mine.w;
  for (int offset = 16; offset > 0; offset /= 2) {
#ifdef DEFECT_OTHER_SHUFFLE
    // EXPECT OTHER_SHUFFLE
    sum += lane < 16 ? __shfl_down_sync(all, sum, offset) : __shfl_xor_sync(all, sum, offset);
#else
    sum += __shfl_down_sync(all, sum, offset);
#endif
  }
  if (lane == 0) totals[warp] = sum;

  int rounds = 0;
#ifdef DEFECT_VOTE_LEFT
  // EXPECT VOTE_LEFT
  for (int k = lane; k < 48 && __any_sync(all, k >= 0); k += 32) rounds++;
#else
  for (int k = 0; __any_sync(all, k < 2); k++) rounds++;
#endif
  // EXPECT VOTE_LEFT
  rounds = __shfl_sync(all, rounds, 0);

  __syncthreads();
  if (threadIdx.x < 64) {
#ifdef DEFECT_PART_OF_WARP
    // EXPECT PART_OF_WARP
    if (threadIdx.x % 2) asm volatile("bar.sync 1, 32;" ::: "memory");
#elif defined(DEFECT_ODD_COUNT)
    // EXPECT ODD_COUNT
    asm volatile("bar.sync 1, 50;" ::: "memory");
#else
  asm volatile("bar.sync 1, 64;" ::: "memory");
#endif
  }
  if (threadIdx.x == 0) {
    out[0] = totals[0] + totals[1] + totals[2] + totals[3];
    out[1] = static_cast<float>(rounds);
    out[2] = first[0] + first[1] + first[2];
  }
}

int main() {
  std::vector<float> in(kThreads * 4);
  float expected = 0;
  for (size_t i = 0; i < in.size(); i++) expected += 2 * (in[i] = static_cast<float>(i % 7));
  float *device_in, *device_out, out[3];
  MUST(cudaMalloc(&device_in, in.size() * sizeof(float)));
  MUST(cudaMalloc(&device_out, sizeof out));
  MUST(cudaMemcpy(device_in, in.data(), in.size() * sizeof(float), cudaMemcpyHostToDevice));
#ifdef DEFECT_TOO_MUCH
  const size_t dynamic = 47 << 10;
#else
  const size_t dynamic = 45 << 10;
#endif
  sums<<<1, kThreads, dynamic>>>(device_in, device_out, Scale{2.0f});
  MUST(cudaGetLastError());
  MUST(cudaMemcpy(out, device_out, sizeof out, cudaMemcpyDeviceToHost));
  MUST(cudaFree(device_in));
  MUST(cudaFree(device_out));
  const bool good = out[0] == expected && out[1] == 2 && out[2] == 3;
  std::printf("%s\n", good ? "right" : "wrong");
  return good ? 0 : 1;
}
