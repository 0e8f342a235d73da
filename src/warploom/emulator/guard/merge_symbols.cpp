#include "merge_symbols.h"

#include <string>
#include <utility>

namespace guard {

namespace {

// Directives whose arguments are expressions or symbols.
const std::unordered_set<std::string_view> kNaming = {".globl",      ".global",
                                                      ".weak",       ".local",
                                                      ".hidden",     ".protected",
                                                      ".internal",   ".type",
                                                      ".size",       ".comm",
                                                      ".lcomm",      ".set",
                                                      ".equ",        ".quad",
                                                      ".8byte",      ".long",
                                                      ".4byte",      ".int",
                                                      ".value",      ".short",
                                                      ".2byte",      ".byte",
                                                      ".octa",       ".uleb128",
                                                      ".sleb128",    ".cfi_personality",
                                                      ".cfi_lsda",   ".symver",
                                                      ".weakref",    ".reloc",
                                                      ".addrsig_sym"};
const std::unordered_set<std::string_view> kAbout = {".globl",  ".global",    ".weak",     ".local",
                                                     ".hidden", ".protected", ".internal", ".type",
                                                     ".size",   ".comm"};

// Digits are a label for the lines around it.
bool is_compilers_label(std::string_view name) {
  return name.starts_with(".L") || !is_symbol(name);
}

bool names_symbols(const Line& line) {
  if (line.kind == Kind::Instruction) return true;
  return line.kind == Kind::Directive && kNaming.contains(line.name);
}

// Calls `visit(position, name)` for each symbol among the operands or arguments.
template <class Visit>
void for_each_name(std::string_view rest, Visit&& visit) {
  for (std::size_t at = 0; at < rest.size(); at++) {
    if (rest[at] == '"') {
      for (at++; at < rest.size() && rest[at] != '"'; at++) {
        if (rest[at] == '\\') at++;
      }
      continue;
    }
    if (!is_symbol_letter(rest[at])) continue;
    const std::size_t start = at;
    const char before = at > 0 ? rest[at - 1] : ' ';
    while (at < rest.size() && is_symbol_letter(rest[at])) at++;
    std::string_view name = rest.substr(start, at - start);
    at--;
    if (before == '%' || before == '@') continue;  // a register, or how a symbol is reached
    std::size_t first = 0;
    while (first < name.size() && name[first] == '$') first++;  // an immediate operand
    name.remove_prefix(first);
    if (name != "." && is_symbol(name)) visit(start + first, name);
  }
}

// Returns where in the arguments of .section the group stands; an empty view without one.
std::string_view group_of(const Line& line) {
  if (line.kind != Kind::Directive || line.name != ".section") return {};
  const auto parts = split_arguments(line.rest);
  if (parts.size() < 4 || parts[1].find('G') == std::string_view::npos) return {};
  std::size_t at = 3;
  for (const char flag : {'M', 'o'}) at += parts[1].find(flag) != std::string_view::npos ? 1 : 0;
  return at < parts.size() ? parts[at] : std::string_view();
}

bool is_read_only(const Section& section) {
  return section.read_only || section.name.starts_with(".data.rel.ro");
}

class Reader {
 public:
  explicit Reader(const Assembly& assembly) : assembly_(assembly) {
    for (const Line& line : assembly.lines) {
      if (line.kind == Kind::Label && is_compilers_label(line.name)) labels_.insert(line.name);
      // A constant that is a part of another one: `.set .LC8,.LC7+4`.
      if (is_alias(line) && is_compilers_label(first_argument(line))) {
        labels_.insert(first_argument(line));
      }
    }
  }

  Symbols read() {
    for (int32_t at = 0; at < static_cast<int32_t>(assembly_.lines.size()); at++) {
      const Line& line = assembly_.lines[at];
      if (line.kind == Kind::Label && !is_compilers_label(line.name)) {
        Symbol& symbol = found_[line.name];
        symbol.defined = true;
        symbol.label = at;
        const Section& section = assembly_.sections[line.section];
        symbol.read_only = is_read_only(section);
        symbol.function = symbol.function || section.executable;
      }
      if (!names_symbols(line)) continue;
      for_each_name(line.rest, [&](std::size_t, std::string_view name) {
        // A label that nobody defines is a symbol like any other to the linker.
        if (is_compilers_label(name) && labels_.contains(name)) return;
        const auto [entry, fresh] = found_.try_emplace(name);
        if (fresh) entry->second.mention = at;
      });
      if (line.kind == Kind::Directive) directive(line);
    }
    for (const auto& [name, target] : aliases_) alias(name, target);
    return std::move(found_);
  }

