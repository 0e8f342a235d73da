#include "host/descriptors.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <set>

#include "host/copies_beside.h"
#include "host/libc_calls.h"
#include "machine/standard_files.h"
#include "report/crash.h"
#include "report/report.h"

namespace warploom {

namespace {

constexpr long kProcMagic = 0x9FA0;  // of proc(5), see statfs(2)
constexpr rlim_t kMostDescriptors = 1 << 20;

std::set<int> g_kept_open;

// What lies below /proc and says nothing of this process that a program on a GPU machine could not
// know just as well.
const char* const kHarmless[] = {
    "/proc/cpuinfo", "/proc/meminfo",     "/proc/loadavg", "/proc/uptime",
    "/proc/version", "/proc/stat",        "/proc/devices", "/proc/sys/",
    "/proc/driver/", "/proc/filesystems", "/proc/mounts",
};
const char* const kHarmlessOfProcess[] = {"status", "stat",   "statm", "comm",
                                          "cgroup", "mounts", "limits"};

std::string path_of(int descriptor) {
  char text[PATH_MAX];
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t length = readlink(link.c_str(), text, sizeof text);
  return {text, static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
}

// /dev/stdout and the like are links to a descriptor.
int standard_descriptor(const char* path) {
  const char* const names[] = {"/dev/stdin", "/dev/stdout", "/dev/stderr"};
  for (int i = 0; i < 3; i++) {
    if (std::strcmp(path, names[i]) == 0) return i;
    if (path == "/dev/fd/" + std::to_string(i)) return i;
  }
  return -1;
}

// Links that lead to what a process has open are not followed, whatever leads to them.
long open_without_magic(int folder, const char* path, int flags, unsigned mode) {
  open_how how{};
  how.flags = static_cast<unsigned>(flags);
  if (makes_file(flags)) how.mode = mode & 07777;
  how.resolve = RESOLVE_NO_MAGICLINKS;
  const long found = raw_call(SYS_openat2, folder, reinterpret_cast<long>(path),
                              reinterpret_cast<long>(&how), sizeof how);
  if (found != -ENOSYS && found != -EPERM) return found;
  // An older system: the text of the path has to do.
  char real[PATH_MAX];
  if (realpath(path, real) && std::strncmp(real, "/proc/", 6) == 0 && !is_harmless_file(real)) {
    return -ELOOP;
  }
  return raw_call(SYS_openat, folder, reinterpret_cast<long>(path), flags, mode);
}

}  // namespace

long raw_call(long number, long a, long b, long c, long d, long e, long f) {
#if defined(__x86_64__)
  long result;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
#else
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  register long x5 asm("x5") = f;
  asm volatile("svc 0"
               : "+r"(x0)
               : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
               : "memory");
  return x0;
#endif
}

bool is_harmless_file(const std::string& path) {
  for (const char* known : kHarmless) {
    const std::size_t length = std::strlen(known);
    const bool folder = known[length - 1] == '/';
    if (folder ? (path + '/').compare(0, length, known) == 0 : path == known) return true;
  }
  const std::size_t slash = path.find('/', 6);  // behind /proc/PID
  if (path.compare(0, 6, "/proc/") != 0 || slash == std::string::npos) return false;
  const std::string rest = path.substr(slash + 1);
  return std::ranges::any_of(kHarmlessOfProcess, [&](const char* known) { return rest == known; });
}

int hide_descriptor(int descriptor) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlim_t most = std::min(limit.rlim_cur, kMostDescriptors);
  uint32_t number = 0;
  // The system's own: what the program gets follows from the seed.
  if (raw_call(SYS_getrandom, reinterpret_cast<long>(&number), sizeof number) != sizeof number) {
    number = 0;
  }
  const int least = most > 512 ? static_cast<int>(256 + number % (most - 320)) : 64;
  const int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, least);
  if (moved < 0) {
    keep_from_program(descriptor);
    return descriptor;
  }
  const int decoy = memfd_create("", MFD_CLOEXEC);
  if (decoy >= 0 && decoy != descriptor) {
    dup3(decoy, descriptor, O_CLOEXEC);
    raw_call(SYS_close, decoy);
  }
  keep_from_program(descriptor);
  keep_from_program(moved);
  return moved;
}

void keep_from_program(int descriptor) { g_kept_open.insert(descriptor); }

void keep_open_descriptors() {
  constexpr int kUsual = 1024;
  for (int number = 3; number < kUsual; number++) {
    if (raw_call(SYS_fcntl, number, F_GETFD) >= 0) keep_from_program(number);
  }
}

bool is_kept(int descriptor) { return g_kept_open.contains(descriptor); }

void report_reach(const std::string& message) {
  report_finding({.kind = kinds::emulator_access,
                  .message = message,
                  .hint = "on a real machine nothing is there: use what the program opened and "
                          "allocated itself",
                  .where = frames_of_call()});
  stop_run();
}

bool check_descriptor(int descriptor, const char* what) {
  if (!g_current || !is_kept(descriptor)) return true;
  report_reach(format("%s on descriptor %d, which the program has not opened", what, descriptor));
  errno = EBADF;
  return false;
}

int open_for_program(int folder, const char* path, int flags, unsigned mode) {
  if (const int standard = standard_descriptor(path); standard >= 0) {
    return fcntl(standard, flags & O_CLOEXEC ? F_DUPFD_CLOEXEC : F_DUPFD, 0);
  }
  long found = open_without_magic(folder, path, flags, mode);
  const bool refused = found == -EROFS || (found == -EACCES && (flags & O_ACCMODE) != O_RDONLY);
  if (refused && folder == AT_FDCWD && copy_from_beside(path)) {
    found = open_without_magic(folder, path, flags, mode);
  }
  if (found == -ELOOP && std::strstr(path, "/proc/")) {
    report_reach(format("the program opens '%s'", path));
  }
  if (found < 0) {
    errno = static_cast<int>(-found);
    return -1;
  }
  const int descriptor = static_cast<int>(found);
  const StandardChange change(descriptor);  // which may take the place of one that was closed
  struct statfs system{};
  if (fstatfs(descriptor, &system) == 0 && system.f_type == kProcMagic) {
    const std::string real = path_of(descriptor);
    if (!is_harmless_file(real)) report_reach(format("the program opens '%s'", real.c_str()));
  }
  return descriptor;
}

}  // namespace warploom
