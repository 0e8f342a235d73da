#include "shared_memory.h"

#include <algorithm>
#include <vector>

#include "fresh.h"
#include "memory.h"
#include "race.h"
#include "report.h"
#include "world.h"

namespace warploom {

namespace {

constexpr std::size_t kSharedGap = 64;  // between variables, so that an overrun hits neither

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

uintptr_t allocate(Block& block, const char* name, std::size_t bytes, std::size_t align) {
  if (block.slot < 0) {
    take_slot(block);
    block.shared_used = std::max<std::size_t>(block.shared_used, kSharedReserved);
  }
  const std::size_t start = (block.shared_used + align - 1) / align * align;
  if (start + bytes + kSharedGap > kSharedSlot) {
    report_finding({.kind = "launch_error",
                    .message = format("'%s' does not fit: a block has at most %zu bytes of shared "
                                      "memory",
                                      name, kSharedSlot),
                    .hint = "use less shared memory"});
    stop_run();
  }
  block.shared_used = start + bytes + kSharedGap;
  const uintptr_t address = shared_start(block) + start;
  fill_fresh(address, (bytes + 3) / 4 * 4);
  forget_history(reinterpret_cast<void*>(address), bytes);
  return address;
}

}  // namespace

int shared_slots() {
  // As many as fit on all devices together, of the smallest blocks.
  return std::min(g_config.ranks * (8 << 10), 64 << 10);
}

uintptr_t shared_start(const Block& block) {
  return g_places.shared + static_cast<uintptr_t>(block.slot) * kSharedStride;
}

void release_shared_slot(Block& block) {
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
  block.shared.push_back({key, allocate(block, name, bytes, at_least), bytes, name});
  return reinterpret_cast<void*>(block.shared.back().start);
}

void* dynamic_shared() {
  GpuThread* thread = current_thread();
  if (!thread) stop_unsupported("__shared__", "a shared variable is used outside of a kernel");
  Block& block = *thread->block;
  if (!block.dynamic_start) {
    block.dynamic_start =
        allocate(block, "dynamic shared memory", block.kernel->config.shared_bytes, 1024);
  }
  return reinterpret_cast<void*>(block.dynamic_start);
}

}  // namespace warploom
