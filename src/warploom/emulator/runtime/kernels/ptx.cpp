// What inline PTX asks of the machine.
#include "../../include/cuda_runtime.h"
#include "../../include/warploom/cluster.h"
#include "kernels/cluster.h"
#include "kernels/kernel.h"
#include "kernels/shared_memory.h"
#include "memory/memory.h"

namespace warploom::ptx {

void* shared_address(uint64_t address) {
  const GpuThread* thread = current_thread();
  if (address >> 32 || !thread || thread->block->slot < 0) return reinterpret_cast<void*>(address);
  const uintptr_t own = shared_start(*thread->block);
  const auto rank = static_cast<unsigned>(address / kSharedStride);
  const uintptr_t offset = address % kSharedStride;
  void* here = reinterpret_cast<void*>(own + offset);
  return rank ? cluster_map(here, rank - 1) : here;
}

uint64_t shared_offset(const void* p) {
  const auto address = reinterpret_cast<uintptr_t>(p);
  if (!in_shared(address)) return address;
  const uintptr_t offset = (address - g_places.shared) % kSharedStride;
  const GpuThread* thread = current_thread();
  if (!thread || !thread->block->cluster) return offset;
  const Block& block = *thread->block;
  if (block.slot >= 0 && address - shared_start(block) < kSharedStride) return offset;
  return offset + (cluster_rank_of(p) + 1) * kSharedStride;
}

uint64_t mapped_offset(uint64_t address, unsigned rank) {
  cluster_map(shared_address(address % kSharedStride), rank);  // is there such a block?
  return address % kSharedStride + (rank + 1) * kSharedStride;
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
