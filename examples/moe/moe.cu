// A mixture-of-experts layer: dispatch, expert MLP, combine.
//
// Each rank owns TOKENS tokens and EXPERTS_PER_RANK experts. A router sends every token to TOP_K
// experts; low expert numbers are chosen more often, so the loads are skewed. A source rank may
// place at most `capacity` rows with one expert: what comes later is dropped, what is missing is
// padding. Tokens travel by all-to-all to the expert's rank and back.
//
//   mpirun -n 4 ./moe [seed]

#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#ifndef TOKENS
#define TOKENS 32  // tokens of each rank
#endif
#ifndef HIDDEN
#define HIDDEN 16  // length of a token
#endif
#ifndef FFN
#define FFN 32  // hidden width of an expert
#endif
#ifndef EXPERTS_PER_RANK
#define EXPERTS_PER_RANK 2
#endif
#ifndef TOP_K
#define TOP_K 2  // experts of each token
#endif
#ifndef CAPACITY_FACTOR
#define CAPACITY_FACTOR 1.5
#endif
#ifndef WARMUP
#define WARMUP 1
#endif
#ifndef ITERATIONS
#define ITERATIONS 2
#endif

#define CUDA_CHECK(call)                                                                    \
  do {                                                                                      \
    cudaError_t status = (call);                                                            \
    if (status != cudaSuccess) {                                                            \
      fprintf(stderr, "%s:%d: CUDA: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
      MPI_Abort(MPI_COMM_WORLD, 1);                                                         \
    }                                                                                       \
  } while (0)

#define NCCL_CHECK(call)                                                                    \
  do {                                                                                      \
    ncclResult_t status = (call);                                                           \
    if (status != ncclSuccess) {                                                            \
      fprintf(stderr, "%s:%d: NCCL: %s\n", __FILE__, __LINE__, ncclGetErrorString(status)); \
      MPI_Abort(MPI_COMM_WORLD, 1);                                                         \
    }                                                                                       \
  } while (0)

#define MPI_CHECK(call)                                                \
  do {                                                                 \
    if ((call) != MPI_SUCCESS) {                                       \
      fprintf(stderr, "%s:%d: MPI call failed\n", __FILE__, __LINE__); \
      MPI_Abort(MPI_COMM_WORLD, 1);                                    \
    }                                                                  \
  } while (0)

constexpr int kAssignments = TOKENS * TOP_K;

// One warp per expert numbers the assignments that chose it, in token order.
__global__ void assign_slots(const int* expert, int* slot, int* count, int capacity) {
  int lane = threadIdx.x;
  int used = 0;
  for (int base = 0; base < kAssignments; base += 32) {
    int i = base + lane;
    bool mine = i < kAssignments && expert[i] == static_cast<int>(blockIdx.x);
    unsigned chosen = __ballot_sync(0xffffffffu, mine);
    if (mine) slot[i] = used + __popc(chosen & ((1u << lane) - 1));
    used += __popc(chosen);
  }
  if (lane == 0) count[blockIdx.x] = used < capacity ? used : capacity;
}

// One block per assignment copies its token to [expert][slot] of the send buffer.
__global__ void dispatch_tokens(const float* tokens, const int* expert, const int* slot,
                                float* send, int capacity) {
  int a = blockIdx.x;
  if (slot[a] >= capacity) return;  // dropped
  size_t row = static_cast<size_t>(expert[a]) * capacity + slot[a];
  for (int h = threadIdx.x; h < HIDDEN; h += blockDim.x) {
    send[row * HIDDEN + h] = tokens[(a / TOP_K) * HIDDEN + h];
  }
}

// One block per row: grid (slot, local expert, source rank). y = W2 relu(W1 x).
__global__ void expert_mlp(const float* in, const int* count, const float* w1, const float* w2,
                           float* out) {
  __shared__ float x[HIDDEN];
  __shared__ float hidden[FFN];
  int expert = blockIdx.y;
  int group = blockIdx.z * gridDim.y + expert;
  size_t row = (static_cast<size_t>(group) * gridDim.x + blockIdx.x) * HIDDEN;
  if (static_cast<int>(blockIdx.x) >= count[group]) {  // padding goes back as zeros
    for (int h = threadIdx.x; h < HIDDEN; h += blockDim.x) out[row + h] = 0.0f;
    return;
  }
  for (int h = threadIdx.x; h < HIDDEN; h += blockDim.x) x[h] = in[row + h];
  __syncthreads();
  for (int f = threadIdx.x; f < FFN; f += blockDim.x) {
    const float* w = w1 + (static_cast<size_t>(expert) * FFN + f) * HIDDEN;
    float sum = 0.0f;
    for (int h = 0; h < HIDDEN; ++h) sum += w[h] * x[h];
    hidden[f] = fmaxf(sum, 0.0f);
  }
  __syncthreads();
  for (int h = threadIdx.x; h < HIDDEN; h += blockDim.x) {
    const float* w = w2 + (static_cast<size_t>(expert) * HIDDEN + h) * FFN;
    float sum = 0.0f;
    for (int f = 0; f < FFN; ++f) sum += w[f] * hidden[f];
    out[row + h] = sum;
  }
}

// One block per token adds up its experts' answers, weighted by the gates.
__global__ void combine_tokens(const float* returned, const int* expert, const int* slot,
                               const float* gate, float* output, int capacity) {
  int token = blockIdx.x;
  for (int h = threadIdx.x; h < HIDDEN; h += blockDim.x) {
    float sum = 0.0f;
    for (int k = 0; k < TOP_K; ++k) {
      int a = token * TOP_K + k;
      if (slot[a] >= capacity) continue;
      size_t row = static_cast<size_t>(expert[a]) * capacity + slot[a];
      sum += gate[a] * returned[row * HIDDEN + h];
    }
    output[token * HIDDEN + h] = sum;
  }
}

// Device buffers of one layer. Row buffers are [rank][local expert][capacity][HIDDEN].
struct Layer {
  int ranks, experts, capacity;
  size_t block;  // floats that one rank sends to one other
  float *tokens, *gate, *w1, *w2, *output;
  float *send, *recv, *answer, *returned;
  int *expert, *slot, *send_count, *recv_count;
};

static void run_layer(const Layer& layer, ncclComm_t comm, cudaStream_t stream) {
  // Dispatch: rows to the ranks of their experts, and how many of them are not padding.
  CUDA_CHECK(cudaMemsetAsync(layer.send, 0, layer.ranks * layer.block * sizeof(float), stream));
  assign_slots<<<layer.experts, 32, 0, stream>>>(layer.expert, layer.slot, layer.send_count,
                                                 layer.capacity);
  dispatch_tokens<<<kAssignments, 32, 0, stream>>>(layer.tokens, layer.expert, layer.slot,
                                                   layer.send, layer.capacity);
  CUDA_CHECK(cudaGetLastError());
  NCCL_CHECK(
      ncclAlltoAll(layer.send_count, layer.recv_count, EXPERTS_PER_RANK, ncclInt32, comm, stream));
  NCCL_CHECK(ncclAlltoAll(layer.send, layer.recv, layer.block, ncclFloat, comm, stream));

  // Compute.
  dim3 grid(layer.capacity, EXPERTS_PER_RANK, layer.ranks);
  expert_mlp<<<grid, 32, 0, stream>>>(layer.recv, layer.recv_count, layer.w1, layer.w2,
                                      layer.answer);
  CUDA_CHECK(cudaGetLastError());

  // Combine.
  NCCL_CHECK(ncclAlltoAll(layer.answer, layer.returned, layer.block, ncclFloat, comm, stream));
  combine_tokens<<<TOKENS, 32, 0, stream>>>(layer.returned, layer.expert, layer.slot, layer.gate,
                                            layer.output, layer.capacity);
  CUDA_CHECK(cudaGetLastError());
}

// Uniform in [0, 1): a hash of (seed, what, index), so that any rank can redraw another's data.
static double uniform(uint64_t seed, uint64_t what, uint64_t index) {
  uint64_t z = seed * 0x9e3779b97f4a7c15ull + what * 0xd1b54a32d192ed03ull + index;
  for (int round = 0; round < 3; ++round) {
    z = (z ^ (z >> 31)) * 0xbf58476d1ce4e5b9ull;
    z ^= z >> 29;
  }
  return static_cast<double>(z >> 11) * 0x1.0p-53;
}

enum Stream : uint64_t { kToken = 1, kRouter = 2, kGate = 3, kW1 = 4, kW2 = 5 };

static uint64_t of_owner(Stream what, int owner) {
  return what + 16 * static_cast<uint64_t>(owner);
}

static std::vector<float> draw(uint64_t seed, Stream what, int owner, size_t n, double scale) {
  std::vector<float> values(n);
  for (size_t i = 0; i < n; ++i) {
    values[i] = static_cast<float>((2 * uniform(seed, of_owner(what, owner), i) - 1) * scale);
  }
  return values;
}

// Chooses TOP_K different experts for each token, skewed to low numbers, and gates that sum to 1.
static void route(uint64_t seed, int rank, int experts, std::vector<int>* expert,
                  std::vector<float>* gate) {
  for (int token = 0; token < TOKENS; ++token) {
    int* chosen = expert->data() + token * TOP_K;
    float* weight = gate->data() + token * TOP_K;
    float total = 0.0f;
    for (int k = 0; k < TOP_K; ++k) {
      double u = uniform(seed, of_owner(kRouter, rank), token * TOP_K + k);
      chosen[k] = static_cast<int>(u * u * experts);
      for (int before = 0; before < k; ++before) {
        if (chosen[before] == chosen[k]) {
          chosen[k] = (chosen[k] + 1) % experts;
          before = -1;  // look at all earlier choices again
        }
      }
      double g = uniform(seed, of_owner(kGate, rank), token * TOP_K + k);
      weight[k] = static_cast<float>(0.1 + g);
      total += weight[k];
    }
    for (int k = 0; k < TOP_K; ++k) weight[k] /= total;
  }
}

// The same layer in fp64 for this rank's tokens, with every expert's weights drawn again.
static std::vector<double> reference(uint64_t seed, int experts, int capacity,
                                     const std::vector<float>& tokens,
                                     const std::vector<int>& expert,
                                     const std::vector<float>& gate) {
  std::vector<double> output(TOKENS * HIDDEN, 0.0);
  for (int e = 0; e < experts; ++e) {
    std::vector<float> w1 = draw(seed, kW1, e, FFN * HIDDEN, 1.0 / std::sqrt(HIDDEN));
    std::vector<float> w2 = draw(seed, kW2, e, HIDDEN * FFN, 1.0 / std::sqrt(FFN));
    int used = 0;
    for (int a = 0; a < kAssignments; ++a) {
      if (expert[a] != e || used++ >= capacity) continue;
      const float* x = tokens.data() + (a / TOP_K) * HIDDEN;
      std::vector<double> hidden(FFN, 0.0);
      for (int f = 0; f < FFN; ++f) {
        for (int h = 0; h < HIDDEN; ++h) hidden[f] += double(w1[f * HIDDEN + h]) * x[h];
        hidden[f] = std::fmax(hidden[f], 0.0);
      }
      for (int h = 0; h < HIDDEN; ++h) {
        double sum = 0.0;
        for (int f = 0; f < FFN; ++f) sum += double(w2[h * FFN + f]) * hidden[f];
        output[(a / TOP_K) * HIDDEN + h] += double(gate[a]) * sum;
      }
    }
  }
  return output;
}

template <typename T>
static T* to_device(const std::vector<T>& host) {
  T* device = nullptr;
  CUDA_CHECK(cudaMalloc(&device, host.size() * sizeof(T)));
  CUDA_CHECK(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  return device;
}

int main(int argc, char** argv) {
  MPI_CHECK(MPI_Init(&argc, &argv));
  int rank = 0, ranks = 0, local_rank = 0, devices = 0;
  MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
  MPI_Comm node;
  MPI_CHECK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node));
  MPI_CHECK(MPI_Comm_rank(node, &local_rank));
  MPI_CHECK(MPI_Comm_free(&node));
  CUDA_CHECK(cudaGetDeviceCount(&devices));
  CUDA_CHECK(cudaSetDevice(local_rank % devices));

  ncclUniqueId id;
  if (rank == 0) NCCL_CHECK(ncclGetUniqueId(&id));
  MPI_CHECK(MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD));
  ncclComm_t comm;
  NCCL_CHECK(ncclCommInitRank(&comm, ranks, id, rank));

  const uint64_t seed = argc > 1 ? strtoull(argv[1], nullptr, 10) : 1;
  const int experts = ranks * EXPERTS_PER_RANK;
  const int capacity = static_cast<int>(std::ceil(CAPACITY_FACTOR * kAssignments / experts));

  std::vector<float> tokens = draw(seed, kToken, rank, TOKENS * HIDDEN, 1.0);
  std::vector<int> expert(kAssignments);
  std::vector<float> gate(kAssignments);
  route(seed, rank, experts, &expert, &gate);
  std::vector<float> w1, w2;
  for (int e = 0; e < EXPERTS_PER_RANK; ++e) {
    int global = rank * EXPERTS_PER_RANK + e;
    std::vector<float> a = draw(seed, kW1, global, FFN * HIDDEN, 1.0 / std::sqrt(HIDDEN));
    std::vector<float> b = draw(seed, kW2, global, HIDDEN * FFN, 1.0 / std::sqrt(FFN));
    w1.insert(w1.end(), a.begin(), a.end());
    w2.insert(w2.end(), b.begin(), b.end());
  }

  Layer layer;
  layer.ranks = ranks;
  layer.experts = experts;
  layer.capacity = capacity;
  layer.block = static_cast<size_t>(EXPERTS_PER_RANK) * capacity * HIDDEN;
  layer.tokens = to_device(tokens);
  layer.expert = to_device(expert);
  layer.gate = to_device(gate);
  layer.w1 = to_device(w1);
  layer.w2 = to_device(w2);
  CUDA_CHECK(cudaMalloc(&layer.slot, kAssignments * sizeof(int)));
  CUDA_CHECK(cudaMalloc(&layer.send_count, experts * sizeof(int)));
  CUDA_CHECK(cudaMalloc(&layer.recv_count, experts * sizeof(int)));
  CUDA_CHECK(cudaMalloc(&layer.send, ranks * layer.block * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&layer.recv, ranks * layer.block * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&layer.answer, ranks * layer.block * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&layer.returned, ranks * layer.block * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&layer.output, TOKENS * HIDDEN * sizeof(float)));

  cudaStream_t stream;
  cudaEvent_t start, stop;
  CUDA_CHECK(cudaStreamCreate(&stream));
  CUDA_CHECK(cudaEventCreate(&start));
  CUDA_CHECK(cudaEventCreate(&stop));

  for (int iteration = 0; iteration < WARMUP + ITERATIONS; ++iteration) {
    if (iteration == WARMUP) {
      // Poison, so that what the warm-up left behind cannot pass for fresh.
      CUDA_CHECK(cudaMemsetAsync(layer.output, 0xff, TOKENS * HIDDEN * sizeof(float), stream));
      CUDA_CHECK(cudaStreamSynchronize(stream));
      MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
      CUDA_CHECK(cudaEventRecord(start, stream));
    }
    run_layer(layer, comm, stream);
  }
  CUDA_CHECK(cudaEventRecord(stop, stream));
  CUDA_CHECK(cudaStreamSynchronize(stream));
  float mine_ms = 0.0f, slowest_ms = 0.0f;
  CUDA_CHECK(cudaEventElapsedTime(&mine_ms, start, stop));
  MPI_CHECK(MPI_Allreduce(&mine_ms, &slowest_ms, 1, MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD));

  std::vector<float> output(TOKENS * HIDDEN);
  CUDA_CHECK(cudaMemcpy(output.data(), layer.output, TOKENS * HIDDEN * sizeof(float),
                        cudaMemcpyDeviceToHost));
  std::vector<double> expected = reference(seed, experts, capacity, tokens, expert, gate);
  int good = 1, all_good = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    double error = std::fabs(output[i] - expected[i]);
    if (!(error <= 1e-5 + 1e-4 * std::fabs(expected[i]))) {
      if (good) fprintf(stderr, "rank %d: [%zu] %g, not %g\n", rank, i, output[i], expected[i]);
      good = 0;
    }
  }
  MPI_CHECK(MPI_Allreduce(&good, &all_good, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
  if (rank == 0) {
    printf("moe: %d ranks, %d experts, capacity %d, %.4f ms per layer\n", ranks, experts, capacity,
           slowest_ms / ITERATIONS);
    printf("Verification: %s\n", all_good ? "PASS" : "FAIL");
  }

  CUDA_CHECK(cudaEventDestroy(start));
  CUDA_CHECK(cudaEventDestroy(stop));
  CUDA_CHECK(cudaStreamDestroy(stream));
  for (float* p : {layer.tokens, layer.gate, layer.w1, layer.w2, layer.send, layer.recv,
                   layer.answer, layer.returned, layer.output}) {
    CUDA_CHECK(cudaFree(p));
  }
  for (int* p : {layer.expert, layer.slot, layer.send_count, layer.recv_count}) {
    CUDA_CHECK(cudaFree(p));
  }
  NCCL_CHECK(ncclCommDestroy(comm));
  MPI_CHECK(MPI_Finalize());
  return all_good ? 0 : 1;
}
