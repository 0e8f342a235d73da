// Signals, assertions and traps become findings that say where.
#include "report/crash.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unwind.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "../../include/warploom/device.h"
#include "cuda/stream.h"
#include "host/program_range.h"
#include "kernels/kernel.h"
#include "machine/world.h"
#include "memory/memory.h"
#include "report/report.h"

namespace warploom {

namespace {

const char* signal_name(int number) {
  switch (number) {
    case SIGSEGV:
      return "segmentation fault";
    case SIGBUS:
      return "bus error";
    case SIGFPE:
      return "arithmetic exception";
    case SIGILL:
      return "illegal instruction";
    default:
      return "signal";
  }
}

const void* place_of(const ucontext_t& context) {
#if defined(__x86_64__)
  return reinterpret_cast<const void*>(context.uc_mcontext.gregs[REG_RIP]);
#else
  return reinterpret_cast<const void*>(context.uc_mcontext.pc);
#endif
}

const void* frame_of(const ucontext_t& context) {
#if defined(__x86_64__)
  return reinterpret_cast<const void*>(context.uc_mcontext.gregs[REG_RBP]);
#else
  return reinterpret_cast<const void*>(context.uc_mcontext.regs[29]);
#endif
}

// A library keeps no frame pointers: who called it stands in its unwind tables alone, and a walk
// would begin with the caller's caller. Reading them can fault in turn where the stack was
// overwritten.
sigjmp_buf g_unwinding;

void stop_unwinding(int) { siglongjmp(g_unwinding, 1); }

_Unwind_Reason_Code keep_frame(_Unwind_Context* context, void* to) {
  auto& frames = *static_cast<Frames*>(to);
  const auto* address = reinterpret_cast<const void*>(_Unwind_GetIP(context));
  if (const uint32_t offset = program_offset(address)) {
    uint32_t* const end = frames.pc + Frames::kMax;
    uint32_t* const next = std::find(frames.pc, end, 0u);
    if (next == end) return _URC_END_OF_STACK;
    *next = offset;
  }
  return _URC_NO_REASON;
}

Frames unwound_frames() {
  Frames frames;
  struct sigaction action{}, before{};
  action.sa_handler = stop_unwinding;
  action.sa_flags = SA_ONSTACK | SA_NODEFER;
  sigaction(SIGSEGV, &action, &before);
  sigset_t faults, blocked;
  sigemptyset(&faults);
  sigaddset(&faults, SIGSEGV);
  sigprocmask(SIG_UNBLOCK, &faults, &blocked);
  if (sigsetjmp(g_unwinding, 0) == 0) _Unwind_Backtrace(keep_frame, &frames);
  sigprocmask(SIG_SETMASK, &blocked, nullptr);
  sigaction(SIGSEGV, &before, nullptr);
  return frames;
}

}  // namespace

Frames interrupted_frames(const ucontext_t& context) {
  return walk_frames(*g_current, frame_of(context), place_of(context));
}

Frames frames_of_call() {
  const Frames frames = unwound_frames();
  return frames.pc[0] ? frames : capture_frames();
}

namespace {

Frames crash_frames(const ucontext_t& context) {
  if (!program_offset(place_of(context))) {
    if (const Frames frames = unwound_frames(); frames.pc[0]) return frames;
  }
  return interrupted_frames(context);
}

void on_signal(int number, siginfo_t* info, void* context) {
  if (!g_current && g_active_op) {
    const StreamOp& op = *g_active_op;
    report_finding({.kind = kinds::crash,
                    .message = format("%s at address %p inside of %s", signal_name(number),
                                      info->si_addr, op.name),
                    .hint = "one of its host pointers is null, wild or freed",
                    .where = op.where,
                    .rank = op.rank});
    report_exit(op.rank, 128 + number);
    stop_run();
  }
  if (!g_current) {
    std::fprintf(stderr, "warploom-emu: internal error: %s at %p\n", signal_name(number),
                 info->si_addr);
    std::_Exit(71);
  }
  if (g_current->block) check_stacks(*g_current->block->kernel);
  const bool memory = number == SIGSEGV || number == SIGBUS;
  report_finding({.kind = kinds::crash,
                  .message = memory ? format("%s at address %p", signal_name(number), info->si_addr)
                                    : std::string(signal_name(number)),
                  .hint = memory ? "a null, wild or freed pointer, or a stack that overflowed"
                          : number == SIGILL ? "a shift by the width of its value or more, or code "
                                               "that was promised not to be reached"
                                             : "",
                  .where = crash_frames(*static_cast<ucontext_t*>(context))});
  report_exit(current_rank(), 128 + number);
  stop_run();
}

}  // namespace

void install_crash_handlers() {
  constexpr std::size_t kStack = 256 << 10;
  static char stack[kStack];
  stack_t alternative{};
  alternative.ss_sp = stack;
  alternative.ss_size = kStack;
  sigaltstack(&alternative, nullptr);
  struct sigaction action{};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND;
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) sigaction(number, &action, nullptr);
}

void device_assert(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: Assertion `%s` failed.\n", file, line, expression);
  report_finding({.kind = kinds::assertion,
                  .message = format("assertion `%s` failed", expression),
                  .hint = ""});
  report_exit(current_rank(), 134);
  stop_run();
}

void device_trap() {
  report_finding({.kind = kinds::trap, .message = "the kernel executed __trap()", .hint = ""});
  report_exit(current_rank(), 134);
  stop_run();
}

void unsupported(const char* name, const char* why) { stop_unsupported(name, why); }

}  // namespace warploom

extern "C" [[noreturn]] void __assert_fail(const char* expression, const char* file, unsigned line,
                                           const char*) {
  warploom::program_reads_text(expression);
  warploom::program_reads_text(file);
  warploom::device_assert(expression, file, static_cast<int>(line));
  __builtin_unreachable();
}
