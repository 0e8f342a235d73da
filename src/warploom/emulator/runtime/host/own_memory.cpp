#include "host/own_memory.h"

#include <dlfcn.h>
#include <link.h>
#include <netdb.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <string_view>
#include <vector>

#include "../../include/warploom/device.h"
#include "base/relocations.h"
#include "host/exceptions.h"
#include "host/libc_made.h"
#include "host/library_calls.h"
#include "machine/world.h"
#include "memory/memory.h"
#include "order/frame_links.h"
#include "order/host_copies.h"
#include "report/crash.h"
#include "report/report.h"

extern "C" const char __executable_start[], _end[];

namespace warploom {

HostView g_host_view;

namespace {

struct Stretch {
  uintptr_t start = 0, end = 0;
  bool holds(uintptr_t address, std::size_t bytes) const {
    return address >= start && address < end && bytes <= end - address;
  }
};
using Spans = std::vector<Stretch>;

bool hold(const Spans& spans, uintptr_t address, std::size_t bytes) {
  return std::ranges::any_of(spans,
                             [&](const Stretch& span) { return span.holds(address, bytes); });
}

Stretch g_runtime, g_loader, g_environment;
Stretch g_constants;  // strings and tables of the runtime, which calls give out
Spans g_readable;     // of libraries
Spans g_imported;     // variables of libraries that a program names
Spans g_locals;       // variables of libraries that each OS thread has: there is one
Spans g_own_locals;   // those of them that a program may change
std::map<const Process*, Spans> g_own;

Stretch segment_of(const dl_phdr_info& info, const ElfW(Phdr) & header) {
  const uintptr_t start = info.dlpi_addr + header.p_vaddr;
  return {start, start + header.p_memsz};
}

Stretch extent_of(const dl_phdr_info& info) {
  Stretch all{~uintptr_t{0}, 0};
  for (int i = 0; i < info.dlpi_phnum; i++) {
    if (info.dlpi_phdr[i].p_type != PT_LOAD) continue;
    const Stretch part = segment_of(info, info.dlpi_phdr[i]);
    all = {std::min(all.start, part.start), std::max(all.end, part.end)};
  }
  return all;
}

template <class Function>
void for_each_module(Function&& function) {
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        (*static_cast<Function*>(data))(*info);
        return 0;
      },
      &function);
}

struct Home {
  const Process* process = nullptr;
  Stretch whole;  // the heap, the image or the stack that an address is in
};

Home image_at(uintptr_t address) {
  for (const auto& process : g_processes) {
    if (address >= process->base && address < process->end) {
      return {process.get(), {process->base, process->end}};
    }
  }
  return {};
}

Home stack_at(uintptr_t address) {
  for (const auto& process : g_processes) {
    for (const auto& thread : process->threads) {
      const auto low = reinterpret_cast<uintptr_t>(thread->fiber->stack);
      if (address - low < thread->fiber->stack_bytes) {
        return {process.get(), {low, low + thread->fiber->stack_bytes}};
      }
    }
  }
  return {};
}

// A library's parts: what is constant may be read, variables of it may be read, and written where
// the program names them: others lead the library to what it calls.
void note_library(const dl_phdr_info& info) {
  for (int i = 0; i < info.dlpi_phnum; i++) {
    const auto& header = info.dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X)) continue;
    g_readable.push_back(segment_of(info, header));
  }
}

void note_local_variables(const dl_phdr_info& info, Spans& spans) {
  if (!info.dlpi_tls_data) return;
  for (int i = 0; i < info.dlpi_phnum; i++) {
    if (info.dlpi_phdr[i].p_type != PT_TLS) continue;
    const auto start = reinterpret_cast<uintptr_t>(info.dlpi_tls_data);
    spans.push_back({start, start + info.dlpi_phdr[i].p_memsz});
  }
}

void note_libraries() {
  for_each_module([](const dl_phdr_info& info) {
    const Stretch stretch = extent_of(info);
    if (stretch.start == g_runtime.start || stretch.start == g_loader.start) return;
    if (image_at(stretch.start).process) return;
    note_library(info);
    note_local_variables(info, g_locals);
  });
  for (const int* number : {&errno, &h_errno}) {
    const auto start = reinterpret_cast<uintptr_t>(number);
    g_own_locals.push_back({start, start + sizeof *number});
  }
}

