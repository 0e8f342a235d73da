#include "memory/device_symbols.h"

#include <cxxabi.h>
#include <link.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "machine/world.h"
#include "memory/variables.h"

namespace warploom {

void register_variable(const void* address, std::size_t bytes, const char* name, bool managed,
                       bool constant);

namespace {

constexpr std::string_view kDeviceMark = "wl_dev$", kManagedMark = "wl_man$";

struct MarkedVariable {
  uintptr_t offset = 0;
  std::size_t bytes = 0;
  std::string name;
  bool managed = false;
};
std::deque<MarkedVariable> g_marked;
std::map<uintptr_t, std::size_t> g_objects;  // all that the program's file calls one, by offset
bool g_marks_read = false;

// The program's name for it: without what the guard has put behind it.
std::string plain_name(std::string_view symbol) {
  const std::string mangled(symbol.substr(0, symbol.find('$')));
  if (!mangled.starts_with("_Z")) return mangled;  // `x` would be the name of a type
  int status = 0;
  char* text = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  std::string name = status == 0 && text ? text : mangled;
  std::free(text);
  return name;
}

void find_marked(const std::vector<ElfW(Sym)>& symbols, const std::vector<char>& names) {
  std::unordered_map<std::string_view, const ElfW(Sym)*> variables;
  std::unordered_map<std::string_view, bool> marks;
  for (const ElfW(Sym) & symbol : symbols) {
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= names.size()) continue;
    const std::string_view name = &names[symbol.st_name];
    if (name.starts_with(kDeviceMark) || name.starts_with(kManagedMark)) {
      marks[name.substr(kDeviceMark.size())] |= name.starts_with(kManagedMark);
    } else if (ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT && symbol.st_size > 0) {
      std::size_t& extent = g_objects[symbol.st_value];
      extent = std::max<std::size_t>(extent, symbol.st_size);
      // Where several have the name, one that other units see is meant.
      const auto [found, fresh] = variables.emplace(name, &symbol);
      const bool local = ELF64_ST_BIND(found->second->st_info) == STB_LOCAL;
      if (!fresh && local) found->second = &symbol;
    }
  }
  for (const auto& [name, managed] : marks) {
    const auto found = variables.find(name);
    if (found == variables.end()) continue;
    const ElfW(Sym) & symbol = *found->second;
    g_marked.push_back({symbol.st_value, symbol.st_size, plain_name(name), managed});
  }
}

template <class Item>
bool read_items(std::FILE* file, uint64_t offset, std::vector<Item>& items) {
  return std::fseek(file, static_cast<long>(offset), SEEK_SET) == 0 &&
         std::fread(items.data(), sizeof(Item), items.size(), file) == items.size();
}

void read_symbols(std::FILE* file) {
  std::vector<ElfW(Ehdr)> header(1);
  if (!read_items(file, 0, header)) return;
  std::vector<ElfW(Shdr)> sections(header[0].e_shnum);
  if (!read_items(file, header[0].e_shoff, sections)) return;
  for (const ElfW(Shdr) & one : sections) {
    if (one.sh_type != SHT_SYMTAB || one.sh_link >= sections.size()) continue;
    std::vector<ElfW(Sym)> symbols(one.sh_size / sizeof(ElfW(Sym)));
    std::vector<char> names(sections[one.sh_link].sh_size);
    if (read_items(file, one.sh_offset, symbols) &&
        read_items(file, sections[one.sh_link].sh_offset, names)) {
      find_marked(symbols, names);
    }
  }
}

bool holds(uintptr_t start, std::size_t extent, uintptr_t address, std::size_t bytes) {
  return address >= start && address - start < extent && bytes <= extent - (address - start);
}

}  // namespace

void read_device_symbols(const char* path) {
  if (std::exchange(g_marks_read, true)) return;
  std::FILE* file = std::fopen(path, "rb");
  if (!file) return;
  read_symbols(file);
  std::fclose(file);
}

void register_device_symbols(const Process& process) {
  for (const MarkedVariable& one : g_marked) {
    const uintptr_t start = process.base + one.offset;
    // Constants stay what they are.
    if (!process.holds_variable(start)) continue;
    register_variable(reinterpret_cast<const void*>(start), one.bytes, one.name.c_str(),
                      one.managed, false);
  }
}

const Variable* variable_of_symbol(const void* symbol, std::size_t bytes) {
  const Process& process = current_process();
  const auto address = reinterpret_cast<uintptr_t>(symbol);
  if (!process.holds(address, bytes)) return nullptr;
  const Variable* found = find_variable(symbol);
  if (!found && process.holds_variable(address)) {
    const auto next = g_objects.upper_bound(address - process.base);
    if (next == g_objects.begin()) return nullptr;
    const auto [offset, extent] = *std::prev(next);
    if (!holds(process.base + offset, extent, address, bytes)) return nullptr;
    register_variable(reinterpret_cast<const void*>(process.base + offset), extent, "a symbol",
                      false, false);
    found = find_variable(symbol);
  }
  return found && holds(found->start, found->bytes, address, bytes) ? found : nullptr;
}

}  // namespace warploom
