#include "machine/into_program.h"

// System V and AAPCS64. The unwinder finds the registers where they are kept, so that exceptions of
// the program pass as well.
#if defined(__x86_64__)
asm(R"(
.globl warploom_into
.type warploom_into, @function
warploom_into:
  .cfi_startproc
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  pushq %rbx
  .cfi_offset %rbx, -24
  pushq %r12
  .cfi_offset %r12, -32
  pushq %r13
  .cfi_offset %r13, -40
  pushq %r14
  .cfi_offset %r14, -48
  pushq %r15
  .cfi_offset %r15, -56
  subq $8, %rsp
  movq %rsp, (%rdx)
  movq %rdi, %rax
  movq %rsi, %r10
  movq (%r10), %rdi
  movq 8(%r10), %rsi
  movq 16(%r10), %rdx
  movq 24(%r10), %rcx
  call *%rax
  leaq -40(%rbp), %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_endproc
.size warploom_into, .-warploom_into
)");
#elif defined(__aarch64__)
asm(R"(
.globl warploom_into
.type warploom_into, %function
warploom_into:
  .cfi_startproc
  stp x29, x30, [sp, #-160]!
  .cfi_def_cfa_offset 160
  .cfi_offset x29, -160
  .cfi_offset x30, -152
  mov x29, sp
  .cfi_def_cfa x29, 160
  stp x19, x20, [sp, #16]
  .cfi_offset x19, -144
  .cfi_offset x20, -136
  stp x21, x22, [sp, #32]
  .cfi_offset x21, -128
  .cfi_offset x22, -120
  stp x23, x24, [sp, #48]
  .cfi_offset x23, -112
  .cfi_offset x24, -104
  stp x25, x26, [sp, #64]
  .cfi_offset x25, -96
  .cfi_offset x26, -88
  stp x27, x28, [sp, #80]
  .cfi_offset x27, -80
  .cfi_offset x28, -72
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x2]
  mov x9, x0
  mov x10, x1
  ldp x0, x1, [x10]
  ldp x2, x3, [x10, #16]
  blr x9
  mov sp, x29
  ldp x19, x20, [sp, #16]
  ldp x21, x22, [sp, #32]
  ldp x23, x24, [sp, #48]
  ldp x25, x26, [sp, #64]
  ldp x27, x28, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  ldp x29, x30, [sp], #160
  .cfi_def_cfa sp, 0
  ret
  .cfi_endproc
.size warploom_into, .-warploom_into
)");
#endif
