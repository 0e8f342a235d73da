// What orders threads, and what does not: the form is named by the first argument. Those that begin
// with "good" have no defect.
#include <cuda_runtime.h>
#include <pthread.h>
#include <semaphore.h>
#include <cuda/atomic>
#include <cuda/barrier>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <future>
#include <latch>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>

#include "expect.h"

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kCount = 1024;
static int* pinned;

__global__ void fill(int* p, int value) { p[blockIdx.x * blockDim.x + threadIdx.x] = value; }
__global__ void add_in_block(int* p) { atomicAdd_block(p, 1); }
__global__ void add_in_block_each(int* p) { atomicAdd_block(p + blockIdx.x, 1); }
__global__ void add(int* p) { atomicAdd(p, 1); }
__global__ void add_system(int* p) { atomicAdd_system(p, 1); }
__global__ void add_mixed(unsigned long long* p) {
  if (blockIdx.x == 0) {
    atomicAdd(p, 1ull);
  } else {
    atomicAdd(reinterpret_cast<unsigned*>(p), 1u);
  }
}
__global__ void add_and_look(int* p) {
  atomicAdd(p, 1);
  while (*(volatile int*)p < static_cast<int>(gridDim.x)) {
  }
}

template <cuda::thread_scope scope>
__device__ cuda::barrier<scope> meeting;
__device__ int data;
template <cuda::thread_scope scope>
__global__ void prepare() {
  init(&meeting<scope>, 2);
}
template <cuda::thread_scope scope>
__global__ void meet(int* out) {
  if (blockIdx.x == 0) data = 42;
  meeting<scope>.arrive_and_wait();
  if (blockIdx.x == 1) out[0] = data;
}
template <cuda::thread_scope scope>
static void meet_on() {
  int* out;
  CUDA(cudaMalloc(&out, 4));
  prepare<scope><<<1, 1>>>();
  meet<scope><<<2, 1>>>(out);
  CUDA(cudaDeviceSynchronize());
}
__global__ void meet_in_block(int* out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> own;
  __shared__ int shared;
  if (threadIdx.x == 0) init(&own, blockDim.x);
  __syncthreads();
  if (threadIdx.x == 0) shared = 7;
  own.arrive_and_wait();
  out[blockIdx.x * blockDim.x + threadIdx.x] = shared;
}

static void compute() {
  fill<<<4, 256>>>(pinned, 7);
  CUDA(cudaGetLastError());
  CUDA(cudaDeviceSynchronize());
}
static void use() {
  int sum = 0;
  for (int i = 0; i < kCount; i++) sum += pinned[i];
  if (sum < 0) printf("never\n");
}
// `wait` waits for what `tell` says in another thread, once the kernel has ended there.
template <class Tell, class Wait>
static void hand_over(Tell&& tell, Wait&& wait) {
  std::thread other([&] {
    compute();
    tell();
  });
  wait();
  use();
  other.join();
}

static void relaxed(bool fences) {
  static std::atomic<int> flag{0};
  hand_over(
      [=] {
        if (fences) std::atomic_thread_fence(std::memory_order_release);
        flag.store(1, std::memory_order_relaxed);
      },
      [=] {
        while (!flag.load(std::memory_order_relaxed)) std::this_thread::yield();
        if (fences) std::atomic_thread_fence(std::memory_order_acquire);
      });
}

struct Condition {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  void tell() {
    std::lock_guard lock(mutex);
    done = true;
    changed.notify_all();
  }
};

static void polls(int most) {
  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  fill<<<4, 256, 0, stream>>>(pinned, 7);
  for (int i = 0; (most == 0 || i < most) && cudaStreamQuery(stream) != cudaSuccess; i++) {
  }
  use();
  CUDA(cudaDeviceSynchronize());
}

