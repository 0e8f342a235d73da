// Cycles of a loop that one thread block runs, taken by its own clock.
#pragma once

#include "measure.h"

namespace {

// Cycles of the loop, by clock64 around it, divided by the steps.
template <typename Body>
__device__ void clocked(long long* cycles, int steps, Body body) {
  __syncthreads();
  long long begin = clock64();
  for (int i = 0; i < steps; ++i) body(i);
  __syncthreads();
  if (threadIdx.x == 0) *cycles = clock64() - begin;
}

template <typename Launch>
void in_block(const char* name, const std::string& fields, long long* cycles, int steps,
              Launch launch) {
  std::vector<double> values;
  for (int i = 0; i < 5; ++i) {
    launch();
    CUDA(cudaDeviceSynchronize());
    long long taken;
    CUDA(cudaMemcpy(&taken, cycles, sizeof taken, cudaMemcpyDeviceToHost));
    values.push_back(double(taken) / steps);
  }
  report(name, fields, "cycles", spread(values));
}

}  // namespace
