// The symbols of a compiler's assembly, and how they are renamed.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "assembly.h"

namespace guard {

// A symbol that is defined or named somewhere.
struct Symbol {
  bool defined = false;
  bool function = false;
  bool global = false;     // other units can see it
  bool read_only = false;  // data that no program writes
  bool is_hidden = false;
  int32_t label = kNone;  // the line of its label
  int32_t mention = 0;    // the first line that names it
  std::string_view size;  // as in .size or .comm; empty where it is not a number
};

using Symbols = std::unordered_map<std::string_view, Symbol>;
using Names = std::unordered_map<std::string_view, std::string_view>;

// Returns all symbols but the labels (`.L1`) that a compiler makes inside of a function.
Symbols symbols_of(const Assembly& assembly);

// Returns the symbols and labels among the operands or arguments of a line; none where it has text.
std::vector<std::string_view> names_in(const Line& line);

// Renames symbols wherever they stand, but for those that are not in `names`.
void rename_symbols(Assembly& assembly, const Names& names);

// Renames the groups of sections of which the linker keeps one. Those not in `names` keep theirs.
void rename_groups(Assembly& assembly, const Names& names);
// Returns the names of all groups.
std::unordered_set<std::string_view> groups_of(const Assembly& assembly);

// Whether `line` says something about the first symbol that it names, and of no other: .globl, ...
bool is_about_symbol(const Line& line);
// Whether `line` gives a further name to a symbol or label, which may stand in any section.
bool is_alias(const Line& line);
// The first of a directive's arguments.
std::string_view first_argument(const Line& line);

}  // namespace guard
