// Runs a generated CUDA file on the CPU, for tests where there is no GPU. It is slow.
//
// Each thread of a block is a fiber of one system thread; blocks run one after the other. It shows
// that the kernel computes the right thing. It shows nothing about races or speed.
#pragma once

#include <ucontext.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

struct dim3 {
  unsigned x, y, z;
  dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
using uint3 = dim3;
using cudaStream_t = void*;
using cudaError_t = int;
const int cudaSuccess = 0;

inline dim3 threadIdx, blockIdx, blockDim, gridDim;

#define __global__
#define __device__
#define __host__
#define __shared__ static
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __restrict__

inline int cudaMallocAsync(void** place, size_t bytes, cudaStream_t) {
  *place = std::malloc(bytes);
  return *place == nullptr ? 2 : 0;
}
inline int cudaFreeAsync(void* place, cudaStream_t) {
  std::free(place);
  return 0;
}
inline int cudaMemsetAsync(void* place, int value, size_t bytes, cudaStream_t) {
  std::memset(place, value, bytes);
  return 0;
}
inline int cudaGetLastError() { return cudaSuccess; }
inline int cudaPeekAtLastError() { return cudaSuccess; }

namespace host_cuda {

struct Thread {
  ucontext_t context;
  std::unique_ptr<char[]> stack;
  unsigned number = 0;
  bool done = false;
};

struct Meeting {
  unsigned wanted = 0, come = 0, round = 0;
};

struct Block {
  std::vector<Thread> threads;
  std::vector<Meeting> warps;
  Meeting all;
  std::vector<uint64_t> words;
  ucontext_t back;
  Thread* now = nullptr;
  void (*body)(void*) = nullptr;
  void* argument = nullptr;
};

inline Block* current = nullptr;
const size_t kStack = 64 << 10;

inline void yield() { swapcontext(&current->now->context, &current->back); }

inline void meet(Meeting& place) {
  const unsigned round = place.round;
  if (++place.come == place.wanted) {
    place.come = 0;
    ++place.round;
    return;
  }
  while (place.round == round) yield();
}

inline void leave(Meeting& place) {
  --place.wanted;
  if (place.wanted != 0 && place.come == place.wanted) {
    place.come = 0;
    ++place.round;
  }
}

inline void enter() {
  Block* block = current;
  block->body(block->argument);
  block->now->done = true;
  leave(block->all);
  leave(block->warps[block->now->number / 32]);
  swapcontext(&block->now->context, &block->back);
}

inline void select(Thread& thread) {
  const unsigned n = thread.number;
  threadIdx = dim3(n % blockDim.x, n / blockDim.x % blockDim.y, n / (blockDim.x * blockDim.y));
}

inline void run_block(Block& block) {
  const unsigned count = static_cast<unsigned>(block.threads.size());
  block.all = Meeting{count, 0, 0};
  for (unsigned at = 0; at < block.warps.size(); ++at)
    block.warps[at] = Meeting{count - at * 32 < 32 ? count - at * 32 : 32, 0, 0};
  for (Thread& thread : block.threads) {
    thread.done = false;
    getcontext(&thread.context);
    thread.context.uc_stack.ss_sp = thread.stack.get();
    thread.context.uc_stack.ss_size = kStack;
    thread.context.uc_link = nullptr;
    makecontext(&thread.context, enter, 0);
  }
  for (bool left = true; left;) {
    left = false;
    for (Thread& thread : block.threads) {
      if (thread.done) continue;
      left = true;
      block.now = &thread;
      select(thread);
      swapcontext(&block.back, &thread.context);
    }
  }
}

template <class Body>
void launch(dim3 grid, dim3 threads, Body body) {
  Block block;
  const unsigned count = threads.x * threads.y * threads.z;
  block.threads.resize(count);
  block.words.resize(count);
  block.warps.resize((count + 31) / 32);
  for (unsigned at = 0; at < count; ++at) {
    block.threads[at].number = at;
    block.threads[at].stack.reset(new char[kStack]);
  }
  block.body = [](void* given) { (*static_cast<Body*>(given))(); };
  block.argument = &body;
  current = &block;
  gridDim = grid;
  blockDim = threads;
  for (unsigned z = 0; z < grid.z; ++z)
    for (unsigned y = 0; y < grid.y; ++y)
      for (unsigned x = 0; x < grid.x; ++x) {
        blockIdx = dim3(x, y, z);
        run_block(block);
      }
  current = nullptr;
}

template <class T>
T exchange(T value, int from) {
  static_assert(sizeof(T) <= sizeof(uint64_t), "");
  Block& block = *current;
  Thread* const self = block.now;
  Meeting& warp = block.warps[self->number / 32];
  std::memcpy(&block.words[self->number], &value, sizeof value);
  meet(warp);
  T result;
  const unsigned first = self->number / 32 * 32;
  std::memcpy(&result, &block.words[first + static_cast<unsigned>(from)], sizeof result);
  meet(warp);
  return result;
}

inline int lane() { return static_cast<int>(current->now->number % 32); }

}  // namespace host_cuda

inline void __syncthreads() { host_cuda::meet(host_cuda::current->all); }
inline void __syncwarp(unsigned = 0xffffffffu) {
  host_cuda::meet(host_cuda::current->warps[host_cuda::current->now->number / 32]);
}
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
// A load with a hint for the caches, of any memory: what lies there may be of another type.
template <class T>
T __ldcs(const T* place) {
  T value;
  std::memcpy(&value, place, sizeof value);
  return value;
}
template <class T>
T __shfl_xor_sync(unsigned, T value, int mask) {
  return host_cuda::exchange(value, host_cuda::lane() ^ mask);
}
template <class T>
T __shfl_up_sync(unsigned, T value, int by) {
  const int lane = host_cuda::lane();
  return host_cuda::exchange(value, lane >= by ? lane - by : lane);
}
template <class T>
T __shfl_down_sync(unsigned, T value, int by) {
  const int lane = host_cuda::lane();
  return host_cuda::exchange(value, lane + by < 32 ? lane + by : lane);
}
template <class T>
T __shfl_sync(unsigned, T value, int from) {
  return host_cuda::exchange(value, from % 32);
}

// Numbers of 16 and 8 bits: rounded to nearest, ties to even.
namespace host_cuda {

inline uint16_t narrow(float value, int exponent_bits, int mantissa_bits, bool infinity,
                       double largest) {
  const int total = 1 + exponent_bits + mantissa_bits;
  const uint16_t sign = std::signbit(value) ? static_cast<uint16_t>(1u << (total - 1)) : 0;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const uint16_t top = static_cast<uint16_t>(((1u << exponent_bits) - 1) << mantissa_bits);
  if (std::isnan(value))
    return infinity ? static_cast<uint16_t>(top | (1u << (mantissa_bits - 1)))
                    : static_cast<uint16_t>((1u << (total - 1)) - 1);
  double size = std::fabs(static_cast<double>(value));
  if (size == 0) return sign;
  int power = 0;
  std::frexp(size, &power);
  power -= 1;
  if (power < 1 - bias) power = 1 - bias;
  const double unit = std::ldexp(1.0, power - mantissa_bits);
  const double rounded = std::nearbyint(size / unit) * unit;
  if (rounded > largest)
    return static_cast<uint16_t>(sign | (infinity ? top : (1u << (total - 1)) - 1));
  if (rounded == 0) return sign;
  std::frexp(rounded, &power);
  power -= 1;
  if (power < 1 - bias) return static_cast<uint16_t>(sign | static_cast<unsigned>(rounded / unit));
  const double part = std::ldexp(rounded, -power) - 1.0;
  return static_cast<uint16_t>(sign | (static_cast<unsigned>(power + bias) << mantissa_bits) |
                               static_cast<unsigned>(std::ldexp(part, mantissa_bits)));
}

// As the constructors of CUDA's types of eight bits do: what is too large becomes the largest.
inline float bounded(float value, float most) {
  return value != value ? value : std::fmin(std::fmax(value, -most), most);
}

inline float wide(uint16_t bits, int exponent_bits, int mantissa_bits, bool infinity) {
  const int total = 1 + exponent_bits + mantissa_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const float sign = bits >> (total - 1) & 1 ? -1.0f : 1.0f;
  const int power = bits >> mantissa_bits & ((1 << exponent_bits) - 1);
  const int rest = bits & ((1 << mantissa_bits) - 1);
  if (power == (1 << exponent_bits) - 1) {
    if (infinity) return rest == 0 ? sign * INFINITY : NAN;
    if (rest == (1 << mantissa_bits) - 1) return NAN;
  }
  if (power == 0) return sign * std::ldexp(static_cast<float>(rest), 1 - bias - mantissa_bits);
  return sign *
         std::ldexp(1.0f + std::ldexp(static_cast<float>(rest), -mantissa_bits), power - bias);
}

}  // namespace host_cuda

struct __half {
  uint16_t bits;
};
struct __nv_bfloat16 {
  uint16_t bits;
};
inline float __half2float(__half value) { return host_cuda::wide(value.bits, 5, 10, true); }
inline __half __float2half_rn(float value) {
  return __half{host_cuda::narrow(value, 5, 10, true, 65504.0)};
}
inline float __bfloat162float(__nv_bfloat16 value) {
  return host_cuda::wide(value.bits, 8, 7, true);
}
inline __nv_bfloat16 __float2bfloat16_rn(float value) {
  return __nv_bfloat16{host_cuda::narrow(value, 8, 7, true, 3.3895313892515355e38)};
}
struct __nv_fp8_e4m3 {
  uint8_t bits;
  __nv_fp8_e4m3() = default;
  explicit __nv_fp8_e4m3(float value)
      : bits(static_cast<uint8_t>(
            host_cuda::narrow(host_cuda::bounded(value, 448.0f), 4, 3, false, 448.0))) {}
  explicit operator float() const { return host_cuda::wide(bits, 4, 3, false); }
};
struct __nv_fp8_e5m2 {
  uint8_t bits;
  __nv_fp8_e5m2() = default;
  explicit __nv_fp8_e5m2(float value)
      : bits(static_cast<uint8_t>(
            host_cuda::narrow(host_cuda::bounded(value, 57344.0f), 5, 2, true, 57344.0))) {}
  explicit operator float() const { return host_cuda::wide(bits, 5, 2, true); }
};

// As CUDA's: of two types, in the one that both become; of a number and NaN, the number.
template <class A, class B>
constexpr std::common_type_t<A, B> min(A a, B b) {
  using Both = std::common_type_t<A, B>;
  if constexpr (std::is_floating_point_v<Both>) return std::fmin(Both(a), Both(b));
  return Both(a) < Both(b) ? Both(a) : Both(b);
}
template <class A, class B>
constexpr std::common_type_t<A, B> max(A a, B b) {
  using Both = std::common_type_t<A, B>;
  if constexpr (std::is_floating_point_v<Both>) return std::fmax(Both(a), Both(b));
  return Both(a) < Both(b) ? Both(b) : Both(a);
}
inline float rsqrtf(float value) { return 1.0f / std::sqrt(value); }
