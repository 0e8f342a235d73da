#include "host/libc_made.h"

#include <dirent.h>

#include <climits>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unordered_map>
#include <vector>

#include "host/descriptors.h"
#include "host/own_memory.h"
#include "host/process_heap.h"
#include "host/program_range.h"
#include "machine/world.h"
#include "report/crash.h"
#include "report/report.h"

namespace warploom {

namespace {

bool g_library_allocates = false;

struct Made {
  const Process* owner = nullptr;
  // What the C library allocated for it where programs do not write, so that it can be believed.
  bool apart = false;
  std::span<const std::byte> memory{};  // of fmemopen
  bool writes = false;
};
std::unordered_map<const FILE*, Made> g_made_streams;
std::unordered_map<const DIR*, const Process*> g_made_folders;

[[noreturn]] void report_forged(const char* what, const char* hint) {
  report_finding({.kind = kinds::emulator_access,
                  .message = std::string(what) + " that the C library has not made, or has closed",
                  .hint = hint,
                  .where = frames_of_call()});
  stop_run();
}

bool is_between(const char* p, const char* first, const char* last) {
  return p == nullptr || (p >= first && p <= last);
}

// getc_unlocked and putc_unlocked of the headers move these two along by themselves.
bool is_sound(const FILE& stream) {
  return is_between(stream._IO_read_ptr, stream._IO_read_base, stream._IO_read_end) &&
         is_between(stream._IO_write_ptr, stream._IO_write_base, stream._IO_buf_end);
}

}  // namespace

bool of_program(const void* caller) {
  return g_current && g_current->process && !in_runtime(caller);
}

bool is_of_running_program(const void* code) {
  const Process* process = g_current ? g_current->process : nullptr;
  return process &&
         reinterpret_cast<uintptr_t>(code) - process->base < process->end - process->base;
}

OfTheLibrary::OfTheLibrary() : before_(g_library_allocates) { g_library_allocates = true; }
OfTheLibrary::~OfTheLibrary() { g_library_allocates = before_; }
bool library_allocates() { return g_library_allocates; }

FILE* note_stream(FILE* stream, const void* caller, std::span<const std::byte> memory,
                  bool writes) {
  if (stream && is_of_running_program(caller)) {
    g_made_streams[stream] = {g_current->process, !in_heaps(stream), memory, writes};
  }
  return stream;
}

void forget_stream(const FILE* stream) { g_made_streams.erase(stream); }

void check_stream(const FILE* stream, const void* caller) {
  if (!stream || stream == stdin || stream == stdout || stream == stderr) return;
  const auto found = g_made_streams.find(stream);
  const bool own =
      found != g_made_streams.end() && g_current && found->second.owner == g_current->process;
  if (!own || !is_sound(*stream)) {
    report_forged("a call gets a stream", "pass stdin, stdout, stderr, or what fopen returned");
  }
  // A copy: others may run meanwhile, and close it.
  const Made made = found->second;
  if (made.memory.empty()) return;
  made.writes ? program_writes(made.memory.data(), made.memory.size(), caller)
              : program_reads(made.memory.data(), made.memory.size(), caller);
}

void check_all_streams(const void* caller) {
  std::vector<const FILE*> own;
  for (const auto& [stream, made] : g_made_streams) {
    if (g_current && made.owner == g_current->process) own.push_back(stream);
  }
  for (const FILE* stream : own) {
    if (g_made_streams.contains(stream)) check_stream(stream, caller);
  }
}

bool is_in_stream(uintptr_t address, std::size_t bytes, bool write) {
  if (!g_current) return false;
  for (const auto& [stream, made] : g_made_streams) {
    const uintptr_t at = address - reinterpret_cast<uintptr_t>(stream);
    if (at >= sizeof(FILE) || bytes > sizeof(FILE) - at) continue;
    const bool moves = bytes == sizeof(char*) &&
                       (at == offsetof(FILE, _IO_read_ptr) || at == offsetof(FILE, _IO_write_ptr));
    return made.apart && made.owner == g_current->process && (!write || moves);
  }
  return false;
}

DIR* note_folder(DIR* folder) {
  if (folder && g_current) g_made_folders[folder] = g_current->process;
  return folder;
}

void forget_folder(const DIR* folder) { g_made_folders.erase(folder); }

void check_folder(const DIR* folder) {
  const auto found = g_made_folders.find(folder);
  if (!folder ||
      (found != g_made_folders.end() && g_current && found->second == g_current->process)) {
    return;
  }
  report_forged("a call gets a list of a folder", "pass what opendir returned");
}

void check_listing(const char* path) {
  char real[PATH_MAX];
  if (!path) return;
  // What is not there may be a pattern: the deepest folder that is tells where it leads.
  std::string deepest = path;
  while (!realpath(deepest.c_str(), real)) {
    const std::size_t slash = deepest.find_last_not_of('/', deepest.rfind('/'));
    if (deepest.find('/') == std::string::npos || slash == std::string::npos) return;
    deepest.resize(slash + 1);
  }
  if (is_harmless_file(real)) return;
  // What no CPU machine has (/proc/driver/nvidia) is asked for by name, processes by patterns.
  const std::string rest = std::string(path).substr(deepest.size());
  const std::string first = rest.substr(0, rest.find('/', 1));
  if (std::strcmp(real, "/proc") == 0 && !first.empty() &&
      first.find_first_of("*?[{") == first.npos)
    return;
  const bool below = std::strcmp(real, "/proc") == 0 || std::strncmp(real, "/proc/", 6) == 0;
  if (below) report_reach(format("the program looks into '%s'", path));
}

}  // namespace warploom
