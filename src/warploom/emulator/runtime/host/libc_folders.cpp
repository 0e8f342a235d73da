// Calls on folders, links and streams: what tells of this very process is not for the program, and
// what the C library makes is noted, so that nothing else is taken for it.
#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>

#include "host/descriptors.h"
#include "host/libc_calls.h"
#include "host/libc_made.h"
#include "host/process_heap.h"
#include "host/program_range.h"
#include "machine/standard_files.h"
#include "machine/world.h"
#include "report/report.h"

using namespace warploom;

namespace {

constexpr int kFolder = O_RDONLY | O_NONBLOCK | O_DIRECTORY | O_CLOEXEC;

// A link that leads to the runtime's own files; the one to the program's file is answered.
enum class Leads { Elsewhere, Program, Runtime };

Leads link_leads(int folder, const char* path) {
  std::string whole = path;
  if (*path != '/') {
    char real[PATH_MAX];
    const std::string at = folder == AT_FDCWD ? "." : "/proc/self/fd/" + std::to_string(folder);
    if (!::realpath(at.c_str(), real)) return Leads::Elsewhere;
    whole = std::string(real) + "/" + path;
  }
  // The link itself is not followed, what leads to it is.
  const std::size_t slash = whole.rfind('/');
  char real[PATH_MAX];
  if (!::realpath(whole.substr(0, slash + 1).c_str(), real)) return Leads::Elsewhere;
  const std::string before = real, last = whole.substr(slash + 1);
  if (before != "/proc" && before.compare(0, 6, "/proc/") != 0) return Leads::Elsewhere;
  const std::string process = "/proc/" + std::to_string(getpid());
  if (before.compare(0, process.size(), process) != 0) return Leads::Elsewhere;
  if (last == "exe") return Leads::Program;
  return last == "cwd" || last == "root" ? Leads::Elsewhere : Leads::Runtime;
}

// What a link below /proc says to the program; -1 where it is an ordinary one.
ssize_t answer_link(int folder, const char* path, char* to, std::size_t bytes) {
  program_reads_text(path);
  program_writes(to, bytes);
  switch (path ? link_leads(folder, path) : Leads::Elsewhere) {
    case Leads::Elsewhere:
      return -1;
    case Leads::Runtime:
      report_reach(format("the program asks where '%s' leads", path));
      return -1;
    case Leads::Program:
      break;
  }
  const std::size_t length = std::min(bytes, std::strlen(program_path()));
  std::memcpy(to, program_path(), length);
  return static_cast<ssize_t>(length);
}

char* real_path_for_program(const char* path, char* to, char* (*resolve)(const char*, char*),
                            const void* caller) {
  program_reads_text(path, ~std::size_t{0}, caller);
  char real[PATH_MAX];
  if (!path || !resolve(path, real)) return nullptr;
  const char* found = real;
  if (std::strcmp(path, "/proc/self/exe") == 0)
    found = program_path();
  else if (link_leads(AT_FDCWD, path) == Leads::Runtime)
    check_listing(path);
  const std::size_t size = std::strlen(found) + 1;
  if (to)
    program_writes(to, size, caller);
  else
    to = static_cast<char*>(program_memory(size));
  return static_cast<char*>(std::memcpy(to, found, size));
}

}  // namespace