#if defined(__x86_64__)
constexpr unsigned kNamesAddress[] = {R_X86_64_GLOB_DAT, R_X86_64_64};
#else
constexpr unsigned kNamesAddress[] = {R_AARCH64_GLOB_DAT, R_AARCH64_ABS64};
#endif

// All ranks have one C library, whose variables (`timezone`, `program_invocation_name`) are the
// same for all: who could write them would tell the others. What programs do write is each
// process's own.
bool is_of_c_library(const Dl_info& where) {
  const std::string_view file = where.dli_fname ? where.dli_fname : "";
  const std::string_view name = file.substr(file.rfind('/') + 1);
  return name.starts_with("libc.so") || name.starts_with("libm.so");
}

// The variables of libraries that the program is linked to by name (std::cout, stdout, optarg),
// where the loader has bound them.
void note_imported_variables(const link_map& map, Spans& spans) {
  for_each_relocation(map, [&](const uintptr_t* place, unsigned type, const ElfW(Sym)* symbol,
                               const char*, uintptr_t addend) {
    const bool names = std::ranges::count(kNamesAddress, type) != 0;
    if (!names || !symbol || symbol->st_shndx != SHN_UNDEF) return;
    const uintptr_t bound = *place - addend;
    Dl_info where{};
    void* real = nullptr;
    if (!bound || !dladdr1(reinterpret_cast<void*>(bound), &where, &real, RTLD_DL_SYMENT) ||
        !real) {
      return;
    }
    const auto& defined = *static_cast<const ElfW(Sym)*>(real);
    if (ELF64_ST_TYPE(defined.st_info) != STT_OBJECT) return;
    // The linker may have moved a variable of the C library into the runtime's executable: stdout.
    // `environ` is there as well, but is switched from process to process: it may be changed.
    const bool moved = g_runtime.holds(bound, 1) && bound != reinterpret_cast<uintptr_t>(&environ);
    (moved || is_of_c_library(where) ? g_readable : spans)
        .push_back({bound, bound + defined.st_size});
  });
}

#if defined(__x86_64__)
constexpr unsigned kNamesModule = R_X86_64_DTPMOD64;
#else
constexpr unsigned kNamesModule = R_AARCH64_TLS_DTPMOD;
#endif

// Those of a library that the program names: what std::call_once is to call.
void note_imported_locals(const link_map& map) {
  constexpr std::size_t kPointer = 8;  // there are no larger ones that headers show
  for_each_relocation(map, [&](const uintptr_t*, unsigned type, const ElfW(Sym)* symbol,
                               const char* name, uintptr_t) {
    if (type != kNamesModule || !symbol || symbol->st_shndx != SHN_UNDEF) return;
    const auto start = reinterpret_cast<uintptr_t>(dlsym(const_cast<link_map*>(&map), name));
    if (start) g_own_locals.push_back({start, start + kPointer});
  });
}

// Thread-local variables of the program: each copy has its own, made when first used.
bool is_thread_local(const Process& process, uintptr_t address, std::size_t bytes) {
  Spans found;
  for_each_module([&](const dl_phdr_info& info) {
    if (extent_of(info).start == process.base) note_local_variables(info, found);
  });
  if (!hold(found, address, bytes)) return false;
  g_own[&process].push_back(found.front());
  return true;
}

bool is_mapped(uintptr_t address) {
  unsigned char seen = 0;
  const uintptr_t page = address & ~uintptr_t{4095};
  return page && (mincore(reinterpret_cast<void*>(page), 4096, &seen) == 0 || errno != ENOMEM);
}

bool is_constant(uintptr_t address, std::size_t bytes) {
  const auto here = reinterpret_cast<uintptr_t>(&g_here);
  return g_constants.holds(address, bytes) ||
         Stretch{here, here + sizeof g_here}.holds(address, bytes) ||
         g_environment.holds(address, bytes);
}

