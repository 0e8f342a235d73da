// Disaggregated serving: prefill ranks hand their KV cache to decode ranks, layer by layer.
//
// The first half of the ranks prefill one prompt each and send every layer's keys and values to
// their partner in the second half. The cache of a layer travels on its own stream while the next
// layer is computed. Both sides attend to the cache layer by layer: the prefill rank with the last
// prompt token's query, the decode rank with the next token's. Needs an even number of ranks.
//
//   mpirun -n 4 ./kv_transfer [seed]

#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#ifndef PROMPT
#define PROMPT 24  // tokens of each prompt
#endif
#ifndef LAYERS
#define LAYERS 3
#endif
#ifndef MODEL
#define MODEL 16  // length of a token
#endif
#ifndef HEADS
#define HEADS 2
#endif
#ifndef HEAD_DIM
#define HEAD_DIM 8
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

constexpr int kWidth = HEADS * HEAD_DIM;
constexpr size_t kLayerElements = static_cast<size_t>(PROMPT) * kWidth;
constexpr int kThreads = 64;  // of each block; a power of two for the reductions

// Keys and values of one layer: one block per token, one thread per column.
__global__ void prefill_layer(const float* tokens, const float* wk, const float* wv, float* k,
                              float* v) {
  const float* token = tokens + static_cast<size_t>(blockIdx.x) * MODEL;
  for (int column = threadIdx.x; column < kWidth; column += blockDim.x) {
    float key = 0.0f, value = 0.0f;
    for (int m = 0; m < MODEL; ++m) {
      key += token[m] * wk[m * kWidth + column];
      value += token[m] * wv[m * kWidth + column];
    }
    k[static_cast<size_t>(blockIdx.x) * kWidth + column] = key;
    v[static_cast<size_t>(blockIdx.x) * kWidth + column] = value;
  }
}

// One query against the whole cache of one layer: one block per head, scores in shared memory.
__global__ void attend_layer(const float* query, const float* k, const float* v, float* out) {
  extern __shared__ float score[];  // PROMPT scores, then kThreads partial results
  float* partial = score + PROMPT;
  int column = blockIdx.x * HEAD_DIM;

  float peak = -INFINITY;
  for (int t = threadIdx.x; t < PROMPT; t += kThreads) {
    float sum = 0.0f;
    for (int d = 0; d < HEAD_DIM; ++d) {
      sum += query[column + d] * k[static_cast<size_t>(t) * kWidth + column + d];
    }
    score[t] = sum * rsqrtf(HEAD_DIM);
    peak = fmaxf(peak, score[t]);
  }
  partial[threadIdx.x] = peak;
  __syncthreads();
  for (int step = kThreads / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) {
      partial[threadIdx.x] = fmaxf(partial[threadIdx.x], partial[threadIdx.x + step]);
    }
    __syncthreads();
  }
  peak = partial[0];
  __syncthreads();

  float total = 0.0f;
  for (int t = threadIdx.x; t < PROMPT; t += kThreads) {
    score[t] = expf(score[t] - peak);
    total += score[t];
  }
  partial[threadIdx.x] = total;
  __syncthreads();
  for (int step = kThreads / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) partial[threadIdx.x] += partial[threadIdx.x + step];
    __syncthreads();
  }
  for (int d = threadIdx.x; d < HEAD_DIM; d += kThreads) {
    float sum = 0.0f;
    for (int t = 0; t < PROMPT; ++t) {
      sum += score[t] * v[static_cast<size_t>(t) * kWidth + column + d];
    }
    out[column + d] = sum / partial[0];
  }
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

// What is drawn: weights are common to all ranks, prompts and queries belong to one.
enum Stream : uint64_t { kWk = 1, kWv = 2, kPrompt = 1000, kQuery = 2000 };

static std::vector<float> draw(uint64_t seed, uint64_t what, size_t n, double scale) {
  std::vector<float> values(n);
  for (size_t i = 0; i < n; ++i) {
    values[i] = static_cast<float>((2 * uniform(seed, what, i) - 1) * scale);
  }
  return values;
}

