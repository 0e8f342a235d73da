#include "host/exceptions.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/closed_table.h"
#include "base/relocations.h"
#include "host/call_targets.h"
#include "host/program_range.h"
#include "machine/world.h"
#include "report/report.h"
#include "schedule/fiber.h"

// The calls of the C++ library that are handed an exception, or what it will call for one: each has
// a wrapper, by --wrap, that looks at its arguments.
#define POINTER "_ZNSt15__exception_ptr13exception_ptr"
// clang-format off
#define WARPLOOM_EXCEPTION_CALLS(CALL) \
  CALL("__cxa_throw", Passed::Object, Passed::Type, Passed::Function) \
  CALL("__cxa_begin_catch", Passed::Unwinder) \
  CALL("__cxa_get_exception_ptr", Passed::Unwinder) \
  CALL("__cxa_call_unexpected", Passed::Unwinder) \
  CALL("__cxa_call_terminate", Passed::Unwinder) \
  CALL("_Unwind_Resume", Passed::Unwinder) \
  CALL("_Unwind_Resume_or_Rethrow", Passed::Unwinder) \
  CALL("_Unwind_RaiseException", Passed::Unwinder) \
  CALL("_Unwind_DeleteException", Passed::Unwinder) \
  CALL("__cxa_init_primary_exception", Passed::Object, Passed::Type, Passed::Function) \
  CALL("__cxa_rethrow_primary_exception", Passed::ObjectOrNone) \
  CALL("__cxa_increment_exception_refcount", Passed::ObjectOrNone) \
  CALL("__cxa_decrement_exception_refcount", Passed::ObjectOrNone) \
  CALL("_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE", Passed::Holder) \
  CALL("_ZSt17current_exceptionv", Passed::Room) \
  CALL(POINTER "9_M_addrefEv", Passed::Holder) \
  CALL(POINTER "10_M_releaseEv", Passed::Holder) \
  CALL(POINTER "C1Ev", Passed::Room) \
  CALL(POINTER "C2Ev", Passed::Room) \
  CALL(POINTER "C1EPv", Passed::Room, Passed::ObjectOrNone) \
  CALL(POINTER "C2EPv", Passed::Room, Passed::ObjectOrNone) \
  CALL(POINTER "C1ERKS0_", Passed::Room, Passed::Holder) \
  CALL(POINTER "C2ERKS0_", Passed::Room, Passed::Holder) \
  CALL(POINTER "D1Ev", Passed::Holder) \
  CALL(POINTER "D2Ev", Passed::Holder) \
  CALL(POINTER "aSERKS0_", Passed::Holder, Passed::Holder) \
  CALL(POINTER "4swapERS0_", Passed::Holder, Passed::Holder) \
  CALL("_ZNKSt15__exception_ptr13exception_ptr20__cxa_exception_typeEv", Passed::Holder) \
  CALL("_ZSt19__throw_logic_errorPKc", Passed::Text) \
  CALL("_ZSt20__throw_domain_errorPKc", Passed::Text) \
  CALL("_ZSt24__throw_invalid_argumentPKc", Passed::Text) \
  CALL("_ZSt20__throw_length_errorPKc", Passed::Text) \
  CALL("_ZSt20__throw_out_of_rangePKc", Passed::Text) \
  CALL("_ZSt21__throw_runtime_errorPKc", Passed::Text) \
  CALL("_ZSt19__throw_range_errorPKc", Passed::Text) \
  CALL("_ZSt22__throw_overflow_errorPKc", Passed::Text) \
  CALL("_ZSt23__throw_underflow_errorPKc", Passed::Text) \
  CALL("_ZSt19__throw_ios_failurePKc", Passed::Text) \
  CALL("_ZSt19__throw_ios_failurePKci", Passed::Text) \
  CALL("_ZSt24__throw_out_of_range_fmtPKcz", Passed::Format, Passed::FirstText) \
  CALL("_ZSt13set_terminatePFvvE", Passed::Function) \
  CALL("_ZSt14set_unexpectedPFvvE", Passed::Function) \
  CALL("_ZSt15set_new_handlerPFvvE", Passed::Function) \
  CALL("__once_proxy", Passed::Once)
// clang-format on

