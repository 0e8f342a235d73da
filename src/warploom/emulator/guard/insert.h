// Puts hooks where the compiler's instrumentation left an access without one.
#pragma once

#include <string_view>

#include "assembly.h"
#include "code.h"
#include "flow.h"
#include "report.h"

namespace guard {

// Closes the gaps of `found`, and says so in `report`.
void insert_hooks(Assembly& assembly, const Code& code, const Findings& found,
                  std::string_view pass, Report& report);

}  // namespace guard
