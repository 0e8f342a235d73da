// A mixture-of-experts layer whose rows travel as int8 with block scales, in unequal counts.
//
// Each rank owns TOKENS tokens and EXPERTS_PER_RANK experts. A router sends every token to TOP_K
// experts; SKEW says how much it prefers low expert numbers. Nothing is padded and nothing dropped:
// ranks tell each other how many rows come, the host reads that, and then each pair of ranks
// exchanges as many as it has, the int8 values and their scales from buffers of their own. Answers
// are quantized again and return the same way.
//
//   mpirun -n 4 ./moe_int8 [seed]

#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#ifndef TOKENS
#define TOKENS 32  // tokens of each rank
#endif
#ifndef HIDDEN
#define HIDDEN 32  // length of a token
#endif
#ifndef BLOCK
#define BLOCK 16  // values that share a scale; a multiple of 4 that divides HIDDEN
#endif
#ifndef EXPERTS_PER_RANK
#define EXPERTS_PER_RANK 2
#endif
#ifndef TOP_K
#define TOP_K 2  // experts of each token
#endif
#ifndef SKEW
#define SKEW 1.0  // 0: all experts are chosen alike; 1: an expert's share falls as 1/sqrt(number)
#endif
#ifndef CHECKED
#define CHECKED TOKENS  // tokens of each rank that the program checks itself
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

static_assert(BLOCK % 4 == 0 && HIDDEN % BLOCK == 0, "rows are whole blocks of whole words");
constexpr int kAssignments = TOKENS * TOP_K;
constexpr int kScales = HIDDEN / BLOCK;  // of a row
constexpr int kWords = HIDDEN / 4;       // of a row: four int8 each
constexpr int kThreads = 128;            // of the blocks that deal with rows

// One warp per expert numbers the assignments that chose it, in token order.
__global__ void assign_slots(const int* expert, int* slot, int* count) {
  int lane = threadIdx.x;
  int used = 0;
  for (int base = 0; base < kAssignments; base += 32) {
    int i = base + lane;
    bool mine = i < kAssignments && expert[i] == static_cast<int>(blockIdx.x);
    unsigned chosen = __ballot_sync(0xffffffffu, mine);
    if (mine) slot[i] = used + __popc(chosen & ((1u << lane) - 1));
    used += __popc(chosen);
  }
  if (lane == 0) count[blockIdx.x] = used;
}

// Quantizes a row, a warp for each block of values: value = q * scale, the largest being +-127.
__device__ void quantize_row(const float* x, int8_t* q, float* scales) {
  int lane = threadIdx.x % 32;
  for (int b = threadIdx.x / 32; b < kScales; b += blockDim.x / 32) {
    float peak = 0.0f;
    for (int i = lane; i < BLOCK; i += 32) peak = fmaxf(peak, fabsf(x[b * BLOCK + i]));
    for (int step = 16; step > 0; step /= 2) {
      peak = fmaxf(peak, __shfl_xor_sync(0xffffffffu, peak, step));
    }
    float inverse = peak > 0.0f ? 127.0f / peak : 0.0f;
    for (int i = lane; i < BLOCK; i += 32) {
      q[b * BLOCK + i] = static_cast<int8_t>(rintf(x[b * BLOCK + i] * inverse));
    }
    if (lane == 0) scales[b] = peak / 127.0f;
  }
}

// One block per assignment quantizes its token into its expert's rows; experts follow each other.
__global__ void dispatch_rows(const float* tokens, const int* expert, const int* slot,
                              const int* count, int* row, int8_t* send, float* send_scale) {
  __shared__ int at;
  int a = blockIdx.x;
  if (threadIdx.x == 0) {
    at = slot[a];
    for (int e = 0; e < expert[a]; ++e) at += count[e];
    row[a] = at;
  }
  __syncthreads();
  quantize_row(tokens + static_cast<size_t>(a / TOP_K) * HIDDEN,
               send + static_cast<size_t>(at) * HIDDEN,
               send_scale + static_cast<size_t>(at) * kScales);
}

