#include "schedule/fiber.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "base/stats.h"
#include "kernels/kernel.h"
#include "report/report.h"
#include "timing/timing.h"

namespace warploom {

Fiber* g_current = nullptr;
Context g_scheduler;
IdleFibers g_idle;

namespace {

constexpr std::size_t kHostStacksBytes = std::size_t{4} << 30;  // taken at a time
// Pages a power of two apart would all use the same few entries of the TLB: an unused one between
// the stacks spreads them.
constexpr std::size_t kStackGap = 4 << 10;
// Where a stack begins: it differs in cache lines, and leaves room in the same page.
constexpr std::size_t kStackColors = 48;

struct Stacks {
  uintptr_t top = 0, end = 0;
};
Stacks g_gpu, g_host;

void begin_stacks(Stacks& stacks, bool gpu) {
  if (gpu) {
    if (stacks.end) stop_unsupported("threads", "more GPU threads at a time than devices hold");
    stacks = {g_places.gpu_stacks, g_places.gpu_stacks + g_places.gpu_stacks_bytes};
    return;
  }
  static uint64_t taken = 0;
  stacks.top =
      draw_addresses(Habitat::HostStack, kHostStacksBytes, kStackGap, kHostStacksDraw + taken++);
  stacks.end = stacks.top + kHostStacksBytes;
  open_addresses(stacks.top, kHostStacksBytes);
}

char* take_stack(std::size_t bytes) {
  const bool gpu = bytes == kGpuStackBytes;
  Stacks& stacks = gpu ? g_gpu : g_host;
  if (stacks.end - stacks.top < kStackGap + bytes) begin_stacks(stacks, gpu);
  char* stack = reinterpret_cast<char*>(stacks.top + kStackGap);
  stacks.top += kStackGap + bytes;
  return stack;
}

}  // namespace

// warploom_switch saves the callee-saved registers on the stack (System V and AAPCS64), the rest in
// `save`, and goes on as `load` says. warploom_barrier and warploom_meet are where a thread comes
// to a barrier or an operation of its warp: see WARPLOOM_WAIT in device.h. They ask the functions
// of the same name, quickly and slowly, who goes on.
extern "C" void warploom_switch(Context* save, const Context* load);
#if defined(__x86_64__)
// At a barrier the compiler keeps nothing in registers, and nobody calls or returns: the processor
// foresees returns by the calls it saw, and those of one thread would mislead it in another one.
// The quick way runs on a stack of its own, which stays in the first cache. The thread's own one
// may be in use below its end (the red zone).
extern "C" char warploom_quick_stack[64 << 10];
alignas(64) char warploom_quick_stack[64 << 10];
asm(R"(
.macro warploom_load context
  movq (\context), %rsp
  movq 8(\context), %rbp
  jmp *16(\context)
.endm

.globl warploom_switch
.type warploom_switch, @function
warploom_switch:
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  leaq 1f(%rip), %rax
  movq %rsp, (%rdi)
  movq %rbp, 8(%rdi)
  movq %rax, 16(%rdi)
  warploom_load %rsi
1:
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  ret
.size warploom_switch, .-warploom_switch

.macro warploom_wait name
.globl \name
.type \name, @function
\name:
  movq warploom_running(%rip), %rcx
  movq %rsp, (%rcx)
  movq %rbp, 8(%rcx)
  movq %rax, 16(%rcx)
  movl %edi, %ebx
  movq %rsi, %r12
  movl %edx, %r13d
  leaq 65536+warploom_quick_stack(%rip), %rsp
  call \name\()_quickly
  testq %rax, %rax
  je 1f
  warploom_load %rax
1:
  movq warploom_running(%rip), %rcx
  movq (%rcx), %rsp
  subq $128, %rsp
  andq $-16, %rsp
  pushq 16(%rcx)
  pushq %rbp
  movq %rsp, %rbp
  movl %ebx, %edi
  movq %r12, %rsi
  movl %r13d, %edx
  call \name\()_slowly
  warploom_load %rax
.size \name, .-\name
.endm
warploom_wait warploom_barrier
warploom_wait warploom_meet
)");
#elif defined(__aarch64__)
asm(R"(
.macro warploom_save context
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
  add x10, sp, #80
  adr x11, warploom_restore
  stp x9, x10, [\context]
  str x11, [\context, #16]
.endm
.macro warploom_load context
  ldp x9, x29, [\context]
  ldr x11, [\context, #16]
  mov sp, x9
  mov x30, xzr
  br x11
.endm

.globl warploom_switch
.type warploom_switch, %function
warploom_switch:
  warploom_save x0
  warploom_load x1
warploom_restore:
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

.macro warploom_wait name
.globl \name
.type \name, %function
\name:
  adrp x9, warploom_running
  ldr x12, [x9, #:lo12:warploom_running]
  warploom_save x12
  add x29, sp, #80
  mov w19, w0
  mov x20, x1
  mov w21, w2
  bl \name\()_quickly
  cbnz x0, 1f
  mov w0, w19
  mov x1, x20
  mov w2, w21
  bl \name\()_slowly
1:
  warploom_load x0
.size \name, .-\name
.endm
warploom_wait warploom_barrier
warploom_wait warploom_meet
)");
#else
#error "warploom-emu: fibers are written for x86-64 and aarch64 only"
#endif

static char* top_of_stack(const char* stack, std::size_t bytes) {
  // Stacks lie whole pages apart: without an offset they would all use the same cache lines.
  const std::size_t number = reinterpret_cast<uintptr_t>(stack) / (kStackGap + bytes);
  const std::size_t offset = 64 + number * 5 % kStackColors * 64;
  return const_cast<char*>(stack) + bytes - offset;
}

// Where `fiber` starts: as if called from nowhere, which ends walks over its frames.
static void set_entry(Fiber* fiber, char* top, void (*entry)()) {
#if defined(__x86_64__)
  top -= sizeof(void*);  // the return address, which reads 0
#endif
  fiber->stack_pointer = top;
  fiber->frame_pointer = nullptr;
  fiber->resume = reinterpret_cast<void*>(entry);
}

static void host_fiber_main() {
  Fiber* self = g_current;
  self->entry();
  self->state = FiberState::Done;
  switch_to_scheduler();
}

static Fiber* create_fiber(std::size_t stack_bytes) {
  auto* fiber = new Fiber;
  fiber->stack = take_stack(stack_bytes);
  fiber->stack_bytes = stack_bytes;
  return fiber;
}

Fiber* create_host_fiber(std::function<void()> entry) {
  Fiber* fiber = create_fiber(kHostStackBytes);
  fiber->entry = std::move(entry);
  set_entry(fiber, top_of_stack(fiber->stack, kHostStackBytes), &host_fiber_main);
  return fiber;
}

[[gnu::noinline]] static void add_block_fiber() {
  Fiber* fiber = create_fiber(kGpuStackBytes);
  set_entry(fiber, top_of_stack(fiber->stack, kGpuStackBytes), &work_for_block);
  g_idle.fibers.push_back(nullptr);
  g_idle.fibers[g_idle.count++] = fiber;
}

Fiber* create_block_fiber(Block& block) {
  if (g_idle.count == 0) add_block_fiber();
  Fiber* fiber = g_idle.fibers[--g_idle.count];
  if (g_idle.count > 2) __builtin_prefetch(g_idle.fibers[g_idle.count - 3]);
  if (fiber->kernel != block.kernel->number) {
    fiber->kernel = block.kernel->number;
    block.kernel->fibers.push_back(fiber);
  }
  fiber->state = FiberState::Ready;
  fiber->block = &block;
  fiber->process = block.kernel->process;
  // A guest's kernel finds its memory by looking closer.
  fiber->device = block.kernel->of_guest ? kNoThread : block.kernel->device;
  fiber->has_polled = false;
  if (!g_timed) return fiber;
  fiber->time = fiber->waited = fiber->communicated = fiber->loading = 0;
  fiber->polling_since = fiber->polling_until = 0;
  fiber->polled_at = fiber->computed_at = fiber->operations = 0;
  fiber->turns_computed = 0;
  fiber->segment = 0;
  return fiber;
}

static void* g_no_exceptions[2] = {};
static void (*g_throw_bad_alloc)() = nullptr;
void** g_exceptions = g_no_exceptions;

void find_exceptions(void* handle) {
  using Globals = abi::__cxa_eh_globals* (*)();
  const auto find = reinterpret_cast<Globals>(dlsym(handle, "__cxa_get_globals"));
  // A program that has none of its own shares the runtime's library, if it has exceptions at all.
  g_exceptions = reinterpret_cast<void**>(find ? find() : abi::__cxa_get_globals());
  g_throw_bad_alloc = reinterpret_cast<void (*)()>(dlsym(handle, "_ZSt17__throw_bad_allocv"));
}

void throw_for_program() {
  if (g_throw_bad_alloc) g_throw_bad_alloc();
  throw std::bad_alloc();
}

void resume(Fiber* fiber) {
  enter(fiber);
  warploom_switch(&g_scheduler, fiber);
  leave(g_current);
  g_current = nullptr;
}

void switch_to_scheduler() { warploom_switch(g_current, &g_scheduler); }

void switch_to(Fiber* next) {
  Fiber* self = g_current;
  hand_over(next);
  if (next != self) warploom_switch(self, next);
}

bool stack_overflowed(const Fiber* fiber) {
  // Fresh pages read as zero, and reading them takes no memory: a mark written to the far end of
  // each of a million stacks would.
  const auto* lowest = reinterpret_cast<const uint64_t*>(fiber->stack);
  return lowest[0] | lowest[1] | lowest[2] | lowest[3];
}

}  // namespace warploom