// In ranges that say by themselves whose they are.
Home part_at(uintptr_t address) {
  const auto* p = reinterpret_cast<const void*>(address);
  if (in_heaps(p)) {
    const auto owner = static_cast<std::size_t>(heap_owner(p));
    if (owner >= g_processes.size()) return {};
    const uintptr_t start = heap_of(static_cast<int>(owner));
    return {g_processes[owner].get(), {start, start + heap_span()}};
  }
  const Home image = image_at(address);
  return image.process ? image : stack_at(address);
}

struct Words {
  const char* kind;
  const char* whose;
  const char* hint;
};

Words words_for(Whose whose) {
  switch (whose) {
    case Whose::OtherProcess:
      return {kinds::foreign_memory, "host memory of another process",
              "on a cluster this address means something else there: send the data, not a pointer "
              "to it"};
    case Whose::OtherThread:
      return {kinds::foreign_memory, "the local memory of a GPU thread",
              "only the thread itself can touch it: use shared or global memory"};
    case Whose::Library:
      return {kinds::emulator_access, "variables of a library that it does not name",
              "a computed address or a stray pointer leads there"};
    default:
      return {kinds::emulator_access, "memory that belongs to the emulator and to no program",
              "on a real machine nothing is there: a computed address or a stray pointer leads to "
              "it"};
  }
}

void report(Whose whose, const void* p, std::size_t bytes, bool write, const char* what) {
  const Words words = words_for(whose);
  std::string who;
  if (const Process* owner = part_at(reinterpret_cast<uintptr_t>(p)).process) {
    who = format(" (rank %d)", owner->rank);
  }
  const bool device = g_current && g_current->gpu;
  report_finding(
      {.kind = words.kind,
       .message = what ? format("%s %ss %zu bytes at %p: %s%s", what, write ? "write" : "read",
                                bytes, p, words.whose, who.c_str())
                       : format("%s code %ss %s%s, at %p", device ? "device" : "host",
                                write ? "write" : "read", words.whose, who.c_str(), p),
       .hint = words.hint,
       .where = what ? frames_of_call() : Frames{}});
  // What the run says from here on could be the program's own words.
  if (whose == Whose::Runtime || whose == Whose::Library) stop_run();
}

}  // namespace

void view_as(const HostThread& thread) {
  const Process& process = *thread.process;
  g_host_view = {heap_of(process.rank), heap_span(),
                 reinterpret_cast<uintptr_t>(thread.fiber->stack), process.base,
                 process.end - process.base};
  view_windows(process);
}

Whose owner_of_host(const void* p, std::size_t bytes, bool write) {
  const auto address = reinterpret_cast<uintptr_t>(p);
  const Process* own = g_current ? g_current->process : nullptr;
  if (in_gpu_stack(p)) {
    const bool mine = g_current && in_own_stack(p);
    return mine ? Whose::Own : is_mapped(address) ? Whose::OtherThread : Whose::Nobody;
  }
  if (const Home part = part_at(address); part.process) {
    if (own && part.process != own) return Whose::OtherProcess;
    if (bytes <= part.whole.end - address) return Whose::Own;
    return is_mapped(part.whole.end) ? Whose::Runtime : Whose::Nobody;  // it runs past the end
  }
  if (is_closure(p)) return Whose::Own;
  if (is_in_stream(address, bytes, write)) return Whose::Own;
  if (nccl::in_multimem(p)) return Whose::Nobody;
  if (own && hold(g_own[own], address, bytes)) return Whose::Own;
  for (const Spans* spans : {&g_imported, &g_own_locals}) {
    if (hold(*spans, address, bytes)) return Whose::Own;
  }
  switch (exception_part(address, bytes, write, own)) {
    case ExceptionPart::None:
      break;
    case ExceptionPart::Object:
      return Whose::Own;
    case ExceptionPart::Foreign:
      return Whose::OtherProcess;
    case ExceptionPart::Header:
      return Whose::Runtime;
  }
  const bool library = hold(g_readable, address, bytes) || hold(g_locals, address, bytes);
  if (!write && (library || is_constant(address, bytes))) return Whose::Own;
  if (library) return Whose::Library;
  if (own && is_thread_local(*own, address, bytes)) return Whose::Own;
  for (const auto& [process, spans] : g_own) {
    if (process != own && hold(spans, address, bytes))
      return own ? Whose::OtherProcess : Whose::Own;
  }
  return is_mapped(address) ? Whose::Runtime : Whose::Nobody;
}

