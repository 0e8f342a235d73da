#include "merge_marks.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace guard {

namespace {

constexpr std::string_view kPlain = "wl_dev$", kManaged = "wl_man$";
constexpr std::string_view kManagedSection = ".data.wl_managed";

std::string_view last_name(const Names& names, std::string_view name) {
  const auto found = names.find(name);
  return found == names.end() ? name : found->second;
}

class Marker {
 public:
  Marker(Assembly& device, const NameSet& managed, const Names& names, const Allowed& allowed)
      : device_(device), allowed_(allowed), symbols_(symbols_of(device)) {
    for (const std::string_view name : managed) managed_.insert(last_name(names, name));
  }

  // Before an instruction that names a variable: once in each function, and in each part of it.
  void mark_functions() {
    std::vector<Line> lines;
    lines.reserve(device_.lines.size());
    std::set<std::pair<std::pair<int32_t, int32_t>, std::string_view>> done;
    for (const Line& line : device_.lines) {
      if (line.kind == Kind::Instruction && !line.name.starts_with("call")) {
        for (const std::string_view name : names_in(line)) {
          if (!may_be_variable(name)) continue;
          if (done.insert({{line.function, line.section}, name}).second) {
            lines.push_back(reference(name));
          }
        }
      }
      lines.push_back(line);
    }
    device_.lines = std::move(lines);
  }

  void mark_initializers(const Initializers& initializers, const Names& names) {
    for (const auto& [variable, named] : initializers) {
      auto& edges = edges_[last_name(names, variable)];
      for (const std::string_view name : named) {
        if (may_be_variable(last_name(names, name))) edges.insert(last_name(names, name));
      }
    }
  }

  void write() {
    while (!open_.empty()) {
      const std::string_view name = *open_.begin();
      open_.erase(open_.begin());
      if (!written_.insert(name).second) continue;
      const std::string_view mark = mark_of(name);
      add(".section", ".rodata." + std::string(mark) + ",\"a\",@progbits");
      Line label;
      label.kind = Kind::Label;
      label.is_ours = true;
      label.name = mark;
      device_.lines.push_back(label);
      if (const auto found = edges_.find(name); found != edges_.end()) {
        for (const std::string_view other : found->second) {
          device_.lines.push_back(reference(other));
        }
      }
      add(".byte", "0");
    }
  }

 private:
  // What this unit does not define may be another's variable.
  bool may_be_variable(std::string_view name) const {
    if (name.starts_with("DW.ref.") || name == "_GLOBAL_OFFSET_TABLE_") return false;
    const auto found = symbols_.find(name);
    return found != symbols_.end() && !found->second.function && !allowed_.has(name);
  }

  std::string_view mark_of(std::string_view name) {
    const std::string_view start = managed_.contains(name) ? kManaged : kPlain;
    return device_.keep(std::string(start) + std::string(name));
  }

  Line reference(std::string_view name) {
    open_.insert(name);
    Line line;
    line.kind = Kind::Directive;
    line.is_ours = true;
    line.name = ".reloc";
    line.rest = device_.keep("., BFD_RELOC_NONE, " + std::string(mark_of(name)));
    return line;
  }

  void add(std::string_view directive, std::string argument) {
    Line line;
    line.kind = Kind::Directive;
    line.is_ours = true;
    line.name = directive;
    line.rest = device_.keep(std::move(argument));
    device_.lines.push_back(line);
  }

  Assembly& device_;
  const Allowed& allowed_;
  const Symbols symbols_;
  NameSet managed_;
  std::map<std::string_view, std::set<std::string_view>> edges_;
  std::set<std::string_view> open_, written_;
};

}  // namespace

Initializers initializers_of(const Assembly& assembly, const Symbols& symbols) {
  Initializers found;
  std::string_view variable;
  for (const Line& line : assembly.lines) {
    if (line.kind == Kind::Label) {
      const auto symbol = symbols.find(line.name);
      const bool data = symbol != symbols.end() && !symbol->second.function;
      variable = data ? line.name : std::string_view();
    } else if (!variable.empty() && line.kind == Kind::Directive && !is_about_symbol(line)) {
      for (const std::string_view name : names_in(line)) {
        if (symbols.contains(name)) found[variable].insert(name);
      }
    }
  }
  return found;
}

NameSet managed_variables_of(const Assembly& assembly, const Symbols& symbols) {
  NameSet found;
  for (const auto& [name, symbol] : symbols) {
    if (symbol.label == kNone) continue;
    const Line& line = assembly.lines[static_cast<std::size_t>(symbol.label)];
    if (assembly.sections[line.section].name.starts_with(kManagedSection)) found.insert(name);
  }
  return found;
}

void mark_variables(Assembly& device, const Initializers& initializers, const NameSet& managed,
                    const Names& names, const Allowed& allowed) {
  Marker marker(device, managed, names, allowed);
  marker.mark_functions();
  marker.mark_initializers(initializers, names);
  marker.write();
}

}  // namespace guard