 private:
  void directive(const Line& line) {
    const std::string_view name = first_argument(line);
    const auto entry = found_.find(name);
    if (entry == found_.end()) return;
    Symbol& symbol = entry->second;
    if (line.name == ".globl" || line.name == ".global" || line.name == ".weak") {
      symbol.global = true;
    } else if (line.name == ".hidden") {
      symbol.is_hidden = true;
    } else if (line.name == ".local") {
      locals_.insert(name);
    } else if (line.name == ".comm" || line.name == ".lcomm") {
      symbol.defined = true;
      symbol.global = line.name == ".comm" && !locals_.contains(name);
      symbol.size = split_arguments(line.rest)[1];
    } else if (is_alias(line)) {
      symbol.defined = true;
      const auto parts = split_arguments(line.rest);
      if (parts.size() == 2) aliases_.emplace_back(name, parts[1]);
    } else if (line.name == ".type") {
      symbol.function = symbol.function || line.rest.find("function") != std::string_view::npos;
    } else if (line.name == ".size") {
      const auto parts = split_arguments(line.rest);
      if (parts.size() == 2 && is_integer(parts[1])) symbol.size = parts[1];
    }
  }

  // Another name is what it stands for: g++ has one constructor under two names.
  void alias(std::string_view name, std::string_view target) {
    const auto meant = found_.find(target);
    if (meant == found_.end()) return;
    Symbol& symbol = found_.at(name);
    symbol.function = symbol.function || meant->second.function;
    symbol.read_only = symbol.read_only || meant->second.read_only;
  }

  const Assembly& assembly_;
  Symbols found_;
  std::unordered_set<std::string_view> labels_, locals_;
  std::vector<std::pair<std::string_view, std::string_view>> aliases_;
};

}  // namespace

Symbols symbols_of(const Assembly& assembly) { return Reader(assembly).read(); }

std::vector<std::string_view> names_in(const Line& line) {
  std::vector<std::string_view> found;
  if (!names_symbols(line)) return found;
  for_each_name(line.rest, [&](std::size_t, std::string_view name) { found.push_back(name); });
  return found;
}

void rename_symbols(Assembly& assembly, const Names& names) {
  std::string out;
  for (Line& line : assembly.lines) {
    if (line.kind == Kind::Label) {
      const auto found = names.find(line.name);
      if (found != names.end()) line.name = found->second;
      continue;
    }
    if (!names_symbols(line)) continue;
    std::size_t copied = 0;
    out.clear();
    for_each_name(line.rest, [&](std::size_t at, std::string_view name) {
      const auto found = names.find(name);
      if (found == names.end()) return;
      out += line.rest.substr(copied, at - copied);
      out += found->second;
      copied = at + name.size();
    });
    if (copied == 0) continue;
    out += line.rest.substr(copied);
    line.rest = assembly.keep(out);
  }
}

std::unordered_set<std::string_view> groups_of(const Assembly& assembly) {
  std::unordered_set<std::string_view> found;
  for (const Line& line : assembly.lines) {
    if (const std::string_view group = group_of(line); !group.empty()) found.insert(group);
  }
  return found;
}

void rename_groups(Assembly& assembly, const Names& names) {
  for (Line& line : assembly.lines) {
    const std::string_view group = group_of(line);
    const auto found = group.empty() ? names.end() : names.find(group);
    if (found == names.end()) continue;
    const auto at = static_cast<std::size_t>(group.data() - line.rest.data());
    std::string text(line.rest.substr(0, at));
    text += found->second;
    text += line.rest.substr(at + group.size());
    line.rest = assembly.keep(std::move(text));
  }
}

bool is_about_symbol(const Line& line) {
  return line.kind == Kind::Directive && kAbout.contains(line.name);
}

bool is_alias(const Line& line) {
  return line.kind == Kind::Directive && (line.name == ".set" || line.name == ".equ");
}

std::string_view first_argument(const Line& line) {
  return trimmed(line.rest.substr(0, line.rest.find(',')));
}

}  // namespace guard