static void use_async(bool ordered) {
  cudaStream_t one, other;
  CUDA(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
  CUDA(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  cudaEvent_t event;
  CUDA(cudaEventCreate(&event));
  int *big, *p;
  CUDA(cudaMalloc(&big, 4 * kCount));
  fill<<<4, 256, 0, one>>>(big, 1);
  CUDA(cudaMallocAsync(&p, 4 * kCount, one));
  fill<<<4, 256, 0, one>>>(p, 1);
  CUDA(cudaFreeAsync(p, one));
  CUDA(cudaMallocAsync(&p, 4 * kCount, one));
  CUDA(cudaEventRecord(event, one));
  if (ordered) CUDA(cudaStreamWaitEvent(other, event));
  fill<<<4, 256, 0, other>>>(p, 7);
  CUDA(cudaFreeAsync(p, other));
  CUDA(cudaDeviceSynchronize());
}

static void graph_copy(bool to_host, bool waits) {
  static int host[256];
  int* device;
  CUDA(cudaMalloc(&device, sizeof host));
  CUDA(cudaMemset(device, 0, sizeof host));
  CUDA(cudaDeviceSynchronize());
  cudaStream_t stream;
  CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  cudaGraph_t graph;
  CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CUDA(cudaMemcpyAsync(to_host ? host : device, to_host ? device : host, sizeof host,
                       cudaMemcpyDefault, stream));
  CUDA(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t executable;
  CUDA(cudaGraphInstantiate(&executable, graph, 0));
  for (int round = 0; round < 2; round++) {
    host[1] = round;
    CUDA(cudaGraphLaunch(executable, stream));
    if (waits) CUDA(cudaStreamSynchronize(stream));
    if (to_host) printf("%s", host[3] ? "wrong\n" : "");
    host[3] = 0;
    CUDA(cudaStreamSynchronize(stream));
  }
}

static std::map<std::string, void (*)()> forms() {
  static Condition condition;
  static int* counter;
  CUDA(cudaMalloc(&counter, 64));
  CUDA(cudaMemset(counter, 0, 64));
  std::map<std::string, void (*)()> all;
  all["block_scope"] = [] { add_in_block<<<4, 32>>>(counter); };
  all["good_block_scope"] = [] {
    add_in_block_each<<<4, 32>>>(counter);
    add_in_block<<<1, 32>>>(counter);
    add<<<4, 32>>>(counter);
  };
  all["host_scope"] = [] {
    add<<<4, 32>>>(pinned);
    std::atomic_ref<int>(*pinned).fetch_add(1);
  };
  all["good_host_scope"] = [] {
    add_system<<<4, 32>>>(pinned);
    std::atomic_ref<int>(*pinned).fetch_add(1);
    while (*(volatile int*)pinned < 129) {
    }
    CUDA(cudaDeviceSynchronize());
    add<<<4, 32>>>(pinned);
  };
  all["mixed_size"] = [] { add_mixed<<<2, 1>>>(reinterpret_cast<unsigned long long*>(counter)); };
  all["good_volatile"] = [] { add_and_look<<<4, 1>>>(counter); };
  all["barrier_scope"] = [] { meet_on<cuda::thread_scope_block>(); };
  all["good_barrier"] = [] {
    meet_on<cuda::thread_scope_device>();
    meet_on<cuda::thread_scope_system>();
    int* out;
    CUDA(cudaMalloc(&out, 4 * kCount));
    meet_in_block<<<4, 64>>>(out);
  };
  all["relaxed"] = [] { relaxed(false); };
  all["good_relaxed"] = [] { relaxed(true); };
  all["timed_wait"] = [] {
    hand_over([] { condition.tell(); },
              [] {
                std::unique_lock lock(condition.mutex);
                if (!condition.done) condition.changed.wait_for(lock, microseconds(1));
              });
  };
  all["good_timed_wait"] = [] {
    hand_over([] { condition.tell(); },
              [] {
                std::unique_lock lock(condition.mutex);
                while (!condition.changed.wait_for(lock, milliseconds(1),
                                                   [] { return condition.done; })) {
                }
                // A watchdog's limit is not reached because others are slow.
                EXPECT(condition.changed.wait_for(lock, seconds(60), [] { return true; }));
              });
  };
  all["future_wait"] = [] {
    auto result = std::async(std::launch::async, [] {
      compute();
      return 1;
    });
    result.wait_for(milliseconds(1));
    use();
  };
  all["good_future"] = [] {
    std::promise<int> promise;
    hand_over([&] { promise.set_value(3); }, [&] { EXPECT(promise.get_future().get() == 3); });
  };
  all["spurious"] = [] {
    hand_over([] { condition.tell(); },
              [] {
                std::unique_lock lock(condition.mutex);
                if (!condition.done) condition.changed.wait(lock);
              });
  };
  all["good_wait"] = [] {
    hand_over([] { condition.tell(); },
              [] {
                std::unique_lock lock(condition.mutex);
                condition.changed.wait(lock, [] { return condition.done; });
              });
  };
  all["good_nobody_tells"] = [] {
    std::unique_lock lock(condition.mutex);
    EXPECT(!condition.changed.wait_for(lock, seconds(5), [] { return false; }));
    compute();
  };
  all["good_atomic_wait"] = [] {
    static std::atomic<int> flag{0};
    static std::latch latch(2);
    hand_over(
        [] {
          flag = 1;
          flag.notify_one();
          latch.arrive_and_wait();
        },
        [] {
          flag.wait(0);
          latch.arrive_and_wait();
        });
  };
  all["good_semaphore"] = [] {
    static sem_t semaphore;
    EXPECT(sem_init(&semaphore, 0, 0) == 0);
    timespec past{};
    EXPECT(sem_timedwait(&semaphore, &past) == -1 && errno == ETIMEDOUT);
    hand_over([] { sem_post(&semaphore); }, [] { EXPECT(sem_wait(&semaphore) == 0); });
  };
  all["good_shared_mutex"] = [] {
    static std::shared_mutex mutex;
    static bool done = false;
    hand_over(
        [] {
          std::unique_lock lock(mutex);
          done = true;
        },
        [] {
          for (;;) {
            std::shared_lock lock(mutex);
            std::shared_lock<std::shared_mutex> again;
            if (done) break;
            lock.unlock();
            std::this_thread::yield();
          }
        });
  };
  all["good_timed_mutex"] = [] {
    static std::timed_mutex mutex;
    static bool done = false;
    hand_over(
        [] {
          std::lock_guard lock(mutex);
          done = true;
        },
        [] {
          for (bool seen = false; !seen; std::this_thread::yield()) {
            std::unique_lock lock(mutex, std::defer_lock);
            seen = lock.try_lock_for(milliseconds(10)) && done;
          }
        });
  };
  all["good_spin_lock"] = [] {
    static pthread_spinlock_t spin;
    static bool done = false;
    pthread_spin_init(&spin, 0);
    hand_over(
        [] {
          pthread_spin_lock(&spin);
          done = true;
          pthread_spin_unlock(&spin);
        },
        [] {
          for (bool seen = false; !seen; std::this_thread::yield()) {
            pthread_spin_lock(&spin);
            seen = done;
            pthread_spin_unlock(&spin);
          }
        });
  };
  all["few_polls"] = [] { polls(3); };
  all["many_polls"] = [] { polls(10000); };
  all["good_polls"] = [] { polls(0); };
  all["async_memory"] = [] { use_async(false); };
  all["good_async_memory"] = [] { use_async(true); };
  all["graph_target"] = [] { graph_copy(true, false); };
  all["graph_source"] = [] { graph_copy(false, false); };
  all["good_graph_target"] = [] { graph_copy(true, true); };
  all["good_graph_source"] = [] { graph_copy(false, true); };
  return all;
}

int main(int, char** arguments) {
  CUDA(cudaMallocHost(reinterpret_cast<void**>(&pinned), 4 * kCount));
  memset(pinned, 0, 4 * kCount);
  forms().at(arguments[1])();
  CUDA(cudaDeviceSynchronize());
  return failures != 0;
}
