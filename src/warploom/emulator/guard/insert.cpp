#include "insert.h"

#include <algorithm>
#include <string>

namespace guard {

namespace {

class Inserter {
 public:
  Inserter(Assembly& assembly, const Code& code, std::string_view pass, Report& report)
      : assembly_(assembly), code_(code), pass_(pass), report_(report) {}

  void run(const std::vector<Gap>& gaps) {
    std::vector<Line> lines;
    lines.reserve(assembly_.lines.size() + gaps.size() * 6);
    std::size_t next = 0;
    for (int32_t at = 0; at < static_cast<int32_t>(assembly_.lines.size()); at++) {
      bool ends = false;
      while (next < gaps.size() && code_.steps[gaps[next].step].line == at) {
        ends = ends || gaps[next].what == Gap::What::End;
        close(gaps[next++], at);
        for (Line& fresh : made_) lines.push_back(fresh);
        made_.clear();
      }
      lines.push_back(assembly_.lines[at]);
      if (!ends) continue;
      at_ = at;
      add("ud2", "");
      lines.push_back(made_[0]);
      made_.clear();
    }
    assembly_.lines = std::move(lines);
  }

 private:
  void add(std::string name, std::string rest) {
    Line line = assembly_.lines[at_];
    line.kind = Kind::Instruction;
    line.is_ours = true;
    line.in_app = false;
    line.name = assembly_.keep(std::move(name));
    line.rest = assembly_.keep(std::move(rest));
    made_.push_back(line);
  }

  void call(const std::string& hook) { add("call", "*warploom_guard_" + hook + "@GOTPCREL(%rip)"); }

  // The operand's address while `pushed` bytes more lie on the stack.
  static std::string address(const Operand& operand, int64_t pushed) {
    std::string text(operand.symbol);
    if (!operand.relocation.empty()) text += "@" + std::string(operand.relocation);
    const int64_t number = operand.displacement + (operand.base == kRsp ? pushed : 0);
    if (number || text.empty()) {
      text += (number >= 0 && !text.empty() ? "+" : "") + std::to_string(number);
    }
    if (operand.base == kNoRegister && operand.index == kNoRegister) return text;
    text += "(";
    if (operand.base == kRip) text += "%rip";
    if (operand.base >= 0 && operand.base < kGeneral) text += register_name(operand.base);
    if (operand.index != kNoRegister) {
      text += "," + std::string(register_name(operand.index)) + "," + std::to_string(operand.scale);
    }
    return text + ")";
  }

  void close(const Gap& gap, int32_t at) {
    at_ = at;
    const Instruction& instruction = code_.steps[gap.step].instruction;
    switch (gap.what) {
      case Gap::What::Access:
        access(gap, instruction);
        break;
      case Gap::What::Range:
        range(gap, instruction);
        break;
      case Gap::What::Stack:
        stack(instruction);
        break;
      case Gap::What::Target:
        target(instruction);
        break;
      case Gap::What::Recursion:
        call("recursion");
        break;
      case Gap::What::End:
        return;
    }
    note(gap);
  }

  static std::string kind(const Gap& gap) {
    return gap.read && gap.write ? "read_write" : gap.write ? "write" : "read";
  }

  // So that the hook finds the place where the function returns to.
  void make_frame(const Gap& gap) {
    if (!gap.frameless) return;
    add("pushq", "%rbp");
    add("movq", "%rsp, %rbp");
  }
  void drop_frame(const Gap& gap) {
    if (gap.frameless) add("popq", "%rbp");
  }

  void access(const Gap& gap, const Instruction& instruction) {
    const Operand& operand = instruction.operands[instruction.memory()];
    make_frame(gap);
    add("pushq", "%rdi");
    add("leaq", address(operand, gap.frameless ? 16 : 8) + ", %rdi");
    call(kind(gap) + std::to_string(gap.width));
    add("popq", "%rdi");
    drop_frame(gap);
  }

  void range(const Gap& gap, const Instruction& instruction) {
    make_frame(gap);
    add("pushq", "%rdi");
    add("pushq", "%rsi");
    if (gap.reg != kRdi) add("movq", std::string(register_name(gap.reg)) + ", %rdi");
    if (instruction.repeat == Repeat::None) {
      add("movl", "$" + std::to_string(gap.width) + ", %esi");
    } else {
      add("leaq", "0(,%rcx," + std::to_string(gap.width) + "), %rsi");
    }
    call(kind(gap) + "_range");
    add("popq", "%rsi");
    add("popq", "%rdi");
    drop_frame(gap);
  }

  // The operand is read twice: between the two nobody else runs.
  void target(const Instruction& instruction) {
    const Operand& operand = instruction.operands[0];
    add("pushq", "%rdi");
    const std::string from =
        operand.is_memory() ? address(operand, 8) : std::string(register_name(operand.reg.number));
    add("movq", from + ", %rdi");
    call("target");
    add("popq", "%rdi");
  }

  // The flags are free before what changes them.
  void stack(const Instruction& instruction) {
    const Operand& source = instruction.operands[0];
    const std::string_view rest = assembly_.lines[at_].rest;
    const std::string text(split_arguments(rest)[0]);
    const bool plain = source.kind == Operand::Kind::Immediate || source.is_general();
    if (instruction.does() == Does::Subtract && plain) {
      add("pushq", "%rdi");
      add("leaq", "8(%rsp), %rdi");
      const bool self = source.is_general() && source.reg.number == kRdi;
      add("subq", (self ? std::string("(%rsp)") : text) + ", %rdi");
    } else if (instruction.does() == Does::Address ||
               (instruction.does() == Does::Move && (source.is_memory() || source.is_general()))) {
      add("pushq", "%rdi");
      if (source.is_memory()) {
        add(instruction.does() == Does::Address ? "leaq" : "movq", address(source, 8) + ", %rdi");
      } else {
        add("movq", text + ", %rdi");
      }
    } else {
      report_.refuse(assembly_, assembly_.lines[at_], pass_, "assembly",
                     "it moves the stack in a way that cannot be checked");
      return;
    }
    call("stack");
    add("popq", "%rdi");
  }

  void note(const Gap& gap) {
    const Line& line = assembly_.lines[at_];
    report_.passes[std::string(pass_)].inserted.push_back(
        {.function =
             line.function == kNone ? "" : std::string(assembly_.functions[line.function].name),
         .file = line.file == kNone ? "" : assembly_.files[line.file].path,
         .text = std::string(line.name) + " " + std::string(line.rest),
         .line = line.place,
         .why = gap.why});
  }

  Assembly& assembly_;
  const Code& code_;
  std::string_view pass_;
  Report& report_;
  std::vector<Line> made_;
  int32_t at_ = 0;
};

}  // namespace

void insert_hooks(Assembly& assembly, const Code& code, const Findings& found,
                  std::string_view pass, Report& report) {
  std::vector<Gap> gaps = found.gaps;
  std::stable_sort(gaps.begin(), gaps.end(),
                   [](const Gap& one, const Gap& other) { return one.step < other.step; });
  Inserter(assembly, code, pass, report).run(gaps);
  assembly.locate();
}

}  // namespace guard
