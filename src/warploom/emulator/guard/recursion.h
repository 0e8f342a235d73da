// Which calls of device code recurse, and keep their frame on a GPU too while they do.
#pragma once

#include <cstdint>
#include <vector>

#include "assembly.h"
#include "code.h"

namespace guard {

// The steps of calls that can lead back to their own function, and behind which on each way to a
// return there is work that waits for the call: a store to memory, a volatile access, or arithmetic
// on the number in floating point that it returns. GPU compilers make loops of calls behind which
// there is nothing, or one operation on integers.
std::vector<int32_t> recursive_calls(const Assembly& assembly, const Code& code);

}  // namespace guard
