// Data-parallel training: every rank has its own batch, gradients are summed by all-reduce.
//
// A small network, y = w2 . tanh(W1 x), learns a random target by gradient descent. All ranks start
// from the same weights and must end with the same ones; the fp64 reference trains on the batches
// of all ranks.
//
//   mpirun -n 4 ./allreduce_dp [seed]

#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#ifndef BATCH
#define BATCH 16  // samples of each rank
#endif
#ifndef FEATURES
#define FEATURES 12
#endif
#ifndef UNITS
#define UNITS 16  // hidden units
#endif
#ifndef STEPS
#define STEPS 3  // of gradient descent
#endif
#ifndef RATE
#define RATE 0.2f  // of learning
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

// Weights and gradients are one vector: W1 [UNITS][FEATURES], then w2 [UNITS].
constexpr int kParameters = UNITS * FEATURES + UNITS;
constexpr int kThreads = 64;

// One block per sample: hidden activations, the error of the answer, and its square.
__global__ void forward(const float* x, const float* target, const float* weights, float* hidden,
                        float* error) {
  __shared__ float partial[kThreads];
  int sample = blockIdx.x;
  const float* w2 = weights + UNITS * FEATURES;
  float answer = 0.0f;
  for (int unit = threadIdx.x; unit < UNITS; unit += kThreads) {
    float sum = 0.0f;
    for (int f = 0; f < FEATURES; ++f) {
      sum += weights[unit * FEATURES + f] * x[sample * FEATURES + f];
    }
    float activation = tanhf(sum);
    hidden[sample * UNITS + unit] = activation;
    answer += w2[unit] * activation;
  }
  partial[threadIdx.x] = answer;
  __syncthreads();
  for (int step = kThreads / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) partial[threadIdx.x] += partial[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) error[sample] = partial[0] - target[sample];
}

// One thread per parameter sums over the batch, always in the same order.
__global__ void backward(const float* x, const float* weights, const float* hidden,
                         const float* error, float* gradient) {
  int p = blockIdx.x * blockDim.x + threadIdx.x;
  if (p >= kParameters) return;
  const float* w2 = weights + UNITS * FEATURES;
  float sum = 0.0f;
  for (int sample = 0; sample < BATCH; ++sample) {
    if (p < UNITS * FEATURES) {
      int unit = p / FEATURES, f = p % FEATURES;
      float h = hidden[sample * UNITS + unit];
      sum += error[sample] * w2[unit] * (1.0f - h * h) * x[sample * FEATURES + f];
    } else {
      sum += error[sample] * hidden[sample * UNITS + p - UNITS * FEATURES];
    }
  }
  gradient[p] = sum / BATCH;
}

// One warp: the mean squared error of this rank's batch.
__global__ void mean_loss(const float* error, float* loss) {
  float sum = 0.0f;
  for (int sample = threadIdx.x; sample < BATCH; sample += 32) sum += error[sample] * error[sample];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
  if (threadIdx.x == 0) *loss = sum / BATCH;
}