namespace warploom {

namespace {

// The C++ ABI's header with the count of libstdc++ before an object; one that refers to another
// exception is as long as a header without the count.
constexpr std::size_t kThrownHeader = 128, kDependent = 112;
constexpr std::size_t kUnwinder = 32;  // the last part of a header, which the unwinder knows
constexpr std::size_t kSmallest = 256, kReserved = std::size_t{4} << 30;
constexpr int kThrownSizes = 24;

struct Thrown {
  std::size_t bytes = 0;  // of the object
  int size = 0;           // its class of blocks
  uintptr_t block = 0;
  bool writable = false;
  const Process* process = nullptr;
};

std::map<uintptr_t, Thrown> g_thrown;  // by the object, or where one would be
// Blocks of one size stay of that size: what is left of a header is part of a header for good.
std::vector<uintptr_t> g_free_blocks[kThrownSizes];
uintptr_t g_block_base = 0, g_block_top = 0;

const Process* running() { return g_current ? g_current->process : nullptr; }

uintptr_t take_block(int size) {
  if (!g_free_blocks[size].empty()) {
    const uintptr_t block = g_free_blocks[size].back();
    g_free_blocks[size].pop_back();
    return block;
  }
  if (!g_block_base) {
    void* got = mmap(nullptr, kReserved, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (got == MAP_FAILED) return 0;
    g_block_base = g_block_top = reinterpret_cast<uintptr_t>(got);
  }
  const std::size_t bytes = kSmallest << size;
  if (bytes > g_block_base + kReserved - g_block_top) return 0;
  const uintptr_t block = g_block_top;
  g_block_top += bytes;
  return block;
}

void* make_exception(std::size_t header, std::size_t bytes, bool writable) {
  int size = 0;
  while (size < kThrownSizes && (kSmallest << size) < header + bytes) size++;
  const uintptr_t block = size < kThrownSizes ? take_block(size) : 0;
  if (!block) {
    report_finding({.kind = kinds::crash, .message = "there is no memory for an exception"});
    stop_run();
  }
  std::memset(reinterpret_cast<void*>(block), 0, header);
  g_thrown[block + header] = {bytes, size, block, writable, running()};
  return reinterpret_cast<void*>(block);
}

void drop(uintptr_t object) {
  const auto found = g_thrown.find(object);
  if (found == g_thrown.end()) return;
  g_free_blocks[found->second.size].push_back(found->second.block);
  g_thrown.erase(found);
}

// --- what the C++ library calls ----------------------------------------------------------------
// Nothing of a program changes what the library itself throws: its destructors follow it.
void* allocate_for_library(std::size_t bytes) {
  return static_cast<char*>(make_exception(kThrownHeader, bytes, false)) + kThrownHeader;
}
void* allocate_dependent() { return make_exception(kDependent, 0, false); }
void free_exception(void* object) { drop(reinterpret_cast<uintptr_t>(object)); }
void free_dependent(void* block) { drop(reinterpret_cast<uintptr_t>(block) + kDependent); }

const std::pair<std::string_view, void*> kReplaced[] = {
    {"__cxa_allocate_exception", reinterpret_cast<void*>(&allocate_for_library)},
    {"__cxa_free_exception", reinterpret_cast<void*>(&free_exception)},
    {"__cxa_allocate_dependent_exception", reinterpret_cast<void*>(&allocate_dependent)},
    {"__cxa_free_dependent_exception", reinterpret_cast<void*>(&free_dependent)},
};

void replace(uintptr_t* slot, void* function) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  auto* start = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(slot) & ~(page - 1));
  const bool constant = is_constant_memory(slot, sizeof *slot);
  if (constant) mprotect(start, page, PROT_READ | PROT_WRITE);
  *slot = reinterpret_cast<uintptr_t>(function);
  if (constant) mprotect(start, page, PROT_READ);
}

// The library calls its own functions by its table of addresses.
void rebind(const link_map& map) {
  for_each_relocation(map, [](uintptr_t* place, unsigned, const ElfW(Sym)* symbol,
                              std::string_view name, uintptr_t) {
    for (const auto& [replaced, function] : kReplaced) {
      if (symbol && name == replaced) replace(place, function);
    }
  });
}

// --- the calls of programs ---------------------------------------------------------------------
enum class Passed : uint8_t {
  Nothing,
  Object,        // an exception's object
  ObjectOrNone,  // the same, or null
  Unwinder,      // the part of its header that the unwinder knows
  Holder,        // a std::exception_ptr
  Room,          // a place for one
  Type,          // a type
  Function,      // a function, or null
  Text,          // a text, which the message of the exception will be
  Format,        // one with a place for a text at most, at its beginning
  FirstText,     // the text for that place
  Once,          // what std::call_once keeps for this call
};

struct ExceptionCall {
  const char* name;
  Passed given[3];
  void* real = nullptr;
};

#define CALL(name, ...) {name, {__VA_ARGS__}},
ClosedTable g_calls{std::to_array<ExceptionCall>({WARPLOOM_EXCEPTION_CALLS(CALL)})};
#undef CALL

std::set<uintptr_t> g_type_tables;  // what objects of std::type_info begin with
std::set<const void*> g_types;      // that have been looked at
void* g_class_table[2] = {};        // of classes with one base, and with several
void* g_pointer_table[2] = {};      // of pointers, also to members
void (**g_once_call)() = nullptr;
void** g_once_callable = nullptr;

bool is_object(uintptr_t object) {
  const auto found = g_thrown.find(object);
  return found != g_thrown.end() && found->second.process == running();
}

// The library follows a type from base to base and calls what its tables say.
bool is_type(const void* type, int depth) {
  if (g_types.contains(type)) return true;
  const auto* words = static_cast<const uintptr_t*>(type);
  if (depth > 64 || !is_constant_memory(type, 16) || !g_type_tables.contains(words[0]))
    return false;
  const auto* name = reinterpret_cast<const char*>(words[1]);
  if (!is_constant_memory(name, 1)) return false;
  const auto table = reinterpret_cast<void*>(words[0]);
  bool good = true;
  if (table == g_class_table[0]) {
    good =
        is_constant_memory(type, 24) && is_type(reinterpret_cast<const void*>(words[2]), depth + 1);
  } else if (table == g_class_table[1]) {
    good = is_constant_memory(type, 24);
    const auto bases = good ? static_cast<std::size_t>(words[2] >> 32) : 0;
    good = good && is_constant_memory(type, 24 + 16 * bases);
    for (std::size_t i = 0; good && i < bases; i++) {
      good = is_type(reinterpret_cast<const void*>(words[3 + 2 * i]), depth + 1);
    }
  } else if (table == g_pointer_table[0] || table == g_pointer_table[1]) {
    good =
        is_constant_memory(type, 32) && is_type(reinterpret_cast<const void*>(words[3]), depth + 1);
  }
  if (good) g_types.insert(type);
  return good;
}

const char* g_format = "";  // of the call that is looked at

// The library knows %zu and %s; texts of which nobody knows where they are could lie anywhere.
bool is_format(const char* text) {
  g_format = text;
  return is_constant_memory(text, 1) && !std::strstr(text + (*text != 0), "%s");
}

bool is_good(Passed given, uintptr_t value, const void* caller) {
  switch (given) {
    case Passed::Nothing:
      return true;
    case Passed::Object:
      return is_object(value);
    case Passed::ObjectOrNone:
      return value == 0 || is_object(value);
    case Passed::Unwinder:
      return is_object(value + kUnwinder);
    case Passed::Holder:
      program_reads(reinterpret_cast<const void*>(value), sizeof(void*), caller);
      program_writes(reinterpret_cast<const void*>(value), sizeof(void*), caller);
      return is_good(Passed::ObjectOrNone, *reinterpret_cast<const uintptr_t*>(value), caller);
    case Passed::Room:
      program_writes(reinterpret_cast<const void*>(value), sizeof(void*), caller);
      return true;
    case Passed::Type:
      return is_type(reinterpret_cast<const void*>(value), 0);
    case Passed::Function:
      return is_call_target(reinterpret_cast<const void*>(value));
    case Passed::FirstText:
      if (!std::string_view(g_format).starts_with("%s")) return true;
      [[fallthrough]];
    case Passed::Text:
      program_reads_text(reinterpret_cast<const char*>(value), static_cast<std::size_t>(-1),
                         caller);
      return true;
    case Passed::Format:
      return is_format(reinterpret_cast<const char*>(value));
    case Passed::Once:
      return g_once_call && is_call_target(reinterpret_cast<const void*>(*g_once_call));
  }
  return false;
}

void find_types(link_map& map) {
  const auto find = [&](const char* name) {
    auto* table = static_cast<char*>(dlsym(&map, name));
    if (table) g_type_tables.insert(reinterpret_cast<uintptr_t>(table + 16));
    return table ? table + 16 : nullptr;
  };
#define TYPE(name) "_ZTVN10__cxxabiv1" name "_type_infoE"
  for (const char* name : {TYPE("17__class"), TYPE("23__fundamental"), TYPE("16__enum"),
                           TYPE("17__array"), TYPE("20__function")}) {
    find(name);
  }
  g_pointer_table[0] = find(TYPE("19__pointer"));
  g_pointer_table[1] = find(TYPE("29__pointer_to_member"));
  g_class_table[0] = find(TYPE("20__si_class"));
  g_class_table[1] = find(TYPE("21__vmi_class"));
#undef TYPE
}

}  // namespace

