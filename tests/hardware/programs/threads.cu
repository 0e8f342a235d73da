// Several threads for each device read back from the same line, at times of their own.
#include <cuda_runtime.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#define CHECK(call)                                                           \
  do {                                                                        \
    const cudaError_t status = call;                                          \
    if (status != cudaSuccess) {                                              \
      fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(status)); \
      exit(1);                                                                \
    }                                                                         \
  } while (0)

constexpr int kThreads = 3, kRounds = 5, kInts = 64;

__global__ void fill(int* out, int value) { out[threadIdx.x] = value + threadIdx.x; }

#if defined(OWN_DEVICE)
constexpr bool kOwnDevice = true;
#else
constexpr bool kOwnDevice = false;
#endif

// The stream says which device, whatever device the thread is on.
void work(int device, int number, cudaStream_t stream, int* out) {
  if (kOwnDevice) CHECK(cudaSetDevice(device));
  std::vector<int> got(kInts);
  for (int round = 0; round < kRounds; round++) {
    usleep((number * 7 + round * 3) % 5 * 400);
    CHECK(cudaSetDevice(device));
    fill<<<1, kInts, 0, stream>>>(out, (device * 100 + number) * 100 + round);
    CHECK(cudaGetLastError());
    if (!kOwnDevice) CHECK(cudaSetDevice(0));
    CHECK(cudaMemcpyAsync(got.data(), out, kInts * sizeof(int), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
  }
}

int main() {
  int devices;
  CHECK(cudaGetDeviceCount(&devices));
  std::vector<std::thread> threads;
  for (int device = 0; device < devices; device++) {
    for (int number = 0; number < kThreads; number++) {
      cudaStream_t stream;
      int* out;
      CHECK(cudaSetDevice(device));
      CHECK(cudaStreamCreate(&stream));
      CHECK(cudaMalloc(&out, kInts * sizeof(int)));
      threads.emplace_back(work, device, number, stream, out);
    }
  }
  for (std::thread& thread : threads) thread.join();
  printf("PASS\n");
}
