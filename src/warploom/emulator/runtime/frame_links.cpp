#include "frame_links.h"

#include <cstdint>

#include "fiber.h"
#include "own_memory.h"
#include "report.h"
#include "world.h"

namespace warploom {

namespace {

// Programs and the runtime keep frame pointers; other libraries need not.
bool has_frame(uintptr_t code) {
  const Process& process = *g_current->process;
  return code - process.base < process.end - process.base ||
         in_runtime(reinterpret_cast<const void*>(code));
}

bool hits_link(uintptr_t start, std::size_t bytes, uintptr_t frame) {
  const auto low = reinterpret_cast<uintptr_t>(g_current->stack);
  const uintptr_t high = low + g_current->stack_bytes;
  while (frame >= low && frame + 16 <= high) {
    if (start + bytes <= frame) return false;  // below this frame, and all that follow
    if (start < frame + 16) return true;
    const auto* link = reinterpret_cast<const uintptr_t*>(frame);
    if (link[0] <= frame || !has_frame(link[1])) return false;
    frame = link[0];
  }
  return false;
}

}  // namespace

void check_stack_store(const void* p, std::size_t bytes) {
  const auto frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  if (!hits_link(reinterpret_cast<uintptr_t>(p), bytes, frame)) [[likely]]
    return;
  report_finding({.kind = "crash",
                  .message = "a store overwrites where a function of the program returns to",
                  .hint = "an index runs past the end of a local array"});
  stop_run();
}

}  // namespace warploom