extern "C" {

DIR* opendir(const char* path) {
  WARPLOOM_REAL(opendir);
  if (!of_program(CALLER)) return real_opendir(path);
  program_reads_text(path);
  check_listing(path);
  const int descriptor = open_for_program(AT_FDCWD, path, kFolder, 0);
  if (descriptor < 0) return nullptr;
  WARPLOOM_REAL(fdopendir);
  DIR* made = real_fdopendir(descriptor);
  if (!made) raw_call(SYS_close, descriptor);
  return is_of_running_program(CALLER) ? note_folder(made) : made;
}
DIR* fdopendir(int descriptor) {
  WARPLOOM_REAL(fdopendir);
  if (of_program(CALLER) && !check_descriptor(descriptor, "fdopendir")) return nullptr;
  DIR* made = real_fdopendir(descriptor);
  return is_of_running_program(CALLER) ? note_folder(made) : made;
}
int __wrap_closedir(DIR* folder) {
  check_folder(folder);
  forget_folder(folder);
  return closedir(folder);
}

// What comes last tells a hardened call how large the memory is: see libc_files.cpp.
#define READ_LINK(name, ...)                                            \
  ssize_t name(const char* path, char* to,                              \
               std::size_t bytes __VA_OPT__(, ) __VA_ARGS__) noexcept { \
    WARPLOOM_REAL(readlink);                                            \
    if (!of_program(CALLER)) return real_readlink(path, to, bytes);     \
    const ssize_t answer = answer_link(AT_FDCWD, path, to, bytes);      \
    return answer >= 0 ? answer : real_readlink(path, to, bytes);       \
  }
READ_LINK(readlink)
READ_LINK(__readlink_chk, std::size_t)
#undef READ_LINK
#define READ_LINK_AT(name, ...)                                               \
  ssize_t name(int folder, const char* path, char* to,                        \
               std::size_t bytes __VA_OPT__(, ) __VA_ARGS__) noexcept {       \
    WARPLOOM_REAL(readlinkat);                                                \
    if (!of_program(CALLER)) return real_readlinkat(folder, path, to, bytes); \
    if (!check_descriptor(folder, "readlinkat")) return -1;                   \
    const ssize_t answer = answer_link(folder, path, to, bytes);              \
    return answer >= 0 ? answer : real_readlinkat(folder, path, to, bytes);   \
  }
READ_LINK_AT(readlinkat)
READ_LINK_AT(__readlinkat_chk, std::size_t)
#undef READ_LINK_AT
char* realpath(const char* path, char* to) noexcept {
  WARPLOOM_REAL(realpath);
  if (!of_program(CALLER)) return real_realpath(path, to);
  return real_path_for_program(path, to, real_realpath, CALLER);
}
char* __realpath_chk(const char* path, char* to, std::size_t) noexcept {
  WARPLOOM_REAL(realpath);
  if (!of_program(CALLER)) return real_realpath(path, to);
  return real_path_for_program(path, to, real_realpath, CALLER);
}

int __wrap_fclose(FILE* stream) {
  check_stream(stream);
  if (is_standard(stream)) return close_standard(stream);
  forget_stream(stream);
  return std::fclose(stream);
}
FILE* __wrap_tmpfile() {
  const OfTheLibrary made;
  return note_stream(std::tmpfile(), CALLER);
}
FILE* __wrap_tmpfile64() {
  const OfTheLibrary made;
  return note_stream(tmpfile64(), CALLER);
}
// What is read and written there later is looked at whenever the stream is used.
FILE* __wrap_fmemopen(void* memory, std::size_t bytes, const char* mode) {
  program_reads_text(mode);
  const bool reads = mode && *mode == 'r' && !std::strchr(mode, '+');
  if (memory) reads ? program_reads(memory, bytes) : program_writes(memory, bytes);
  const OfTheLibrary made;
  const std::span all(static_cast<const std::byte*>(memory), memory ? bytes : 0);
  return note_stream(fmemopen(memory, bytes, mode), CALLER, all, !reads);
}
// Its text is the program's, and so is the stream: the table of imports calls it unseen.
FILE* __wrap_open_memstream(char** text, std::size_t* bytes) {
  program_writes(text, sizeof *text);
  program_writes(bytes, sizeof *bytes);
  return note_stream(open_memstream(text, bytes), CALLER);
}

void* __wrap_memccpy(void* to, const void* from, int last, std::size_t bytes) {
  if (!bytes) return nullptr;
  program_reads(from, 1);  // before the end is looked for
  const void* end = std::memchr(from, last, bytes);
  if (end)
    bytes =
        static_cast<std::size_t>(static_cast<const char*>(end) - static_cast<const char*>(from)) +
        1;
  program_reads(from, bytes);
  program_writes(to, bytes);
  return memccpy(to, from, last, bytes);
}
void* __wrap_rawmemchr(const void* from, int value) {
  program_reads(from, 1);
  const void* found = rawmemchr(from, value);
  program_reads(from, static_cast<std::size_t>(static_cast<const char*>(found) -
                                               static_cast<const char*>(from)) +
                          1);
  return const_cast<void*>(found);
}
char* __wrap_strsep(char** text, const char* delimiters) {
  program_reads(text, sizeof *text);
  program_writes(text, sizeof *text);
  program_reads_text(delimiters);
  if (*text) {
    program_reads_text(*text);
    program_writes(*text, std::strlen(*text) + 1);
  }
  return strsep(text, delimiters);
}

}  // extern "C"
