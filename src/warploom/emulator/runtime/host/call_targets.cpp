#include "host/call_targets.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <set>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/relocations.h"
#include "host/host_addresses.h"
#include "host/library_calls.h"
#include "host/own_memory.h"
#include "machine/world.h"
#include "memory/memory.h"
#include "memory/variables.h"
#include "report/report.h"
#include "schedule/fiber.h"

#if defined(__x86_64__)
asm(R"(
# The guard calls it before each indirect call, with the target in %rdi. It preserves all registers;
# the flags hold nothing before a call.
.globl warploom_guard_target
.type warploom_guard_target, @function
warploom_guard_target:
  pushq %rbp
  movq %rsp, %rbp
  pushq %rax
  pushq %rcx
  pushq %rdx
  pushq %rsi
  pushq %rdi
  pushq %r8
  pushq %r9
  pushq %r10
  pushq %r11
  pushq %rbx
  movq %rsp, %rbx
  andq $-16, %rsp
  call warploom_is_known_target
  testb %al, %al
  jne 1f
  subq $512, %rsp
  fxsave64 (%rsp)
  movq -40(%rbp), %rdi
  movq 8(%rbp), %rsi
  movq -32(%rbp), %rdx
  movq -24(%rbp), %rcx
  movq 16(%rbp), %r8
  call warploom_guarded_target
  fxrstor64 (%rsp)
1:
  movq %rbx, %rsp
  popq %rbx
  popq %r11
  popq %r10
  popq %r9
  popq %r8
  popq %rdi
  popq %rsi
  popq %rdx
  popq %rcx
  popq %rax
  popq %rbp
  ret
.size warploom_guard_target, .-warploom_guard_target
)");
#endif

namespace warploom {

namespace {

// Closures are read without hooks there: only the runtime calls it, for closures alone.
constexpr std::string_view kInvoke = "_ZN8warploom14invoke_closureI";
// Calls of the process library's, which look at nothing.
constexpr std::string_view kOurs = "warploom_";

std::vector<uint32_t> g_entries, g_invokers;  // offsets in the program's file, in order
std::set<std::string, std::less<>> g_denied;  // imports that are none of the program's own text
std::unordered_set<uintptr_t> g_imports;      // addresses of what it is linked to
std::unordered_set<uintptr_t> g_tables;       // functions in tables of library classes
bool g_library_objects = false, g_noted = false, g_tables_known = false;
std::vector<const link_map*> g_opened;  // libraries that the program has loaded by itself

// What was looked at lately.
struct Known {
  uintptr_t target = 0;
  const Process* process = nullptr;
};
Known g_known_targets[64];

struct Part {
  uintptr_t start, end;
  unsigned flags;
  bool relocated;  // written by the loader, and by nobody since
};

template <class Function>
void for_each_part(Function&& function) {
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        for (int i = 0; i < info->dlpi_phnum; i++) {
          const auto& header = info->dlpi_phdr[i];
          if (header.p_type != PT_LOAD && header.p_type != PT_GNU_RELRO) continue;
          const uintptr_t start = info->dlpi_addr + header.p_vaddr;
          (*static_cast<Function*>(data))(*info, Part{start, start + header.p_memsz, header.p_flags,
                                                      header.p_type == PT_GNU_RELRO});
        }
        return 0;
      },
      &function);
}

template <class Item>
bool read_at(std::FILE* file, uint64_t offset, std::vector<Item>& items) {
  return std::fseek(file, static_cast<long>(offset), SEEK_SET) == 0 &&
         std::fread(items.data(), sizeof(Item), items.size(), file) == items.size();
}

void note_function(std::string_view name, uint64_t value) {
  const auto offset = static_cast<uint32_t>(value);
  if (name.starts_with(kInvoke)) {
    g_invokers.push_back(offset);
  } else if (!name.starts_with(kOurs) && name.find(".cold") == name.npos) {
    g_entries.push_back(offset);
  }
}

void read_functions(std::FILE* file, const ElfW(Shdr) & table, const ElfW(Shdr) & texts) {
  std::vector<ElfW(Sym)> symbols(table.sh_size / sizeof(ElfW(Sym)));
  std::vector<char> names(texts.sh_size);
  if (!read_at(file, table.sh_offset, symbols) || !read_at(file, texts.sh_offset, names)) return;
  for (const ElfW(Sym) & symbol : symbols) {
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) continue;
    if (symbol.st_name < names.size()) note_function(&names[symbol.st_name], symbol.st_value);
  }
}

