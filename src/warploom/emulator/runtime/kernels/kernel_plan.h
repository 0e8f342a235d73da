// A launch that has been checked, ready to run once or many times.
#pragma once

#include <memory>

#include "../../include/warploom/device.h"
#include "cuda/graph.h"
#include "kernels/kernel.h"

namespace warploom {

struct KernelPlan {
  const char* name = "";
  LaunchConfig config{dim3(), dim3()};
  KernelBody body{};
  std::shared_ptr<void> owner{};  // of the arguments
  int device = 0;
  Process* process = nullptr;
  unsigned residency = 0;
};

// Takes the arguments over. Returns a cudaError_t value.
int plan_kernel(KernelPlan& plan, const char* name, const LaunchConfig& config, KernelBody body,
                int device);
// One run of the kernel.
StartFunction start_of(const KernelPlan& plan);
NodeWork work_of(const KernelPlan& plan, const Frames& where, int rank);

// May a launch of the kernel have so much dynamic shared memory on the plan's device?
bool allows_shared(const KernelPlan& plan, std::size_t bytes);
// What cudaFuncSetAttribute has allowed a launch of it, in bytes; 0: it was not asked.
std::size_t allowed_shared(const KernelPlan& plan);
// The most shared memory that a launched kernel may have together, which its variables and its
// dynamic memory exceed; 0: they do not.
std::size_t most_shared(const Kernel& kernel, std::size_t variables);

// A kernel's name from its address; lives for ever.
const char* kernel_name(const void* address);

}  // namespace warploom