bool check_host_memory(const void* p, std::size_t bytes, bool write, const char* what) {
  const bool own =
      g_host_view.owns(reinterpret_cast<uintptr_t>(p), bytes) && g_current && g_current->host;
  // Hooks look at stores to a thread's own stack themselves.
  if (write && (what || !own)) check_any_stack_store(p, bytes);
  if (own) return true;
  const Whose whose = owner_of_host(p, bytes, write);
  if (whose == Whose::Own || whose == Whose::Nobody) return true;
  report(whose, p, bytes, write, what);
  return false;
}

void check_block(const void* p, std::size_t bytes, const char* what, bool lives) {
  if (bytes == 0 || !in_heaps(p)) return;
  const std::size_t room = heap_room(p);
  if (room >= bytes || (!room && !lives)) return;
  report_finding({.kind = room ? kinds::out_of_bounds : kinds::use_after_free,
                  .message = format("%s is given %zu bytes of host memory that %s", what, bytes,
                                    room ? "end behind what was allocated" : "has been freed"),
                  .hint = room ? "allocate as much as the call is told"
                               : "free the buffer after the last call that uses it",
                  .host = true});
}

void report_foreign(const void* p, std::size_t bytes, bool write, const char* what) {
  report(Whose::OtherProcess, p, bytes, write, what);
}

bool in_runtime(const void* code) {
  const auto address = reinterpret_cast<uintptr_t>(code);
  return address - reinterpret_cast<uintptr_t>(__executable_start) <
         static_cast<uintptr_t>(_end - __executable_start);
}

bool in_loader(const void* code) { return g_loader.holds(reinterpret_cast<uintptr_t>(code), 1); }

void find_own_memory() {
  const uintptr_t loader = getauxval(AT_BASE);
  for_each_module([&](const dl_phdr_info& info) {
    const Stretch stretch = extent_of(info);
    if (in_runtime(reinterpret_cast<const void*>(stretch.start))) {
      g_runtime = stretch;
      const auto text = reinterpret_cast<uintptr_t>("");
      for (int i = 0; i < info.dlpi_phnum; i++) {
        const auto& header = info.dlpi_phdr[i];
        const bool constant = header.p_type == PT_LOAD && !(header.p_flags & (PF_X | PF_W));
        if (constant && segment_of(info, header).holds(text, 1))
          g_constants = segment_of(info, header);
      }
    } else if (info.dlpi_addr == loader) {
      g_loader = stretch;
    }
  });
  g_environment = {~uintptr_t{0}, 0};
  const auto add = [](const void* p, std::size_t bytes) {
    const auto start = reinterpret_cast<uintptr_t>(p);
    g_environment = {std::min(g_environment.start, start),
                     std::max(g_environment.end, start + bytes)};
  };
  for (char** entry = environ; entry && *entry; entry++) {
    add(entry, sizeof *entry);
    add(*entry, std::strlen(*entry) + 1);
  }
}

void note_program(const link_map& map) {
  if (!g_readable.empty()) return;  // every copy of the program has the same libraries
  note_libraries();
  note_imported_variables(map, g_imported);
  note_imported_locals(map);
  const auto [start, end] = character_cache(const_cast<link_map&>(map));
  g_imported.push_back({start, end});
}

void note_mapping(const void* start, std::size_t bytes) {
  const auto first = reinterpret_cast<uintptr_t>(start);
  g_own[&current_process()].push_back({first, first + bytes});
}

void forget_mapping(const void* start, std::size_t bytes) {
  const auto first = reinterpret_cast<uintptr_t>(start), last = first + bytes;
  Spans kept;
  for (const Stretch& span : g_own[&current_process()]) {
    if (span.start < std::min(span.end, first))
      kept.push_back({span.start, std::min(span.end, first)});
    if (span.end > std::max(span.start, last))
      kept.push_back({std::max(span.start, last), span.end});
  }
  g_own[&current_process()] = std::move(kept);
}

bool owns_mapping(const void* start, std::size_t bytes) {
  return hold(g_own[&current_process()], reinterpret_cast<uintptr_t>(start), bytes);
}

}  // namespace warploom
