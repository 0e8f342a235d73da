// What the guard calls before an access that the compiler's instrumentation left without a hook.
// These functions preserve all registers and the flags: the program does not know that it calls.
#include "access/guard_hooks.h"

#include <cstdint>

#include "kernels/kernel.h"
#include "report/report.h"
#include "schedule/fiber.h"

#if defined(__x86_64__)
asm(R"(
# On entry: the address in %rdi. Builds a frame, so that walks over frames find the program's.
.macro warploom_guard_enter
  pushq %rbp
  movq %rsp, %rbp
  pushq %rax
  lahf
  seto %al
  pushq %rax
.endm
.macro warploom_guard_leave
  popq %rax
  addb $127, %al
  sahf
  popq %rax
  popq %rbp
  ret
.endm

# On entry: the bytes in %rsi, the kind of access in %edx, the function in %rax.
warploom_guard_slowly:
  pushq %rcx
  pushq %r8
  pushq %r9
  pushq %r10
  pushq %r11
  pushq %rbx
  movq 8(%rbp), %rcx
  movq %rsp, %rbx
  subq $256, %rsp
  andq $-16, %rsp
  movaps %xmm0, (%rsp)
  movaps %xmm1, 16(%rsp)
  movaps %xmm2, 32(%rsp)
  movaps %xmm3, 48(%rsp)
  movaps %xmm4, 64(%rsp)
  movaps %xmm5, 80(%rsp)
  movaps %xmm6, 96(%rsp)
  movaps %xmm7, 112(%rsp)
  movaps %xmm8, 128(%rsp)
  movaps %xmm9, 144(%rsp)
  movaps %xmm10, 160(%rsp)
  movaps %xmm11, 176(%rsp)
  movaps %xmm12, 192(%rsp)
  movaps %xmm13, 208(%rsp)
  movaps %xmm14, 224(%rsp)
  movaps %xmm15, 240(%rsp)
  call *%rax
  movaps (%rsp), %xmm0
  movaps 16(%rsp), %xmm1
  movaps 32(%rsp), %xmm2
  movaps 48(%rsp), %xmm3
  movaps 64(%rsp), %xmm4
  movaps 80(%rsp), %xmm5
  movaps 96(%rsp), %xmm6
  movaps 112(%rsp), %xmm7
  movaps 128(%rsp), %xmm8
  movaps 144(%rsp), %xmm9
  movaps 160(%rsp), %xmm10
  movaps 176(%rsp), %xmm11
  movaps 192(%rsp), %xmm12
  movaps 208(%rsp), %xmm13
  movaps 224(%rsp), %xmm14
  movaps 240(%rsp), %xmm15
  movq %rbx, %rsp
  popq %rbx
  popq %r11
  popq %r10
  popq %r9
  popq %r8
  popq %rcx
  ret

# Most of these accesses are of arrays in the frame of the function itself: they end here. In modelled
# time those of large frames have a price, as such arrays are in memory (meter_local).
.macro warploom_guard_fixed name, bytes, kind
.globl warploom_guard_\name\bytes
.type warploom_guard_\name\bytes, @function
warploom_guard_\name\bytes:
  warploom_guard_enter
  cmpq %rsp, %rdi
  jb 1f
  leaq \bytes(%rdi), %rax
  cmpq (%rbp), %rax
  ja 1f
  cmpb $0, warploom_meters_locals(%rip)
  je 2f
  movq (%rbp), %rax
  subq %rsp, %rax
  cmpq $1024, %rax
  jb 2f
1:
  pushq %rdi
  pushq %rsi
  pushq %rdx
  movl $\bytes, %esi
  movl $\kind, %edx
  leaq warploom_guarded_access(%rip), %rax
  call warploom_guard_slowly
  popq %rdx
  popq %rsi
  popq %rdi
2:
  warploom_guard_leave
.size warploom_guard_\name\bytes, .-warploom_guard_\name\bytes
.endm

.macro warploom_guard_other name, kind, function
.globl warploom_guard_\name
.type warploom_guard_\name, @function
warploom_guard_\name:
  warploom_guard_enter
  pushq %rdi
  pushq %rsi
  pushq %rdx
  movl $\kind, %edx
  leaq \function(%rip), %rax
  call warploom_guard_slowly
  popq %rdx
  popq %rsi
  popq %rdi
  warploom_guard_leave
.size warploom_guard_\name, .-warploom_guard_\name
.endm

.macro warploom_guard_sized bytes
warploom_guard_fixed read, \bytes, 1
warploom_guard_fixed write, \bytes, 2
warploom_guard_fixed read_write, \bytes, 3
.endm
warploom_guard_sized 1
warploom_guard_sized 2
warploom_guard_sized 4
warploom_guard_sized 8
warploom_guard_sized 10
warploom_guard_sized 16
warploom_guard_other read_range, 1, warploom_guarded_access
warploom_guard_other write_range, 2, warploom_guarded_access
warploom_guard_other stack, 0, warploom_guarded_stack
warploom_guard_other recursion, 0, warploom_guarded_recursion
)");
#endif

