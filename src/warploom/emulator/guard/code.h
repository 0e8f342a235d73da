// The instructions of a file and the ways between them.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "assembly.h"
#include "instruction.h"

namespace guard {

struct Step {
  int32_t line = 0;       // into Assembly::lines
  int32_t arguments = 0;  // bytes of arguments on the stack, as the unwinder knows them
  int32_t family = kNone;
  bool waits = false;        // the jump of a thread that waits (WARPLOOM_WAIT): goes on behind it
  bool rounds_down = false;  // an `andq` of a constant
  Instruction instruction;
};

// Whether a function of this name is a part that GCC has moved elsewhere: f.cold.
inline bool is_part(std::string_view name) { return name.find(".cold") != std::string_view::npos; }

struct Block {
  std::string_view label;       // empty where it has none
  int32_t first = 0, last = 0;  // of its steps
  bool is_entry = false;        // of a function
  bool falls_out = false;       // past its end another function begins
  bool is_pad = false;          // where an exception lands
  bool is_open = false;         // its address is taken, or nothing leads there: anybody may come
  int32_t family = kNone;       // the function, with its parts elsewhere, that it belongs to
  std::vector<int32_t> next;
  // Is it where a function begins, and no part of one?
  bool is_function() const { return is_entry && !is_part(label); }
};

struct Code {
  std::vector<Step> steps;
  std::vector<Block> blocks;
  std::unordered_map<std::string_view, int32_t> blocks_by_label;
  std::unordered_map<std::string_view, bool> functions;  // symbols that may be called here
  int32_t families = 0;
};

// Reads the code of `assembly`. Instructions that are refused have no mnemonic, and lead nowhere.
Code read_code(const Assembly& assembly);

// Whether the jump at `line` is that of WARPLOOM_WAIT, between the lines that belong to it.
bool is_wait(const Assembly& assembly, int32_t line);

// The name behind a call or jump by name or through the global offset table, or nothing.
std::string_view callee(const Instruction& instruction);

}  // namespace guard
