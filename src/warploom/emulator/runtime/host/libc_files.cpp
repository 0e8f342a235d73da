// Calls on files and descriptors. They take the C library's place for the program and for the
// libraries that it uses; the runtime's own calls go through unchanged.
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "host/descriptors.h"
#include "host/libc_calls.h"
#include "host/libc_made.h"
#include "host/own_memory.h"
#include "host/program_range.h"
#include "machine/host_threads.h"
#include "machine/standard_files.h"
#include "machine/world.h"
#include "machine/world_setup.h"
#include "memory/memory.h"
#include "report/report.h"

using namespace warploom;

void warploom::check_parts(const iovec* parts, int count, bool into_memory, const void* caller) {
  if (count <= 0) return;
  program_reads(parts, static_cast<std::size_t>(count) * sizeof *parts, caller);
  for (int i = 0; i < count; i++) {
    const iovec part = parts[i];
    into_memory ? program_writes(part.iov_base, part.iov_len, caller)
                : program_reads(part.iov_base, part.iov_len, caller);
  }
}

namespace {

// The flags of open(2) for a mode of fopen(3).
int flags_of(const char* mode) {
  const bool both = std::strchr(mode, '+');
  int flags = both ? O_RDWR : *mode == 'r' ? O_RDONLY : O_WRONLY;
  if (*mode == 'w') flags |= O_CREAT | O_TRUNC;
  if (*mode == 'a') flags |= O_CREAT | O_APPEND;
  if (std::strchr(mode, 'x')) flags |= O_EXCL;
  if (std::strchr(mode, 'e')) flags |= O_CLOEXEC;
  return flags;
}

int open_with(int folder, const char* path, int flags, std::va_list args) {
  const unsigned mode = makes_file(flags) ? va_arg(args, unsigned) : 0;
  program_reads_text(path);
  return open_for_program(folder, path, flags, mode);
}

FILE* open_stream(const char* path, const char* mode) {
  program_reads_text(path);
  program_reads_text(mode);
  if (!*mode || !std::strchr("rwa", *mode)) {
    errno = EINVAL;
    return nullptr;
  }
  const int descriptor = open_for_program(AT_FDCWD, path, flags_of(mode), 0666);
  WARPLOOM_REAL(fdopen);
  const OfTheLibrary made;
  FILE* stream = descriptor < 0 ? nullptr : real_fdopen(descriptor, mode);
  if (!stream && descriptor >= 0) raw_call(SYS_close, descriptor);
  return stream;
}

}  // namespace

