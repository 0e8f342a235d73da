// Runs one command and outlives none of its descendants: supervisor.py again, without the start of
// an interpreter, which costs more than most commands do. Arguments and effects are the same;
// supervisor.py stands in where this cannot be compiled, and tests/core holds both to one contract.

#include <dirent.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr long kLandlockRestrictSelf = 446;    // on every architecture
constexpr std::uint32_t kOwnPid = 0x57A2C0DE;  // in a filter: the process id of the command
constexpr int kRefused = 125, kTold = 124, kCannotRun = 127;
constexpr int kBusyTries = 200, kBusyPause = 5000;  // in microseconds

// A descriptor of ours and the number that the command gets it under.
struct Descriptor {
  int ours;
  int theirs;
};

// What was asked for; limits are 0 for none, `ruleset` is -1 for none.
struct Request {
  pid_t parent = 0;
  rlim_t file_bytes = 0, processes = 0, data_bytes = 0;
  std::vector<Descriptor> descriptors;
  int ruleset = -1;
  std::vector<sock_filter> filter;
  char** command = nullptr;
};

// Ends the child that was to become the command.
[[noreturn]] void give_up(const Request& request, const char* what) {
  const std::string why = std::strerror(errno);
  const std::string text = std::string("cannot run ") + request.command[0] + ": " + what + why;
  dprintf(STDERR_FILENO, "%s\n", text.c_str());
  _exit(kCannotRun);
}

int digit(char c) { return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10; }

std::vector<sock_filter> filter_of(const char* text) {
  std::vector<std::uint8_t> bytes;
  for (; text[0] != 0 && text[1] != 0; text += 2) {
    bytes.push_back(static_cast<std::uint8_t>(digit(text[0]) << 4 | digit(text[1])));
  }
  std::vector<sock_filter> filter(bytes.size() / sizeof(sock_filter));
  std::memcpy(filter.data(), bytes.data(), filter.size() * sizeof(sock_filter));
  return filter;
}

std::vector<Descriptor> descriptors_of(char* text) {
  std::vector<Descriptor> found;
  while (*text != 0) {
    const int ours = static_cast<int>(std::strtol(text, &text, 10));
    const int theirs = static_cast<int>(std::strtol(text + 1, &text, 10));
    found.push_back({ours, theirs});
    if (*text == ',') ++text;
  }
  return found;
}

Request request_of(char** arguments) {
  Request request;
  request.parent = static_cast<pid_t>(std::strtol(arguments[1], nullptr, 10));
  request.file_bytes = std::strtoull(arguments[2], nullptr, 10);
  request.processes = std::strtoull(arguments[3], nullptr, 10);
  request.data_bytes = std::strtoull(arguments[4], nullptr, 10);
  request.descriptors = descriptors_of(arguments[5]);
  if (arguments[6][0] != 0) request.ruleset = std::atoi(arguments[6]);
  request.filter = filter_of(arguments[7]);
  request.command = arguments + 8;
  return request;
}

bool is_number(const char* text) {
  return *text != 0 && std::strspn(text, "0123456789") == std::strlen(text);
}

// The parent of a process; 0 where it is gone.
pid_t parent_of(const char* pid) {
  const std::string path = std::string("/proc/") + pid + "/stat";
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[1024];
  const ssize_t size = read(file, text, sizeof text - 1);
  close(file);
  if (size <= 0) return 0;
  text[size] = 0;
  // The name stands in parentheses, and may hold some.
  const char* after = std::strrchr(text, ')');
  int parent = 0;
  return after != nullptr && std::sscanf(after + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

// The processes below this one, from the parent links in /proc.
std::vector<pid_t> descendants() {
  std::vector<std::pair<pid_t, pid_t>> parents;
  DIR* folder = opendir("/proc");
  if (folder == nullptr) return {};
  while (const dirent* entry = readdir(folder)) {
    if (!is_number(entry->d_name)) continue;
    parents.emplace_back(parent_of(entry->d_name), std::atoi(entry->d_name));
  }
  closedir(folder);
  std::vector<pid_t> found{getpid()};
  for (std::size_t at = 0; at < found.size(); ++at) {
    for (const auto& [parent, pid] : parents) {
      if (parent == found[at]) found.push_back(pid);
    }
  }
  found.erase(found.begin());
  return found;
}

// Kills every descendant, and reaps until there is none.
void kill_all(pid_t group, const sigset_t& signals) {
  kill(-group, SIGKILL);
  for (;;) {
    pid_t gone = 0;
    do gone = waitpid(-1, nullptr, WNOHANG);
    while (gone > 0);
    // All that lives below us has one of our children above it.
    if (gone < 0) return;
    for (pid_t pid : descendants()) kill(pid, SIGKILL);
    const timespec moment{0, 20'000'000};
    sigtimedwait(&signals, nullptr, &moment);
  }
}

void limit(int kind, rlim_t value) {
  if (value == 0) return;
  rlimit now{};
  getrlimit(kind, &now);
  const rlim_t top = std::min(value, now.rlim_max);  // RLIM_INFINITY is the largest
  const rlimit bounds{top, top};
  setrlimit(kind, &bounds);
}

void no_core() {
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
}

// Leaves nothing of root's to a command: what it executes gets no more than the bounding set.
void drop_capabilities(const Request& request) {
  for (int capability = 0; prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0; ++capability) {
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3]{};
  if (syscall(SYS_capset, &header, none) != 0) give_up(request, "capset: ");
}

// Binds this process and all that it will start; there is no way back.
void confine(Request& request) {
  if (request.ruleset < 0 && request.filter.empty()) return;
  drop_capabilities(request);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) give_up(request, "no_new_privs: ");
  if (request.ruleset >= 0) {
    if (syscall(kLandlockRestrictSelf, request.ruleset, 0) != 0) give_up(request, "Landlock: ");
    close(request.ruleset);
  }
  if (request.filter.empty()) return;
  for (sock_filter& instruction : request.filter) {
    if (instruction.k == kOwnPid) instruction.k = static_cast<std::uint32_t>(getpid());
  }
  sock_fprog program{static_cast<unsigned short>(request.filter.size()), request.filter.data()};
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0) {
    give_up(request, "seccomp: ");
  }
}

