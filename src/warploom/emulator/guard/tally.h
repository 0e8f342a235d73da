// Counts the arithmetic of each block of a program where it runs.
#pragma once

#include <string_view>

#include "arithmetic.h"
#include "assembly.h"
#include "code.h"

namespace guard {

// Lets each block add what it computes, in halves of slots, to the counter at `kTallyPlace`
// (runtime/metering/meter_tally.h). What comes from files below `shims` is priced where it is
// called, and counts nothing here, but for operators (`*_operators.h`). `whole`: all that is
// computed, and not the least.
void insert_tally(Assembly& assembly, const Code& code, std::string_view shims,
                  const Prices& prices, bool whole);

}  // namespace guard