void watch_exceptions(link_map& map) {
  for (ExceptionCall& call : g_calls.all) call.real = dlsym(&map, call.name);
  g_calls.close();
  g_once_call = static_cast<void (**)()>(dlsym(&map, "_ZSt11__once_call"));
  g_once_callable = static_cast<void**>(dlsym(&map, "_ZSt15__once_callable"));
  find_types(map);
  Dl_info where{};
  link_map* library = nullptr;
  void* function = g_calls.all[0].real;
  if (function && dladdr1(function, &where, reinterpret_cast<void**>(&library), RTLD_DL_LINKMAP)) {
    rebind(*library);
  }
}

OnceCall once_call() {
  if (!g_once_call || !g_once_callable) return {};
  return {*g_once_call, *g_once_callable};
}

void set_once_call(const OnceCall& call) {
  if (!g_once_call || !g_once_callable) return;
  *g_once_call = call.function;
  *g_once_callable = call.callable;
}

ExceptionPart exception_part(uintptr_t address, std::size_t bytes, bool write, const Process* own) {
  if (address - g_block_base >= kReserved || !g_block_base) return ExceptionPart::None;
  auto found = g_thrown.upper_bound(address);
  if (found == g_thrown.begin()) return ExceptionPart::Header;
  const auto& [object, thrown] = *--found;
  if (address - object >= thrown.bytes || bytes > thrown.bytes - (address - object)) {
    return ExceptionPart::Header;
  }
  if (own && thrown.process != own) return ExceptionPart::Foreign;
  return write && !thrown.writable ? ExceptionPart::Header : ExceptionPart::Object;
}

}  // namespace warploom

