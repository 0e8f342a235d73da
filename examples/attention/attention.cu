// Causal attention with context parallelism: the sequence is cut into one shard per rank.
//
// Each rank projects its own tokens to queries, keys and values. Keys and values are gathered from
// all ranks on a second stream while the queries are still being computed; then each rank attends
// from its queries to every earlier token of the whole sequence.
//
//   mpirun -n 4 ./attention [seed]

#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#ifndef SHARD
#define SHARD 16  // tokens of each rank
#endif
#ifndef MODEL
#define MODEL 32  // length of a token
#endif
#ifndef HEADS
#define HEADS 2
#endif
#ifndef HEAD_DIM
#define HEAD_DIM 16
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
constexpr int kPerLane = (HEAD_DIM + 31) / 32;

// y = x W: one block per token, one thread per output column.
__global__ void project(const float* x, const float* w, float* y) {
  const float* token = x + static_cast<size_t>(blockIdx.x) * MODEL;
  for (int column = threadIdx.x; column < kWidth; column += blockDim.x) {
    float sum = 0.0f;
    for (int m = 0; m < MODEL; ++m) sum += token[m] * w[m * kWidth + column];
    y[static_cast<size_t>(blockIdx.x) * kWidth + column] = sum;
  }
}

__device__ float warp_max(float value) {
  for (int step = 16; step > 0; step /= 2) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, step));
  }
  return value;
}

__device__ float warp_sum(float value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  return value;
}

