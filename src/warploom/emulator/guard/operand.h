// Operands of instructions in AT&T syntax.
#pragma once

#include <cstdint>
#include <string_view>

namespace guard {

// General registers are 0 to 15 in the order of their encoding.
enum Register : int8_t {
  kRax,
  kRcx,
  kRdx,
  kRbx,
  kRsp,
  kRbp,
  kRsi,
  kRdi,
  kR8,
  kR9,
  kR10,
  kR11,
  kR12,
  kR13,
  kR14,
  kR15,
  kGeneral,  // how many there are
  kNoRegister = -1,
  kRip = 16,
  kVector = 32,      // xmm0 and what follows
  kFloatStack = 64,  // st(0) and what follows
  kMmx = 80,
};

struct RegisterName {
  int8_t number = kNoRegister;
  uint8_t width = 0;  // bytes
  bool high = false;  // %ah and its like
};
RegisterName parse_register(std::string_view text);  // with %
std::string_view register_name(int8_t number);       // "%rax", for general registers

struct Operand {
  enum class Kind : uint8_t { None, Immediate, Register, Memory, Bad };
  Kind kind = Kind::None;
  bool star = false;     // "*": of an indirect call or jump
  bool segment = false;  // %fs:
  RegisterName reg;      // of a register
  int8_t base = kNoRegister, index = kNoRegister;
  uint8_t scale = 1;
  bool number_only = true;      // the displacement or immediate is a number
  int64_t displacement = 0;     // or the value of an immediate
  std::string_view symbol;      // of the displacement or immediate
  std::string_view relocation;  // "GOTPCREL", without @

  bool is_memory() const { return kind == Kind::Memory; }
  bool is_register() const { return kind == Kind::Register; }
  bool is_general() const { return is_register() && reg.number >= 0 && reg.number < kGeneral; }
};

Operand parse_operand(std::string_view text);

}  // namespace guard
