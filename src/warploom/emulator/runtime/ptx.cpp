// What inline PTX asks of the machine.
#include "../include/cuda_runtime.h"
#include "kernel.h"
#include "memory.h"
#include "shared_memory.h"

namespace warploom::ptx {

void* shared_address(uint64_t address) {
  const GpuThread* thread = current_thread();
  if (address >> 32 || !thread || thread->block->slot < 0) return reinterpret_cast<void*>(address);
  return reinterpret_cast<void*>(shared_start(*thread->block) + address);
}

uint64_t shared_offset(const void* p) {
  const auto address = reinterpret_cast<uintptr_t>(p);
  return in_shared(address) ? (address - g_places.shared) % kSharedStride : address;
}

unsigned warp_index() {
  const GpuThread* thread = current_thread();
  return thread ? thread->linear / 32u : 0;
}

unsigned sm_index() {
  const GpuThread* thread = current_thread();
  if (!thread) return 0;
  const Kernel& kernel = *thread->block->kernel;
  const auto count =
      static_cast<unsigned>(g_devices[static_cast<std::size_t>(kernel.device)]->sm_count);
  return thread->block->number % count;
}

unsigned dynamic_shared_bytes() {
  const GpuThread* thread = current_thread();
  return thread ? static_cast<unsigned>(thread->block->kernel->config.shared_bytes) : 0;
}

}  // namespace warploom::ptx
