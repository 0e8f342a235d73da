// A seccomp filter against fork bombs, and against machine code that a program makes by itself
// (Linux manual: seccomp(2), fork(2), mmap(2)). What it forbids is said
// by name where a program asks for it: process_calls.cpp.
#include "machine/confine.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <vector>

namespace warploom {

namespace {

#if defined(__x86_64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "say which system calls make a process on this architecture"
#endif

const unsigned kForbidden[] = {
    SYS_clone,  SYS_clone3,
    SYS_execve, SYS_execveat,  // another program would have the report's descriptors
#if defined(__x86_64__)
    SYS_fork,   SYS_vfork,
#endif
};

sock_filter statement(unsigned code, unsigned value) {
  return {.code = static_cast<unsigned short>(code), .jt = 0, .jf = 0, .k = value};
}

// Skips the next statement unless the value at hand passes.
sock_filter unless(unsigned condition, unsigned value) {
  return {.code = static_cast<unsigned short>(BPF_JMP | BPF_K | condition),
          .jt = 0,
          .jf = 1,
          .k = value};
}

// The same number as before stands at hand after it.
void refuse_when(std::vector<sock_filter>& filter, unsigned number, int argument, unsigned mask,
                 std::initializer_list<unsigned> values) {
  const auto offset = offsetof(seccomp_data, args) + 8 * static_cast<std::size_t>(argument);
  const auto block = static_cast<unsigned char>(3 + 2 * values.size());
  filter.push_back({.code = BPF_JMP | BPF_JEQ | BPF_K, .jt = 0, .jf = block, .k = number});
  filter.push_back(statement(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(offset)));
  filter.push_back(statement(BPF_ALU | BPF_AND | BPF_K, mask));
  for (const unsigned value : values) {
    filter.push_back(unless(BPF_JEQ, value));
    filter.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES));
  }
  filter.push_back(statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
}

// Memory that was written or can be: the loader maps the code of libraries, which is in files, and
// never changes what may be done with it.
void refuse_made_code(std::vector<sock_filter>& filter) {
  constexpr unsigned kProtection = PROT_WRITE | PROT_EXEC;
  refuse_when(filter, SYS_mmap, 2, kProtection, {PROT_WRITE | PROT_EXEC});
  refuse_when(filter, SYS_mprotect, 2, PROT_EXEC, {PROT_EXEC});
  refuse_when(filter, SYS_pkey_mprotect, 2, PROT_EXEC, {PROT_EXEC});
  refuse_when(filter, SYS_shmat, 2, SHM_EXEC, {SHM_EXEC});
}

}  // namespace

void forbid_processes() {
  const sock_filter refuse = statement(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN);
  std::vector<sock_filter> filter{
      statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      // Another architecture's numbers mean other calls.
      {.code = BPF_JMP | BPF_JEQ | BPF_K, .jt = 1, .jf = 0, .k = kArchitecture},
      refuse,
      statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
#if defined(__x86_64__)
      unless(BPF_JGE, 0x40000000),  // x32, by its bit in the number
      refuse,
#endif
  };
  for (const unsigned number : kForbidden) {
    filter.push_back(unless(BPF_JEQ, number));
    filter.push_back(refuse);
  }
  refuse_made_code(filter);
  filter.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog program{.len = static_cast<unsigned short>(filter.size()),
                           .filter = filter.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    // A kernel without seccomp: the watch on the processes is all there is.
    std::fprintf(stderr, "warploom-emu: cannot forbid new processes: %s\n", std::strerror(errno));
  }
}

}  // namespace warploom