bool warploom_meters_locals = false;

namespace warploom {

// Frames of variable size, and large ones, could reach past the end of the stack.
extern "C" void warploom_guarded_stack(const void* stack, std::size_t, unsigned, const void*) {
  constexpr std::size_t kRoom = 16 << 10;  // for the hooks themselves
  const Fiber* self = g_current;
  if (!self || !self->stack) return;
  const auto address = reinterpret_cast<uintptr_t>(stack);
  const auto lowest = reinterpret_cast<uintptr_t>(self->stack);
  if (address - lowest >= kRoom && address - lowest < self->stack_bytes) return;
  report_finding({.kind = kinds::crash,
                  .message = "a local variable takes more memory than the stack has",
                  .hint = "take large arrays from memory, and bound those of variable size"});
  stop_run();
}

namespace {

// What a call that waits for another takes on a GPU at least: 16 to 32 bytes were seen of the
// smallest functions (`nvcc -Xptxas -v`, sm_80 and sm_90).
constexpr std::size_t kLeastFrame = 16;
// Beyond the limit, in case that devices round it up.
constexpr std::size_t kLimitRoom = 1024;

struct Walk {
  std::size_t frames = 0;   // all that are on the stack
  std::size_t waiting = 1;  // of the call at hand, which is about to be made once more
};

// The call has four to eight bytes, and its return address lies behind them.
Walk walk_recursion(const Fiber& self, uintptr_t call) {
  constexpr uintptr_t kLongestCall = 8;
  Walk walk;
  const auto lowest = reinterpret_cast<uintptr_t>(self.stack);
  auto frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  while (frame - lowest < self.stack_bytes - 2 * sizeof(frame)) {
    const auto* words = reinterpret_cast<const uintptr_t*>(frame);
    if (words[1] - call - 1 < kLongestCall) walk.waiting++;
    walk.frames++;
    if (words[0] <= frame) break;
    frame = words[0];
  }
  return walk;
}

}  // namespace

// What lies on the host's stack is larger than on a GPU's: what counts is how many calls wait.
extern "C" void warploom_guarded_recursion(const void*, std::size_t, unsigned, const void* call) {
  Fiber* self = g_current;
  if (!self || !self->gpu) return;
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  if (here >= self->recursed_to) return;
  const std::size_t limit = self->gpu->block->kernel->stack_limit;
  const std::size_t most = (limit + kLimitRoom) / kLeastFrame;
  const Walk walk = walk_recursion(*self, reinterpret_cast<uintptr_t>(call));
  // Each further frame takes 16 bytes here too.
  self->recursed_to = here - kLeastFrame * (most > walk.frames ? most - walk.frames : 1);
  if (walk.waiting <= most) return;
  report_finding(
      {.kind = kinds::crash,
       .message = format("a thread recurses %zu calls deep, more than its stack of %zu bytes holds "
                         "on a GPU",
                         walk.waiting, limit),
       .hint = "bound the recursion, make a loop of it, or raise the limit first: "
               "cudaDeviceSetLimit(cudaLimitStackSize, bytes)"});
  stop_run();
}

}  // namespace warploom
