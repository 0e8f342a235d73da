// The instructions that a program may consist of, and what each reads and writes.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "assembly.h"
#include "operand.h"

namespace guard {

// What an instruction does, as far as the flow of values needs to know.
enum class Does : uint8_t {
  Compute,  // its result depends on its operands alone
  Vary,     // its result depends on flags or on other state too
  Move,
  MoveZero,
  MoveSign,
  Address,
  Add,
  Subtract,
  Xor,
  ShiftLeft,
  Multiply,
  Push,
  Pop,
  Leave,
  Return,
  Call,
  Jump,
  Branch,
  Trap,
  Exchange,
  CopyString,
  StoreString,
  LoadString,
  CompareString,
  ScanString,
};

enum class Role : uint8_t { None, Read, Write, Modify, AddressOnly };

constexpr int kMostOperands = 4;

struct Mnemonic {
  Does does = Does::Compute;
  uint8_t width = 0;  // bytes of the memory operand; 0: by suffix, or by the register operand
  uint8_t from = 0;   // bytes that a widening move reads
  bool x87_stack = false;
  bool host_only = false;  // tells a program where it runs
  bool tests_bits = false;
  uint32_t writes = 0;  // general registers that it writes besides its operands, as bits
  std::array<Role, kMostOperands> roles[kMostOperands + 1] = {};  // by the number of operands
  uint8_t counts = 0;  // numbers of operands that it may have, as bits
};

enum class Repeat : uint8_t { None, Always, WhileEqual, WhileDifferent };

struct Instruction {
  const Mnemonic* mnemonic = nullptr;  // nullptr: refused, for `problem`
  const char* problem = nullptr;
  Repeat repeat = Repeat::None;
  bool locked = false;
  uint8_t width = 0;  // bytes of the operation
  uint8_t count = 0;
  std::array<Operand, kMostOperands> operands;
  std::array<Role, kMostOperands> roles = {};

  Does does() const { return mnemonic->does; }
  // The operand in memory that is accessed, or -1; there is at most one.
  int memory() const;
};

// Reads a line of kind Instruction.
Instruction read_instruction(const Line& line);

}  // namespace guard
