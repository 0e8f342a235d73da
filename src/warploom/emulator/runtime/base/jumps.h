// Functions named __wrap_NAME, to which programs are linked in place of NAME: each jumps to what
// warploom_checked_NAME holds, so that the caller is still the program.
#pragma once

#if defined(__x86_64__)
#define WARPLOOM_JUMP(name) "  jmp *warploom_checked_" #name "(%rip)\n"
#define WARPLOOM_FUNCTION "@function"
#else
#define WARPLOOM_JUMP(name)                         \
  "  adrp x16, warploom_checked_" #name             \
  "\n"                                              \
  "  ldr x16, [x16, #:lo12:warploom_checked_" #name \
  "]\n"                                             \
  "  br x16\n"
#define WARPLOOM_FUNCTION "%function"
#endif

// Headers of glibc 2.38 and later call the functions of C23 by names of their own.
#define WARPLOOM_C23_NAME(name) \
  asm(".globl __wrap___isoc23_" #name "\n.set __wrap___isoc23_" #name ", __wrap_" #name "\n");

#define WARPLOOM_WRAPPER(symbol)                                                       \
  asm(".text\n.globl __wrap_" #symbol "\n.type __wrap_" #symbol ", " WARPLOOM_FUNCTION \
      "\n__wrap_" #symbol ":\n" WARPLOOM_JUMP(symbol) ".size __wrap_" #symbol          \
                                                      ", .-__wrap_" #symbol "\n.previous\n");
