#include "kernels/shared_memory.h"

#include <algorithm>
#include <vector>

#include "kernels/cluster.h"
#include "kernels/kernel_plan.h"
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
constexpr std::size_t kMostAligned = 128;  // of what instructions ask for
constexpr std::size_t kDynamicAligned = 1024;

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

std::size_t rounded_up(std::size_t bytes, std::size_t align) {
  return (bytes + align - 1) / align * align;
}

// Where variables would end that lie one behind the other, each aligned as its type asks for.
template <class _WVariables>
std::size_t packed_end(const _WVariables& variables) {
  std::size_t end = 0;
  for (const SharedVariable& one : variables) {
    if (one.key != &kDynamic) end = rounded_up(end, one.align) + one.bytes;
  }
  return end;
}

// Where the next variable of a block, or of all blocks of a kernel in clusters, begins. It is not
// aligned better than by its type and by what lies before it: a vector access of an array of floats
// works on a GPU where it happens to.
std::size_t next_start(std::size_t used, std::size_t packed, std::size_t align) {
  if (align >= kMostAligned) return rounded_up(std::max(used, kSharedReserved), align);
  return rounded_up(std::max(used, kSharedReserved), kMostAligned) +
         rounded_up(packed, align) % kMostAligned;
}

std::size_t start_in_cluster(Kernel& kernel, const SharedVariable& asked) {
  std::vector<SharedVariable>& places = kernel.shared_places;
  std::size_t used = 0;
  for (const SharedVariable& place : places) {
    if (place.key == asked.key) return place.start;
    used = place.start + place.bytes + kSharedGap;
  }
  const std::size_t start = next_start(used, packed_end(places), asked.align);
  places.push_back(asked);
  return places.back().start = start;
}

uintptr_t allocate(Block& block, const SharedVariable& asked) {
  const auto& [key, unplaced, bytes, name, align] = asked;
  const uintptr_t window = shared_window(block);
  const bool shared_by_blocks = block.cluster && block.cluster->blocks.size() > 1;
  const std::size_t start = shared_by_blocks
                                ? start_in_cluster(*block.kernel, asked)
                                : next_start(block.shared_used, packed_end(block.shared), align);
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
    SharedVariable made = place;
    made.start = allocate(block, place);
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

// A kernel's variables are there in each of its blocks, whichever way that takes.
static void check_together(const Block& block, const SharedVariable& asked) {
  Kernel& kernel = *block.kernel;
  if (!kernel.static_shared.emplace(asked.key, asked.bytes).second) return;
  kernel.needs_room();
  const std::size_t together = kernel.static_bytes();
  if (together > kMostStatic) {
    report_finding({.kind = kinds::launch_error,
                    .message = format("'%s' brings the kernel's __shared__ variables to %zu bytes; "
                                      "nvcc takes at most %zu",
                                      asked.name, together, kMostStatic),
                    .hint =
                        "take larger arrays from dynamic shared memory (extern __shared__), and "
                        "allow it by cudaFuncSetAttribute"});
    stop_run();
  }
  if (const std::size_t most = most_shared(*block.kernel, together)) {
    report_finding(
        {.kind = kinds::launch_error,
         .message = format("__shared__ variables (%zu bytes, with '%s') and dynamic "
                           "shared memory (%zu) are more than %zu bytes: the launch "
                           "fails",
                           together, asked.name, block.kernel->config.shared_bytes, most),
         .hint = "both count; more than 48 KiB must be allowed by cudaFuncSetAttribute"});
    stop_run();
  }
}

void* shared_slot(const void* key, const char* name, std::size_t bytes, std::size_t align) {
  GpuThread* thread = current_thread();
  if (!thread) stop_unsupported("__shared__", "a shared variable is used outside of a kernel");
  Block& block = *thread->block;
  for (const SharedVariable& variable : block.shared) {
    if (variable.key == key) return reinterpret_cast<void*>(variable.start);
  }
  SharedVariable made{key, 0, bytes, name, align};
  check_together(block, made);
  made.start = allocate(block, made);
  block.shared.push_back(made);
  return reinterpret_cast<void*>(made.start);
}

void* dynamic_shared() {
  GpuThread* thread = current_thread();
  if (!thread) stop_unsupported("__shared__", "a shared variable is used outside of a kernel");
  Block& block = *thread->block;
  if (!block.dynamic_start) {
    const SharedVariable asked{&kDynamic, 0, block.kernel->config.shared_bytes,
                               "dynamic shared memory", kDynamicAligned};
    block.dynamic_start = allocate(block, asked);
  }
  return reinterpret_cast<void*>(block.dynamic_start);
}

}  // namespace warploom
