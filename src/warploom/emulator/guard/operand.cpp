#include "operand.h"

#include <array>

#include "assembly.h"

namespace guard {

namespace {

constexpr std::array<std::string_view, 16> k64 = {"%rax", "%rcx", "%rdx", "%rbx", "%rsp", "%rbp",
                                                  "%rsi", "%rdi", "%r8",  "%r9",  "%r10", "%r11",
                                                  "%r12", "%r13", "%r14", "%r15"};
constexpr std::array<std::string_view, 8> kOld = {"ax", "cx", "dx", "bx", "sp", "bp", "si", "di"};
constexpr std::array<std::string_view, 8> kLow = {"al",  "cl",  "dl",  "bl",
                                                  "spl", "bpl", "sil", "dil"};
constexpr std::array<std::string_view, 4> kHigh = {"ah", "ch", "dh", "bh"};

int8_t place_in(const auto& names, std::string_view name) {
  for (std::size_t at = 0; at < names.size(); at++) {
    if (names[at] == name) return static_cast<int8_t>(at);
  }
  return kNoRegister;
}

// Returns the number that `text` is, at most `most`, or -1.
int small_number(std::string_view text, int most) {
  int64_t value = 0;
  if (text.empty() || text[0] < '0' || text[0] > '9' || text.size() > 2) return -1;
  if (text.size() == 2 && text[0] == '0') return -1;
  return parse_integer(text, value) && value <= most ? static_cast<int>(value) : -1;
}

// %r8 to %r15 with their suffixes.
RegisterName new_register(std::string_view name) {
  uint8_t width = 8;
  if (name.back() == 'd') width = 4;
  if (name.back() == 'w') width = 2;
  if (name.back() == 'b') width = 1;
  if (width != 8) name.remove_suffix(1);
  const int number = small_number(name, 15);
  return number >= 8 ? RegisterName{static_cast<int8_t>(number), width} : RegisterName{};
}

}  // namespace

std::string_view register_name(int8_t number) { return k64[static_cast<std::size_t>(number)]; }

RegisterName parse_register(std::string_view text) {
  if (text.size() < 3 || text[0] != '%') return {};
  const std::string_view name = text.substr(1);
  if (name == "rip") return {kRip, 8};
  if (name.starts_with("xmm")) {
    const int number = small_number(name.substr(3), 15);
    return number < 0 ? RegisterName{} : RegisterName{static_cast<int8_t>(kVector + number), 16};
  }
  if (name.starts_with("mm")) {
    const int number = small_number(name.substr(2), 7);
    return number < 0 ? RegisterName{} : RegisterName{static_cast<int8_t>(kMmx + number), 8};
  }
  if (name == "st") return {kFloatStack, 10};
  if (name.starts_with("st(") && name.size() == 5 && name[4] == ')') {
    const int number = small_number(name.substr(3, 1), 7);
    return number < 0 ? RegisterName{}
                      : RegisterName{static_cast<int8_t>(kFloatStack + number), 10};
  }
  if (name[0] == 'r' && name[1] >= '0' && name[1] <= '9') return new_register(name.substr(1));
  const bool wide = name.size() == 3 && (name[0] == 'r' || name[0] == 'e');
  if (wide) {
    const int8_t number = place_in(kOld, name.substr(1));
    if (number >= 0) return {number, static_cast<uint8_t>(name[0] == 'r' ? 8 : 4)};
  }
  if (const int8_t number = place_in(kOld, name); number >= 0) return {number, 2};
  if (const int8_t number = place_in(kLow, name); number >= 0) return {number, 1};
  if (const int8_t number = place_in(kHigh, name); number >= 0) return {number, 1, true};
  return {};
}

namespace {

// SYMBOL, SYMBOL@RELOCATION, a number, and sums of one symbol and numbers.
bool parse_displacement(std::string_view text, Operand& operand) {
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = at;
    bool negative = false;
    if (text[end] == '+' || text[end] == '-') negative = text[end++] == '-';
    const std::size_t start = end;
    while (end < text.size() && text[end] != '+' && text[end] != '-') end++;
    std::string_view part = text.substr(start, end - start);
    int64_t value = 0;
    if (parse_integer(part, value)) {
      operand.displacement += negative ? -value : value;
    } else {
      if (negative || !operand.symbol.empty()) return false;
      const std::size_t sign = part.find('@');
      operand.symbol = part.substr(0, sign);
      if (sign != std::string_view::npos) {
        operand.relocation = part.substr(sign + 1);
        if (!is_symbol(operand.relocation)) return false;
      }
      const bool numeric = operand.symbol == "1f" || operand.symbol == "1b";
      if (!is_symbol(operand.symbol) && !numeric) return false;
      operand.number_only = false;
    }
    at = end;
  }
  return true;
}

bool parse_address(std::string_view inside, Operand& operand) {
  const auto parts = split_arguments(inside);
  if (parts.empty() || parts.size() > 3) return false;
  if (!parts[0].empty()) {
    const RegisterName base = parse_register(parts[0]);
    if (base.width != 8 || base.number < 0 || base.number > kRip) return false;
    operand.base = base.number;
  }
  if (parts.size() > 1) {
    const RegisterName index = parse_register(parts[1]);
    if (index.width != 8 || index.number < 0 || index.number >= kGeneral || index.number == kRsp ||
        operand.base == kRip) {
      return false;
    }
    operand.index = index.number;
  }
  if (parts.size() == 3) {
    const int scale = small_number(parts[2], 8);
    if (scale != 1 && scale != 2 && scale != 4 && scale != 8) return false;
    operand.scale = static_cast<uint8_t>(scale);
  }
  return true;
}

}  // namespace

Operand parse_operand(std::string_view text) {
  Operand operand;
  Operand bad;
  bad.kind = Operand::Kind::Bad;
  if (text.empty()) return bad;
  if (text[0] == '*') {
    operand.star = true;
    text = trimmed(text.substr(1));
    if (text.empty()) return bad;
  }
  if (text[0] == '$') {
    operand.kind = Operand::Kind::Immediate;
    if (text.size() == 1) return bad;
    return parse_displacement(text.substr(1), operand) ? operand : bad;
  }
  if (text[0] == '%' && text.find(':') == std::string_view::npos) {
    operand.kind = Operand::Kind::Register;
    operand.reg = parse_register(text);
    return operand.reg.number == kNoRegister || operand.reg.number == kRip ? bad : operand;
  }
  operand.kind = Operand::Kind::Memory;
  if (text.starts_with("%fs:")) {
    operand.segment = true;
    text.remove_prefix(4);
  }
  const std::size_t open = text.find('(');
  if (!parse_displacement(text.substr(0, open), operand)) return bad;
  if (open != std::string_view::npos) {
    if (text.back() != ')' || text.find('(', open + 1) != std::string_view::npos) return bad;
    if (!parse_address(text.substr(open + 1, text.size() - open - 2), operand)) return bad;
  }
  return operand;
}

}  // namespace guard
