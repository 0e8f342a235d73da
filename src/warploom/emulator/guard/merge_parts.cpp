#include "merge_parts.h"

#include <algorithm>

namespace guard {

namespace {

constexpr std::string_view kKernelSection = "__patchable_function_entries";
constexpr std::string_view kMark = "wl_mark_";

const NameSet kData = {".byte",     ".value",    ".short",  ".2byte",  ".long",  ".int",
                       ".4byte",    ".quad",     ".8byte",  ".octa",   ".zero",  ".skip",
                       ".space",    ".fill",     ".string", ".ascii",  ".asciz", ".string8",
                       ".string16", ".string32", ".float",  ".double", ".base64"};

bool is_data(const Line& line) { return line.kind == Kind::Directive && kData.contains(line.name); }

// What is said of a symbol, and a further name for one, may stand anywhere.
bool is_of_no_section(const Line& line) { return is_about_symbol(line) || is_alias(line); }

void remove_blank(Assembly& assembly) {
  std::erase_if(assembly.lines, [](const Line& line) { return line.kind == Kind::Blank; });
}

bool is_start(std::string_view section) {
  for (const std::string_view name :
       {".init_array", ".preinit_array", ".fini_array", ".ctors", ".dtors"}) {
    if (section.starts_with(name)) return true;
  }
  return false;
}

// Whether a line of a function has to stay for the tables that describe it.
bool describes(const Line& line) {
  if (line.kind == Kind::Label) return true;
  if (line.kind != Kind::Directive) return false;
  return line.name.starts_with(".cfi_") || line.name == ".section" || line.name == ".text" ||
         line.name == ".previous" || line.name == ".pushsection" || line.name == ".popsection" ||
         line.name == ".type" || line.name == ".size" || line.name == ".file";
}

// The part that the compiler put out of the way: `k.cold` of `k`.
std::string_view whole_of(std::string_view function) {
  const std::size_t at = function.find(".cold");
  return at == std::string_view::npos ? function : function.substr(0, at);
}

}  // namespace

NameSet take_kernels(Assembly& assembly) {
  NameSet entries, kernels;
  for (Line& line : assembly.lines) {
    if (assembly.sections[line.section].name != kKernelSection) continue;
    if (line.kind == Kind::Directive && line.name == ".quad") entries.insert(line.rest);
    if (!is_of_no_section(line)) line.kind = Kind::Blank;
  }
  if (entries.empty()) return kernels;
  for (const Line& line : assembly.lines) {
    if (line.kind == Kind::Label && line.function != kNone && entries.contains(line.name)) {
      kernels.insert(assembly.functions[line.function].name);
    }
  }
  remove_blank(assembly);
  assembly.locate();
  return kernels;
}

NameSet device_variables_of(const Assembly& assembly, const Symbols& symbols) {
  NameSet found;
  for (const auto& [name, symbol] : symbols) {
    if (name.find(kMark) == std::string_view::npos || symbol.label == kNone) continue;
    const auto at = static_cast<std::size_t>(symbol.label) + 1;
    if (at >= assembly.lines.size() || assembly.lines[at].name != ".quad") continue;
    if (symbols.contains(assembly.lines[at].rest)) found.insert(assembly.lines[at].rest);
  }
  return found;
}

void hollow(Assembly& assembly, const Names& names) {
  std::vector<Line> kept;
  kept.reserve(assembly.lines.size());
  for (Line& line : assembly.lines) {
    const bool inside =
        line.function != kNone && names.contains(whole_of(assembly.functions[line.function].name));
    if (inside && !describes(line)) continue;
    const auto found = line.kind == Kind::Label ? names.find(line.name)
                       : is_about_symbol(line)  ? names.find(first_argument(line))
                                                : names.end();
    if (found == names.end()) {
      kept.push_back(line);
    } else if (line.kind == Kind::Label) {
      line.name = found->second;
      kept.push_back(line);
      Line trap = line;
      trap.kind = Kind::Instruction;
      trap.is_ours = true;
      trap.name = "ud2";
      trap.rest = {};
      kept.push_back(trap);
    } else if (line.name == ".type" || line.name == ".size") {
      std::string text;
      for (std::size_t at = 0; at < line.rest.size();) {
        const bool here = line.rest.substr(at).starts_with(found->first) &&
                          (at == 0 || !is_symbol_letter(line.rest[at - 1])) &&
                          (at + found->first.size() == line.rest.size() ||
                           !is_symbol_letter(line.rest[at + found->first.size()]));
        // `.-k` ends in the name too, behind a dot and a minus sign.
        text += here ? found->second : line.rest.substr(at, 1);
        at += here ? found->first.size() : 1;
      }
      line.rest = assembly.keep(std::move(text));
      kept.push_back(line);
    }
  }
  assembly.lines = std::move(kept);
  rename_groups(assembly, names);
}

void drop_data(Assembly& assembly, const NameSet& names) {
  bool dropping = false;
  for (Line& line : assembly.lines) {
    if (line.kind == Kind::Label) {
      dropping = names.contains(line.name);
      if (dropping) line.kind = Kind::Blank;
    } else if (dropping && is_data(line)) {
      line.kind = Kind::Blank;
    } else {
      dropping = false;
      if (is_about_symbol(line) && names.contains(first_argument(line))) line.kind = Kind::Blank;
    }
  }
  remove_blank(assembly);
}

void drop_start(Assembly& assembly) {
  for (Line& line : assembly.lines) {
    if (is_start(assembly.sections[line.section].name) && !is_of_no_section(line)) {
      line.kind = Kind::Blank;
    }
  }
  remove_blank(assembly);
}

}  // namespace guard
