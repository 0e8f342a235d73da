#include "kernels/shared_memory.h"

#include <algorithm>
#include <vector>

#include "kernels/cluster.h"
#include "kernels/phase_barrier.h"
#include "machine/world.h"
#include "memory/fresh.h"
#include "memory/memory.h"
#include "order/race.h"
#include "report/report.h"

namespace warploom {

namespace {

constexpr std::size_t kSharedGap = 64;  // between variables, so that an overrun hits neither
// Of the variables that are no dynamic memory: more is an error of ptxas, for any architecture.
constexpr std::size_t kMostStatic = 48 << 10;

std::vector<int> g_free_slots;
int g_next_slot = 0;

void take_slot(Block& block) {
  if (!g_free_slots.empty()) {
    block.slot = g_free_slots.back();
    g_free_slots.pop_back();
  } else if (g_next_slot < shared_slots()) {
    block.slot = g_next_slot++;
  } else {
    stop_unsupported("shared memory",
                     format("more than %d blocks with shared memory run at once", shared_slots()));
  }
}

constexpr char kDynamic = 0;  // the key of dynamic shared memory

// Where the next variable of a block, or of all blocks of a kernel in clusters, begins.
std::size_t next_start(std::size_t used, std::size_t align) {
  return (std::max(used, kSharedReserved) + align - 1) / align * align;
}

std::size_t start_in_cluster(Kernel& kernel, const SharedVariable& asked, std::size_t align) {
  std::vector<SharedVariable>& places = kernel.shared_places;
  std::size_t used = 0;
  for (const SharedVariable& place : places) {
    if (place.key == asked.key) return place.start;
    used = place.start + place.bytes + kSharedGap;
  }
  places.push_back(asked);
  return places.back().start = next_start(used, align);
}

uintptr_t allocate(Block& block, const SharedVariable& asked, std::size_t align) {
  const auto& [key, unplaced, bytes, name] = asked;
  const uintptr_t window = shared_window(block);
  const bool shared_by_blocks = block.cluster && block.cluster->blocks.size() > 1;
  const std::size_t start = shared_by_blocks ? start_in_cluster(*block.kernel, asked, align)
                                             : next_start(block.shared_used, align);
  if (start + bytes + kSharedGap > kSharedSlot) {
    report_finding({.kind = kinds::launch_error,
                    .message = format("'%s' does not fit: a block has at most %zu bytes of shared "
                                      "memory",
                                      name, kSharedSlot),
                    .hint = "use less shared memory"});
    stop_run();
  }
  block.shared_used = start + bytes + kSharedGap;
  const uintptr_t address = window + start;
  fill_fresh(address, (bytes + 3) / 4 * 4);
  forget_history(reinterpret_cast<void*>(address), bytes);
  return address;
}

}  // namespace

uintptr_t shared_start(const Block& block) {
  return g_places.shared + static_cast<uintptr_t>(block.slot) * kSharedStride;
}

uintptr_t shared_window(Block& block) {
  if (block.slot < 0) take_slot(block);
  return shared_start(block);
}

bool place_shared(Block& block, uintptr_t address) {
  const std::size_t offset = address - shared_start(block);
  for (const SharedVariable& place : block.kernel->shared_places) {
    if (offset - place.start >= place.bytes) continue;
    const bool dynamic = place.key == &kDynamic;
    const uintptr_t start = shared_start(block) + place.start;
    if (dynamic ? block.dynamic_start != 0
                : std::ranges::any_of(block.shared, [&](const SharedVariable& variable) {
                    return variable.start == start;
                  })) {
      return false;
    }
    const SharedVariable made{place.key, allocate(block, place, 1), place.bytes, place.name};
    dynamic ? void(block.dynamic_start = made.start) : block.shared.push_back(made);
    return true;
  }
  return false;
}

void release_shared_slot(Block& block) {
  forget_barriers(shared_start(block), kSharedSlot);
  g_free_slots.push_back(block.slot);
  block.slot = -1;
}

void* shared_slot(const void* key, const char* name, std::size_t bytes, std::size_t align) {
  GpuThread* thread = current_thread();
  if (!thread) stop_unsupported("__shared__", "a shared variable is used outside of a kernel");
  Block& block = *thread->block;
  for (const SharedVariable& variable : block.shared) {
    if (variable.key == key) return reinterpret_cast<void*>(variable.start);
  }
  const std::size_t at_least = std::max<std::size_t>(align, 16);
  std::size_t together = bytes;
  for (const SharedVariable& variable : block.shared) together += variable.bytes;
  if (together > kMostStatic) {
    report_finding({.kind = kinds::launch_error,
                    .message = format("'%s' brings the kernel's __shared__ variables to %zu bytes; "
                                      "nvcc takes at most %zu",
                                      name, together, kMostStatic),
                    .hint =
                        "take larger arrays from dynamic shared memory (extern __shared__), and "
                        "allow it by cudaFuncSetAttribute"});
    stop_run();
  }
  SharedVariable made{key, 0, bytes, name};
  made.start = allocate(block, made, at_least);
  block.shared.push_back(made);
  return reinterpret_cast<void*>(block.shared.back().start);
}

void* dynamic_shared() {
  GpuThread* thread = current_thread();
  if (!thread) stop_unsupported("__shared__", "a shared variable is used outside of a kernel");
  Block& block = *thread->block;
  if (!block.dynamic_start) {
    const SharedVariable asked{&kDynamic, 0, block.kernel->config.shared_bytes,
                               "dynamic shared memory"};
    block.dynamic_start = allocate(block, asked, 1024);
  }
  return reinterpret_cast<void*>(block.dynamic_start);
}

}  // namespace warploom
