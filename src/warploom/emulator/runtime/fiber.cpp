#include "fiber.h"

#include <cxxabi.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "kernel.h"
#include "stats.h"
#include "timing.h"

namespace warploom {

Fiber* g_current = nullptr;

namespace {

constexpr uintptr_t kHostStacks = 0x0C0000000000;
constexpr std::size_t kHostStacksBytes = std::size_t{256} << 30;
// Pages a power of two apart would all use the same few entries of the TLB: an unused one between
// the stacks spreads them.
constexpr std::size_t kStackGap = 4 << 10;
// Where a stack begins: it differs in cache lines, and leaves room in the same page.
constexpr std::size_t kStackColours = 48;

void* g_scheduler_stack = nullptr;
uintptr_t g_gpu_top = kGpuStacks, g_host_top = kHostStacks;
std::vector<Fiber*> g_idle;  // of blocks that have ended

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
  uintptr_t& top = gpu ? g_gpu_top : g_host_top;
  if (top == (gpu ? kGpuStacks : kHostStacks)) {
    reserve(top, gpu ? kGpuStacksBytes : kHostStacksBytes);
  }
  char* stack = reinterpret_cast<char*>(top + kStackGap);
  top += kStackGap + bytes;
  return stack;
}

}  // namespace

// warploom_switch saves the callee-saved registers on the stack, swaps stacks, restores (System V
// and AAPCS64). warploom_block_barrier is called by the program (block_barrier in device.h): it
// saves the same way, asks warploom_arrive whose stack goes on, and returns there. Threads that
// meet at one call return to one address, so the processor foresees where to.
extern "C" void warploom_switch(void** save, void* load);
#if defined(__x86_64__)
asm(R"(
.macro warploom_save
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
.endm
.macro warploom_restore_and_return
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.endm

.globl warploom_switch
.type warploom_switch, @function
warploom_switch:
  pushq %rbp
  warploom_save
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  warploom_restore_and_return
.size warploom_switch, .-warploom_switch

.globl warploom_block_barrier
.type warploom_block_barrier, @function
warploom_block_barrier:
  pushq %rbp
  movq %rsp, %rbp
  warploom_save
  movq %rsp, %rsi
  subq $8, %rsp
  call warploom_arrive
  movq %rax, %rsp
  warploom_restore_and_return
.size warploom_block_barrier, .-warploom_block_barrier
)");
constexpr int kSavedWords = 5;  // below the frame record
#elif defined(__aarch64__)
asm(R"(
.macro warploom_save
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
.endm
.macro warploom_restore_and_return
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
.endm

.globl warploom_switch
.type warploom_switch, %function
warploom_switch:
  warploom_save
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  warploom_restore_and_return
.size warploom_switch, .-warploom_switch

.globl warploom_block_barrier
.type warploom_block_barrier, %function
warploom_block_barrier:
  warploom_save
  add x29, sp, #80
  mov x1, sp
  bl warploom_arrive
  mov sp, x0
  warploom_restore_and_return
.size warploom_block_barrier, .-warploom_block_barrier
)");
constexpr int kSavedWords = 10;  // below the frame record
#else
#error "warploom-emu: fibers are written for x86-64 and aarch64 only"
#endif

static void fiber_main() {
  Fiber* self = g_current;
  if (self->block) work_for_blocks();
  self->entry();
  self->state = FiberState::Done;
  switch_to_scheduler();
}

// Ends with a jump to the switch, so that the fiber goes on right where this was called.
void retire() {
  Fiber* self = g_current;
  self->state = FiberState::Done;
  Fiber* next = self->block->next_fiber();
  g_idle.push_back(self);
  if (next) {
    __builtin_prefetch(next->stack);  // it may end as well: see stack_overflowed
    switch_to(next);
  } else {
    switch_to_scheduler();
  }
}

