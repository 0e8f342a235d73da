// Joining the host and the device pass of a unit.
#pragma once

#include <string_view>

#include "assembly.h"
#include "report.h"

namespace guard {

// Renames the symbols of the device pass, refers the host's kernels to it, and leaves each variable
// in one of the two. `unit` is the same in no two units of a program. Calls `locate()` where lines
// have come or gone. Runs after both have been judged and before hooks are inserted.
void merge(Assembly& host, Assembly& device, std::string_view unit, Report& report);

}  // namespace guard
