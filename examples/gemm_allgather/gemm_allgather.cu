// Tensor-parallel linear layer: each rank computes a slice of the columns, then all are gathered.
//
// Y = gelu(X W + bias), where W is cut by columns over the ranks. The rows are worked on in CHUNKS
// pieces, so that the all-gather of one piece overlaps the product of the next. A last kernel puts
// the gathered slices side by side.
//
//   mpirun -n 4 ./gemm_allgather [seed]

#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#ifndef ROWS
#define ROWS 32  // of X, a multiple of CHUNKS
#endif
#ifndef INNER
#define INNER 40  // columns of X
#endif
#ifndef COLUMNS
#define COLUMNS 24  // of Y, on each rank
#endif
#ifndef CHUNKS
#define CHUNKS 2
#endif
#ifndef TILE
#define TILE 8
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

constexpr int kChunkRows = ROWS / CHUNKS;
static_assert(ROWS % CHUNKS == 0, "ROWS must be a multiple of CHUNKS");

// c = a b, row-major, a: rows x INNER, b: INNER x COLUMNS; square tiles in shared memory.
__global__ void gemm(const float* a, const float* b, float* c, int rows) {
  __shared__ float tile_a[TILE][TILE];
  __shared__ float tile_b[TILE][TILE + 1];
  int row = blockIdx.y * TILE + threadIdx.y;
  int column = blockIdx.x * TILE + threadIdx.x;
  float sum = 0.0f;
  for (int base = 0; base < INNER; base += TILE) {
    int ka = base + threadIdx.x, kb = base + threadIdx.y;
    tile_a[threadIdx.y][threadIdx.x] = row < rows && ka < INNER ? a[row * INNER + ka] : 0.0f;
    tile_b[threadIdx.y][threadIdx.x] =
        kb < INNER && column < COLUMNS ? b[kb * COLUMNS + column] : 0.0f;
    __syncthreads();
    for (int k = 0; k < TILE; ++k) sum += tile_a[threadIdx.y][k] * tile_b[k][threadIdx.x];
    __syncthreads();
  }
  if (row < rows && column < COLUMNS) c[row * COLUMNS + column] = sum;
}

