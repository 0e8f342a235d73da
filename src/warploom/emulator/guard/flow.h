// Which accesses of a program no hook has checked.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "assembly.h"
#include "code.h"
#include "report.h"

namespace guard {

// What is to be checked before a line.
struct Gap {
  enum class What : uint8_t {
    Access,     // the operand in memory, of `width` bytes
    Range,      // `width` bytes times %rcx (where repeated) at %rdi or %rsi
    Target,     // where an indirect call goes
    End,        // that the line is the last one to run: behind it another function begins
    Stack,      // that the stack pointer, after the line, is in the program's own stack
    Recursion,  // how often this call of device code waits for itself
  };
  What what = What::Access;
  int32_t step = 0;  // into Code::steps
  unsigned width = 0;
  bool read = false, write = false;
  int8_t reg = kNoRegister;  // of a range
  bool frameless = false;    // the function has made no frame yet
  const char* why = "";
};

struct Findings {
  std::vector<Gap> gaps;                      // in the order of the lines
  std::map<std::string_view, Counts> counts;  // by function
  // Steps that are refused, with the reason.
  std::vector<std::pair<int32_t, const char*>> refused;
};

Findings find_gaps(const Assembly& assembly, const Code& code);

}  // namespace guard
