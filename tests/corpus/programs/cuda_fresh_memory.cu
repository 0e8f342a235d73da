// CORPUS run=1
// A sparse matrix times a vector, in rows of four, and a summary of the result. Much of its memory is
// never written and never used: padding of rows, of a struct and of a pitched table.
//
// DEFECT NO_ZERO uninitialized_read: adds to a sum that nobody set to 0
// DEFECT SHORT_MEMSET uninitialized_read: the size of the memset counts elements, not bytes
// DEFECT SHORT_COPY uninitialized_read: leaves out the last elements of the vector
// DEFECT OPEN_ROW uninitialized_read: uses the padding behind a short row
// DEFECT TILE_UNSET uninitialized_read: threads past the end leave their place of the tile as it is
// DEFECT LAST_ROW uninitialized_read: no thread computes the last row, which the host compares
// DEFECT COUNTER uninitialized_read: counts in managed memory that nobody set
// DEFECT NEW_POOL_BLOCK uninitialized_read: takes memory from the pool for zero because it was before
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                       \
  do {                                                                                    \
    cudaError_t status = (call);                                                          \
    if (status != cudaSuccess) {                                                          \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
      std::exit(2);                                                                       \
    }                                                                                     \
  } while (0)

constexpr int kRows = 203, kWidth = 4, kBlock = 64;
#ifdef DEFECT_LAST_ROW
constexpr int kComputed = kRows - 1;
#else
constexpr int kComputed = kRows;
#endif

struct Summary {
  char valid;  // and seven bytes that nobody writes
  double norm;
};

struct Row {
  int count;
  int column[kWidth];
  float value[kWidth];
};

__global__ void fill(Row* rows) {
  const int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= kRows) return;
  rows[r].count = r % kWidth + 1;
  for (int i = 0; i < rows[r].count; i++) {
    rows[r].column[i] = (r * 5 + i) % kRows;
    rows[r].value[i] = 1.0f + i;
  }
}

__global__ void multiply(const Row* rows, const float* x, float* y) {
  const int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= kComputed) return;
  const Row row = rows[r];  // the padding too
  float sum = 0;
#ifdef DEFECT_OPEN_ROW
  for (int i = 0; i < kWidth; i++) {
    // EXPECT OPEN_ROW
    if (rows[r].value[i] > 0) sum += x[row.column[0]];
  }
#else
  for (int i = 0; i < row.count; i++) {
    // EXPECT SHORT_COPY
    sum += row.value[i] * x[row.column[i]];
  }
#endif
  atomicExch(&y[r], sum);
}

__global__ void summarize(const float* y, double* total, Summary* out, int* blocks) {
  __shared__ float tile[2 * kBlock];  // the upper half only makes the first step the same for all
  const int r = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
#ifdef DEFECT_TILE_UNSET
  if (r < kComputed) tile[t] = y[r] * y[r];
#else
  tile[t] = r < kComputed ? y[r] * y[r] : 0;
#endif
  __syncthreads();
  for (int step = kBlock / 2; step > 0; step /= 2) {
    float other = 0;
    // EXPECT TILE_UNSET
    other = tile[t + step];
    __syncthreads();
    // EXPECT TILE_UNSET
    if (t < step) tile[t] += other;
    __syncthreads();
  }
  if (t != 0) return;
  // EXPECT NO_ZERO
  atomicAdd(total, static_cast<double>(tile[0]));
  // EXPECT COUNTER
  atomicAdd(blocks, 1);
  if (blockIdx.x == 0) out->valid = 1;
}

__global__ void finish(const double* total, Summary* out, Summary* copy) {
  out->norm = sqrt(*total);
  *copy = *out;
}

// A histogram of the counts of rows, in bytes.
__global__ void histogram(const Row* rows, int* bins) {
  const int r = blockIdx.x * blockDim.x + threadIdx.x;
  // EXPECT SHORT_MEMSET NEW_POOL_BLOCK
  if (r < kRows) atomicAdd(&bins[rows[r].count - 1 + kWidth], 1);
}

