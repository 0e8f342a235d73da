#include "order/frame_links.h"

#include <cstdint>

#include "host/own_memory.h"
#include "host/process_heap.h"
#include "machine/into_program.h"
#include "machine/world.h"
#include "report/report.h"
#include "schedule/fiber.h"

namespace warploom {

namespace {

constexpr std::size_t kLibraryFrames = 4096;  // bytes that those of a library may take

bool in_program(const Fiber& fiber, uintptr_t code) {
  const Process& process = *fiber.process;
  return code - process.base < process.end - process.base;
}

// Programs and the runtime keep frame pointers; other libraries need not.
bool has_frame(const Fiber& fiber, uintptr_t code) {
  return in_program(fiber, code) || in_runtime(reinterpret_cast<const void*>(code));
}

struct StackSpan {
  explicit StackSpan(const Fiber& fiber)
      : low(reinterpret_cast<uintptr_t>(fiber.stack)), high(low + fiber.stack_bytes) {}
  bool holds_link(uintptr_t frame) const { return frame >= low && frame + 16 <= high; }
  uintptr_t low, high;
};

bool hits_link(const Fiber& fiber, uintptr_t start, std::size_t bytes, uintptr_t frame) {
  const StackSpan stack(fiber);
  while (stack.holds_link(frame)) {
    if (start + bytes <= frame) return false;  // below this frame, and all that follow
    if (start < frame + 16) return true;
    const auto* link = reinterpret_cast<const uintptr_t*>(frame);
    if (link[0] <= frame || !has_frame(fiber, link[1])) return false;
    frame = link[0];
  }
  return false;
}

// What lies beneath functions of the program that the runtime has called.
bool hits_closed(const Fiber& fiber, uintptr_t start, std::size_t bytes) {
  for (const Closed* part = fiber.closed; part; part = part->before) {
    if (start < part->high && start + bytes > part->low) return true;
    if (part->frame && hits_link(fiber, start, bytes, part->frame)) return true;
  }
  return false;
}

// Of the runtime's frames from `frame` on, with those of a library that called it.
Closed runtime_frames(const Fiber& fiber, uintptr_t frame) {
  const StackSpan stack(fiber);
  Closed found{.low = frame, .high = stack.high};
  while (stack.holds_link(frame)) {
    const auto* link = reinterpret_cast<const uintptr_t*>(frame);
    if (in_runtime(reinterpret_cast<const void*>(link[1])) && link[0] > frame) {
      frame = link[0];
      continue;
    }
    if (link[1] == 0) break;
    found.high = frame + 16;
    found.frame = link[0];
    if (in_program(fiber, link[1])) break;
    // A library's functions keep no such links: they end where they return to the program.
    for (std::size_t at = 16; at < kLibraryFrames && frame + at + 8 <= stack.high; at += 8) {
      if (in_program(fiber, *reinterpret_cast<const uintptr_t*>(frame + at))) {
        found.high = frame + at + 8;
        break;
      }
    }
    break;
  }
  return found;
}

[[noreturn]] void refuse() {
  report_finding({.kind = kinds::crash,
                  .message = "a store overwrites where a function of the program returns to, or "
                             "what the caller of one keeps",
                  .hint = "an index runs past the end of a local array"});
  stop_run();
}

const Fiber* owner_of_stack(uintptr_t address) {
  for (const auto& process : g_processes) {
    for (const auto& thread : process->threads) {
      const auto low = reinterpret_cast<uintptr_t>(thread->fiber->stack);
      if (address - low < thread->fiber->stack_bytes) return thread->fiber;
    }
  }
  return nullptr;
}

}  // namespace

Closed closed_from(const void* frame) {
  if (!g_current || !g_current->stack) return {};
  return runtime_frames(*g_current, reinterpret_cast<uintptr_t>(frame));
}

void check_stack_store(const void* p, std::size_t bytes) {
  const auto frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  const auto start = reinterpret_cast<uintptr_t>(p);
  const bool hits =
      hits_link(*g_current, start, bytes, frame) || hits_closed(*g_current, start, bytes);
  if (!hits) [[likely]]
    return;
  refuse();
}

void check_any_stack_store(const void* p, std::size_t bytes) {
  if (in_heaps(p)) return;
  const auto start = reinterpret_cast<uintptr_t>(p);
  const Fiber* fiber = owner_of_stack(start);
  if (!fiber) return;
  const bool here = fiber == g_current;
  const auto frame = here ? reinterpret_cast<uintptr_t>(__builtin_frame_address(0))
                          : reinterpret_cast<uintptr_t>(fiber->frame_pointer);
  if (!frame) return;  // it has not begun
  const auto lowest = here ? frame : reinterpret_cast<uintptr_t>(fiber->stack_pointer);
  const Closed own = runtime_frames(*fiber, frame);
  if ((start < own.high && start + bytes > lowest) || hits_link(*fiber, start, bytes, frame) ||
      (own.frame && hits_link(*fiber, start, bytes, own.frame)) ||
      hits_closed(*fiber, start, bytes)) {
    refuse();
  }
}

}  // namespace warploom