__global__ void sgd_step(float* weights, const float* gradient, float rate) {
  int p = blockIdx.x * blockDim.x + threadIdx.x;
  if (p < kParameters) weights[p] -= rate * gradient[p];
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

// What is drawn: inputs and targets belong to one rank, the first weights to all.
enum Stream : uint64_t { kWeights = 1, kX = 1000, kTarget = 2000 };

static std::vector<float> draw(uint64_t seed, uint64_t what, size_t n, double scale) {
  std::vector<float> values(n);
  for (size_t i = 0; i < n; ++i) {
    values[i] = static_cast<float>((2 * uniform(seed, what, i) - 1) * scale);
  }
  return values;
}

// The same training in fp64 on the batches of all ranks; losses are those before each step.
static std::vector<double> reference(uint64_t seed, int ranks, const std::vector<float>& first,
                                     std::vector<double>* losses) {
  std::vector<double> w(first.begin(), first.end());
  std::vector<std::vector<float>> x, target;
  for (int r = 0; r < ranks; ++r) {
    x.push_back(draw(seed, kX + r, BATCH * FEATURES, 1.0));
    target.push_back(draw(seed, kTarget + r, BATCH, 1.0));
  }
  const int w2 = UNITS * FEATURES;
  for (int step = 0; step < STEPS; ++step) {
    std::vector<double> gradient(kParameters, 0.0);
    double loss = 0.0;
    for (int i = 0; i < ranks * BATCH; ++i) {
      const float* sample = x[i / BATCH].data() + (i % BATCH) * FEATURES;
      std::vector<double> hidden(UNITS, 0.0);
      double error = -target[i / BATCH][i % BATCH];
      for (int u = 0; u < UNITS; ++u) {
        for (int f = 0; f < FEATURES; ++f) hidden[u] += w[u * FEATURES + f] * sample[f];
        hidden[u] = std::tanh(hidden[u]);
        error += w[w2 + u] * hidden[u];
      }
      for (int u = 0; u < UNITS; ++u) {
        double slope = error * w[w2 + u] * (1 - hidden[u] * hidden[u]);
        for (int f = 0; f < FEATURES; ++f) gradient[u * FEATURES + f] += slope * sample[f];
        gradient[w2 + u] += error * hidden[u];
      }
      loss += error * error;
    }
    losses->push_back(loss / (ranks * BATCH));
    for (int p = 0; p < kParameters; ++p) w[p] -= double(RATE) * gradient[p] / (ranks * BATCH);
  }
  return w;
}

static float* to_device(const std::vector<float>& host) {
  float* device = nullptr;
  CUDA_CHECK(cudaMalloc(&device, host.size() * sizeof(float)));
  CUDA_CHECK(cudaMemcpy(device, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice));
  return device;
}

// STEPS steps of gradient descent. Gradients are reduced in place.
static void train(int ranks, const float* d_x, const float* d_target, float* d_weights,
                  float* d_hidden, float* d_error, float* d_gradient, float* d_loss,
                  float* d_mean_loss, ncclComm_t comm, cudaStream_t stream) {
  const int blocks = (kParameters + kThreads - 1) / kThreads;
  for (int step = 0; step < STEPS; ++step) {
    forward<<<BATCH, kThreads, 0, stream>>>(d_x, d_target, d_weights, d_hidden, d_error);
    backward<<<blocks, kThreads, 0, stream>>>(d_x, d_weights, d_hidden, d_error, d_gradient);
    mean_loss<<<1, 32, 0, stream>>>(d_error, d_loss + step);
    CUDA_CHECK(cudaGetLastError());
    NCCL_CHECK(
        ncclAllReduce(d_gradient, d_gradient, kParameters, ncclFloat, ncclSum, comm, stream));
    sgd_step<<<blocks, kThreads, 0, stream>>>(d_weights, d_gradient, RATE / ranks);
    CUDA_CHECK(cudaGetLastError());
  }
  NCCL_CHECK(ncclAllReduce(d_loss, d_mean_loss, STEPS, ncclFloat, ncclAvg, comm, stream));
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
  const size_t weight_bytes = kParameters * sizeof(float);
  std::vector<float> first = draw(seed, kWeights, kParameters, 0.5);
  float* d_x = to_device(draw(seed, kX + rank, BATCH * FEATURES, 1.0));
  float* d_target = to_device(draw(seed, kTarget + rank, BATCH, 1.0));
  float *d_weights, *d_hidden, *d_error, *d_gradient, *d_loss, *d_mean_loss;
  CUDA_CHECK(cudaMalloc(&d_weights, weight_bytes));
  CUDA_CHECK(cudaMalloc(&d_hidden, BATCH * UNITS * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&d_error, BATCH * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&d_gradient, weight_bytes));
  CUDA_CHECK(cudaMalloc(&d_loss, STEPS * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&d_mean_loss, STEPS * sizeof(float)));

  cudaStream_t stream;
  CUDA_CHECK(cudaStreamCreate(&stream));
  cudaEvent_t start, stop;
  CUDA_CHECK(cudaEventCreate(&start));
  CUDA_CHECK(cudaEventCreate(&stop));
  for (int iteration = 0; iteration < WARMUP + ITERATIONS; ++iteration) {
    // Each iteration trains from the same first weights.
    CUDA_CHECK(
        cudaMemcpyAsync(d_weights, first.data(), weight_bytes, cudaMemcpyHostToDevice, stream));
    if (iteration == WARMUP) {
      CUDA_CHECK(cudaStreamSynchronize(stream));
      MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
      CUDA_CHECK(cudaEventRecord(start, stream));
    }
    train(ranks, d_x, d_target, d_weights, d_hidden, d_error, d_gradient, d_loss, d_mean_loss, comm,
          stream);
  }
  CUDA_CHECK(cudaEventRecord(stop, stream));
  CUDA_CHECK(cudaStreamSynchronize(stream));
  float mine_ms = 0.0f, slowest_ms = 0.0f;
  CUDA_CHECK(cudaEventElapsedTime(&mine_ms, start, stop));
  MPI_CHECK(MPI_Allreduce(&mine_ms, &slowest_ms, 1, MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD));

  std::vector<float> weights(kParameters), losses(STEPS);
  CUDA_CHECK(cudaMemcpy(weights.data(), d_weights, weight_bytes, cudaMemcpyDeviceToHost));
  CUDA_CHECK(cudaMemcpy(losses.data(), d_mean_loss, STEPS * sizeof(float), cudaMemcpyDeviceToHost));
  std::vector<double> expected_losses;
  std::vector<double> expected = reference(seed, ranks, first, &expected_losses);
  weights.insert(weights.end(), losses.begin(), losses.end());
  expected.insert(expected.end(), expected_losses.begin(), expected_losses.end());
  int good = 1, all_good = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    double error = std::fabs(weights[i] - expected[i]);
    if (!(error <= 1e-5 + 1e-4 * std::fabs(expected[i]))) {
      if (good) fprintf(stderr, "rank %d: [%zu] %g, not %g\n", rank, i, weights[i], expected[i]);
      good = 0;
    }
  }
  MPI_CHECK(MPI_Allreduce(&good, &all_good, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
  if (rank == 0) {
    printf("allreduce_dp: %d ranks, %d parameters, loss %.4f -> %.4f, %.4f ms per step\n", ranks,
           kParameters, losses.front(), losses.back(), slowest_ms / (ITERATIONS * STEPS));
    printf("Verification: %s\n", all_good ? "PASS" : "FAIL");
  }

  CUDA_CHECK(cudaEventDestroy(start));
  CUDA_CHECK(cudaEventDestroy(stop));
  CUDA_CHECK(cudaStreamDestroy(stream));
  for (float* p : {d_x, d_target, d_weights, d_hidden, d_error, d_gradient, d_loss, d_mean_loss}) {
    CUDA_CHECK(cudaFree(p));
  }
  NCCL_CHECK(ncclCommDestroy(comm));
  MPI_CHECK(MPI_Finalize());
  return all_good ? 0 : 1;
}
