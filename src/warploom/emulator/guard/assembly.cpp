#include "assembly.h"

#include <charconv>
#include <unordered_map>
#include <utility>

namespace guard {

namespace {

bool is_space(char c) { return c == ' ' || c == '\t'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Where the comment begins; `ok` is false where a quote stays open or a letter is none of ours.
std::size_t comment_start(std::string_view text, bool& ok) {
  bool quoted = false;
  for (std::size_t at = 0; at < text.size(); at++) {
    const char c = text[at];
    if (quoted) {
      if (c == '\\') {
        at++;
      } else if (c == '"') {
        quoted = false;
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == '#') {
      return at;
    } else if ((c < ' ' && c != '\t') || c == 127 || c == ';' || c == '\'' || c == '\\') {
      ok = false;
    } else if (c == '/' && at + 1 < text.size() && (text[at + 1] == '*' || text[at + 1] == '/')) {
      ok = false;
    }
  }
  ok = ok && !quoted;
  return text.size();
}

bool is_prefix(std::string_view word) {
  return word == "lock" || word == "rep" || word == "repz" || word == "repnz" || word == "repe" ||
         word == "repne" || word == "notrack" || word == "bnd" || word == "data16" ||
         word == "rex64" || word == "cs" || word == "ds";
}

std::size_t word_end(std::string_view text, std::size_t at) {
  while (at < text.size() && !is_space(text[at])) at++;
  return at;
}

std::size_t skip_space(std::string_view text, std::size_t at) {
  while (at < text.size() && is_space(text[at])) at++;
  return at;
}

std::string_view unquoted(std::string_view text) {
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
    return text.substr(1, text.size() - 2);
  }
  return text;
}

// What each section's name means where the line says nothing.
Section section_of(std::string_view directive, std::string_view rest) {
  Section section;
  if (directive != ".section") {
    section.name = directive;
    section.executable = directive == ".text";
    return section;
  }
  std::vector<std::string_view> parts = split_arguments(rest);
  if (parts.empty()) return section;
  section.name = unquoted(parts[0]);
  if (parts.size() > 1) section.flags = unquoted(parts[1]);
  const bool has_flags = parts.size() > 1;
  const bool text =
      section.name.starts_with(".text") || section.name == ".init" || section.name == ".fini";
  section.executable = has_flags ? section.flags.find('x') != std::string_view::npos : text;
  const bool write =
      has_flags ? section.flags.find('w') != std::string_view::npos
                : section.name.starts_with(".data") || section.name.starts_with(".bss") ||
                      section.name.starts_with(".tdata") || section.name.starts_with(".tbss");
  section.read_only = !section.executable && !write;
  return section;
}

}  // namespace

bool is_symbol_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '.' ||
         c == '$';
}

bool is_symbol(std::string_view text) {
  if (text.empty() || is_digit(text[0]) || text[0] == '$') return false;
  for (char c : text) {
    if (!is_symbol_letter(c)) return false;
  }
  return true;
}

bool parse_integer(std::string_view text, int64_t& value) {
  bool negative = false;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  int base = 10;
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text[0] == '0') {
    base = 8;
  }
  uint64_t magnitude = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), magnitude, base);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return false;
  value = static_cast<int64_t>(negative ? 0 - magnitude : magnitude);
  return true;
}

