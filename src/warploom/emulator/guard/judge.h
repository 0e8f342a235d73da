// Which lines the assembler may read.
#pragma once

#include <string_view>

#include "assembly.h"
#include "code.h"
#include "report.h"

namespace guard {

// Refuses each line that no compiler writes, and inline assembly but for a short list. `pass` is
// "host" or "device". Takes out the padding of the code for thread-local variables, which is the
// only data among instructions.
void judge(Assembly& assembly, std::string_view pass, Report& report);

// Refuses instructions, and names that only the runtime may define.
void judge_code(const Assembly& assembly, const Code& code, std::string_view pass, Report& report);

// Notes what the unit defines and uses.
void describe(const Assembly& assembly, const Code& code, PassReport& report);

}  // namespace guard
