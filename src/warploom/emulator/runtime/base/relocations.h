// What the loader has bound in one shared object.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>

namespace warploom {

// Calls `function(place, type, symbol, name, addend)` for each word that the loader has filled in;
// `symbol` is null where it names none.
template <class Function>
void for_each_relocation(const link_map& map, Function&& function) {
  const ElfW(Sym)* symbols = nullptr;
  const char* names = nullptr;
  const ElfW(Rela) * tables[2] = {};
  std::size_t bytes[2] = {};
  for (const ElfW(Dyn)* entry = map.l_ld; entry->d_tag != DT_NULL; entry++) {
    const uintptr_t value = entry->d_un.d_ptr;
    if (entry->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(value);
    if (entry->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(value);
    if (entry->d_tag == DT_RELA) tables[0] = reinterpret_cast<const ElfW(Rela)*>(value);
    if (entry->d_tag == DT_RELASZ) bytes[0] = value;
    if (entry->d_tag == DT_JMPREL) tables[1] = reinterpret_cast<const ElfW(Rela)*>(value);
    if (entry->d_tag == DT_PLTRELSZ) bytes[1] = value;
  }
  if (!symbols || !names) return;
  for (int table = 0; table < 2; table++) {
    const std::size_t count = tables[table] ? bytes[table] / sizeof(ElfW(Rela)) : 0;
    for (std::size_t i = 0; i < count; i++) {
      const ElfW(Rela) & one = tables[table][i];
      const auto number = ELF64_R_SYM(one.r_info);
      const ElfW(Sym)* symbol = number ? &symbols[number] : nullptr;
      function(reinterpret_cast<uintptr_t*>(map.l_addr + one.r_offset), ELF64_R_TYPE(one.r_info),
               symbol, symbol ? names + symbol->st_name : "", static_cast<uintptr_t>(one.r_addend));
    }
  }
}

}  // namespace warploom
