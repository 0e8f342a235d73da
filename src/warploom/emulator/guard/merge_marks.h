// Which variables device code reaches, as the linker finds out: what no kernel leads to is dropped.
#pragma once

#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "merge.h"
#include "merge_parts.h"
#include "merge_symbols.h"

namespace guard {

// For each variable, what its initializer names.
using Initializers = std::unordered_map<std::string_view, NameSet>;
Initializers initializers_of(const Assembly& assembly, const Symbols& symbols);

// Returns the variables that `__managed__` has put into a section of their own.
NameSet managed_variables_of(const Assembly& assembly, const Symbols& symbols);

// For each variable `x` that a function names, adds an empty section with the symbol `wl_dev$x`
// (`wl_man$x` where it is managed), to which the function refers: the linker keeps the two
// together. Runs when all symbols of the device pass have their last names; `initializers` has the
// names before, which `names` maps to the last ones.
void mark_variables(Assembly& device, const Initializers& initializers, const NameSet& managed,
                    const Names& names, const Allowed& allowed);

}  // namespace guard
