// Part of the library that stands before a program on real GPUs: from its first instruction on, the
// program can start threads, but no other process (Linux manual: seccomp(2), clone(2)). A limit of
// processes (setrlimit) does not bind root, nor can the sandbox forbid them from outside: the
// launcher makes one for each rank.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

#if defined(__x86_64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "say which system calls make a process on this architecture"
#endif

constexpr unsigned kAllow = SECCOMP_RET_ALLOW;
constexpr unsigned kRefuse = SECCOMP_RET_ERRNO | EAGAIN;
constexpr unsigned kAbsent = SECCOMP_RET_ERRNO | ENOSYS;

constexpr sock_filter load(std::size_t offset) {
  return {BPF_LD | BPF_W | BPF_ABS, 0, 0, static_cast<unsigned>(offset)};
}
constexpr sock_filter answer(unsigned value) { return {BPF_RET | BPF_K, 0, 0, value}; }
// Skips the next statement unless the value at hand passes.
constexpr sock_filter unless(unsigned condition, unsigned value) {
  return {static_cast<unsigned short>(BPF_JMP | BPF_K | condition), 0, 1, value};
}

sock_filter g_filter[] = {
    load(offsetof(seccomp_data, arch)),
    {BPF_JMP | BPF_K | BPF_JEQ, 1, 0, kArchitecture},  // another one's numbers mean other calls
    answer(kRefuse),
    load(offsetof(seccomp_data, nr)),
#if defined(__x86_64__)
    unless(BPF_JGE, 0x40000000),  // x32, by its bit in the number
    answer(kRefuse),
    unless(BPF_JEQ, SYS_fork),
    answer(kRefuse),
    unless(BPF_JEQ, SYS_vfork),
    answer(kRefuse),
#endif
    // Its flags lie in memory, where a filter cannot look: the C library then takes clone().
    unless(BPF_JEQ, SYS_clone3),
    answer(kAbsent),
    {BPF_JMP | BPF_K | BPF_JEQ, 1, 0, SYS_clone},
    answer(kAllow),
    load(offsetof(seccomp_data, args)),
    unless(BPF_JSET, CLONE_THREAD),
    answer(kAllow),
    answer(kRefuse),
};

// Runs before the program's own constructors do.
__attribute__((constructor)) void forbid_processes() {
  const sock_fprog program{sizeof g_filter / sizeof *g_filter, g_filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    fprintf(stderr, "warploom: cannot forbid new processes: %s\n", strerror(errno));
  }
}

void tell(const char* call, const char* command) {
  fprintf(stderr, "warploom: %s(\"%s\") fails: a checked program cannot start other programs\n",
          call, command);
  errno = EAGAIN;
}

}  // namespace

// They would fail without a word, and what is missing later may come of it.
extern "C" int system(const char* command) {
  if (!command) return 0;  // the question whether there is a shell
  tell("system", command);
  return -1;
}
extern "C" FILE* popen(const char* command, const char*) {
  tell("popen", command);
  return nullptr;
}