bool is_integer(std::string_view text) {
  int64_t value = 0;
  return parse_integer(text, value);
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

void split_arguments(std::string_view rest, std::vector<std::string_view>& parts) {
  parts.clear();
  if (rest.empty()) return;
  int depth = 0;
  bool quoted = false;
  std::size_t start = 0;
  for (std::size_t at = 0; at < rest.size(); at++) {
    const char c = rest[at];
    if (quoted) {
      if (c == '\\') at++;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '(') {
      depth++;
    } else if (c == ')') {
      depth--;
    } else if (c == ',' && depth == 0) {
      parts.push_back(trimmed(rest.substr(start, at - start)));
      start = at + 1;
    }
  }
  parts.push_back(trimmed(rest.substr(start)));
}

std::vector<std::string_view> split_arguments(std::string_view rest) {
  std::vector<std::string_view> parts;
  split_arguments(rest, parts);
  return parts;
}

namespace {

// Clang writes string instructions with their operands, which they cannot choose.
bool parse_clang_string(std::string_view whole, Line& line) {
  for (const std::string_view known : {"rep movsb", "rep movsw", "rep movsl", "rep movsq",
                                       "rep stosb", "rep stosw", "rep stosl", "rep stosq"}) {
    const std::string_view name = known.substr(4);
    if (!whole.starts_with("rep;") || !whole.substr(4).starts_with(name)) continue;
    const std::string_view rest = trimmed(whole.substr(4 + name.size()));
    const bool copies = name.starts_with("movs");
    const bool fits = copies ? rest == "(%rsi), %es:(%rdi)"
                             : rest == "%al, %es:(%rdi)" || rest == "%ax, %es:(%rdi)" ||
                                   rest == "%eax, %es:(%rdi)" || rest == "%rax, %es:(%rdi)";
    if (!fits) return false;
    line.kind = Kind::Instruction;
    line.name = known;
    return true;
  }
  return false;
}

}  // namespace

Line parse_line(std::string_view text) {
  Line line;
  const std::string_view whole = trimmed(text);
  if (whole.starts_with("rep;") && parse_clang_string(whole, line)) return line;
  if (whole == "#APP" || whole == "#NO_APP") {
    line.kind = Kind::Marker;
    line.name = whole;
    return line;
  }
  bool ok = true;
  const std::string_view code = trimmed(text.substr(0, comment_start(text, ok)));
  if (!ok) {
    line.kind = Kind::Unreadable;
    line.rest = whole;
    return line;
  }
  if (code.empty()) return line;
  if (code.back() == ':' && code.find('"') == std::string_view::npos) {
    line.name = trimmed(code.substr(0, code.size() - 1));
    line.kind = is_symbol(line.name) || is_integer(line.name) ? Kind::Label : Kind::Unreadable;
    if (line.kind == Kind::Unreadable) line.rest = whole;
    return line;
  }
  std::size_t end = word_end(code, 0);
  if (code[0] == '.') {
    line.kind = Kind::Directive;
  } else {
    line.kind = Kind::Instruction;
    while (is_prefix(code.substr(code.find_last_of(" \t", end - 1) + 1,
                                 end - 1 - code.find_last_of(" \t", end - 1))) &&
           end < code.size()) {
      end = word_end(code, skip_space(code, end));
    }
  }
  line.name = code.substr(0, end);
  line.rest = trimmed(code.substr(end));
  return line;
}

Assembly::Assembly(std::string text) : text_(std::move(text)) {
  read();
  locate();
}

void Assembly::read() {
  const std::string_view all = text_;
  lines.reserve(all.size() / 12);
  int32_t number = 0;
  for (std::size_t at = 0; at < all.size();) {
    std::size_t end = all.find('\n', at);
    if (end == std::string_view::npos) end = all.size();
    Line line = parse_line(all.substr(at, end - at));
    line.number = ++number;
    if (line.kind != Kind::Blank) lines.push_back(line);
    at = end + 1;
  }
}

namespace {

// Walks over the lines and notes for each where it is.
class Locator {
 public:
  explicit Locator(Assembly& assembly) : assembly_(assembly) {
    // A symbol may be given its type behind its label.
    for (const Line& line : assembly.lines) {
      if (line.kind != Kind::Directive || line.name != ".type") continue;
      split_arguments(line.rest, parts_);
      if (parts_.size() == 2 && parts_[1].find("function") != std::string_view::npos) {
        functions_.emplace(parts_[0], kNone);
      }
    }
    sections_.emplace(".text", 0);
    assembly.sections.assign(1, section_of(".text", ""));
  }

  void walk() {
    for (int32_t at = 0; at < static_cast<int32_t>(assembly_.lines.size()); at++) {
      Line& line = assembly_.lines[at];
      if (line.kind == Kind::Directive) directive(line, at);
      if (line.kind == Kind::Marker) app_ = line.name == "#APP";
      if (line.kind == Kind::Label) label(line, at);
      line.in_app = app_ && line.kind != Kind::Marker;
      line.section = section_;
      line.function = assembly_.sections[section_].executable ? current_[section_] : kNone;
      line.file = file_;
      line.place = place_;
    }
  }

 private:
  void directive(const Line& line, int32_t at) {
    if (line.name == ".loc") {
      loc(line.rest);
    } else if (line.name == ".size") {
      size(line.rest, at);
    } else if (line.name == ".file") {
      file(line.rest);
    } else if (line.name == ".text" || line.name == ".data" || line.name == ".bss" ||
               line.name == ".section") {
      enter(section_of(line.name, line.rest));
    } else if (line.name == ".previous") {
      std::swap(section_, previous_);
    } else if (line.name == ".pushsection") {
      stack_.push_back(section_);
      enter(section_of(".section", line.rest));
    } else if (line.name == ".popsection" && !stack_.empty()) {
      section_ = stack_.back();
      stack_.pop_back();
    }
  }

  void enter(const Section& section) {
    const auto [found, fresh] =
        sections_.emplace(section.name, static_cast<int32_t>(assembly_.sections.size()));
    if (fresh) assembly_.sections.push_back(section);
    previous_ = section_;
    section_ = found->second;
    if (current_.size() <= static_cast<std::size_t>(section_)) current_.resize(section_ + 1, kNone);
  }

  void label(const Line& line, int32_t at) {
    const auto found = functions_.find(line.name);
    if (found == functions_.end()) return;
    found->second = static_cast<int32_t>(assembly_.functions.size());
    assembly_.functions.push_back({line.name, at, at});
    current_[section_] = found->second;
  }

  void size(std::string_view rest, int32_t at) {
    const std::string_view name = trimmed(rest.substr(0, rest.find(',')));
    const auto found = functions_.find(name);
    if (found == functions_.end() || found->second == kNone) return;
    assembly_.functions[found->second].last = at;
    if (current_[section_] == found->second) current_[section_] = kNone;
  }

  // .loc FILE LINE ...
  void loc(std::string_view rest) {
    const std::size_t gap = rest.find_first_of(" \t");
    if (gap == std::string_view::npos) return;
    const std::string_view second = trimmed(rest.substr(gap));
    int64_t number = 0, place = 0;
    if (!parse_integer(rest.substr(0, gap), number) ||
        !parse_integer(second.substr(0, second.find_first_of(" \t")), place)) {
      return;
    }
    const auto found = numbers_.find(static_cast<int32_t>(number));
    file_ = found == numbers_.end() ? kNone : found->second;
    place_ = static_cast<int32_t>(place);
  }

  // .file NUMBER ["FOLDER"] "NAME" ...
  void file(std::string_view rest) {
    const std::size_t gap = rest.find_first_of(" \t");
    int64_t number = 0;
    if (gap == std::string_view::npos || !parse_integer(rest.substr(0, gap), number)) return;
    std::string path;
    std::size_t at = gap;
    while ((at = skip_space(rest, at)) < rest.size() && rest[at] == '"') {
      const std::size_t end = rest.find('"', at + 1);
      if (end == std::string_view::npos) return;
      const std::string_view part = rest.substr(at + 1, end - at - 1);
      path = path.empty() || part.starts_with('/') ? std::string(part)
                                                   : path + "/" + std::string(part);
      at = end + 1;
    }
    numbers_[static_cast<int32_t>(number)] = static_cast<int32_t>(assembly_.files.size());
    assembly_.files.push_back({static_cast<int32_t>(number), path});
  }

  Assembly& assembly_;
  std::vector<std::string_view> parts_;
  std::unordered_map<std::string_view, int32_t> functions_, sections_;
  std::unordered_map<int32_t, int32_t> numbers_;
  std::vector<int32_t> stack_, current_ = {kNone};
  int32_t section_ = 0, previous_ = 0, file_ = kNone, place_ = 0;
  bool app_ = false;
};

}  // namespace

void Assembly::locate() {
  sections.clear();
  functions.clear();
  files.clear();
  Locator(*this).walk();
}

std::string_view Assembly::keep(std::string text) { return kept_.emplace_back(std::move(text)); }

std::string Assembly::written() const {
  std::string out;
  out.reserve(text_.size() + text_.size() / 4);
  for (const Line& line : lines) {
    if (line.kind == Kind::Blank || line.kind == Kind::Marker) continue;
    if (line.kind != Kind::Label) out += '\t';
    out += line.name;
    if (line.kind == Kind::Label) {
      out += ':';
    } else if (!line.rest.empty()) {
      out += '\t';
      out += line.rest;
    }
    out += '\n';
  }
  return out;
}

}  // namespace guard
