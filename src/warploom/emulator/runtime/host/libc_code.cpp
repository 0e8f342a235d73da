// Memory that a program maps, and the code that it loads or would make. What no compiler of ours
// has built has no hooks: none of it may run.
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/shm.h>
#include <sys/syscall.h>

#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_set>

#include "host/call_targets.h"
#include "host/descriptors.h"
#include "host/libc_calls.h"
#include "host/libc_made.h"
#include "host/own_memory.h"
#include "host/program_range.h"
#include "machine/world.h"
#include "report/crash.h"
#include "report/report.h"

using namespace warploom;

namespace {

[[noreturn]] void refuse_code(const char* call) {
  stop_unsupported(
      call,
      "machine code that a program makes or maps by itself has no checks in it: let the "
      "compiler build all code");
}

// Folders that a program cannot write to: toolchain/folders.py has the list of the sandbox.
bool is_of_system(std::string_view path) {
  for (const std::string_view folder : {"/usr/", "/bin/", "/sbin/", "/lib/", "/lib32/", "/lib64/",
                                        "/libx32/", "/nix/store/", "/gnu/store/"}) {
    if (path.starts_with(folder)) return true;
  }
  return false;
}

// What dlopen gave to a program: the loader follows what lies there.
std::unordered_set<const void*> g_handles;

void* known_handle(void* handle) {
  if (handle) g_handles.insert(handle);
  return handle;
}

void check_handle(const void* handle) {
  if (handle == RTLD_DEFAULT || handle == RTLD_NEXT || g_handles.contains(handle)) return;
  report_reach("a call gets a handle of a library that dlopen has not given");
}

// A name without a folder is looked for in those of the system; a path must lead there. What is
// nowhere may be asked for: the call fails as on a machine that lacks it.
void* open_library(const char* call, const char* name, int flags) {
  program_reads_text(name);
  if (!name) return known_handle(dlopen(nullptr, flags));
  std::string path = name;
  char real[PATH_MAX];
  if (path.find('/') != std::string::npos && realpath(name, real)) {
    path = real;
    if (!is_of_system(path)) {
      stop_unsupported(call, "'" + path +
                                 "' is no library of the system, and was not built here: "
                                 "name its sources beside the program");
    }
  }
  void* had = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  void* handle = dlopen(path.c_str(), flags);
  if (handle && !had) allow_library(handle);
  if (had) dlclose(had);
  return known_handle(handle);
}

void note_unseen(const std::string& name, const char* library) {
  if (std::strstr(library, "/libm.so")) return;  // numbers in, a number out
  report_finding({.kind = kinds::unseen_call,
                  .message = "'" + name + "' of " + library +
                             ", which dlsym gives, is on no list: what it reads and writes through "
                             "pointers is not seen",
                  .hint = "races, bounds and foreign memory are not checked there",
                  .warning = true,
                  .where = frames_of_call()});
}

// What stands before a function of a library also stands before it when it is asked for by name.
void* find_by_name(void* handle, const char* name, const char* version) {
  check_handle(handle);
  program_reads_text(name);
  program_reads_text(version);
  const std::string asked = name ? name : "";
  const auto find = [&](void* in) {
    return version ? dlvsym(in, asked.c_str(), version) : dlsym(in, asked.c_str());
  };
  // The program is in no scope but its own: the process's handle is of that.
  void* found = handle == RTLD_DEFAULT ? find(current_process().handle) : nullptr;
  if (!found) found = find(handle);
  Dl_info where{};
  if (!found || !dladdr(found, &where) || is_of_running_program(found)) return found;
  if (void* before = dlsym(RTLD_DEFAULT, ("__wrap_" + asked).c_str())) {
    found = before;
  } else if (void* ours = dlsym(RTLD_DEFAULT, asked.c_str()); ours && in_runtime(ours)) {
    found = ours;
  } else if (!in_runtime(found)) {
    note_unseen(asked, where.dli_fname);
  }
  allow_target(found);
  return found;
}

}  // namespace