extern "C" {

// Returns where the call goes on.
void* warploom_exception_call(unsigned number, const uintptr_t* arguments) {
  using namespace warploom;
  const ExceptionCall& call = g_calls.all[number];
  const auto* caller = reinterpret_cast<const void*>(arguments[4]);
  for (int i = 0; i < 3; i++) {
    if (is_good(call.given[i], arguments[2 - i], caller)) continue;
    report_finding({.kind = kinds::emulator_access,
                    .message = format("%s is given what is no exception, type or function of the "
                                      "program",
                                      call.name),
                    .hint = "throw and catch objects by the language's own means"});
    stop_run();
  }
  if (call.real) return call.real;
  report_finding(
      {.kind = kinds::crash, .message = format("no library of the program has %s", call.name)});
  stop_run();
}

void* __wrap___cxa_allocate_exception(std::size_t bytes) {
  using namespace warploom;
  return static_cast<char*>(make_exception(kThrownHeader, bytes, true)) + kThrownHeader;
}
void __wrap___cxa_free_exception(void* object) {
  using namespace warploom;
  if (is_object(reinterpret_cast<uintptr_t>(object))) free_exception(object);
}

}  // extern "C"

#if defined(__x86_64__)
asm(R"(
.macro warploom_exception name
.globl __wrap_\name
.type __wrap_\name, @function
__wrap_\name:
  pushq %rbp
  movq %rsp, %rbp
  pushq %rdi
  pushq %rsi
  pushq %rdx
  pushq %rdx
  movl $warploom_exception_number, %edi
  leaq 8(%rsp), %rsi
  call warploom_exception_call
  popq %rdx
  popq %rdx
  popq %rsi
  popq %rdi
  popq %rbp
  jmp *%rax
.size __wrap_\name, .-__wrap_\name
.set warploom_exception_number, warploom_exception_number + 1
.endm
.set warploom_exception_number, 0
)"
#define CALL(name, ...) "warploom_exception " name "\n"
    WARPLOOM_EXCEPTION_CALLS(CALL));
#undef CALL
#endif