static Fiber* create_fiber(std::size_t stack_bytes, std::function<void()> entry) {
  auto* fiber = new Fiber;
  fiber->stack = take_stack(stack_bytes);
  fiber->stack_bytes = stack_bytes;
  fiber->entry = std::move(entry);
  // Stacks lie whole pages apart: without an offset they would all use the same cache lines.
  const std::size_t number = reinterpret_cast<uintptr_t>(fiber->stack) / (kStackGap + stack_bytes);
  const std::size_t offset = 64 + number * 5 % kStackColours * 64;
  auto* top = reinterpret_cast<void**>(fiber->stack + stack_bytes - offset);
#if defined(__x86_64__)
  // A null return address above fiber_main ends frame-pointer walks and keeps 16-byte alignment.
  *--top = nullptr;
  *--top = reinterpret_cast<void*>(&fiber_main);
  for (int i = 0; i <= kSavedWords; i++) *--top = nullptr;
#else
  top -= 22;
  std::memset(top, 0, 22 * sizeof(void*));
  top[kSavedWords + 1] = reinterpret_cast<void*>(&fiber_main);
#endif
  fiber->stack_pointer = top;
  return fiber;
}

Fiber* create_host_fiber(std::function<void()> entry) {
  return create_fiber(kHostStackBytes, std::move(entry));
}

Fiber* create_block_fiber(Block& block) {
  Fiber* fiber;
  if (g_idle.empty()) {
    fiber = create_fiber(kGpuStackBytes, {});
  } else {
    fiber = g_idle.back();
    g_idle.pop_back();
    if (!g_idle.empty()) prefetch_stack(*g_idle.back());
    if (g_idle.size() > 1) __builtin_prefetch(g_idle[g_idle.size() - 2]);
  }
  fiber->state = FiberState::Ready;
  fiber->block = &block;
  fiber->process = block.kernel->process;
  fiber->device = block.kernel->device;
  fiber->budget = 0;
  fiber->has_polled = false;
  if (!g_timed) return fiber;
  fiber->time = fiber->waited = fiber->communicated = fiber->loading = 0;
  fiber->polling_since = fiber->polling_until = 0;
  fiber->polled_at = fiber->operations = 0;
  fiber->segment = 0;
  return fiber;
}

// The C++ library keeps the exceptions in flight per OS thread; ours are per fiber.
static auto** const g_exceptions = reinterpret_cast<void**>(abi::__cxa_get_globals());

static inline void leave(Fiber* fiber) {
  if (!g_exceptions[0] && !g_exceptions[1]) return;
  fiber->in_exception = true;
  for (int i = 0; i < 2; i++) fiber->exceptions[i] = std::exchange(g_exceptions[i], nullptr);
}

static inline void enter(Fiber* fiber) {
  g_stats.switches++;
  g_current = fiber;
  fiber->state = FiberState::Running;
  if (!fiber->in_exception) return;
  fiber->in_exception = false;
  for (int i = 0; i < 2; i++) g_exceptions[i] = fiber->exceptions[i];
}

void resume(Fiber* fiber) {
  enter(fiber);
  warploom_switch(&g_scheduler_stack, fiber->stack_pointer);
  leave(g_current);
  g_current = nullptr;
}

void switch_to_scheduler() { warploom_switch(&g_current->stack_pointer, g_scheduler_stack); }

void switch_to(Fiber* next) {
  Fiber* self = g_current;
  leave(self);
  enter(next);
  if (next != self) warploom_switch(&self->stack_pointer, next->stack_pointer);
}

void* hand_over(void* stack_pointer, Fiber* next) {
  Fiber* self = g_current;
  self->stack_pointer = stack_pointer;
  if (!next) return g_scheduler_stack;
  leave(self);
  enter(next);
  return next->stack_pointer;
}

void* saved_frame_pointer(const Fiber* fiber) {
  return static_cast<void**>(fiber->stack_pointer) + kSavedWords;
}

bool stack_overflowed(const Fiber* fiber) {
  // Fresh pages read as zero, and reading them takes no memory: a mark written to the far end of
  // each of a million stacks would.
  const auto* lowest = reinterpret_cast<const uint64_t*>(fiber->stack);
  return lowest[0] | lowest[1] | lowest[2] | lowest[3];
}

}  // namespace warploom
