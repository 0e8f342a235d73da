// Calls that start processes. They take the C library's place in the program, to say by name and
// line what the filter of confine.cpp forbids: what is missing later may come of it.
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "report/report.h"
#include "schedule/fiber.h"

namespace {

using warploom::g_current;

// Ends the run: there is no going on as a child, or as another program.
int refuse(const char* call) {
  if (g_current) {
    warploom::stop_unsupported(call,
                               "a program can neither make processes here nor become another one; "
                               "start its ranks by MPI, as threads, or from one process");
  }
  errno = EAGAIN;
  return -1;
}

std::string shortened(const char* command) {
  constexpr std::size_t kShown = 60;
  std::string text;
  for (; *command && text.size() < kShown; command++) {
    const auto c = static_cast<unsigned char>(*command);
    text += c >= 0x20 && c < 0x7f ? *command : '?';
  }
  return *command ? text + "..." : text;
}

// The run goes on, as it does where no process can be made: a program may do without it.
void note_failure(const char* call, const char* command) {
  if (g_current) {
    warploom::report_finding(
        {.kind = warploom::kinds::process_refused,
         .message = std::string(call) + "(\"" + shortened(command) +
                    "\") fails here: a checked program cannot start other programs",
         .hint = "do it before the check (what lies beside the program can be read), or by calls "
                 "of the program itself; what is missing later in this run may come of it",
         .warning = true,
         .host = true});
  }
  errno = EAGAIN;
}

}  // namespace

extern "C" {

pid_t fork() noexcept { return refuse("fork"); }
pid_t vfork() noexcept { return refuse("vfork"); }

int execv(const char*, char* const*) noexcept { return refuse("execv"); }
int execve(const char*, char* const*, char* const*) noexcept { return refuse("execve"); }
int execvp(const char*, char* const*) noexcept { return refuse("execvp"); }
int execvpe(const char*, char* const*, char* const*) noexcept { return refuse("execvpe"); }
int execl(const char*, const char*, ...) noexcept { return refuse("execl"); }
int execle(const char*, const char*, ...) noexcept { return refuse("execle"); }
int execlp(const char*, const char*, ...) noexcept { return refuse("execlp"); }
int fexecve(int, char* const*, char* const*) noexcept { return refuse("fexecve"); }

int system(const char* command) {
  if (!command) return 0;  // the question whether there is a shell
  note_failure("system", command);
  return -1;
}

FILE* popen(const char* command, const char*) {
  note_failure("popen", command);
  return nullptr;
}

int posix_spawn(pid_t*, const char* path, const posix_spawn_file_actions_t*,
                const posix_spawnattr_t*, char* const*, char* const*) {
  note_failure("posix_spawn", path);
  return EAGAIN;
}

int posix_spawnp(pid_t*, const char* file, const posix_spawn_file_actions_t*,
                 const posix_spawnattr_t*, char* const*, char* const*) {
  note_failure("posix_spawnp", file);
  return EAGAIN;
}

// Of glibc 2.39 and later.
int pidfd_spawn(int*, const char* path, const posix_spawn_file_actions_t*, const posix_spawnattr_t*,
                char* const*, char* const*) {
  note_failure("pidfd_spawn", path);
  return EAGAIN;
}

int pidfd_spawnp(int*, const char* file, const posix_spawn_file_actions_t*,
                 const posix_spawnattr_t*, char* const*, char* const*) {
  note_failure("pidfd_spawnp", file);
  return EAGAIN;
}

}  // extern "C"