extern "C" {

#define OPEN(name)                                                                 \
  int name(const char* path, int flags, ...) {                                     \
    std::va_list args;                                                             \
    va_start(args, flags);                                                         \
    const int found = of_program(CALLER) ? open_with(AT_FDCWD, path, flags, args)  \
                                         : real_open(AT_FDCWD, path, flags, args); \
    va_end(args);                                                                  \
    return found;                                                                  \
  }
static int real_open(int folder, const char* path, int flags, std::va_list args) {
  const unsigned mode = makes_file(flags) ? va_arg(args, unsigned) : 0;
  return static_cast<int>(
      answer_of(raw_call(SYS_openat, folder, reinterpret_cast<long>(path), flags, mode)));
}
OPEN(open)
OPEN(open64)
#undef OPEN
#define OPEN_AT(name)                                                            \
  int name(int folder, const char* path, int flags, ...) {                       \
    std::va_list args;                                                           \
    va_start(args, flags);                                                       \
    const int found = of_program(CALLER) ? open_with(folder, path, flags, args)  \
                                         : real_open(folder, path, flags, args); \
    va_end(args);                                                                \
    return found;                                                                \
  }
OPEN_AT(openat)
OPEN_AT(openat64)
#undef OPEN_AT
// Libraries that were built with _FORTIFY_SOURCE, as Ubuntu's are, call functions by other names:
// here, below and in libc_folders.cpp. Those of the program's own text are not built so.
static int open_existing(int folder, const char* path, int flags, const void* caller) {
  if (!of_program(caller)) {
    return static_cast<int>(
        answer_of(raw_call(SYS_openat, folder, reinterpret_cast<long>(path), flags)));
  }
  program_reads_text(path, ~std::size_t{0}, caller);
  return open_for_program(folder, path, flags, 0);
}
int __open_2(const char* path, int flags) { return open_existing(AT_FDCWD, path, flags, CALLER); }
int __open64_2(const char* path, int flags) { return open_existing(AT_FDCWD, path, flags, CALLER); }
int __openat_2(int folder, const char* path, int flags) {
  return open_existing(folder, path, flags, CALLER);
}
int __openat64_2(int folder, const char* path, int flags) {
  return open_existing(folder, path, flags, CALLER);
}
int creat(const char* path, mode_t mode) {
  program_reads_text(path);
  return open_for_program(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

FILE* fopen(const char* path, const char* mode) {
  WARPLOOM_REAL(fopen);
  if (!of_program(CALLER)) return real_fopen(path, mode);
  return note_stream(open_stream(path, mode), CALLER);
}
FILE* fopen64(const char* path, const char* mode) {
  WARPLOOM_REAL(fopen64);
  if (!of_program(CALLER)) return real_fopen64(path, mode);
  return note_stream(open_stream(path, mode), CALLER);
}
FILE* freopen(const char* path, const char* mode, FILE* stream) {
  WARPLOOM_REAL(freopen);
  if (is_of_running_program(CALLER)) check_stream(stream);
  if (of_program(CALLER)) program_reads_text(mode);
  if (of_program(CALLER) && path) {
    program_reads_text(path);
    const int tried = open_for_program(AT_FDCWD, path, O_PATH | O_CLOEXEC, 0);
    if (tried >= 0) raw_call(SYS_close, tried);
  }
  const StandardChange change(is_standard(stream) ? fileno(stream) : -1);
  return real_freopen(path, mode, stream);
}
FILE* fdopen(int descriptor, const char* mode) noexcept {
  WARPLOOM_REAL(fdopen);
  if (!of_program(CALLER)) return real_fdopen(descriptor, mode);
  if (!check_descriptor(descriptor, "fdopen")) return nullptr;
  const OfTheLibrary made;
  return note_stream(real_fdopen(descriptor, mode), CALLER);
}

// What comes last tells a hardened call how large the memory is.
#define READ(name, ...)                                                                  \
  ssize_t name(int descriptor, void* to, std::size_t bytes __VA_OPT__(, ) __VA_ARGS__) { \
    WARPLOOM_REAL(read);                                                                 \
    ASK(descriptor, "read");                                                             \
    if (of_program(CALLER)) program_writes(to, bytes);                                   \
    return real_read(descriptor, to, bytes);                                             \
  }
READ(read)
READ(__read_chk, std::size_t)
#undef READ
ssize_t write(int descriptor, const void* from, std::size_t bytes) {
  WARPLOOM_REAL(write);
  ASK(descriptor, "write");
  if (of_program(CALLER)) program_reads(from, bytes);
  return real_write(descriptor, from, bytes);
}
#define AT_OFFSET(name, called, offset_type, pointer, check, ...) \
  ssize_t name(int descriptor, pointer p, std::size_t bytes,      \
               offset_type offset __VA_OPT__(, ) __VA_ARGS__) {   \
    WARPLOOM_REAL(called);                                        \
    ASK(descriptor, #called);                                     \
    if (of_program(CALLER)) check(p, bytes);                      \
    return real_##called(descriptor, p, bytes, offset);           \
  }
AT_OFFSET(pread, pread, off_t, void*, program_writes)
AT_OFFSET(pread64, pread64, off64_t, void*, program_writes)
AT_OFFSET(__pread_chk, pread, off_t, void*, program_writes, std::size_t)
AT_OFFSET(__pread64_chk, pread64, off64_t, void*, program_writes, std::size_t)
AT_OFFSET(pwrite, pwrite, off_t, const void*, program_reads)
AT_OFFSET(pwrite64, pwrite64, off64_t, const void*, program_reads)
#undef AT_OFFSET
#define IN_PARTS(name, into_memory)                                 \
  ssize_t name(int descriptor, const iovec* parts, int count) {     \
    WARPLOOM_REAL(name);                                            \
    ASK(descriptor, #name);                                         \
    if (of_program(CALLER)) check_parts(parts, count, into_memory); \
    return real_##name(descriptor, parts, count);                   \
  }
IN_PARTS(readv, true)
IN_PARTS(writev, false)
#undef IN_PARTS
#define PARTS_AT(name, into_memory)                                           \
  ssize_t name(int descriptor, const iovec* parts, int count, off_t offset) { \
    WARPLOOM_REAL(name);                                                      \
    ASK(descriptor, #name);                                                   \
    if (of_program(CALLER)) check_parts(parts, count, into_memory);           \
    return real_##name(descriptor, parts, count, offset);                     \
  }
PARTS_AT(preadv, true)
PARTS_AT(pwritev, false)
#undef PARTS_AT

off_t lseek(int descriptor, off_t offset, int whence) noexcept {
  WARPLOOM_REAL(lseek);
  ASK(descriptor, "lseek");
  return real_lseek(descriptor, offset, whence);
}
off64_t lseek64(int descriptor, off64_t offset, int whence) noexcept {
  WARPLOOM_REAL(lseek64);
  ASK(descriptor, "lseek");
  return real_lseek64(descriptor, offset, whence);
}
int ftruncate(int descriptor, off_t bytes) noexcept {
  WARPLOOM_REAL(ftruncate);
  ASK(descriptor, "ftruncate");
  return real_ftruncate(descriptor, bytes);
}
int ftruncate64(int descriptor, off64_t bytes) noexcept {
  WARPLOOM_REAL(ftruncate64);
  ASK(descriptor, "ftruncate");
  return real_ftruncate64(descriptor, bytes);
}
int fallocate(int descriptor, int mode, off_t offset, off_t bytes) {
  WARPLOOM_REAL(fallocate);
  ASK(descriptor, "fallocate");
  return real_fallocate(descriptor, mode, offset, bytes);
}
int dup(int descriptor) noexcept {
  WARPLOOM_REAL(dup);
  ASK(descriptor, "dup");
  return real_dup(descriptor);
}
int dup2(int from, int to) noexcept {
  WARPLOOM_REAL(dup2);
  ASK(from, "dup2");
  ASK(to, "dup2");
  const StandardChange change(to);
  return real_dup2(from, to);
}
int dup3(int from, int to, int flags) noexcept {
  WARPLOOM_REAL(dup3);
  ASK(from, "dup3");
  ASK(to, "dup3");
  const StandardChange change(to);
  return real_dup3(from, to, flags);
}
int close(int descriptor) {
  WARPLOOM_REAL(close);
  SKIP(descriptor);
  const StandardChange change(descriptor);
  return real_close(descriptor);
}
int close_range(unsigned first, unsigned last, int flags) noexcept {
  if (!of_program(CALLER)) return -1;
  for (unsigned number = first; number <= last && number < (1u << 20); number++) {
    if (is_kept(static_cast<int>(number))) continue;
    if (flags & CLOSE_RANGE_CLOEXEC) {
      raw_call(SYS_fcntl, number, F_SETFD, FD_CLOEXEC);
    } else {
      const StandardChange change(static_cast<int>(number));
      raw_call(SYS_close, number);
    }
  }
  return 0;
}
void closefrom(int first) noexcept { close_range(static_cast<unsigned>(first), ~0u, 0); }

ssize_t process_vm_readv(pid_t, const iovec*, unsigned long, const iovec*, unsigned long,
                         unsigned long) noexcept {
  report_reach("the program calls process_vm_readv");
  return -1;
}
ssize_t process_vm_writev(pid_t, const iovec*, unsigned long, const iovec*, unsigned long,
                          unsigned long) noexcept {
  report_reach("the program calls process_vm_writev");
  return -1;
}
long ptrace(__ptrace_request, ...) noexcept {
  report_reach("the program calls ptrace");
  return -1;
}

// As process/signals.cpp numbers processes; further threads of one are far from any process.
static constexpr long kFirstProcess = 2000;
static long thread_number() {
  constexpr long kThreadsApart = 1000;
  return kFirstProcess + g_current->process->rank + kThreadsApart * g_current->host->number;
}
pid_t gettid() noexcept {
  const bool has_number = g_current && g_current->host;
  return static_cast<pid_t>(has_number ? thread_number() : raw_call(SYS_gettid));
}

// The numbers of processes and threads are harmless, and headers write calls of futexes; anything
// else goes past what is checked here.
long syscall(long number, ...) noexcept {
  std::va_list args;
  va_start(args, number);
  long values[6];
  for (long& value : values) value = va_arg(args, long);
  va_end(args);
  if (number == SYS_futex && running_program()) return futex_call(values, CALLER);
  const bool harmless = number == SYS_gettid || number == SYS_getpid || number == SYS_sched_yield;
  if (of_program(CALLER) && g_current && g_current->host) {
    if (number == SYS_gettid) return thread_number();
    if (number == SYS_getpid) return kFirstProcess + g_current->process->rank;
  }
  if (of_program(CALLER) && !harmless) {
    stop_unsupported("syscall", "a program's system calls must go through the C library here");
  }
  return answer_of(
      raw_call(number, values[0], values[1], values[2], values[3], values[4], values[5]));
}

}  // extern "C"
