// setjmp and its like return twice, so that nothing may stand between them and the program: what
// they will write is looked at first, then the C library's own is jumped to as if it had been
// called.
#include <setjmp.h>

#include "host/program_range.h"

extern "C" [[gnu::used, gnu::visibility("hidden")]] void warploom_look_at_jump(const void* buffer,
                                                                               const void* caller) {
  warploom::program_writes(buffer, sizeof(jmp_buf), caller);
}

#if defined(__x86_64__)
#define WARPLOOM_SETJMP(name)                   \
  asm(".text\n"                                 \
      ".globl __wrap_" #name                    \
      "\n"                                      \
      ".type __wrap_" #name                     \
      ", @function\n"                           \
      "__wrap_" #name                           \
      ":\n"                                     \
      "  push %rbp\n"                           \
      "  mov %rsp, %rbp\n"                      \
      "  push %rdi\n"                           \
      "  push %rsi\n"                           \
      "  mov 8(%rbp), %rsi\n"                   \
      "  call warploom_look_at_jump\n"          \
      "  pop %rsi\n"                            \
      "  pop %rdi\n"                            \
      "  pop %rbp\n"                            \
      "  jmp " #name                            \
      "@PLT\n"                                  \
      ".size __wrap_" #name ", .-__wrap_" #name \
      "\n"                                      \
      ".previous\n");
#else
#define WARPLOOM_SETJMP(name)                   \
  asm(".text\n"                                 \
      ".globl __wrap_" #name                    \
      "\n"                                      \
      ".type __wrap_" #name                     \
      ", %function\n"                           \
      "__wrap_" #name                           \
      ":\n"                                     \
      "  stp x29, x30, [sp, #-32]!\n"           \
      "  mov x29, sp\n"                         \
      "  stp x0, x1, [sp, #16]\n"               \
      "  mov x1, x30\n"                         \
      "  bl warploom_look_at_jump\n"            \
      "  ldp x0, x1, [sp, #16]\n"               \
      "  ldp x29, x30, [sp], #32\n"             \
      "  b " #name                              \
      "\n"                                      \
      ".size __wrap_" #name ", .-__wrap_" #name \
      "\n"                                      \
      ".previous\n");
#endif

WARPLOOM_SETJMP(setjmp)
WARPLOOM_SETJMP(_setjmp)
WARPLOOM_SETJMP(__sigsetjmp)
