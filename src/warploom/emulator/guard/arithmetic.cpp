#include "arithmetic.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <utility>

namespace guard {

namespace {

bool is_any(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// As emulator/metering/arithmetic_prices.py has it: measured on an H200.
constexpr unsigned kDivision = 11;

// Integer instructions, without the letter of their size.
Work work_of_integer(std::string_view name) {
  if (is_any(name, {"div", "idiv"})) return {.slots = kDivision};
  const bool computes =
      is_any(name, {"add", "sub",   "and",   "or",   "xor",   "imul",   "mul",  "sal",  "shl",
                    "shr", "sar",   "rol",   "ror",  "rcl",   "rcr",    "shld", "shrd", "neg",
                    "not", "inc",   "dec",   "adc",  "sbb",   "bsf",    "bsr",  "bts",  "btr",
                    "btc", "bswap", "lzcnt", "xadd", "tzcnt", "popcnt", "crc32"});
  return {.integers = computes};
}

// What the last two letters say of a vector: how many numbers it computes with at once.
unsigned lanes_of(std::string_view ending, unsigned bytes) {
  if (ending == "ss" || ending == "sd") return 1;
  if (ending == "ps") return bytes / 4;
  return ending == "pd" ? bytes / 8 : 0;
}

Work work_of_float(std::string_view name, unsigned bytes) {
  if (name.size() < 5) return {};
  const unsigned lanes = lanes_of(name.substr(name.size() - 2), bytes);
  const std::string_view what = name.substr(0, name.size() - 2);
  if (is_any(what, {"div", "sqrt"})) return {.slots = lanes * kDivision};
  if (is_any(what, {"add", "sub", "hadd", "hsub", "addsub"})) return {.sums = lanes};
  if (what == "mul") return {.products = lanes};
  if (is_any(what, {"and", "andn", "or", "xor"})) return {.slots = 1};  // mostly a sign
  if (what == "comi" || what == "ucomi") return {.integers = 1};
  const bool computes = is_any(what, {"min", "max", "rcp", "rsqrt", "round", "dp"}) ||
                        what.starts_with("fm") || what.starts_with("fnm");
  return {.slots = computes ? lanes : 0};
}

// Packed integers: the last letter says how wide they are.
unsigned numbers_of_packed(std::string_view name, unsigned bytes) {
  if (is_any(name, {"pand", "por", "pxor", "pandn"})) return bytes / 4;
  if (is_any(name, {"pmuludq", "pmuldq"})) return bytes / 8;
  if (is_any(name, {"pmaddwd", "psadbw", "pmulhuw", "pmulhrsw", "pmaddubsw"})) return bytes / 2;
  const bool computes = std::ranges::any_of(
      std::initializer_list<std::string_view>{"padd", "psub", "pmul", "psll", "psrl", "psra",
                                              "pmin", "pmax", "pavg", "pabs", "phadd", "phsub",
                                              "psign"},
      [&](std::string_view start) { return name.starts_with(start); });
  if (!computes || name.ends_with("dq")) return 0;  // which moves bytes
  switch (name.back()) {
    case 'b':
      return bytes;
    case 'w':
      return bytes / 2;
    case 'd':
      return bytes / 4;
    default:
      return bytes / 8;
  }
}

Work work_of_float_stack(std::string_view name) {
  const auto begins = [&](std::initializer_list<std::string_view> starts) {
    return std::ranges::any_of(starts, [&](std::string_view s) { return name.starts_with(s); });
  };
  if (begins({"fdiv", "fidiv", "fsqrt"})) return {.slots = kDivision};
  if (begins({"fadd", "fsub", "fiadd", "fisub"})) return {.sums = 1};
  if (begins({"fmul", "fimul"})) return {.products = 1};
  const bool computes =
      begins({"fprem", "fscale", "fsin", "fcos", "fptan", "fpatan", "f2xm1", "fyl2x", "frndint"});
  return {.slots = computes};
}

unsigned vector_bytes(const Line& line) {
  if (line.rest.find("%zmm") != std::string_view::npos) return 64;
  return line.rest.find("%ymm") != std::string_view::npos ? 32 : 16;
}

// Is it `xor` of a register with itself, which makes a zero?
bool makes_zero(std::string_view name, const Instruction& instruction) {
  if (instruction.count < 2 || name.find("xor") == std::string_view::npos) return false;
  const Operand &one = instruction.operands[0], &other = instruction.operands[1];
  return one.is_register() && other.is_register() && one.reg.number == other.reg.number;
}

// Does it make or leave a frame?
bool moves_stack(const Instruction& instruction) {
  if (instruction.count == 0) return false;
  const Operand& last = instruction.operands[instruction.count - 1];
  return last.is_general() && (last.reg.number == kRsp || last.reg.number == kRbp);
}

// Does it count a loop, or find a place in an array? Compilers for GPUs unroll loops and fold
// these.
bool steps_on(std::string_view name, const Instruction& instruction) {
  if (name.starts_with("inc") || name.starts_with("dec") || name == "addq" || name == "subq") {
    return true;
  }
  return (name.starts_with("add") || name.starts_with("sub")) && instruction.count == 2 &&
         instruction.operands[0].kind == Operand::Kind::Immediate &&
         instruction.operands[0].number_only;
}

}  // namespace

Work work_of(const Line& line, const Instruction& instruction, const Prices& prices) {
  if (!instruction.mnemonic) return {};
  if (instruction.does() == Does::Call || instruction.does() == Does::Jump) {
    return {.slots = prices.of(callee(instruction))};
  }
  std::string_view name = line.name.substr(line.name.rfind(' ') + 1);  // without prefixes
  if (makes_zero(name, instruction) || moves_stack(instruction) || steps_on(name, instruction)) {
    return {};
  }
  const Work plain = work_of_integer(name);
  if (plain.total(true)) return plain;
  if (std::string_view("bwlq").find(name.back()) != std::string_view::npos) {
    const Work sized = work_of_integer(name.substr(0, name.size() - 1));
    if (sized.total(true)) return sized;
  }
  const unsigned bytes = vector_bytes(line);
  if (name.starts_with("cvt") || name.starts_with("vcvt")) return {.slots = 1};
  if (name.starts_with('v')) name.remove_prefix(1);
  if (name.starts_with('p')) return {.integers = numbers_of_packed(name, bytes)};
  return name.starts_with('f') ? work_of_float_stack(name) : work_of_float(name, bytes);
}

Prices::Prices(std::string text) : text_(std::move(text)) {
  std::string_view left = text_;
  while (!left.empty()) {
    const std::string_view line = left.substr(0, left.find('\n'));
    left.remove_prefix(std::min(line.size() + 1, left.size()));
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) continue;
    unsigned slots = 0;
    std::from_chars(line.data() + space + 1, line.data() + line.size(), slots);
    slots_.emplace(line.substr(0, space), slots);
  }
}

unsigned Prices::of(std::string_view symbol) const {
  const auto found = slots_.find(symbol);
  return found == slots_.end() ? 0 : found->second;
}

}  // namespace guard