// gathered is [chunk][rank][kChunkRows][COLUMNS]; y is [ROWS][ranks * COLUMNS].
__global__ void assemble(const float* gathered, const float* bias, float* y, int ranks) {
  int row = blockIdx.x, chunk = row / kChunkRows, width = ranks * COLUMNS;
  for (int column = threadIdx.x; column < width; column += blockDim.x) {
    int owner = column / COLUMNS;
    size_t slice = (static_cast<size_t>(chunk) * ranks + owner) * kChunkRows + row % kChunkRows;
    float z = gathered[slice * COLUMNS + column % COLUMNS] + bias[column];
    float inner = 0.7978845608f * (z + 0.044715f * z * z * z);
    y[static_cast<size_t>(row) * width + column] = 0.5f * z * (1.0f + tanhf(inner));
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

enum Stream : uint64_t { kX = 1, kBias = 2, kWeight = 16 };  // kWeight + rank

static std::vector<float> draw(uint64_t seed, uint64_t what, size_t n, double scale) {
  std::vector<float> values(n);
  for (size_t i = 0; i < n; ++i) {
    values[i] = static_cast<float>((2 * uniform(seed, what, i) - 1) * scale);
  }
  return values;
}

// The same layer in fp64: every rank holds all of Y and draws all slices of W again.
static std::vector<double> reference(uint64_t seed, int ranks, const std::vector<float>& x,
                                     const std::vector<float>& bias) {
  const int width = ranks * COLUMNS;
  std::vector<double> y(static_cast<size_t>(ROWS) * width, 0.0);
  for (int owner = 0; owner < ranks; ++owner) {
    std::vector<float> w = draw(seed, kWeight + owner, INNER * COLUMNS, 1.0 / std::sqrt(INNER));
    for (int row = 0; row < ROWS; ++row) {
      for (int k = 0; k < INNER; ++k) {
        for (int c = 0; c < COLUMNS; ++c) {
          y[static_cast<size_t>(row) * width + owner * COLUMNS + c] +=
              double(x[row * INNER + k]) * w[k * COLUMNS + c];
        }
      }
    }
  }
  for (size_t i = 0; i < y.size(); ++i) {
    double z = y[i] + bias[i % width];
    y[i] = 0.5 * z * (1.0 + std::tanh(0.7978845608 * (z + 0.044715 * z * z * z)));
  }
  return y;
}

static float* to_device(const std::vector<float>& host) {
  float* device = nullptr;
  CUDA_CHECK(cudaMalloc(&device, host.size() * sizeof(float)));
  CUDA_CHECK(cudaMemcpy(device, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice));
  return device;
}

static void run_layer(int ranks, const float* d_x, const float* d_w, const float* d_bias,
                      float* d_slice, float* d_gathered, float* d_y, ncclComm_t comm,
                      cudaStream_t compute, cudaStream_t gather, cudaEvent_t* computed,
                      cudaEvent_t gathered) {
  const size_t elements = static_cast<size_t>(kChunkRows) * COLUMNS;
  dim3 threads(TILE, TILE);
  dim3 blocks((COLUMNS + TILE - 1) / TILE, (kChunkRows + TILE - 1) / TILE);
  for (int chunk = 0; chunk < CHUNKS; ++chunk) {
    float* slice = d_slice + chunk * elements;
    gemm<<<blocks, threads, 0, compute>>>(d_x + chunk * kChunkRows * INNER, d_w, slice, kChunkRows);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaEventRecord(computed[chunk], compute));
    CUDA_CHECK(cudaStreamWaitEvent(gather, computed[chunk], 0));
    NCCL_CHECK(ncclAllGather(slice, d_gathered + chunk * ranks * elements, elements, ncclFloat,
                             comm, gather));
  }
  CUDA_CHECK(cudaEventRecord(gathered, gather));
  CUDA_CHECK(cudaStreamWaitEvent(compute, gathered, 0));
  assemble<<<ROWS, 64, 0, compute>>>(d_gathered, d_bias, d_y, ranks);
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
  const int width = ranks * COLUMNS;
  std::vector<float> x = draw(seed, kX, ROWS * INNER, 1.0);
  std::vector<float> bias = draw(seed, kBias, width, 0.5);

  const size_t slice_bytes = ROWS * COLUMNS * sizeof(float);
  float* d_x = to_device(x);
  float* d_bias = to_device(bias);
  float* d_w = to_device(draw(seed, kWeight + rank, INNER * COLUMNS, 1.0 / std::sqrt(INNER)));
  float *d_slice, *d_gathered, *d_y;
  CUDA_CHECK(cudaMalloc(&d_slice, slice_bytes));
  CUDA_CHECK(cudaMalloc(&d_gathered, ranks * slice_bytes));
  CUDA_CHECK(cudaMalloc(&d_y, ranks * slice_bytes));

  cudaStream_t compute, gather;
  cudaEvent_t start, stop, gathered, computed[CHUNKS];
  CUDA_CHECK(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
  CUDA_CHECK(cudaStreamCreateWithFlags(&gather, cudaStreamNonBlocking));
  CUDA_CHECK(cudaEventCreate(&start));
  CUDA_CHECK(cudaEventCreate(&stop));
  CUDA_CHECK(cudaEventCreateWithFlags(&gathered, cudaEventDisableTiming));
  for (cudaEvent_t& event : computed) {
    CUDA_CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  }

  for (int iteration = 0; iteration < WARMUP + ITERATIONS; ++iteration) {
    if (iteration == WARMUP) {
      // Poison, so that what the warm-up left behind cannot pass for fresh.
      CUDA_CHECK(cudaMemsetAsync(d_gathered, 0xff, ranks * slice_bytes, compute));
      CUDA_CHECK(cudaMemsetAsync(d_y, 0xff, ranks * slice_bytes, compute));
      CUDA_CHECK(cudaStreamSynchronize(compute));
      MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
      CUDA_CHECK(cudaEventRecord(start, compute));
    }
    run_layer(ranks, d_x, d_w, d_bias, d_slice, d_gathered, d_y, comm, compute, gather, computed,
              gathered);
  }
  CUDA_CHECK(cudaEventRecord(stop, compute));
  CUDA_CHECK(cudaStreamSynchronize(compute));
  float mine_ms = 0.0f, slowest_ms = 0.0f;
  CUDA_CHECK(cudaEventElapsedTime(&mine_ms, start, stop));
  MPI_CHECK(MPI_Allreduce(&mine_ms, &slowest_ms, 1, MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD));

  std::vector<float> y(static_cast<size_t>(ROWS) * width);
  CUDA_CHECK(cudaMemcpy(y.data(), d_y, ranks * slice_bytes, cudaMemcpyDeviceToHost));
  std::vector<double> expected = reference(seed, ranks, x, bias);
  int good = 1, all_good = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    double error = std::fabs(y[i] - expected[i]);
    if (!(error <= 1e-5 + 1e-4 * std::fabs(expected[i]))) {
      if (good) fprintf(stderr, "rank %d: [%zu] %g, not %g\n", rank, i, y[i], expected[i]);
      good = 0;
    }
  }
  MPI_CHECK(MPI_Allreduce(&good, &all_good, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
  if (rank == 0) {
    printf("gemm_allgather: %d ranks, %d x %d x %d, %.4f ms per layer\n", ranks, ROWS, INNER, width,
           slowest_ms / ITERATIONS);
    printf("Verification: %s\n", all_good ? "PASS" : "FAIL");
  }

  for (cudaEvent_t event : computed) CUDA_CHECK(cudaEventDestroy(event));
  for (cudaEvent_t event : {gathered, start, stop}) CUDA_CHECK(cudaEventDestroy(event));
  CUDA_CHECK(cudaStreamDestroy(compute));
  CUDA_CHECK(cudaStreamDestroy(gather));
  for (float* p : {d_x, d_w, d_bias, d_slice, d_gathered, d_y}) CUDA_CHECK(cudaFree(p));
  NCCL_CHECK(ncclCommDestroy(comm));
  MPI_CHECK(MPI_Finalize());
  return all_good ? 0 : 1;
}