int parked(const Request& request, int descriptor, int above) {
  const int copy = fcntl(descriptor, F_DUPFD, above);
  if (copy < 0) give_up(request, "");
  return copy;
}

// Gives the command its descriptors under their numbers.
void place_descriptors(Request& request) {
  // First out of the way, so that no target overwrites a source that is still needed.
  int above = std::max(3, request.ruleset);
  for (const auto& [ours, theirs] : request.descriptors) above = std::max({above, ours, theirs});
  ++above;
  std::vector<int> sources;
  std::vector<Descriptor> copies;
  for (const auto& [ours, theirs] : request.descriptors) {
    copies.push_back({parked(request, ours, above), theirs});
    sources.push_back(ours);
  }
  if (request.ruleset >= 0) {
    sources.push_back(request.ruleset);
    request.ruleset = parked(request, request.ruleset, above);
  }
  for (int source : sources) close(source);
  for (const auto& [copy, theirs] : copies) {
    if (dup2(copy, theirs) < 0) give_up(request, "");
    close(copy);
  }
}

// Turns the forked child into the command.
[[noreturn]] void become(Request& request) {
  setpgid(0, 0);
  no_core();
  limit(RLIMIT_FSIZE, request.file_bytes);
  limit(RLIMIT_NPROC, request.processes);
  limit(RLIMIT_DATA, request.data_bytes);
  // If memory runs out after all, the kernel shall take this process and no other.
  const int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (score >= 0) {
    if (write(score, "1000", 4) < 0) errno = 0;  // not everywhere may one say so
    close(score);
  }
  place_descriptors(request);
  // A limit that is met is an error of the call, as below an interpreter: the runtime tells it.
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  confine(request);
  // What was just written may be open for writing still: in a child of another thread's, which has
  // not become its own command yet.
  for (int tries = 0; tries < kBusyTries; tries++) {
    execvp(request.command[0], request.command);
    if (errno != ETXTBSY) break;
    usleep(kBusyPause);
    errno = ETXTBSY;
  }
  give_up(request, "");
}

// The child's wait status; false when we were told to stop.
bool wait_for(pid_t child, const sigset_t& signals, int& status) {
  for (;;) {
    const int received = sigwaitinfo(&signals, nullptr);
    if (received < 0) continue;
    if (received != SIGCHLD) return false;
    for (pid_t pid = 1; pid > 0;) {
      pid = waitpid(-1, &status, WNOHANG);
      if (pid == child) return true;
    }
  }
}

// Ends as the command did.
int end_as(int status) {
  if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
  const int number = WTERMSIG(status);
  no_core();
  signal(number, SIG_DFL);
  sigset_t own;
  sigemptyset(&own);
  sigaddset(&own, number);
  sigprocmask(SIG_UNBLOCK, &own, nullptr);
  kill(getpid(), number);
  return 128 + number;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 9) return kRefused;
  Request request = request_of(arguments);
  sigset_t signals, child_signal;
  sigemptyset(&signals);
  for (int number : {SIGTERM, SIGINT, SIGHUP, SIGCHLD}) sigaddset(&signals, number);
  sigemptyset(&child_signal);
  sigaddset(&child_signal, SIGCHLD);
  signal(SIGCHLD, SIG_DFL);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  if (getppid() != request.parent) return kRefused;
  // The command runs as the same user: it shall not read or trace the one that watches it.
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  const pid_t own = getpid();
  const pid_t child = fork();
  if (child < 0) give_up(request, "");
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != own) _exit(kCannotRun);
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    become(request);
  }
  for (const auto& [ours, theirs] : request.descriptors) close(ours);
  if (request.ruleset >= 0) close(request.ruleset);
  int status = 0;
  const bool ended = wait_for(child, signals, status);
  kill_all(child, child_signal);
  return ended ? end_as(status) : kTold;
}
