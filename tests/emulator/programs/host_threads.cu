// Host threads with one device each, a mutex, a condition variable and std::atomic.
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "expect.h"

__global__ void fill(int* p, int value) { p[threadIdx.x] = value; }

static std::mutex guard;
static std::condition_variable ready;
static int total = 0, arrived = 0;
static std::atomic<int> started{0};

static void work(int device) {
  CUDA(cudaSetDevice(device));
  started++;
  while (started.load() < 2) std::this_thread::yield();
  int *p, host[32];
  CUDA(cudaMalloc(&p, sizeof host));
  fill<<<1, 32>>>(p, device + 1);
  CUDA(cudaMemcpy(host, p, sizeof host, cudaMemcpyDeviceToHost));
  CUDA(cudaFree(p));
  std::unique_lock<std::mutex> lock(guard);
  total += host[31];
  arrived++;
  ready.notify_all();
  ready.wait(lock, [] { return arrived == 2; });
}

int main() {
  int devices = 0;
  CUDA(cudaGetDeviceCount(&devices));
  EXPECT(devices == 2);
  std::vector<std::thread> threads;
  for (int device = 0; device < 2; device++) threads.emplace_back(work, device);
  for (auto& thread : threads) thread.join();
  EXPECT(total == 3);
  return failures != 0;
}