// One block per row that came: y = relu(W x) in int8, quantized again. Rows lie by source rank and
// expert. A word of W holds four values of one output; outputs are next to each other.
__global__ void expert_layer(const int8_t* in, const float* in_scale, const int* count,
                             const int* w, const float* w_scale, int8_t* out, float* out_scale) {
  __shared__ int x[kWords];
  __shared__ float x_scale[kScales];
  __shared__ float y[HIDDEN];
  __shared__ int expert;
  size_t row = blockIdx.x;
  const int* words = reinterpret_cast<const int*>(in + row * HIDDEN);
  for (int i = threadIdx.x; i < kWords; i += blockDim.x) x[i] = words[i];
  for (int b = threadIdx.x; b < kScales; b += blockDim.x) x_scale[b] = in_scale[row * kScales + b];
  if (threadIdx.x == 0) {
    int group = 0;
    for (int end = count[0]; end <= static_cast<int>(row); end += count[group]) ++group;
    expert = group % EXPERTS_PER_RANK;
  }
  __syncthreads();
  for (int o = threadIdx.x; o < HIDDEN; o += blockDim.x) {
    const int* column = w + static_cast<size_t>(expert) * kWords * HIDDEN + o;
    float sum = 0.0f;
    for (int b = 0; b < kScales; ++b) {
      int dot = 0;
      for (int i = 0; i < BLOCK / 4; ++i) {
        int k = b * (BLOCK / 4) + i;
        dot = __dp4a(x[k], column[static_cast<size_t>(k) * HIDDEN], dot);
      }
      sum = fmaf(static_cast<float>(dot), x_scale[b], sum);
    }
    y[o] = fmaxf(sum * w_scale[expert * HIDDEN + o], 0.0f);
  }
  __syncthreads();
  quantize_row(y, out + row * HIDDEN, out_scale + row * kScales);
}

// One block per token adds up its experts' answers, weighted by the gates.
__global__ void combine_rows(const int8_t* returned, const float* returned_scale, const int* row,
                             const float* gate, float* output) {
  int token = blockIdx.x;
  for (int h = threadIdx.x; h < HIDDEN; h += blockDim.x) {
    float sum = 0.0f;
    for (int k = 0; k < TOP_K; ++k) {
      int a = token * TOP_K + k;
      size_t at = row[a];
      float value = returned[at * HIDDEN + h] * returned_scale[at * kScales + h / BLOCK];
      sum = fmaf(gate[a], value, sum);
    }
    output[static_cast<size_t>(token) * HIDDEN + h] = sum;
  }
}

// Device buffers of one layer. Rows lie by rank and expert, as many as there are.
struct Layer {
  int ranks, experts;
  float *tokens, *gate, *w_scale, *output;
  int *expert, *w, *slot, *row, *send_count, *recv_count;
  int8_t *send, *recv, *answer, *returned;
  float *send_scale, *recv_scale, *answer_scale, *returned_scale;
  int* host_count;  // pinned: what is sent to each expert, then what each rank sends to ours
};

// Rows of `count` that a rank exchanges with `peer`.
static size_t rows_of(const int* count, int peer) {
  size_t rows = 0;
  for (int e = 0; e < EXPERTS_PER_RANK; ++e) rows += count[peer * EXPERTS_PER_RANK + e];
  return rows;
}

