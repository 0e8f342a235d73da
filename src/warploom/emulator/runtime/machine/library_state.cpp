#include "machine/library_state.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "host/call_targets.h"
#include "host/program_range.h"
#include "machine/into_program.h"
#include "report/report.h"

namespace warploom {

// A std::locale as libstdc++ has it; the compiler passes and returns it as it does that one.
struct LibraryLocale {
  void* parts;
  explicit LibraryLocale(void* p) : parts(p) {}
  LibraryLocale(const LibraryLocale& other);
  ~LibraryLocale() {}
};

namespace {

// Of <exception>, <new> and <memory_resource>: each is one pointer, which one function returns and
// another one sets.
struct Handler {
  const char *getter, *setter;
  void* (*get)() = nullptr;
  void* (*set)(void*) = nullptr;
  void* first = nullptr;
};
constexpr const char* kSetsNewHandler = "_ZSt15set_new_handlerPFvvE";
Handler g_handlers[] = {
    {"_ZSt13get_terminatev", "_ZSt13set_terminatePFvvE"},
    {"_ZSt14get_unexpectedv", "_ZSt14set_unexpectedPFvvE"},
    {"_ZSt15get_new_handlerv", kSetsNewHandler},
    {"_ZNSt3pmr20get_default_resourceEv", "_ZNSt3pmr20set_default_resourceEPNS_15memory_resourceE"},
};
static_assert(std::size(g_handlers) == std::size(LibraryState{}.handlers));

using SetGlobal = LibraryLocale (*)(const LibraryLocale&);
SetGlobal g_set_global = nullptr;
const LibraryLocale& (*g_classic)() = nullptr;
// Where the library keeps what the global locale refers to: no symbol tells. The library's own
// functions for it run code of whichever program it was bound to, which no process has asked for.
void** g_global_locale = nullptr;

// The words of the library's variables that hold `value`.
std::vector<void**> words_that_hold(void* value) {
  struct Search {
    uintptr_t inside;
    void* value;
    std::vector<void**> found;
  } search{reinterpret_cast<uintptr_t>(g_set_global), value, {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* given) {
        auto& look = *static_cast<Search*>(given);
        const std::span segments(info->dlpi_phdr, info->dlpi_phnum);
        const auto holds = [&](const ElfW(Phdr) & segment) {
          return segment.p_type == PT_LOAD &&
                 look.inside - (info->dlpi_addr + segment.p_vaddr) < segment.p_memsz;
        };
        if (!std::ranges::any_of(segments, holds)) return 0;
        for (const ElfW(Phdr) & segment : segments) {
          if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_W)) continue;
          auto* words =
              reinterpret_cast<void**>((info->dlpi_addr + segment.p_vaddr + 7) & ~uintptr_t{7});
          for (std::size_t i = 0; i < segment.p_memsz / sizeof(void*); i++) {
            if (words[i] == look.value) look.found.push_back(words + i);
          }
        }
        return 1;
      },
      &search);
  return search.found;
}

}  // namespace

void watch_library_state(link_map& map) {
  for (Handler& handler : g_handlers) {
    handler.get = reinterpret_cast<void* (*)()>(dlsym(&map, handler.getter));
    handler.set = reinterpret_cast<void* (*)(void*)>(dlsym(&map, handler.setter));
    if (!handler.set) handler.get = nullptr;
    if (handler.get) handler.first = handler.get();
  }
  g_set_global = reinterpret_cast<SetGlobal>(dlsym(&map, "_ZNSt6locale6globalERKS_"));
  g_classic = reinterpret_cast<decltype(g_classic)>(dlsym(&map, "_ZNSt6locale7classicEv"));
}

void leave_library(LibraryState& state) {
  for (std::size_t i = 0; i < std::size(g_handlers); i++) {
    if (g_handlers[i].get) state.handlers[i] = g_handlers[i].get();
  }
  state.known = true;
}

void enter_library(LibraryState& state, LibraryState& before) {
  for (std::size_t i = 0; i < std::size(g_handlers); i++) {
    const Handler& handler = g_handlers[i];
    void* own = state.known ? state.handlers[i] : handler.first;
    if (handler.get && own != before.handlers[i]) handler.set(own);
  }
  if (!g_global_locale) return;
  void* const own = state.locale ? state.locale : g_classic().parts;
  before.locale = std::exchange(*g_global_locale, own);
}

// A handler frees memory, sets another one, or throws.
bool call_new_handler() {
  for (const Handler& handler : g_handlers) {
    if (!handler.get || handler.setter != kSetsNewHandler) continue;
    void* own = handler.get();
    if (!own) return false;
    check_call_target(own);
    into_program(WARPLOOM_FRAME, reinterpret_cast<void (*)()>(own));
    return true;
  }
  return false;
}
}  // namespace warploom

using namespace warploom;

// std::locale::global, as the program calls it. The first call that changes it shows where it lies.
LibraryLocale wrapped_global(const LibraryLocale& locale) __asm__(
    "__wrap__ZNSt6locale6globalERKS_");
LibraryLocale wrapped_global(const LibraryLocale& locale) {
  program_reads(&locale, sizeof locale);
  if (!g_set_global || !g_classic) {
    report_finding(
        {.kind = kinds::crash, .message = "no library of the program has std::locale::global"});
    stop_run();
  }
  void* const parts = locale.parts;
  if (g_global_locale || parts == g_classic().parts) return g_set_global(locale);
  const std::size_t before = words_that_hold(parts).size();
  const LibraryLocale old = g_set_global(locale);
  const std::vector<void**> now = words_that_hold(parts);
  if (before == 0 && now.size() == 1) g_global_locale = now.front();
  return LibraryLocale(old.parts);
}
