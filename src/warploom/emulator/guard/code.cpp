#include "code.h"

#include <algorithm>
#include <unordered_set>

namespace guard {

namespace {

using Labels = std::unordered_set<std::string_view>;

// Enters each symbol in `text`.
void symbols_in(std::string_view text, Labels& labels) {
  for (std::size_t at = 0; at < text.size();) {
    if (!is_symbol_letter(text[at])) {
      at++;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && is_symbol_letter(text[end])) end++;
    labels.insert(text.substr(at, end - at));
    at = end;
  }
}

bool holds_addresses(const Line& line) {
  return line.name == ".quad" || line.name == ".long" || line.name == ".uleb128" ||
         line.name == ".8byte" || line.name == ".4byte";
}

class Reader {
 public:
  explicit Reader(const Assembly& assembly) : assembly_(assembly) {}

  Code read() {
    for (const Function& function : assembly_.functions) code_.functions[function.name] = true;
    find_aliases();
    find_taken();
    cut();
    connect();
    return std::move(code_);
  }

 private:
  bool runs(const Line& line) const { return assembly_.sections[line.section].executable; }

  void find_aliases() {
    for (const Line& line : assembly_.lines) {
      if (line.kind != Kind::Directive || (line.name != ".set" && line.name != ".equ")) continue;
      const auto parts = split_arguments(line.rest);
      if (parts.size() == 2 && code_.functions.contains(parts[1])) {
        code_.functions[parts[0]] = true;
      }
    }
  }

  // Labels whose addresses lie in tables of exceptions, and in any other data.
  void find_taken() {
    for (const Line& line : assembly_.lines) {
      if (line.kind != Kind::Directive || line.rest.empty() || !holds_addresses(line)) continue;
      if (runs(line) || line.rest.find_first_of("._$") == std::string_view::npos) continue;
      const std::string_view section = assembly_.sections[line.section].name;
      if (section.starts_with(".debug_") || section == "__patchable_function_entries") continue;
      if (section.starts_with(".gcc_except_table")) {
        distances_.push_back(line.rest);
      } else {
        symbols_in(line.rest, taken_);
      }
    }
    find_pads();
  }

  // A table of exceptions says of each part of a function BEGIN-F, END-BEGIN, PAD-F.
  void find_pads() {
    const auto of = [](std::string_view distance, bool from) {
      const std::size_t sign = distance.find('-');
      if (sign == std::string_view::npos) return std::string_view{};
      return from ? distance.substr(sign + 1) : distance.substr(0, sign);
    };
    for (std::size_t at = 0; at < distances_.size(); at++) {
      const std::string_view to = of(distances_[at], false);
      const bool begins = at + 1 < distances_.size() && of(distances_[at + 1], true) == to;
      const bool ends = at > 0 && of(distances_[at], true) == of(distances_[at - 1], false);
      if (!begins && !ends && !to.empty()) pads_.insert(to);
    }
  }

  // Makes steps of instructions, and blocks of steps.
  void cut() {
    bool fresh = true;
    int32_t arguments = 0, section = kNone;
    const auto& lines = assembly_.lines;
    for (int32_t at = 0; at < static_cast<int32_t>(lines.size()); at++) {
      const Line& line = lines[at];
      if (line.kind == Kind::Blank || !runs(line)) continue;
      if (line.kind == Kind::Label) {
        if (is_debug(line.name) && !pads_.contains(line.name)) continue;
        begin(line);
        fresh = false;
        section = line.section;
      } else if (line.kind == Kind::Directive && line.name == ".cfi_escape") {
        note_arguments(line.rest, arguments);
      } else if (line.kind == Kind::Directive && line.name == ".cfi_startproc") {
        arguments = 0;
      } else if (line.kind == Kind::Instruction) {
        if (fresh || line.section != section) begin(line);
        section = line.section;
        fresh = add(at, arguments);
      }
    }
    end();
  }

  // Labels that only tell debuggers a place part no blocks.
  static bool is_debug(std::string_view label) {
    for (const std::string_view start :
         {".LVL", ".LBB", ".LBE", ".LBI", ".LFB", ".LFE", ".Ltext", ".Letext", ".Ltmp", ".Lfunc_",
          ".LFSB", ".LCOLD", ".LHOT", ".LEHB", ".LEHE", ".Lpost_"}) {
      if (label.starts_with(start)) return true;
    }
    return false;
  }

  // .cfi_escape 0x2e, N: the bytes of arguments on the stack from here on.
  void note_arguments(std::string_view rest, int32_t& arguments) {
    split_arguments(rest, parts_);
    int64_t value = 0;
    if (parts_.size() < 2 || !parse_integer(parts_[0], value) || value != 0x2e) return;
    arguments = 0;
    for (std::size_t at = 1; at < parts_.size() && at < 5; at++) {
      if (!parse_integer(parts_[at], value)) return;
      arguments |= static_cast<int32_t>(value & 0x7f) << (7 * (at - 1));
    }
  }

  void end() {
    if (!code_.blocks.empty()) {
      code_.blocks.back().last = static_cast<int32_t>(code_.steps.size());
    }
  }

