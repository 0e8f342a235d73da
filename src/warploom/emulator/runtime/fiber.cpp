#include "fiber.h"

#include <cxxabi.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace warploom {

Fiber* g_current = nullptr;

namespace {

// All stacks lie in two fixed ranges, so that an address tells whose stack it is.
constexpr uintptr_t kGpuStacks = 0x080000000000;
constexpr std::size_t kGpuStacksBytes = std::size_t{2} << 40;
constexpr uintptr_t kHostStacks = 0x0C0000000000;
constexpr std::size_t kHostStacksBytes = std::size_t{256} << 30;

void* g_scheduler_stack = nullptr;
uintptr_t g_gpu_top = kGpuStacks, g_host_top = kHostStacks;
std::vector<char*> g_free_gpu, g_free_host;

void reserve(uintptr_t start, std::size_t bytes) {
  void* got = mmap(reinterpret_cast<void*>(start), bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got != reinterpret_cast<void*>(start)) {
    std::perror("warploom-emu: cannot reserve address space for stacks");
    std::exit(70);
  }
}

char* take_stack(std::size_t bytes) {
  const bool gpu = bytes == kGpuStackBytes;
  auto& pool = gpu ? g_free_gpu : g_free_host;
  if (!pool.empty()) {
    char* stack = pool.back();
    pool.pop_back();
    return stack;
  }
  uintptr_t& top = gpu ? g_gpu_top : g_host_top;
  if (top == (gpu ? kGpuStacks : kHostStacks)) {
    reserve(top, gpu ? kGpuStacksBytes : kHostStacksBytes);
  }
  char* stack = reinterpret_cast<char*>(top);
  top += bytes;
  return stack;
}

}  // namespace

// Saves the callee-saved registers on the stack, swaps stacks, restores (System V and AAPCS64).
extern "C" void warploom_switch(void** save, void* load);
#if defined(__x86_64__)
asm(R"(
.globl warploom_switch
.type warploom_switch, @function
warploom_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size warploom_switch, .-warploom_switch
)");
constexpr int kSavedWords = 6;
#elif defined(__aarch64__)
asm(R"(
.globl warploom_switch
.type warploom_switch, %function
warploom_switch:
  sub sp, sp, #176
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #176
  ret
.size warploom_switch, .-warploom_switch
)");
#else
#error "warploom-emu: fibers are written for x86-64 and aarch64 only"
#endif

static void fiber_main() {
  Fiber* self = g_current;
  self->entry();
  self->state = FiberState::Done;
  switch_to_scheduler();
  std::abort();  // a finished fiber is never resumed
}

Fiber* create_fiber(std::size_t stack_bytes, std::function<void()> entry) {
  auto* fiber = new Fiber;
  fiber->stack = take_stack(stack_bytes);
  fiber->stack_bytes = stack_bytes;
  fiber->entry = std::move(entry);
  // Stacks lie a power of two apart: without an offset they would all use the same cache lines.
  const std::size_t number = reinterpret_cast<uintptr_t>(fiber->stack) / stack_bytes;
  const std::size_t offset = 64 + number * 5 % 128 * 64;
  auto* top = reinterpret_cast<void**>(fiber->stack + stack_bytes - offset);
#if defined(__x86_64__)
  // A null return address above fiber_main ends frame-pointer walks and keeps 16-byte alignment.
  *--top = nullptr;
  *--top = reinterpret_cast<void*>(&fiber_main);
  for (int i = 0; i < kSavedWords; i++) *--top = nullptr;
#else
  top -= 22;
  std::memset(top, 0, 22 * sizeof(void*));
  top[11] = reinterpret_cast<void*>(&fiber_main);
#endif
  fiber->stack_pointer = top;
  return fiber;
}

void destroy_fiber(Fiber* fiber) {
  auto& pool = fiber->stack_bytes == kGpuStackBytes ? g_free_gpu : g_free_host;
  pool.push_back(fiber->stack);
  delete fiber;
}

void resume(Fiber* fiber) {
  g_current = fiber;
  fiber->state = FiberState::Running;
  // The C++ library keeps the exceptions in flight per OS thread; ours are per fiber.
  void* exceptions = abi::__cxa_get_globals();
  std::memcpy(exceptions, fiber->exceptions, sizeof fiber->exceptions);
  warploom_switch(&g_scheduler_stack, fiber->stack_pointer);
  std::memcpy(fiber->exceptions, exceptions, sizeof fiber->exceptions);
  g_current = nullptr;
}

void switch_to_scheduler() {
  Fiber* self = g_current;
  warploom_switch(&self->stack_pointer, g_scheduler_stack);
}

void* saved_frame_pointer(const Fiber* fiber) {
#if defined(__x86_64__)
  return static_cast<void**>(fiber->stack_pointer)[5];
#else
  return static_cast<void**>(fiber->stack_pointer)[10];
#endif
}

bool stack_overflowed(const Fiber* fiber) {
  // Fresh pages read as zero, and reading them takes no memory: a mark written to the far end of
  // each of a million stacks would.
  const auto* lowest = reinterpret_cast<const uint64_t*>(fiber->stack);
  return lowest[0] | lowest[1] | lowest[2] | lowest[3];
}

bool in_gpu_stack(const void* address) {
  return reinterpret_cast<uintptr_t>(address) - kGpuStacks < kGpuStacksBytes;
}

}  // namespace warploom
