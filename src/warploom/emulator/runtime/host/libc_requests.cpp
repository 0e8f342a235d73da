// Requests to the system with arguments that depend on them (fcntl, ioctl), and calls that move
// data between descriptors or in messages.
#include <fcntl.h>
#include <linux/fs.h>
#include <net/if.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <iterator>

#include "host/descriptors.h"
#include "host/libc_calls.h"
#include "host/libc_made.h"
#include "host/program_range.h"
#include "report/report.h"
#include "schedule/scheduler.h"

using namespace warploom;

namespace {

enum class Use : uint8_t { Number, Reads, Writes };
struct Request {
  unsigned long number;
  Use use;
  std::size_t bytes = 0;
};

constexpr std::size_t kKernelTermios = 36;  // smaller than the C library's

// The same number is never in both of one call's lists. What is in none of them is not supported:
// the system would follow a pointer, for all that is known here.
constexpr Request kOfFcntl[] = {
    {F_DUPFD, Use::Number},
    {F_DUPFD_CLOEXEC, Use::Number},
    {F_GETFD, Use::Number},
    {F_SETFD, Use::Number},
    {F_GETFL, Use::Number},
    {F_SETFL, Use::Number},
    {F_GETOWN, Use::Number},
    {F_SETOWN, Use::Number},
    {F_GETSIG, Use::Number},
    {F_SETSIG, Use::Number},
    {F_GETLEASE, Use::Number},
    {F_SETLEASE, Use::Number},
    {F_NOTIFY, Use::Number},
    {F_GETPIPE_SZ, Use::Number},
    {F_SETPIPE_SZ, Use::Number},
    {F_ADD_SEALS, Use::Number},
    {F_GET_SEALS, Use::Number},
    {F_GETLK, Use::Writes, sizeof(struct flock)},
    {F_SETLK, Use::Reads, sizeof(struct flock)},
    {F_SETLKW, Use::Reads, sizeof(struct flock)},
    {F_OFD_GETLK, Use::Writes, sizeof(struct flock)},
    {F_OFD_SETLK, Use::Reads, sizeof(struct flock)},
    {F_OFD_SETLKW, Use::Reads, sizeof(struct flock)},
    {F_GETOWN_EX, Use::Writes, sizeof(f_owner_ex)},
    {F_SETOWN_EX, Use::Reads, sizeof(f_owner_ex)},
    {F_GET_RW_HINT, Use::Writes, sizeof(uint64_t)},
    {F_SET_RW_HINT, Use::Reads, sizeof(uint64_t)},
    {F_GET_FILE_RW_HINT, Use::Writes, sizeof(uint64_t)},
    {F_SET_FILE_RW_HINT, Use::Reads, sizeof(uint64_t)},
};
constexpr Request kOfIoctl[] = {
    {FIOCLEX, Use::Number},
    {FIONCLEX, Use::Number},
    {FIONREAD, Use::Writes, sizeof(int)},
    {TIOCOUTQ, Use::Writes, sizeof(int)},
    {FIONBIO, Use::Reads, sizeof(int)},
    {FIOASYNC, Use::Reads, sizeof(int)},
    {FIGETBSZ, Use::Writes, sizeof(int)},
    {FS_IOC_GETFLAGS, Use::Writes, sizeof(long)},
    {BLKGETSIZE64, Use::Writes, sizeof(uint64_t)},
    {TIOCGPGRP, Use::Writes, sizeof(pid_t)},
    {TIOCGWINSZ, Use::Writes, sizeof(winsize)},
    {TCGETS, Use::Writes, kKernelTermios},
    {SIOCGIFNAME, Use::Writes, sizeof(ifreq)},
    {SIOCGIFINDEX, Use::Writes, sizeof(ifreq)},
    {SIOCGIFFLAGS, Use::Writes, sizeof(ifreq)},
    {SIOCGIFADDR, Use::Writes, sizeof(ifreq)},
    {SIOCGIFNETMASK, Use::Writes, sizeof(ifreq)},
    {SIOCGIFBRDADDR, Use::Writes, sizeof(ifreq)},
    {SIOCGIFHWADDR, Use::Writes, sizeof(ifreq)},
    {SIOCGIFMTU, Use::Writes, sizeof(ifreq)},
};

template <std::size_t count>
void check_request(const char* call, const Request (&known)[count], unsigned long number,
                   long argument, const void* caller) {
  if (!of_program(caller)) return;
  for (const Request& request : known) {
    if (request.number != number) continue;
    const auto* p = reinterpret_cast<const void*>(argument);
    if (request.use == Use::Reads) program_reads(p, request.bytes, caller);
    if (request.use == Use::Writes) program_writes(p, request.bytes, caller);
    return;
  }
  stop_unsupported(call, format("what request %#lx does with its argument is not known", number));
}

// The system reads where to begin, and writes where it ended.
void check_offset(const void* offset, const void* caller) {
  if (of_program(caller) && offset) program_writes(offset, sizeof(off64_t), caller);
}

void check_message(const msghdr* message, bool into_memory, const void* caller) {
  program_reads(message, sizeof *message, caller);
  const msghdr given = *message;
  if (into_memory) program_writes(message, sizeof *message, caller);
  if (given.msg_name) {
    into_memory ? program_writes(given.msg_name, given.msg_namelen, caller)
                : program_reads(given.msg_name, given.msg_namelen, caller);
  }
  constexpr std::size_t kMostParts = 1024;  // of the system: with more the call fails
  if (given.msg_iovlen <= kMostParts) {
    check_parts(given.msg_iov, static_cast<int>(given.msg_iovlen), into_memory, caller);
  }
  if (given.msg_control && given.msg_controllen) {
    if (!into_memory) report_reach("sendmsg with descriptors or credentials");
    program_writes(given.msg_control, given.msg_controllen, caller);
  }
}

}  // namespace

