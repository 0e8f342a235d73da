// Rates and latencies of arithmetic.
#pragma once

#include "measure.h"

namespace {

// What one step of a dependent chain does; kIlp chains run side by side in each thread.
struct Fma {
  static constexpr const char* name = "fma_f32";
  using Type = float;
  static __device__ float step(float x) { return fmaf(x, 0.999f, 0.001f); }
};
struct FmaDouble {
  static constexpr const char* name = "fma_f64";
  using Type = double;
  static __device__ double step(double x) { return fma(x, 0.999, 0.001); }
};
struct Integer {
  static constexpr const char* name = "mad_i32";
  using Type = unsigned;
  static __device__ unsigned step(unsigned x) { return x * x + 1013904223u; }
};
struct Divide {
  static constexpr const char* name = "div_f32";
  using Type = float;
  static __device__ float step(float x) { return 1.0f / (x + 1.0f); }
};
struct Exponential {
  static constexpr const char* name = "expf";
  using Type = float;
  static __device__ float step(float x) { return expf(-x); }
};
struct Root {
  static constexpr const char* name = "sqrtf";
  using Type = float;
  static __device__ float step(float x) { return sqrtf(x + 1.0f); }
};
struct Sine {
  static constexpr const char* name = "sinf";
  using Type = float;
  static __device__ float step(float x) { return sinf(x); }
};

template <typename Op, int kIlp>
__global__ void chain(typename Op::Type* out, int steps) {
  typename Op::Type x[kIlp];
  for (int k = 0; k < kIlp; ++k) x[k] = typename Op::Type(threadIdx.x + k) / 64;
  for (int i = 0; i < steps; ++i) {
#pragma unroll
    for (int k = 0; k < kIlp; ++k) x[k] = Op::step(x[k]);
  }
  typename Op::Type sum = 0;
  for (int k = 0; k < kIlp; ++k) sum += x[k];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

template <typename Op>
void arithmetic(cudaStream_t stream, void* out) {
  constexpr int kSteps = 4096;
  auto* to = static_cast<typename Op::Type*>(out);
  for (int ctas : {1, 132, 264}) {
    for (int threads : {32, 256, 1024}) {
      auto t = timed(stream, 5, [&] { chain<Op, 4><<<ctas, threads, 0, stream>>>(to, kSteps); });
      report(Op::name,
             field("ctas", ctas) + ", " + field("threads", threads) + ", " + field("chains", 4),
             "Gop/s", rate(1e-3 * 4.0 * kSteps * ctas * threads, t));
    }
  }
  auto t = timed(stream, 5, [&] { chain<Op, 1><<<1, 32, 0, stream>>>(to, 16 * kSteps); });
  report(Op::name, field("latency_of", Op::name), "ns per step", scaled(t, 1e3 / (16 * kSteps)));
}

}  // namespace