static void run_layer(const Layer& layer, ncclComm_t comm, cudaStream_t stream) {
  const int* sends = layer.host_count;
  const int* receives = layer.host_count + layer.experts;

  // Dispatch: how many rows come from where, then the rows and their scales.
  assign_slots<<<layer.experts, 32, 0, stream>>>(layer.expert, layer.slot, layer.send_count);
  dispatch_rows<<<kAssignments, kThreads, 0, stream>>>(layer.tokens, layer.expert, layer.slot,
                                                       layer.send_count, layer.row, layer.send,
                                                       layer.send_scale);
  CUDA_CHECK(cudaGetLastError());
  NCCL_CHECK(
      ncclAlltoAll(layer.send_count, layer.recv_count, EXPERTS_PER_RANK, ncclInt32, comm, stream));
  const size_t count_bytes = layer.experts * sizeof(int);
  CUDA_CHECK(cudaMemcpyAsync(layer.host_count, layer.send_count, count_bytes,
                             cudaMemcpyDeviceToHost, stream));
  CUDA_CHECK(cudaMemcpyAsync(layer.host_count + layer.experts, layer.recv_count, count_bytes,
                             cudaMemcpyDeviceToHost, stream));
  CUDA_CHECK(cudaStreamSynchronize(stream));

  size_t sent = 0, received = 0;
  NCCL_CHECK(ncclGroupStart());
  for (int peer = 0; peer < layer.ranks; ++peer) {
    size_t out = rows_of(sends, peer), in = rows_of(receives, peer);
    NCCL_CHECK(ncclSend(layer.send + sent * HIDDEN, out * HIDDEN, ncclInt8, peer, comm, stream));
    NCCL_CHECK(
        ncclSend(layer.send_scale + sent * kScales, out * kScales, ncclFloat, peer, comm, stream));
    NCCL_CHECK(ncclRecv(layer.recv + received * HIDDEN, in * HIDDEN, ncclInt8, peer, comm, stream));
    NCCL_CHECK(ncclRecv(layer.recv_scale + received * kScales, in * kScales, ncclFloat, peer, comm,
                        stream));
    sent += out;
    received += in;
  }
  NCCL_CHECK(ncclGroupEnd());

  // Compute.
  if (received > 0) {
    expert_layer<<<static_cast<unsigned>(received), kThreads, 0, stream>>>(
        layer.recv, layer.recv_scale, layer.recv_count, layer.w, layer.w_scale, layer.answer,
        layer.answer_scale);
    CUDA_CHECK(cudaGetLastError());
  }

  // Combine: each answer goes back to where its row lay.
  sent = received = 0;
  NCCL_CHECK(ncclGroupStart());
  for (int peer = 0; peer < layer.ranks; ++peer) {
    size_t out = rows_of(receives, peer), in = rows_of(sends, peer);
    NCCL_CHECK(ncclSend(layer.answer + sent * HIDDEN, out * HIDDEN, ncclInt8, peer, comm, stream));
    NCCL_CHECK(ncclSend(layer.answer_scale + sent * kScales, out * kScales, ncclFloat, peer, comm,
                        stream));
    NCCL_CHECK(
        ncclRecv(layer.returned + received * HIDDEN, in * HIDDEN, ncclInt8, peer, comm, stream));
    NCCL_CHECK(ncclRecv(layer.returned_scale + received * kScales, in * kScales, ncclFloat, peer,
                        comm, stream));
    sent += out;
    received += in;
  }
  NCCL_CHECK(ncclGroupEnd());
  combine_rows<<<TOKENS, kThreads, 0, stream>>>(layer.returned, layer.returned_scale, layer.row,
                                                layer.gate, layer.output);
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

enum Stream : uint64_t { kToken = 1, kRouter = 2, kGate = 3, kWeight = 4, kWeightScale = 5 };

static uint64_t of_owner(Stream what, int owner) {
  return what + 16 * static_cast<uint64_t>(owner);
}

static std::vector<float> draw(uint64_t seed, Stream what, int owner, size_t n, double from,
                               double to) {
  std::vector<float> values(n);
  for (size_t i = 0; i < n; ++i) {
    values[i] = static_cast<float>(from + (to - from) * uniform(seed, of_owner(what, owner), i));
  }
  return values;
}

// An expert's weights, as `expert_layer` wants them: words of four, [HIDDEN / 4][HIDDEN].
static std::vector<int> draw_weights(uint64_t seed, int expert) {
  std::vector<int> words(static_cast<size_t>(kWords) * HIDDEN);
  for (size_t i = 0; i < words.size(); ++i) {
    int8_t values[4];
    for (int j = 0; j < 4; ++j) {
      double u = uniform(seed, of_owner(kWeight, expert), 4 * i + j);
      values[j] = static_cast<int8_t>(static_cast<int>(u * 255) - 127);
    }
    std::memcpy(&words[i], values, 4);
  }
  return words;
}

static std::vector<float> draw_weight_scales(uint64_t seed, int expert) {
  const double unit = 1.0 / (127 * std::sqrt(HIDDEN));
  return draw(seed, kWeightScale, expert, HIDDEN, unit, 2 * unit);
}

// Chooses TOP_K different experts for each token, and gates that sum to 1.
static void route(uint64_t seed, int rank, int experts, std::vector<int>* expert,
                  std::vector<float>* gate) {
  for (int token = 0; token < TOKENS; ++token) {
    int* chosen = expert->data() + token * TOP_K;
    float* weight = gate->data() + token * TOP_K;
    float total = 0.0f;
    for (int k = 0; k < TOP_K; ++k) {
      double u = uniform(seed, of_owner(kRouter, rank), token * TOP_K + k);
      chosen[k] = std::min(static_cast<int>(std::pow(u, 1 + SKEW) * experts), experts - 1);
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

// Quantizes a row as the kernels do; every operation is exact or rounded alike.
static void quantize_on_host(const float* x, int8_t* q, float* scales) {
  for (int b = 0; b < kScales; ++b) {
    float peak = 0.0f;
    for (int i = 0; i < BLOCK; ++i) peak = std::fmax(peak, std::fabs(x[b * BLOCK + i]));
    float inverse = peak > 0.0f ? 127.0f / peak : 0.0f;
    for (int i = 0; i < BLOCK; ++i) {
      q[b * BLOCK + i] = static_cast<int8_t>(std::rint(x[b * BLOCK + i] * inverse));
    }
    scales[b] = peak / 127.0f;
  }
}

// An expert's answer to a row, as a rank would get it back: quantized, and then values again.
static void answer_on_host(const float* token, const std::vector<int>& w,
                           const std::vector<float>& w_scale, float* answer) {
  int8_t q[HIDDEN];
  float scales[kScales], y[HIDDEN];
  quantize_on_host(token, q, scales);
  for (int o = 0; o < HIDDEN; ++o) {
    float sum = 0.0f;
    for (int b = 0; b < kScales; ++b) {
      int dot = 0;
      for (int k = b * BLOCK / 4; k < (b + 1) * BLOCK / 4; ++k) {
        int8_t values[4];
        std::memcpy(values, &w[static_cast<size_t>(k) * HIDDEN + o], 4);
        for (int j = 0; j < 4; ++j) dot += q[4 * k + j] * values[j];
      }
      sum = std::fma(static_cast<float>(dot), scales[b], sum);
    }
    y[o] = std::fmax(sum * w_scale[o], 0.0f);
  }
  quantize_on_host(y, q, scales);
  for (int h = 0; h < HIDDEN; ++h) answer[h] = q[h] * scales[h / BLOCK];
}

// The same layer for this rank's first tokens, with every expert's weights drawn again.
static std::vector<double> reference(uint64_t seed, int experts, const std::vector<float>& tokens,
                                     const std::vector<int>& expert,
                                     const std::vector<float>& gate) {
  std::vector<double> output(static_cast<size_t>(CHECKED) * HIDDEN, 0.0);
  std::vector<float> answer(HIDDEN);
  for (int e = 0; e < experts; ++e) {
    std::vector<int> w = draw_weights(seed, e);
    std::vector<float> w_scale = draw_weight_scales(seed, e);
    for (int a = 0; a < CHECKED * TOP_K; ++a) {
      if (expert[a] != e) continue;
      size_t token = static_cast<size_t>(a / TOP_K) * HIDDEN;
      answer_on_host(tokens.data() + token, w, w_scale, answer.data());
      for (int h = 0; h < HIDDEN; ++h) output[token + h] += double(gate[a]) * answer[h];
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
  if (experts < TOP_K) {
    if (rank == 0) fprintf(stderr, "moe_int8: %d experts are fewer than TOP_K\n", experts);
    MPI_CHECK(MPI_Finalize());
    return 1;
  }

  std::vector<float> tokens = draw(seed, kToken, rank, size_t{TOKENS} * HIDDEN, -1.0, 1.0);
  std::vector<int> expert(kAssignments), w;
  std::vector<float> gate(kAssignments), w_scale;
  route(seed, rank, experts, &expert, &gate);
  for (int e = 0; e < EXPERTS_PER_RANK; ++e) {
    std::vector<int> words = draw_weights(seed, rank * EXPERTS_PER_RANK + e);
    std::vector<float> scales = draw_weight_scales(seed, rank * EXPERTS_PER_RANK + e);
    w.insert(w.end(), words.begin(), words.end());
    w_scale.insert(w_scale.end(), scales.begin(), scales.end());
  }

  // A token goes to different experts, so that no rank gets more than this of each.
  const size_t most = static_cast<size_t>(ranks) * TOKENS * std::min(TOP_K, EXPERTS_PER_RANK);
  const size_t count_bytes = experts * sizeof(int);
  Layer layer;
  layer.ranks = ranks;
  layer.experts = experts;
  layer.tokens = to_device(tokens);
  layer.expert = to_device(expert);
  layer.gate = to_device(gate);
  layer.w = to_device(w);
  layer.w_scale = to_device(w_scale);
  CUDA_CHECK(cudaMalloc(&layer.slot, kAssignments * sizeof(int)));
  CUDA_CHECK(cudaMalloc(&layer.row, kAssignments * sizeof(int)));
  CUDA_CHECK(cudaMalloc(&layer.send_count, count_bytes));
  CUDA_CHECK(cudaMalloc(&layer.recv_count, count_bytes));
  CUDA_CHECK(cudaMallocHost(&layer.host_count, 2 * count_bytes));
  CUDA_CHECK(cudaMalloc(&layer.send, size_t{kAssignments} * HIDDEN));
  CUDA_CHECK(cudaMalloc(&layer.send_scale, size_t{kAssignments} * kScales * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&layer.recv, most * HIDDEN));
  CUDA_CHECK(cudaMalloc(&layer.recv_scale, most * kScales * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&layer.answer, most * HIDDEN));
  CUDA_CHECK(cudaMalloc(&layer.answer_scale, most * kScales * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&layer.returned, size_t{kAssignments} * HIDDEN));
  CUDA_CHECK(cudaMalloc(&layer.returned_scale, size_t{kAssignments} * kScales * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&layer.output, size_t{TOKENS} * HIDDEN * sizeof(float)));

  cudaStream_t stream;
  cudaEvent_t start, stop;
  CUDA_CHECK(cudaStreamCreate(&stream));
  CUDA_CHECK(cudaEventCreate(&start));
  CUDA_CHECK(cudaEventCreate(&stop));

  for (int iteration = 0; iteration < WARMUP + ITERATIONS; ++iteration) {
    if (iteration == WARMUP) {
      // Poison, so that what the warm-up left behind cannot pass for fresh.
      CUDA_CHECK(
          cudaMemsetAsync(layer.output, 0xff, size_t{TOKENS} * HIDDEN * sizeof(float), stream));
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

  std::vector<float> output(size_t{TOKENS} * HIDDEN);
  CUDA_CHECK(cudaMemcpy(output.data(), layer.output, size_t{TOKENS} * HIDDEN * sizeof(float),
                        cudaMemcpyDeviceToHost));
  std::vector<double> expected = reference(seed, experts, tokens, expert, gate);
  int good = 1, all_good = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    double error = std::fabs(output[i] - expected[i]);
    if (!(error <= 1e-5 + 1e-4 * std::fabs(expected[i]))) {
      if (good) fprintf(stderr, "rank %d: [%zu] %g, not %g\n", rank, i, output[i], expected[i]);
      good = 0;
    }
  }
  MPI_CHECK(MPI_Allreduce(&good, &all_good, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
  int came = 0, fewest = 0, most_came = 0;
  for (int i = experts; i < 2 * experts; ++i) came += layer.host_count[i];
  MPI_CHECK(MPI_Allreduce(&came, &fewest, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
  MPI_CHECK(MPI_Allreduce(&came, &most_came, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
  if (rank == 0) {
    printf("moe_int8: %d ranks, %d experts, %d to %d rows a rank, %.4f ms per layer\n", ranks,
           experts, fewest, most_came, slowest_ms / ITERATIONS);
    printf("Verification: %s\n", all_good ? "PASS" : "FAIL");
  }

  CUDA_CHECK(cudaEventDestroy(start));
  CUDA_CHECK(cudaEventDestroy(stop));
  CUDA_CHECK(cudaStreamDestroy(stream));
  for (float* p : {layer.tokens, layer.gate, layer.w_scale, layer.output, layer.send_scale,
                   layer.recv_scale, layer.answer_scale, layer.returned_scale}) {
    CUDA_CHECK(cudaFree(p));
  }
  for (int* p :
       {layer.expert, layer.w, layer.slot, layer.row, layer.send_count, layer.recv_count}) {
    CUDA_CHECK(cudaFree(p));
  }
  for (int8_t* p : {layer.send, layer.recv, layer.answer, layer.returned}) {
    CUDA_CHECK(cudaFree(p));
  }
  CUDA_CHECK(cudaFreeHost(layer.host_count));
  NCCL_CHECK(ncclCommDestroy(comm));
  MPI_CHECK(MPI_Finalize());
  return all_good ? 0 : 1;
}
