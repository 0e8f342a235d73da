// The data that is defined in a file and cannot change.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "assembly.h"

namespace guard {

// The bytes behind each label of read-only data, up to the next label.
std::unordered_map<std::string_view, int64_t> constants_of(const Assembly& assembly);

}  // namespace guard