static int histogram_is_right(cudaStream_t stream, const Row* rows, int grid) {
  int *bins = nullptr, host[2 * kWidth], wrong = 0;
  for (int round = 0; round < 2; round++) {
    CHECK(cudaMallocAsync(&bins, sizeof host, stream));
#if defined(DEFECT_SHORT_MEMSET)
    CHECK(cudaMemsetAsync(bins, 0, 2 * kWidth, stream));
#elif defined(DEFECT_NEW_POOL_BLOCK)
    if (round == 0) CHECK(cudaMemsetAsync(bins, 0, sizeof host, stream));
#else
    CHECK(cudaMemsetAsync(bins, 0, sizeof host, stream));
#endif
    histogram<<<grid, kBlock, 0, stream>>>(rows, bins);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(host, bins, sizeof host, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaFreeAsync(bins, stream));
    CHECK(cudaStreamSynchronize(stream));
    for (int i = 0; i < kWidth; i++) wrong += host[kWidth + i] != (kRows - i + kWidth - 1) / kWidth;
  }
  return wrong == 0;
}

int main() {
  const int grid = (kRows + kBlock - 1) / kBlock;
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  Row* rows;
  float *x, *y;
  double* total;
  Summary *out, *copy;
  int* blocks;
  CHECK(cudaMalloc(&rows, kRows * sizeof(Row)));
  CHECK(cudaMalloc(&x, kRows * sizeof(float)));
  CHECK(cudaMalloc(&y, grid * kBlock * sizeof(float)));
  CHECK(cudaMalloc(&total, sizeof(double)));
  CHECK(cudaMalloc(&out, sizeof(Summary)));
  CHECK(cudaMalloc(&copy, sizeof(Summary)));
  CHECK(cudaMallocManaged(&blocks, sizeof(int)));
#ifndef DEFECT_COUNTER
  *blocks = 0;
#endif
  std::vector<float> start(kRows), result(grid * kBlock);
  for (int i = 0; i < kRows; i++) start[i] = 0.5f + i % 11;
#ifdef DEFECT_SHORT_COPY
  CHECK(cudaMemcpyAsync(x, start.data(), (kRows - 3) * sizeof(float), cudaMemcpyHostToDevice, stream));
#else
  CHECK(cudaMemcpyAsync(x, start.data(), kRows * sizeof(float), cudaMemcpyHostToDevice, stream));
#endif
#ifndef DEFECT_NO_ZERO
  CHECK(cudaMemsetAsync(total, 0, sizeof(double), stream));
#endif
  fill<<<grid, kBlock, 0, stream>>>(rows);
  multiply<<<grid, kBlock, 0, stream>>>(rows, x, y);
  summarize<<<grid, kBlock, 0, stream>>>(y, total, out, blocks);
  finish<<<1, 1, 0, stream>>>(total, out, copy);
  CHECK(cudaGetLastError());
  Summary summary;
  CHECK(cudaMemcpyAsync(&summary, copy, sizeof summary, cudaMemcpyDeviceToHost, stream));
  CHECK(cudaStreamSynchronize(stream));
  // The whole buffer, although nobody computes what is behind the last row.
  // EXPECT LAST_ROW
  CHECK(cudaMemcpy(result.data(), y, result.size() * sizeof(float), cudaMemcpyDeviceToHost));
  int wrong = *blocks != grid || !summary.valid;
  double norm = 0, sum = 0;
  for (int r = 0; r < kRows; r++) {
    float want = 0;
    for (int i = 0; i <= r % kWidth; i++) want += (1.0f + i) * start[(r * 5 + i) % kRows];
    wrong += !(std::fabs(result[r] - want) < 1e-3f);
    norm += static_cast<double>(want) * want;
    sum += result[r];
  }
  wrong += !(std::fabs(summary.norm - std::sqrt(norm)) < 1e-3);
  wrong += !histogram_is_right(stream, rows, grid);
  std::printf("sum %.3f: %s\n", sum, wrong ? "FAILED" : "PASSED");
  CHECK(cudaFree(rows));
  CHECK(cudaFree(x));
  CHECK(cudaFree(y));
  CHECK(cudaFree(total));
  CHECK(cudaFree(out));
  CHECK(cudaFree(copy));
  CHECK(cudaFree(blocks));
  CHECK(cudaStreamDestroy(stream));
  return wrong != 0;
}
