#include <set>
#include <unordered_set>

#include "judge.h"

namespace guard {

namespace {

bool runs_by_itself(std::string_view section) {
  return section.starts_with(".init_array") || section.starts_with(".fini_array");
}

class Describer {
 public:
  Describer(const Assembly& assembly, const Code& code, PassReport& report)
      : assembly_(assembly), code_(code), report_(report) {}

  void describe() {
    find_defined();
    for (const Function& function : assembly_.functions) {
      report_.functions.emplace_back(function.name);
    }
    for (const Step& step : code_.steps) {
      if (!step.instruction.mnemonic) continue;
      const Line& line = assembly_.lines[step.line];
      for (int which = 0; which < step.instruction.count; which++) {
        use(line, step.instruction.operands[which].symbol);
      }
    }
    for (const Line& line : assembly_.lines) {
      if (line.kind == Kind::Directive && (line.name == ".quad" || line.name == ".long"))
        data(line);
    }
  }

 private:
  void find_defined() {
    std::unordered_set<std::string_view> shown;
    for (const Line& line : assembly_.lines) {
      if (line.kind == Kind::Label) {
        defined_.insert(line.name);
      } else if (line.kind == Kind::Directive) {
        const std::string_view first = line.rest.substr(0, line.rest.find(','));
        if (line.name == ".comm" || line.name == ".set" || line.name == ".equ") {
          defined_.insert(trimmed(first));
        }
        if (line.name == ".globl" || line.name == ".weak") shown.insert(line.rest);
      }
    }
    for (const std::string_view name : std::set<std::string_view>(shown.begin(), shown.end())) {
      if (defined_.contains(name)) report_.defined.emplace_back(name);
    }
  }

  void use(const Line& line, std::string_view symbol) {
    if (symbol.empty() || defined_.contains(symbol) || symbol == "1f") return;
    const std::string_view function =
        line.function == kNone ? std::string_view{} : assembly_.functions[line.function].name;
    if (!known_.emplace(function, symbol).second) return;
    report_.uses.push_back({std::string(function), std::string(symbol),
                            line.file == kNone ? "" : assembly_.files[line.file].path, line.place});
  }

  void data(const Line& line) {
    const std::string_view section = assembly_.sections[line.section].name;
    if (section.starts_with(".debug_")) return;
    for (const std::string_view part : split_arguments(line.rest)) {
      const std::string_view symbol = part.substr(0, part.find_first_of("+-@"));
      if (!is_symbol(symbol)) continue;
      if (runs_by_itself(section)) report_.init.emplace_back(symbol);
      use(line, symbol);
    }
  }

  const Assembly& assembly_;
  const Code& code_;
  PassReport& report_;
  std::unordered_set<std::string_view> defined_;
  std::set<std::pair<std::string_view, std::string_view>> known_;
};

}  // namespace

void describe(const Assembly& assembly, const Code& code, PassReport& report) {
  Describer(assembly, code, report).describe();
}

}  // namespace guard