  void begin(const Line& line) {
    end();
    Block block;
    block.first = block.last = static_cast<int32_t>(code_.steps.size());
    if (line.kind == Kind::Label) {
      block.label = line.name;
      code_.blocks_by_label.emplace(line.name, static_cast<int32_t>(code_.blocks.size()));
      block.is_entry = code_.functions.contains(line.name);
      block.is_pad = pads_.contains(line.name) && !block.is_entry;
      block.is_open = taken_.contains(line.name) && !block.is_entry;
    }
    if (line.function != kNone) block.family = family(assembly_.functions[line.function].name);
    code_.blocks.push_back(block);
  }

  // What GCC moves elsewhere is named by its function: f.cold, f.part.0 is one of its own.
  int32_t family(std::string_view function) {
    const std::size_t cold = function.find(".cold");
    const auto [found, fresh] = families_.emplace(function.substr(0, cold), code_.families);
    if (fresh) code_.families++;
    return found->second;
  }

  // Returns whether the next instruction begins a block.
  bool add(int32_t at, int32_t arguments) {
    Step step{.line = at,
              .arguments = arguments,
              .family = code_.blocks.back().family,
              .waits = false,
              .rounds_down = assembly_.lines[at].name == "andq",
              .instruction = read_instruction(assembly_.lines[at])};
    bool ends = true;
    if (step.instruction.mnemonic) {
      switch (step.instruction.does()) {
        case Does::Jump:
          step.waits = is_wait(assembly_, at);
          break;
        case Does::Branch:
        case Does::Return:
        case Does::Trap:
          break;
        default:
          ends = false;
      }
    }
    code_.steps.push_back(step);
    return ends;
  }

  // Whether the step can be followed by the next one in the text.
  static bool goes_on(const Step& step) {
    if (!step.instruction.mnemonic) return false;
    const Does does = step.instruction.does();
    return step.waits || (does != Does::Jump && does != Does::Return && does != Does::Trap);
  }

  void connect() {
    const auto count = static_cast<int32_t>(code_.blocks.size());
    std::vector<bool> reached(code_.blocks.size(), false);
    for (int32_t at = 0; at < count; at++) {
      Block& block = code_.blocks[at];
      const bool empty = block.first == block.last;
      if (empty || goes_on(code_.steps[block.last - 1])) {
        // Behind a call that does not return there is nothing of the function.
        const bool more = at + 1 < count && !code_.blocks[at + 1].is_entry;
        block.falls_out = !more && !empty;
        if (more) block.next.push_back(at + 1);
      }
      if (!empty) {
        const Instruction& instruction = code_.steps[block.last - 1].instruction;
        const bool jumps = instruction.mnemonic &&
                           (instruction.does() == Does::Branch || instruction.does() == Does::Jump);
        if (jumps && !instruction.operands[0].star) {
          const auto found = code_.blocks_by_label.find(instruction.operands[0].symbol);
          if (found != code_.blocks_by_label.end() && !code_.blocks[found->second].is_entry) {
            block.next.push_back(found->second);
          }
        }
      }
      for (const int32_t next : block.next) reached[next] = true;
    }
    for (int32_t at = 0; at < count; at++) {
      Block& block = code_.blocks[at];
      if (!reached[at] && !block.is_entry && !block.is_pad) block.is_open = true;
    }
  }

  const Assembly& assembly_;
  Code code_;
  Labels pads_, taken_;
  std::unordered_map<std::string_view, int32_t> families_;
  std::vector<std::string_view> parts_, distances_;
};

bool is_line(const Line& line, std::string_view name, std::string_view first,
             std::string_view second = {}) {
  if (line.kind != Kind::Instruction || line.name != name) return false;
  const auto parts = split_arguments(line.rest);
  return parts.size() == (second.empty() ? 1 : 2) && parts[0] == first &&
         (second.empty() || parts[1] == second);
}

}  // namespace

Code read_code(const Assembly& assembly) { return Reader(assembly).read(); }

// GCC keeps the label 1 of the headers' text; clang gives it a name of its own.
bool is_wait(const Assembly& assembly, int32_t line) {
  const auto& lines = assembly.lines;
  if (line < 1 || line + 1 >= static_cast<int32_t>(lines.size())) return false;
  const Line& jump = lines[line];
  const Line& label = lines[line + 1];
  if (jump.kind != Kind::Instruction || label.kind != Kind::Label) return false;
  const bool named = label.name.starts_with(".Ltmp");
  if (!named && label.name != "1") return false;
  const std::string target = (named ? std::string(label.name) : "1f") + "(%rip)";
  return (jump.name == "jmp" || jump.name == "jmpq") &&
         (jump.rest == "*warploom_barrier@GOTPCREL(%rip)" ||
          jump.rest == "*warploom_meet@GOTPCREL(%rip)") &&
         is_line(lines[line - 1], "leaq", target, "%rax");
}

std::string_view callee(const Instruction& instruction) {
  if (!instruction.mnemonic || instruction.count != 1) return {};
  const Operand& operand = instruction.operands[0];
  if (!operand.is_memory() || operand.segment || operand.index != kNoRegister ||
      operand.displacement != 0) {
    return {};
  }
  if (operand.star) {
    return operand.base == kRip && operand.relocation == "GOTPCREL" ? operand.symbol
                                                                    : std::string_view{};
  }
  const bool plain =
      operand.base == kNoRegister && (operand.relocation.empty() || operand.relocation == "PLT");
  return plain ? operand.symbol : std::string_view{};
}

}  // namespace guard