bool holds(const std::vector<uint32_t>& offsets, uintptr_t offset) {
  return std::ranges::binary_search(offsets, offset);
}

bool in_image(const Process& process, uintptr_t address) {
  return address - process.base < process.end - process.base;
}

const Process* process_of(const void* code) {
  if (g_current && g_current->process) return g_current->process;
  for (const auto& process : g_processes) {
    if (in_image(*process, reinterpret_cast<uintptr_t>(code))) return process.get();
  }
  return nullptr;
}

// Functions in tables that a library keeps: of its classes, as a rule.
void find_tables() {
  g_tables_known = true;
  std::vector<Part> code;
  for_each_part([&](const dl_phdr_info&, const Part& part) {
    if (!part.relocated && part.flags & PF_X) code.push_back(part);
  });
  for_each_part([&](const dl_phdr_info& info, const Part& part) {
    const auto* there = reinterpret_cast<const void*>(part.start);
    if (!part.relocated || in_runtime(there) || in_loader(there)) return;
    for (const auto& process : g_processes) {
      if (process->base == info.dlpi_addr) return;
    }
    for (uintptr_t at = (part.start + 7) & ~uintptr_t{7}; at + 8 <= part.end; at += 8) {
      const uintptr_t word = *reinterpret_cast<const uintptr_t*>(at);
      const bool is_code = std::ranges::any_of(
          code, [&](const Part& one) { return word >= one.start && word < one.end; });
      if (is_code) g_tables.insert(word);
    }
  });
}

// Virtual functions of exceptions that follow no pointer of the object's.
bool follows_nothing(std::string_view name) {
  if (name.starts_with("_ZNKSt") && name.ends_with("4whatEv")) return true;
  for (const std::string_view known :
       {"_ZNSt9exceptionD", "_ZNSt9bad_allocD", "_ZNSt8bad_castD", "_ZNSt10bad_typeidD",
        "_ZNSt13bad_exceptionD", "_ZNSt20bad_array_new_lengthD", "_ZNSt17bad_function_callD"}) {
    if (name.starts_with(known)) return true;
  }
  return false;
}

bool is_elsewhere(uintptr_t address) {
  if (g_imports.contains(address)) return true;
  const auto* target = reinterpret_cast<const void*>(address);
  Dl_info info{};
  const bool exact = dladdr(target, &info) && info.dli_saddr == target && info.dli_sname;
  if (in_runtime(target)) return exact;  // all that it shows is for programs
  if (exact && follows_nothing(info.dli_sname)) return true;
  // A library that was asked for by name may hand out functions by tables of its own.
  if (!g_opened.empty() && is_constant_memory(target, 1)) {
    link_map* library = nullptr;
    if (dladdr1(target, &info, reinterpret_cast<void**>(&library), RTLD_DL_LINKMAP) &&
        std::ranges::find(g_opened, library) != g_opened.end()) {
      return true;
    }
  }
  if (!g_library_objects) return false;
  if (!g_tables_known) find_tables();
  return g_tables.contains(address);
}

// Nothing is ever mapped there: the call itself fails.
bool is_null(uintptr_t address) { return address < 4096; }

bool is_target(const Process* process, uintptr_t address) {
  if (is_null(address)) return true;
  if (process && in_image(*process, address)) return holds(g_entries, address - process->base);
  return is_elsewhere(address);
}

[[noreturn]] void report_target(const void* target) {
  report_finding(
      {.kind = kinds::crash,
       .message = format("a call goes to %p, where no function of the program begins", target),
       .hint = "a pointer to a function, or an object's table of virtual functions, was "
               "overwritten or computed"});
  stop_run();
}

void note_import(std::string_view name, uintptr_t bound) {
  if (g_denied.contains(name)) return;
  if (bound) g_imports.insert(bound);
}

// A constant that leads into a function is a way past the checks before it.
void check_constant(const Process& process, const std::vector<Part>& code, uintptr_t word) {
  const bool is_code = std::ranges::any_of(
      code, [&](const Part& part) { return word >= part.start && word < part.end; });
  if (!is_code) return;
  const uintptr_t offset = word - process.base;
  if (holds(g_entries, offset) || holds(g_invokers, offset)) return;
  report_target(reinterpret_cast<const void*>(word));
}

}  // namespace