// One warp per (query, head) walks over the keys in chunks of 32 with a running softmax.
// `first` is the place of this rank's first token in the sequence.
__global__ void attend(const float* q, const float* k, const float* v, float* out, int first) {
  __shared__ float query[HEAD_DIM];
  __shared__ float weight[32];
  int lane = threadIdx.x;
  int column = blockIdx.y * HEAD_DIM;
  size_t row = static_cast<size_t>(blockIdx.x) * kWidth + column;
  int last = first + blockIdx.x;

  for (int d = lane; d < HEAD_DIM; d += 32) query[d] = q[row + d] * rsqrtf(HEAD_DIM);
  __syncwarp();
  float peak = -INFINITY, total = 0.0f;
  float sum[kPerLane] = {};
  for (int base = 0; base <= last; base += 32) {
    int key = base + lane;
    float score = -INFINITY;
    if (key <= last) {
      const float* candidate = k + static_cast<size_t>(key) * kWidth + column;
      score = 0.0f;
      for (int d = 0; d < HEAD_DIM; ++d) score += query[d] * candidate[d];
    }
    float higher = fmaxf(peak, warp_max(score));
    float shrink = expf(peak - higher);
    float mine = expf(score - higher);
    total = total * shrink + warp_sum(mine);
    peak = higher;
    weight[lane] = mine;
    __syncwarp();
    int keys = last - base < 31 ? last - base + 1 : 32;
    for (int i = 0; i < kPerLane; ++i) {
      int d = lane + 32 * i;
      if (d >= HEAD_DIM) break;
      const float* value = v + static_cast<size_t>(base) * kWidth + column + d;
      sum[i] *= shrink;
      for (int j = 0; j < keys; ++j) sum[i] += weight[j] * value[static_cast<size_t>(j) * kWidth];
    }
    __syncwarp();
  }
  for (int i = 0; i < kPerLane; ++i) {
    int d = lane + 32 * i;
    if (d < HEAD_DIM) out[row + d] = sum[i] / total;
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

enum Stream : uint64_t { kWq = 1, kWk = 2, kWv = 3, kTokens = 16 };  // kTokens + rank

static std::vector<float> draw(uint64_t seed, uint64_t what, size_t n, double scale) {
  std::vector<float> values(n);
  for (size_t i = 0; i < n; ++i) {
    values[i] = static_cast<float>((2 * uniform(seed, what, i) - 1) * scale);
  }
  return values;
}

// x W in fp64, for all tokens in `x`.
static std::vector<double> project_fp64(const std::vector<float>& x, const std::vector<float>& w) {
  size_t tokens = x.size() / MODEL;
  std::vector<double> y(tokens * kWidth, 0.0);
  for (size_t t = 0; t < tokens; ++t) {
    for (int m = 0; m < MODEL; ++m) {
      for (int c = 0; c < kWidth; ++c) {
        y[t * kWidth + c] += double(x[t * MODEL + m]) * w[m * kWidth + c];
      }
    }
  }
  return y;
}

// The same attention in fp64 for this rank's queries, with the other ranks' tokens drawn again.
static std::vector<double> reference(uint64_t seed, int rank, const std::vector<float>& wq,
                                     const std::vector<float>& wk, const std::vector<float>& wv) {
  std::vector<float> sequence, own;
  for (int r = 0; r <= rank; ++r) {  // later ranks' tokens are masked
    own = draw(seed, kTokens + r, SHARD * MODEL, 1.0);
    sequence.insert(sequence.end(), own.begin(), own.end());
  }
  std::vector<double> q = project_fp64(own, wq);
  std::vector<double> k = project_fp64(sequence, wk);
  std::vector<double> v = project_fp64(sequence, wv);
  std::vector<double> output(SHARD * kWidth, 0.0);
  for (int t = 0; t < SHARD; ++t) {
    for (int head = 0; head < HEADS; ++head) {
      int column = head * HEAD_DIM;
      int keys = rank * SHARD + t + 1;
      std::vector<double> score(keys, 0.0);
      double peak = -INFINITY, total = 0.0;
      for (int key = 0; key < keys; ++key) {
        for (int d = column; d < column + HEAD_DIM; ++d) {
          score[key] += q[t * kWidth + d] * k[static_cast<size_t>(key) * kWidth + d];
        }
        score[key] /= std::sqrt(double(HEAD_DIM));
        peak = std::fmax(peak, score[key]);
      }
      for (double& s : score) total += s = std::exp(s - peak);
      for (int key = 0; key < keys; ++key) {
        for (int d = column; d < column + HEAD_DIM; ++d) {
          output[t * kWidth + d] += score[key] / total * v[static_cast<size_t>(key) * kWidth + d];
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

// Device buffers: [tokens][width], `all_` ones for the whole sequence.
struct Buffers {
  float *x, *wq, *wk, *wv;
  float *q, *k, *v, *out;
  float *all_k, *all_v;
};

struct Streams {
  cudaStream_t compute, comm;
  cudaEvent_t projected, gathered;
};

static void run_attention(const Buffers& b, int rank, ncclComm_t comm, const Streams& s) {
  project<<<SHARD, 64, 0, s.compute>>>(b.x, b.wk, b.k);
  project<<<SHARD, 64, 0, s.compute>>>(b.x, b.wv, b.v);
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaEventRecord(s.projected, s.compute));

  CUDA_CHECK(cudaStreamWaitEvent(s.comm, s.projected, 0));
  NCCL_CHECK(ncclGroupStart());
  NCCL_CHECK(ncclAllGather(b.k, b.all_k, SHARD * kWidth, ncclFloat, comm, s.comm));
  NCCL_CHECK(ncclAllGather(b.v, b.all_v, SHARD * kWidth, ncclFloat, comm, s.comm));
  NCCL_CHECK(ncclGroupEnd());
  CUDA_CHECK(cudaEventRecord(s.gathered, s.comm));

  project<<<SHARD, 64, 0, s.compute>>>(b.x, b.wq, b.q);  // overlaps the gather
  CUDA_CHECK(cudaStreamWaitEvent(s.compute, s.gathered, 0));
  attend<<<dim3(SHARD, HEADS), 32, 0, s.compute>>>(b.q, b.all_k, b.all_v, b.out, rank * SHARD);
  CUDA_CHECK(cudaGetLastError());
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
  const double scale = 1.0 / std::sqrt(MODEL);
  std::vector<float> x = draw(seed, kTokens + rank, SHARD * MODEL, 1.0);
  std::vector<float> wq = draw(seed, kWq, MODEL * kWidth, 3 * scale);
  std::vector<float> wk = draw(seed, kWk, MODEL * kWidth, 3 * scale);
  std::vector<float> wv = draw(seed, kWv, MODEL * kWidth, scale);

  const size_t shard_bytes = SHARD * kWidth * sizeof(float);
  Buffers b;
  b.x = to_device(x);
  b.wq = to_device(wq);
  b.wk = to_device(wk);
  b.wv = to_device(wv);
  CUDA_CHECK(cudaMalloc(&b.q, shard_bytes));
  CUDA_CHECK(cudaMalloc(&b.k, shard_bytes));
  CUDA_CHECK(cudaMalloc(&b.v, shard_bytes));
  CUDA_CHECK(cudaMalloc(&b.out, shard_bytes));
  CUDA_CHECK(cudaMalloc(&b.all_k, ranks * shard_bytes));
  CUDA_CHECK(cudaMalloc(&b.all_v, ranks * shard_bytes));

  Streams s;
  cudaEvent_t start, stop;
  CUDA_CHECK(cudaStreamCreateWithFlags(&s.compute, cudaStreamNonBlocking));
  CUDA_CHECK(cudaStreamCreateWithFlags(&s.comm, cudaStreamNonBlocking));
  CUDA_CHECK(cudaEventCreateWithFlags(&s.projected, cudaEventDisableTiming));
  CUDA_CHECK(cudaEventCreateWithFlags(&s.gathered, cudaEventDisableTiming));
  CUDA_CHECK(cudaEventCreate(&start));
  CUDA_CHECK(cudaEventCreate(&stop));

  for (int iteration = 0; iteration < WARMUP + ITERATIONS; ++iteration) {
    if (iteration == WARMUP) {
      // Poison, so that what the warm-up left behind cannot pass for fresh.
      CUDA_CHECK(cudaMemsetAsync(b.out, 0xff, shard_bytes, s.compute));
      CUDA_CHECK(cudaStreamSynchronize(s.compute));
      MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
      CUDA_CHECK(cudaEventRecord(start, s.compute));
    }
    run_attention(b, rank, comm, s);
  }
  CUDA_CHECK(cudaEventRecord(stop, s.compute));
  CUDA_CHECK(cudaStreamSynchronize(s.compute));
  float mine_ms = 0.0f, slowest_ms = 0.0f;
  CUDA_CHECK(cudaEventElapsedTime(&mine_ms, start, stop));
  MPI_CHECK(MPI_Allreduce(&mine_ms, &slowest_ms, 1, MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD));

  std::vector<float> output(SHARD * kWidth);
  CUDA_CHECK(cudaMemcpy(output.data(), b.out, shard_bytes, cudaMemcpyDeviceToHost));
  std::vector<double> expected = reference(seed, rank, wq, wk, wv);
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
    printf("attention: %d ranks, %d tokens, %d heads, %.4f ms per pass\n", ranks, ranks * SHARD,
           HEADS, slowest_ms / ITERATIONS);
    printf("Verification: %s\n", all_good ? "PASS" : "FAIL");
  }

  for (cudaEvent_t event : {s.projected, s.gathered, start, stop}) {
    CUDA_CHECK(cudaEventDestroy(event));
  }
  CUDA_CHECK(cudaStreamDestroy(s.compute));
  CUDA_CHECK(cudaStreamDestroy(s.comm));
  for (float* p : {b.x, b.wq, b.wk, b.wv, b.q, b.k, b.v, b.out, b.all_k, b.all_v}) {
    CUDA_CHECK(cudaFree(p));
  }
  NCCL_CHECK(ncclCommDestroy(comm));
  MPI_CHECK(MPI_Finalize());
  return all_good ? 0 : 1;
}
