// What a pass gives up when it is joined with the other: bodies, data, sections.
#pragma once

#include <string_view>
#include <unordered_set>

#include "merge_symbols.h"

namespace guard {

using NameSet = std::unordered_set<std::string_view>;

// Returns the kernels: `__global__` is an attribute that has the compiler list them in a section.
// Removes that section, which nothing else reads.
NameSet take_kernels(Assembly& assembly);

// Returns what the rewriter says are variables of the device: each has a pointer to it, by name.
NameSet device_variables_of(const Assembly& assembly, const Symbols& symbols);

// Removes the instructions of the functions; what tables refer to stays. They become local, and
// are called as `names` says where they are defined, while what calls them calls them as before.
void hollow(Assembly& assembly, const Names& names);

// Removes the definitions of the variables, so that another unit's are meant.
void drop_data(Assembly& assembly, const NameSet& names);

// Removes what would run before main.
void drop_start(Assembly& assembly);

}  // namespace guard