// The same attention in fp64, with the prompt of `owner` drawn again.
static std::vector<double> reference(uint64_t seed, int owner, const std::vector<float>& query,
                                     const std::vector<float>& wk, const std::vector<float>& wv) {
  std::vector<float> prompt = draw(seed, kPrompt + owner, PROMPT * MODEL, 1.0);
  std::vector<double> output(LAYERS * kWidth, 0.0);
  for (int layer = 0; layer < LAYERS; ++layer) {
    std::vector<double> k(kLayerElements, 0.0), v(kLayerElements, 0.0);
    for (int t = 0; t < PROMPT; ++t) {
      for (int m = 0; m < MODEL; ++m) {
        for (int c = 0; c < kWidth; ++c) {
          int w = (layer * MODEL + m) * kWidth + c;
          k[t * kWidth + c] += double(prompt[t * MODEL + m]) * wk[w];
          v[t * kWidth + c] += double(prompt[t * MODEL + m]) * wv[w];
        }
      }
    }
    for (int head = 0; head < HEADS; ++head) {
      int column = head * HEAD_DIM;
      std::vector<double> score(PROMPT, 0.0);
      double peak = -INFINITY, total = 0.0;
      for (int t = 0; t < PROMPT; ++t) {
        for (int d = column; d < column + HEAD_DIM; ++d) {
          score[t] += double(query[layer * kWidth + d]) * k[t * kWidth + d];
        }
        score[t] /= std::sqrt(double(HEAD_DIM));
        peak = std::fmax(peak, score[t]);
      }
      for (double& s : score) total += s = std::exp(s - peak);
      for (int t = 0; t < PROMPT; ++t) {
        for (int d = column; d < column + HEAD_DIM; ++d) {
          output[layer * kWidth + d] += score[t] / total * v[t * kWidth + d];
        }
      }
    }
  }
  return output;
}

static float* to_device(const std::vector<float>& host) {
  float* device = nullptr;
  CUDA_CHECK(cudaMalloc(&device, host.size() * sizeof(float)));
  CUDA_CHECK(cudaMemcpy(device, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice));
  return device;
}

