// What the hooks of accesses and the built-in variables must get right, one case for each argument.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

struct Place {
  uint3 thread, block;
  dim3 threads, blocks;
};
struct Row {
  float value[8];
};
struct __attribute__((packed)) Crooked {
  char first;
  int second;
};

__host__ __device__ unsigned here() { return threadIdx.x + blockIdx.x + 1; }

__global__ void note_places(Place* before, Place* after, unsigned* shuffled) {
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const unsigned at = block * blockDim.x * blockDim.y * blockDim.z + thread;
  before[at] = {threadIdx, blockIdx, blockDim, gridDim};
  __syncthreads();
  shuffled[at] = __shfl_xor_sync(~0u, thread, 1) + here() - threadIdx.x - blockIdx.x;
  after[at] = {threadIdx, blockIdx, blockDim, gridDim};
}

__global__ void copy_rows(const Row* in, Row* out, int rows, bool same) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < rows) out[same ? 0 : i] = in[i];
}

__global__ void return_early(int* out, const int* in, int n, bool reads) {
  int scratch[4];
  for (int i = 0; i <= n; i++) scratch[i % 4] = i + threadIdx.x;
  if (reads) scratch[n % 4] += in[threadIdx.x];
  if (scratch[n % 4] >= 32) return;
  __syncthreads();
  out[threadIdx.x] = scratch[n % 4];
}

__global__ void read_crooked(const char* bytes, int offset, int step, int times, int* out) {
  int sum = 0;
  for (int i = 0; i < times; i++) {
    sum += reinterpret_cast<const Crooked*>(bytes + offset + i * step)->second;
  }
  *out = sum;
}

// All threads read `last`, but only one of them does something with it.
__global__ void ask_early(int* out) {
  __shared__ int last;
  if (threadIdx.x == 0) last = blockIdx.x;
  if (last == 0 && threadIdx.x == 0) *out = 1;
}

// A helper that is compiled into its callers, with a local variable and with memory that all share.
__device__ void add_to(int* sum, int value) {
  *sum += value;
}
__global__ void add_all(int* out, int rounds) {
  int mine = 0;
  for (int i = 0; i < rounds; i++) add_to(&mine, i);
  add_to(out, mine);
}

template <class T>
T* fresh(std::size_t count) {
  T* memory;
  if (cudaMalloc(&memory, count * sizeof(T)) || cudaMemset(memory, 0, count * sizeof(T))) exit(2);
  return memory;
}
template <class T>
std::vector<T> to_host(const T* memory, std::size_t count) {
  std::vector<T> copy(count);
  cudaMemcpy(copy.data(), memory, count * sizeof(T), cudaMemcpyDeviceToHost);
  return copy;
}

bool right(const Place& got, unsigned block, unsigned thread, dim3 grid, dim3 shape) {
  const Place expected{{thread % shape.x, thread / shape.x % shape.y, thread / shape.x / shape.y},
                       {block % grid.x, block / grid.x % grid.y, block / grid.x / grid.y},
                       shape,
                       grid};
  return std::memcmp(&got, &expected, sizeof got) == 0;
}

int check_places() {
  const dim3 grid(2, 3, 2), shape(4, 4, 4);
  const unsigned blocks = 12, threads = 64;
  Place *before = fresh<Place>(blocks * threads), *after = fresh<Place>(blocks * threads);
  unsigned* shuffled = fresh<unsigned>(blocks * threads);
  note_places<<<grid, shape>>>(before, after, shuffled);
  const auto first = to_host(before, blocks * threads), second = to_host(after, blocks * threads);
  const auto partners = to_host(shuffled, blocks * threads);
  for (unsigned i = 0; i < blocks * threads; i++) {
    const unsigned block = i / threads, thread = i % threads;
    if (!right(first[i], block, thread, grid, shape)) return 3;
    if (!right(second[i], block, thread, grid, shape)) return 4;
    if (partners[i] != (thread ^ 1) + 1) return 5;
  }
  return here() == 1 ? 0 : 6;
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  if (!std::strcmp(what, "places")) return check_places();
  if (!std::strncmp(what, "rows", 4)) {
    Row *in = fresh<Row>(128), *out = fresh<Row>(128);
    std::vector<Row> rows(128);
    for (int i = 0; i < 128; i++) rows[i].value[7] = i;
    cudaMemcpy(in, rows.data(), 128 * sizeof(Row), cudaMemcpyHostToDevice);
    copy_rows<<<4, 32>>>(in, out, 128, !std::strcmp(what, "rows-race"));
    return to_host(out, 128)[0].value[0] != 0;
  }
  if (!std::strncmp(what, "early", 5)) {
    int *out = fresh<int>(64), *in = fresh<int>(64);
    return_early<<<1, 64>>>(out, in, 12, !std::strcmp(what, "early-reads"));
    return to_host(out, 64)[0] != 12;
  }
  int* out = fresh<int>(1);
  if (!std::strcmp(what, "ask-early")) {
    ask_early<<<1, 64>>>(out);
    return to_host(out, 1)[0] != 1;
  }
  if (!std::strcmp(what, "add")) {
    add_all<<<1, 64>>>(out, 10);
    return to_host(out, 1)[0] % 45;
  }
  if (!std::strncmp(what, "chunk", 5)) {
    char* chunk = fresh<char>(512);
    if (!std::strcmp(what, "chunk-freed")) cudaFree(chunk);
    read_crooked<<<1, 1>>>(chunk, !std::strcmp(what, "chunk-passed") ? 508 : 507, 0, 9, out);
    return to_host(out, 1)[0];
  }
  char* bytes = fresh<char>(64);  // not the first allocation: something lies before it
  const int offset = std::atoi(what);
  read_crooked<<<1, 1>>>(bytes, offset, 0, 200000, out);
  return to_host(out, 1)[0];
}