extern "C" {

#define CONTROL(name)                                                                        \
  int name(int descriptor, int command, ...) {                                               \
    std::va_list args;                                                                       \
    va_start(args, command);                                                                 \
    const long argument = va_arg(args, long);                                                \
    va_end(args);                                                                            \
    SKIP(descriptor);                                                                        \
    check_request("fcntl", kOfFcntl, static_cast<unsigned long>(command), argument, CALLER); \
    return static_cast<int>(answer_of(raw_call(SYS_fcntl, descriptor, command, argument)));  \
  }
CONTROL(fcntl)
CONTROL(fcntl64)
#undef CONTROL
int ioctl(int descriptor, unsigned long request, ...) noexcept {
  std::va_list args;
  va_start(args, request);
  const long argument = va_arg(args, long);
  va_end(args);
  SKIP(descriptor);
  check_request("ioctl", kOfIoctl, request, argument, CALLER);
  return static_cast<int>(
      answer_of(raw_call(SYS_ioctl, descriptor, static_cast<long>(request), argument)));
}

// Another process of the job may hold the lock: it gets its turn, where the system would stop all.
int flock(int descriptor, int operation) noexcept {
  WARPLOOM_REAL(flock);
  ASK(descriptor, "flock");
  if (!of_program(CALLER) || !g_current) return real_flock(descriptor, operation);
  while (real_flock(descriptor, operation | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK || operation & LOCK_NB) return -1;
    poll_current();
  }
  return 0;
}

#define SEND_FILE(name, offset_type)                                                \
  ssize_t name(int to, int from, offset_type* offset, std::size_t bytes) noexcept { \
    WARPLOOM_REAL(name);                                                            \
    ASK(to, "sendfile");                                                            \
    ASK(from, "sendfile");                                                          \
    check_offset(offset, CALLER);                                                   \
    return real_##name(to, from, offset, bytes);                                    \
  }
SEND_FILE(sendfile, off_t)
SEND_FILE(sendfile64, off64_t)
#undef SEND_FILE
ssize_t copy_file_range(int from, off64_t* in, int to, off64_t* out, std::size_t bytes,
                        unsigned flags) {
  WARPLOOM_REAL(copy_file_range);
  ASK(to, "copy_file_range");
  ASK(from, "copy_file_range");
  check_offset(in, CALLER);
  check_offset(out, CALLER);
  return real_copy_file_range(from, in, to, out, bytes, flags);
}
ssize_t splice(int from, off64_t* in, int to, off64_t* out, std::size_t bytes, unsigned flags) {
  WARPLOOM_REAL(splice);
  ASK(to, "splice");
  ASK(from, "splice");
  check_offset(in, CALLER);
  check_offset(out, CALLER);
  return real_splice(from, in, to, out, bytes, flags);
}
ssize_t sendmsg(int socket, const msghdr* message, int flags) {
  WARPLOOM_REAL(sendmsg);
  ASK(socket, "sendmsg");
  if (of_program(CALLER)) check_message(message, false, CALLER);
  return real_sendmsg(socket, message, flags);
}
ssize_t recvmsg(int socket, msghdr* message, int flags) {
  WARPLOOM_REAL(recvmsg);
  ASK(socket, "recvmsg");
  if (of_program(CALLER)) check_message(message, true, CALLER);
  return real_recvmsg(socket, message, flags);
}

}  // extern "C"