void read_entries(const char* path) {
  if (!g_entries.empty()) return;
  std::FILE* file = std::fopen(path, "rb");
  if (!file) return;
  std::vector<ElfW(Ehdr)> header(1);
  if (read_at(file, 0, header)) {
    std::vector<ElfW(Shdr)> sections(header[0].e_shnum);
    if (read_at(file, header[0].e_shoff, sections)) {
      for (const ElfW(Shdr) & one : sections) {
        if (one.sh_type == SHT_SYMTAB && one.sh_link < sections.size()) {
          read_functions(file, one, sections[one.sh_link]);
        }
      }
    }
  }
  std::fclose(file);
  std::ranges::sort(g_entries);
  std::ranges::sort(g_invokers);
}

void deny_import(const std::string& name) { g_denied.insert(name); }

void allow_library_objects() { g_library_objects = true; }

void note_call_targets(const Process& process, const link_map& map) {
  if (g_noted) return;  // every copy of the program has the same libraries
  g_noted = true;
  std::vector<Part> code;
  for_each_part([&](const dl_phdr_info& info, const Part& part) {
    if (info.dlpi_addr == process.base && !part.relocated && part.flags & PF_X) {
      code.push_back(part);
    }
  });
  for_each_relocation(map, [&](const uintptr_t* place, unsigned, const ElfW(Sym)* symbol,
                               const char* name, uintptr_t addend) {
    if (symbol && symbol->st_shndx == SHN_UNDEF) {
      note_import(name, *place - addend);
    } else {
      check_constant(process, code, *place);
    }
  });
}

void allow_target(const void* target) { g_imports.insert(reinterpret_cast<uintptr_t>(target)); }

void allow_library(void* handle) { g_opened.push_back(static_cast<const link_map*>(handle)); }

bool is_call_target(const void* target) {
  return is_target(process_of(target), reinterpret_cast<uintptr_t>(target));
}

void check_call_target(const void* target) {
  if (!is_call_target(target)) report_target(target);
}

void check_call_target(const void* target, const void* caller) {
  const Process* process = process_of(caller);
  if (process && in_image(*process, reinterpret_cast<uintptr_t>(caller))) check_call_target(target);
}

void check_kernel_body(const void* closure, const void* invoke, const void* destroy) {
  const Process& process = current_process();
  const uintptr_t offset = reinterpret_cast<uintptr_t>(invoke) - process.base;
  if (!holds(g_invokers, offset)) report_target(invoke);
  if (destroy) check_call_target(destroy);
  if (is_closure(closure)) return;
  report_finding({.kind = kinds::emulator_access,
                  .message = "a kernel's arguments lie where the program has put them itself",
                  .hint = "launch kernels by <<<...>>> or cudaLaunchKernel"});
  stop_run();
}

bool is_constant_memory(const void* p, std::size_t bytes) {
  const auto start = reinterpret_cast<uintptr_t>(p);
  bool found = false;
  for_each_part([&](const dl_phdr_info&, const Part& part) {
    const bool constant = part.relocated || !(part.flags & PF_W);
    found =
        found || (constant && start >= part.start && start < part.end && bytes <= part.end - start);
  });
  return found;
}

}  // namespace warploom

extern "C" {

// Touches no vector registers: they hold arguments of the call.
[[gnu::target("general-regs-only")]] bool warploom_is_known_target(uintptr_t target) {
  using namespace warploom;
  const Known& known = g_known_targets[(target >> 4) % 64];
  if (known.target != target || !g_current || known.process != g_current->process) return false;
  return !g_host_functions || !g_current->gpu;
}

// `object`, `second` and `third`: what the call passes.
void warploom_guarded_target(uintptr_t target, const void* return_address, uintptr_t second,
                             uintptr_t third, uintptr_t object) {
  using namespace warploom;
  const Process* process = process_of(return_address);
  if (!is_target(process, target)) report_target(reinterpret_cast<const void*>(target));
  if (g_host_functions && g_current && g_current->gpu) check_device_call(target, object);
  if (takes_characters(target)) {  // never known, so that each call comes here
    return look_at_characters(target, second, third, return_address);
  }
  if (process) g_known_targets[(target >> 4) % 64] = {target, process};
}

void warploom_call_target(const void* target) { warploom::check_call_target(target); }

void warploom_own_bytes(const void* p, std::size_t bytes, const void* caller) {
  using namespace warploom;
  const Process* process = process_of(caller);
  if (!process || !in_image(*process, reinterpret_cast<uintptr_t>(caller))) return;  // a library
  if (!in_arena(p) && !find_variable(p)) check_host_memory(p, bytes, true, "a guard of a variable");
}

}  // extern "C"