extern "C" {

// Memory of the program's own making. None of it may take the place of what is there.
void* mmap(void* address, std::size_t bytes, int protection, int flags, int descriptor,
           off_t offset) noexcept {
  if (of_program(CALLER)) {
    if (protection & PROT_EXEC) refuse_code("mmap");
    if (!(flags & MAP_ANONYMOUS) && !check_descriptor(descriptor, "mmap")) return MAP_FAILED;
    if ((flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) && !owns_mapping(address, bytes)) {
      report_reach("mmap with MAP_FIXED at an address that the program has not mapped");
    }
  }
  auto* made = reinterpret_cast<void*>(
      answer_of(raw_call(SYS_mmap, reinterpret_cast<long>(address), static_cast<long>(bytes),
                         protection, flags, descriptor, offset)));
  if (made == MAP_FAILED) return made;
  if (of_program(CALLER) && g_current->host) note_mapping(made, whole_pages(bytes));
  return made;
}
void* mmap64(void* address, std::size_t bytes, int protection, int flags, int descriptor,
             off64_t offset) noexcept __attribute__((alias("mmap")));
int munmap(void* address, std::size_t bytes) noexcept {
  if (of_program(CALLER)) {
    if (!owns_mapping(address, bytes)) report_reach("munmap of what the program has not mapped");
    forget_mapping(address, whole_pages(bytes));
  }
  return static_cast<int>(
      answer_of(raw_call(SYS_munmap, reinterpret_cast<long>(address), static_cast<long>(bytes))));
}
void* mremap(void* address, std::size_t bytes, std::size_t wanted, int flags, ...) noexcept {
  if (of_program(CALLER)) {
    const bool fixed = flags & MREMAP_FIXED;
    if (fixed || !owns_mapping(address, bytes)) report_reach("mremap of what it has not mapped");
    forget_mapping(address, bytes);
  }
  auto* made = reinterpret_cast<void*>(
      answer_of(raw_call(SYS_mremap, reinterpret_cast<long>(address), static_cast<long>(bytes),
                         static_cast<long>(wanted), flags)));
  if (made == MAP_FAILED) return made;
  if (of_program(CALLER)) note_mapping(made, whole_pages(wanted));
  return made;
}
int mprotect(void* address, std::size_t bytes, int protection) noexcept {
  if (of_program(CALLER) && (protection & PROT_EXEC)) refuse_code("mprotect");
  if (of_program(CALLER) && !owns_mapping(address, bytes) &&
      (!in_heaps(address) || owner_of_host(address, bytes, true) != Whose::Own)) {
    report_reach("mprotect of memory that the program has not mapped");
  }
  return static_cast<int>(answer_of(raw_call(SYS_mprotect, reinterpret_cast<long>(address),
                                             static_cast<long>(bytes), protection)));
}
int madvise(void* address, std::size_t bytes, int advice) noexcept {
  if (of_program(CALLER) && !owns_mapping(address, bytes) &&
      owner_of_host(address, bytes, true) != Whose::Own) {
    report_reach("madvise of memory that the program has not mapped");
  }
  return static_cast<int>(answer_of(
      raw_call(SYS_madvise, reinterpret_cast<long>(address), static_cast<long>(bytes), advice)));
}

int pkey_mprotect(void* address, std::size_t bytes, int protection, int key) noexcept {
  WARPLOOM_REAL(pkey_mprotect);
  if (of_program(CALLER) && key != -1) {
    stop_unsupported("pkey_mprotect", "keys of memory are not emulated");
  }
  return key == -1 ? mprotect(address, bytes, protection)
                   : real_pkey_mprotect(address, bytes, protection, key);
}
void* shmat(int segment, const void* address, int flags) noexcept {
  WARPLOOM_REAL(shmat);
  if (of_program(CALLER)) {
    if (flags & SHM_EXEC) refuse_code("shmat");
    if (address) report_reach("shmat at an address of the program's choice");
  }
  void* made = real_shmat(segment, address, flags);
  shmid_ds of{};
  if (of_program(CALLER) && made != MAP_FAILED && shmctl(segment, IPC_STAT, &of) == 0) {
    note_mapping(made, whole_pages(of.shm_segsz));
  }
  return made;
}
int personality(unsigned long wanted) noexcept {
  WARPLOOM_REAL(personality);
  constexpr unsigned long kAsk = 0xffffffff;
  if (of_program(CALLER) && wanted != kAsk && (wanted & READ_IMPLIES_EXEC)) {
    refuse_code("personality");
  }
  return real_personality(wanted);
}

// The runtime and the libraries call the real ones: only the program comes here.
void* __wrap_dlopen(const char* name, int flags) { return open_library("dlopen", name, flags); }
void* __wrap_dlmopen(Lmid_t space, const char* name, int flags) {
  if (space != LM_ID_BASE) {
    stop_unsupported("dlmopen", "a second copy of the system's libraries would go unchecked");
  }
  return open_library("dlmopen", name, flags);
}
int __wrap_dlclose(void* handle) {
  check_handle(handle);
  return dlclose(handle);
}
void* __wrap_dlsym(void* handle, const char* name) { return find_by_name(handle, name, nullptr); }
void* __wrap_dlvsym(void* handle, const char* name, const char* version) {
  return find_by_name(handle, name, version);
}

}  // extern "C"
