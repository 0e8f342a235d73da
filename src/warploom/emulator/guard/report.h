// What the guard says of a unit, as JSON.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "assembly.h"

namespace guard {

// Something that the assembler must not read.
struct Refusal {
  std::string kind;      // "assembly" or "inline_assembly"
  std::string reason;    // what is wrong with it
  std::string pass;      // "host" or "device"
  std::string function;  // mangled; empty outside of functions
  std::string file;      // as in .loc; empty where there is none
  int32_t line = 0;      // in that file
  int32_t number = 0;    // of the line of assembly
  std::string text;
};

struct Use {
  std::string function, symbol, file;
  int32_t line = 0;
};

// The accesses of one function.
struct Counts {
  int64_t accesses = 0, covered = 0, exempt = 0, inserted = 0, targets = 0;
};

struct Inserted {
  std::string function, file, text;
  int32_t line = 0;
  std::string why;
};

// What one pass holds.
struct PassReport {
  std::vector<std::string> init;       // symbols in .init_array and its like
  std::vector<std::string> defined;    // symbols that other units can see
  std::vector<std::string> functions;  // all functions defined here
  std::vector<Use> uses;               // the first use of each undefined symbol in each function
  std::map<std::string, Counts> counts;
  std::vector<Inserted> inserted;
};

struct Report {
  std::vector<Refusal> refused;
  std::map<std::string, PassReport> passes;

  // Notes that `line` is refused.
  void refuse(const Assembly& assembly, const Line& line, std::string_view pass,
              std::string_view kind, std::string_view reason);
  std::string json() const;
};

}  // namespace guard