// One step: fill the cache (prefill) or receive it (decode), and attend layer by layer.
// `ready[layer]` says that a layer's cache is computed (prefill) or has arrived (decode).
static void run_step(bool prefill, int partner, const float* d_prompt, const float* d_wk,
                     const float* d_wv, const float* d_query, float* d_k_cache, float* d_v_cache,
                     float* d_out, ncclComm_t comm, cudaStream_t compute, cudaStream_t transfer,
                     cudaEvent_t* ready) {
  const size_t shared = (PROMPT + kThreads) * sizeof(float);
  for (int layer = 0; layer < LAYERS; ++layer) {
    float* k = d_k_cache + layer * kLayerElements;
    float* v = d_v_cache + layer * kLayerElements;
    if (prefill) {
      size_t weights = static_cast<size_t>(layer) * MODEL * kWidth;
      prefill_layer<<<PROMPT, kThreads, 0, compute>>>(d_prompt, d_wk + weights, d_wv + weights, k,
                                                      v);
      CUDA_CHECK(cudaGetLastError());
      CUDA_CHECK(cudaEventRecord(ready[layer], compute));
      CUDA_CHECK(cudaStreamWaitEvent(transfer, ready[layer], 0));
      NCCL_CHECK(ncclGroupStart());
      NCCL_CHECK(ncclSend(k, kLayerElements, ncclFloat, partner, comm, transfer));
      NCCL_CHECK(ncclSend(v, kLayerElements, ncclFloat, partner, comm, transfer));
      NCCL_CHECK(ncclGroupEnd());
    } else {
      NCCL_CHECK(ncclGroupStart());
      NCCL_CHECK(ncclRecv(k, kLayerElements, ncclFloat, partner, comm, transfer));
      NCCL_CHECK(ncclRecv(v, kLayerElements, ncclFloat, partner, comm, transfer));
      NCCL_CHECK(ncclGroupEnd());
      CUDA_CHECK(cudaEventRecord(ready[layer], transfer));
      CUDA_CHECK(cudaStreamWaitEvent(compute, ready[layer], 0));
    }
    attend_layer<<<HEADS, kThreads, shared, compute>>>(d_query + layer * kWidth, k, v,
                                                       d_out + layer * kWidth);
    CUDA_CHECK(cudaGetLastError());
  }
  // The next step may touch the cache only when this one's transfers and readers are done.
  CUDA_CHECK(cudaStreamSynchronize(transfer));
  CUDA_CHECK(cudaStreamSynchronize(compute));
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

  if (ranks % 2 != 0) {
    if (rank == 0) fprintf(stderr, "kv_transfer: needs an even number of ranks, got %d\n", ranks);
    MPI_CHECK(MPI_Finalize());
    return 1;
  }

  ncclUniqueId id;
  if (rank == 0) NCCL_CHECK(ncclGetUniqueId(&id));
  MPI_CHECK(MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD));
  ncclComm_t comm;
  NCCL_CHECK(ncclCommInitRank(&comm, ranks, id, rank));

  const uint64_t seed = argc > 1 ? strtoull(argv[1], nullptr, 10) : 1;
  const bool prefill = rank < ranks / 2;
  const int partner = (rank + ranks / 2) % ranks;
  const int owner = prefill ? rank : partner;  // whose prompt it is
  const double scale = 1.0 / std::sqrt(MODEL);
  std::vector<float> wk = draw(seed, kWk, LAYERS * MODEL * kWidth, 3 * scale);
  std::vector<float> wv = draw(seed, kWv, LAYERS * MODEL * kWidth, scale);
  std::vector<float> query = draw(seed, kQuery + rank, LAYERS * kWidth, 2.0);

  const size_t cache_bytes = LAYERS * kLayerElements * sizeof(float);
  const size_t out_bytes = LAYERS * kWidth * sizeof(float);
  float* d_prompt = to_device(draw(seed, kPrompt + owner, PROMPT * MODEL, 1.0));
  float* d_wk = to_device(wk);
  float* d_wv = to_device(wv);
  float* d_query = to_device(query);
  float *d_k_cache, *d_v_cache, *d_out;
  CUDA_CHECK(cudaMalloc(&d_k_cache, cache_bytes));
  CUDA_CHECK(cudaMalloc(&d_v_cache, cache_bytes));
  CUDA_CHECK(cudaMalloc(&d_out, out_bytes));

  cudaStream_t compute, transfer;
  cudaEvent_t start, stop, ready[LAYERS];
  CUDA_CHECK(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
  CUDA_CHECK(cudaStreamCreateWithFlags(&transfer, cudaStreamNonBlocking));
  CUDA_CHECK(cudaEventCreate(&start));
  CUDA_CHECK(cudaEventCreate(&stop));
  for (cudaEvent_t& event : ready) {
    CUDA_CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  }

  for (int iteration = 0; iteration < WARMUP + ITERATIONS; ++iteration) {
    if (iteration == WARMUP) {
      // Poison, so that what the warm-up left behind cannot pass for fresh.
      CUDA_CHECK(cudaMemsetAsync(d_k_cache, 0xff, cache_bytes, compute));
      CUDA_CHECK(cudaMemsetAsync(d_v_cache, 0xff, cache_bytes, compute));
      CUDA_CHECK(cudaMemsetAsync(d_out, 0xff, out_bytes, compute));
      CUDA_CHECK(cudaStreamSynchronize(compute));
      MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
      CUDA_CHECK(cudaEventRecord(start, compute));
    }
    run_step(prefill, partner, d_prompt, d_wk, d_wv, d_query, d_k_cache, d_v_cache, d_out, comm,
             compute, transfer, ready);
  }
  CUDA_CHECK(cudaEventRecord(stop, compute));
  CUDA_CHECK(cudaStreamSynchronize(compute));
  float mine_ms = 0.0f, slowest_ms = 0.0f;
  CUDA_CHECK(cudaEventElapsedTime(&mine_ms, start, stop));
  MPI_CHECK(MPI_Allreduce(&mine_ms, &slowest_ms, 1, MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD));

  std::vector<float> output(LAYERS * kWidth);
  CUDA_CHECK(cudaMemcpy(output.data(), d_out, out_bytes, cudaMemcpyDeviceToHost));
  std::vector<double> expected = reference(seed, owner, query, wk, wv);
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
    printf("kv_transfer: %d pairs, %d layers, %.1f KiB each, %.4f ms per step\n", ranks / 2, LAYERS,
           2 * cache_bytes / 1024.0, slowest_ms / ITERATIONS);
    printf("Verification: %s\n", all_good ? "PASS" : "FAIL");
  }

  for (cudaEvent_t event : ready) CUDA_CHECK(cudaEventDestroy(event));
  CUDA_CHECK(cudaEventDestroy(start));
  CUDA_CHECK(cudaEventDestroy(stop));
  CUDA_CHECK(cudaStreamDestroy(compute));
  CUDA_CHECK(cudaStreamDestroy(transfer));
  for (float* p : {d_prompt, d_wk, d_wv, d_query, d_k_cache, d_v_cache, d_out}) {
    CUDA_CHECK(cudaFree(p));
  }
  NCCL_CHECK(ncclCommDestroy(comm));
  MPI_CHECK(MPI_Finalize());
  return all_good ? 0 : 1;
}
