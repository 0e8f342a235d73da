#include "judge.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "hooks.h"

namespace guard {

namespace {

using Parts = std::vector<std::string_view>;

bool is_string(std::string_view text) {
  return text.size() >= 2 && text.front() == '"' && text.back() == '"';
}

// A sum of symbols and numbers: "a-b+4", ".-a", "a@PLT".
bool is_sum(std::string_view text) {
  if (text.empty()) return false;
  std::size_t at = 0;
  while (at < text.size()) {
    if (text[at] == '-' || text[at] == '+') at++;
    const std::size_t start = at;
    while (at < text.size() && text[at] != '-' && text[at] != '+') at++;
    std::string_view part = text.substr(start, at - start);
    const std::size_t sign = part.find('@');
    if (sign != std::string_view::npos) {
      const std::string_view kind = part.substr(sign + 1);
      if (kind != "PLT" && kind != "GOTPCREL" && kind != "dtpoff" && kind != "DTPOFF") return false;
      part = part.substr(0, sign);
    }
    if (!is_symbol(part) && !is_integer(part)) return false;
  }
  return true;
}

bool all(const Parts& parts, bool (*test)(std::string_view)) {
  return !parts.empty() && std::all_of(parts.begin(), parts.end(), test);
}

bool is_words(std::string_view rest) {
  return std::all_of(rest.begin(), rest.end(), [](char c) {
    return is_symbol_letter(c) || c == ' ' || c == '\t' || c == '-';
  });
}

// NUMBER "FOLDER" "NAME" [md5 HASH], or "NAME"
bool is_file(std::string_view rest) {
  int strings = 0;
  while (!(rest = trimmed(rest)).empty()) {
    if (rest[0] == '"') {
      std::size_t end = 1;
      while (end < rest.size() && rest[end] != '"') end += rest[end] == '\\' ? 2 : 1;
      if (end >= rest.size()) return false;
      rest.remove_prefix(end + 1);
      strings++;
    } else {
      const std::string_view word = rest.substr(0, rest.find_first_of(" \t"));
      if (word != "md5" && !is_integer(word)) return false;
      rest.remove_prefix(word.size());
    }
  }
  return strings >= 1 && strings <= 2;
}

bool is_known_section(std::string_view name) {
  if (name == ".note.GNU-stack" || name == "__patchable_function_entries") return true;
  if (name.empty() || !std::all_of(name.begin(), name.end(), is_symbol_letter)) return false;
  if (name[0] != '.') return !name.starts_with("warploom") && !name.starts_with("__");
  for (const std::string_view known : {".text",
                                       ".data",
                                       ".bss",
                                       ".rodata",
                                       ".tdata",
                                       ".tbss",
                                       ".init_array",
                                       ".fini_array",
                                       ".gcc_except_table",
                                       ".debug_info",
                                       ".debug_abbrev",
                                       ".debug_aranges",
                                       ".debug_line",
                                       ".debug_line_str",
                                       ".debug_loc",
                                       ".debug_loclists",
                                       ".debug_ranges",
                                       ".debug_rnglists",
                                       ".debug_str",
                                       ".debug_str_offsets",
                                       ".debug_addr",
                                       ".debug_frame",
                                       ".debug_names",
                                       ".debug_macro",
                                       ".debug_pubnames",
                                       ".debug_pubtypes",
                                       ".debug_gnu_pubnames",
                                       ".debug_gnu_pubtypes",
                                       ".debug_types",
                                       ".comment"}) {
    if (name == known) return true;
    const bool may_go_on = !known.starts_with(".debug_") && known != ".comment";
    if (may_go_on && name.starts_with(known) && name[known.size()] == '.') return true;
  }
  return false;
}

bool is_section(const Parts& parts) {
  if (parts.empty() || parts.size() > 7) return false;
  // Clang's, always empty.
  if (parts.size() == 3 && parts[0] == "\".linker-options\"") {
    return parts[1] == "\"e\"" && parts[2] == "@llvm_linker_options";
  }
  std::string_view name = parts[0];
  if (is_string(name)) name = name.substr(1, name.size() - 2);
  if (!is_known_section(name)) return false;
  if (parts.size() == 1) return true;
  if (!is_string(parts[1])) return false;
  const std::string_view flags = parts[1].substr(1, parts[1].size() - 2);
  if (flags.find_first_not_of("awxoMSGTR") != std::string_view::npos) return false;
  const auto has = [&](char flag) { return flags.find(flag) != std::string_view::npos; };
  if (has('w') && has('x')) return false;
  // What is called code by its name is code, and nothing else is.
  if (has('x') != name.starts_with(".text")) return false;
  if (name.starts_with(".debug_") && has('a')) return false;
  for (std::size_t at = 2; at < parts.size(); at++) {
    const std::string_view part = parts[at];
    const bool type =
        part == "@progbits" || part == "@nobits" || part == "@init_array" || part == "@fini_array";
    if (at == 2 ? !type : !is_symbol(part) && !is_integer(part)) return false;
  }
  return true;
}

// Only what compilers write: the size of arguments, and where a realigned frame lies.
bool is_escape(const Parts& parts) {
  if (!all(parts, is_integer)) return false;
  int64_t bytes[8] = {};
  if (parts.size() > 8) return false;
  for (std::size_t at = 0; at < parts.size(); at++) parse_integer(parts[at], bytes[at]);
  if (bytes[0] == 0x2e) return parts.size() >= 2 && parts.size() <= 5;
  if (bytes[0] == 0x0f) {
    return parts.size() >= 5 && bytes[1] == static_cast<int64_t>(parts.size()) - 2 &&
           bytes[2] >= 0x70 && bytes[2] <= 0x7f && bytes[parts.size() - 1] == 6;
  }
  return bytes[0] == 0x10 && parts.size() >= 5 && bytes[1] <= 16 &&
         bytes[2] == static_cast<int64_t>(parts.size()) - 3 && bytes[3] >= 0x70 && bytes[3] <= 0x7f;
}

bool is_frame_word(const Line& line, const Parts& parts) {
  const std::string_view name = line.name;
  if (name == ".cfi_escape") return is_escape(parts);
  if (name == ".cfi_personality") {
    return parts.size() == 2 && is_integer(parts[0]) &&
           (parts[1] == "DW.ref.__gxx_personality_v0" || parts[1] == "__gxx_personality_v0" ||
            parts[1] == "DW.ref.__gcc_personality_v0" || parts[1] == "__gcc_personality_v0");
  }
  if (name == ".cfi_lsda") {
    return parts.size() == 2 && is_integer(parts[0]) && parts[1].starts_with(".L");
  }
  if (name == ".cfi_sections") return line.rest == ".debug_frame";
  for (const std::string_view known :
       {".cfi_startproc", ".cfi_endproc", ".cfi_def_cfa", ".cfi_def_cfa_register",
        ".cfi_def_cfa_offset", ".cfi_adjust_cfa_offset", ".cfi_offset", ".cfi_rel_offset",
        ".cfi_remember_state", ".cfi_restore_state", ".cfi_restore", ".cfi_undefined",
        ".cfi_same_value"}) {
    if (name == known) {
      return std::all_of(parts.begin(), parts.end(), [](std::string_view part) {
        return is_integer(part) || part.starts_with("%r") || part == "simple" || is_symbol(part);
      });
    }
  }
  return false;
}

bool is_alignment(const Line& line, const Parts& parts, bool code) {
  if (parts.empty() || parts.size() > 3 || !is_integer(parts[0])) return false;
  int64_t fill = 0;
  if (parts.size() > 1 && !parts[1].empty()) {
    if (!parse_integer(parts[1], fill)) return false;
    if (code && fill != 0x90) return false;
  }
  int64_t amount = 0;
  parse_integer(parts[0], amount);
  if (amount < 0 || amount > (line.name == ".p2align" ? 20 : 1 << 20)) return false;
  return parts.size() < 3 || is_integer(parts[2]);
}

enum class Word : uint8_t {
  Section,
  Symbol,
  Type,
  Size,
  Common,
  Set,
  Align,
  Data,
  Text,
  Fill,
  File,
  Words,
  String,
  Empty,
};

const std::unordered_map<std::string_view, Word>& words() {
  static const std::unordered_map<std::string_view, Word> known = {
      {".text", Word::Empty},       {".data", Word::Empty},      {".bss", Word::Empty},
      {".section", Word::Section},  {".globl", Word::Symbol},    {".global", Word::Symbol},
      {".weak", Word::Symbol},      {".hidden", Word::Symbol},   {".local", Word::Symbol},
      {".protected", Word::Symbol}, {".internal", Word::Symbol}, {".addrsig_sym", Word::Symbol},
      {".type", Word::Type},        {".size", Word::Size},       {".comm", Word::Common},
      {".set", Word::Set},          {".equ", Word::Set},         {".align", Word::Align},
      {".p2align", Word::Align},    {".balign", Word::Align},    {".byte", Word::Data},
      {".value", Word::Data},       {".short", Word::Data},      {".2byte", Word::Data},
      {".long", Word::Data},        {".int", Word::Data},        {".4byte", Word::Data},
      {".quad", Word::Data},        {".8byte", Word::Data},      {".uleb128", Word::Data},
      {".sleb128", Word::Data},     {".zero", Word::Fill},       {".skip", Word::Fill},
      {".space", Word::Fill},       {".string", Word::Text},     {".ascii", Word::Text},
      {".asciz", Word::Text},       {".file", Word::File},       {".loc", Word::Words},
      {".ident", Word::String},     {".addrsig", Word::Empty},
  };
  return known;
}

bool is_fill(const Parts& parts) {
  constexpr int64_t kMost = int64_t{1} << 31;
  int64_t bytes = 0;
  return !parts.empty() && parts.size() <= 2 && parse_integer(parts[0], bytes) && bytes >= 0 &&
         bytes < kMost && (parts.size() == 1 || is_integer(parts[1]));
}

bool is_type(std::string_view text) {
  return text == "@function" || text == "@object" || text == "@tls_object" || text == "@notype";
}

// Why the directive is refused, or nothing.
const char* problem(const Line& line, const Section& section, Parts& parts) {
  const auto found = words().find(line.name);
  if (found == words().end() && line.name.starts_with(".cfi_")) {
    split_arguments(line.rest, parts);
    return is_frame_word(line, parts) ? nullptr : "this is no frame information of a compiler";
  }
  if (found == words().end()) return "this directive is not in the list of those that are needed";
  const Word word = found->second;
  const char* const bad = "its arguments are none that a compiler writes";
  const bool data = word == Word::Data || word == Word::Text || word == Word::Fill;
  if (data && section.executable) return "there is data among the instructions";
  if (word == Word::Words) return is_words(line.rest) ? nullptr : bad;
  if (word == Word::File) return is_file(line.rest) ? nullptr : bad;
  if (word == Word::Empty) return line.rest.empty() ? nullptr : bad;
  split_arguments(line.rest, parts);
  bool good = false;
  switch (word) {
    case Word::Section:
      good = is_section(parts);
      break;
    case Word::Symbol:
      good = parts.size() == 1 && is_symbol(parts[0]);
      break;
    case Word::Type:
      good = parts.size() == 2 && is_symbol(parts[0]) && is_type(parts[1]);
      break;
    case Word::Size:
      good = parts.size() == 2 && is_symbol(parts[0]) && is_sum(parts[1]);
      break;
    case Word::Common:
      good = parts.size() >= 2 && parts.size() <= 3 && is_symbol(parts[0]) &&
             is_integer(parts[1]) && (parts.size() == 2 || is_integer(parts[2]));
      break;
    case Word::Set:
      // A constant may be a part of another one.
      good = parts.size() == 2 && is_symbol(parts[0]) &&
             (is_symbol(parts[1]) ||
              (parts[0].starts_with(".LC") && parts[1].starts_with(".LC") && is_sum(parts[1])));
      break;
    case Word::Align:
      good = is_alignment(line, parts, section.executable);
      break;
    case Word::Data:
      good = all(parts, is_sum);
      break;
    case Word::Fill:
      good = is_fill(parts);
      break;
    case Word::Text:
    case Word::String:
      good = all(parts, is_string);
      break;
    default:
      break;
  }
  return good ? nullptr : bad;
}

// What host code may write in assembly: nothing of it touches memory.
bool is_harmless(const Line& line, std::string_view pass) {
  if (!line.rest.empty() || pass != "host") return false;
  for (const std::string_view known :
       {"nop", "pause", "mfence", "lfence", "sfence", "rdtsc", "cpuid"}) {
    if (line.name == known) return true;
  }
  return false;
}

bool is_of_wait(const Assembly& assembly, int32_t at) {
  return is_wait(assembly, at) || is_wait(assembly, at + 1) || is_wait(assembly, at - 1);
}

bool is_padding(const Line& line) {
  return (line.kind == Kind::Directive && ((line.name == ".byte" && line.rest == "0x66") ||
                                           (line.name == ".value" && line.rest == "0x6666"))) ||
         (line.kind == Kind::Instruction && line.name == "rex64" && line.rest.empty());
}

bool is_thread_address(const Line& line) {
  const bool loads =
      line.name == "leaq" || (line.name.starts_with("data16") && line.name.ends_with("leaq"));
  return line.kind == Kind::Instruction && loads &&
         (line.rest.ends_with("@tlsgd(%rip), %rdi") || line.rest.ends_with("@TLSGD(%rip), %rdi"));
}

// Linkers need the padding where they make the code simpler, which those of shared objects do not.
void drop_padding(Assembly& assembly) {
  auto& lines = assembly.lines;
  for (std::size_t at = 0; at < lines.size(); at++) {
    if (!is_thread_address(lines[at])) continue;
    lines[at].name = "leaq";
    if (at > 0 && is_padding(lines[at - 1])) lines[at - 1].kind = Kind::Blank;
    for (std::size_t next = at + 1; next < lines.size() && is_padding(lines[next]); next++) {
      lines[next].kind = Kind::Blank;
    }
  }
}

// Where tables of exceptions find types and the function that reads them: the C++ library calls
// what it finds there. As compilers write it the program could change it.
constexpr std::string_view kIndirect = ".DW.ref.";

void make_constant(Assembly& assembly, Line& line) {
  if (line.kind != Kind::Directive || line.name != ".section") return;
  const std::string_view name = line.rest.substr(0, line.rest.find(','));
  const std::size_t at = name.find(kIndirect);
  if (at == std::string_view::npos || !name.starts_with(".data")) return;
  line.rest = assembly.keep(".data.rel.ro.local" + std::string(line.rest.substr(at)));
}

// Behind assembly outside of functions, as newer <iostream> has, g++ writes the strings of the next
// function before it says that the assembly has ended. It names a section's flags once.
bool is_of_strings(const Assembly& assembly, const Line& line) {
  if (line.kind != Kind::Directive) return false;
  const bool known = assembly.sections[line.section].flags == "aMS";
  if (line.name == ".section") {
    const bool flags = line.rest.find(",\"aMS\",") != line.rest.npos;
    const bool again = known && line.rest.find(',') == line.rest.npos;
    return line.rest.starts_with(".rodata") && (flags || again);
  }
  return known && (line.name == ".string" || line.name == ".ascii" || line.name == ".align");
}

bool may_stand(const Assembly& assembly, const Line& line) {
  return !line.name.starts_with(kIndirect.substr(1)) ||
         assembly.sections[line.section].name.find(kIndirect) != std::string_view::npos;
}

}  // namespace

void judge(Assembly& assembly, std::string_view pass, Report& report) {
  drop_padding(assembly);
  for (Line& line : assembly.lines) make_constant(assembly, line);
  Parts parts;
  for (int32_t at = 0; at < static_cast<int32_t>(assembly.lines.size()); at++) {
    const Line& line = assembly.lines[at];
    const char* reason = nullptr;
    bool wait = false;
    switch (line.kind) {
      case Kind::Blank:
      case Kind::Marker:
        continue;
      case Kind::Unreadable:
        reason = "a compiler writes no such line";
        break;
      case Kind::Label:
        wait = line.name == "1" && is_of_wait(assembly, at);
        if (is_integer(line.name) && !wait) reason = "a compiler writes no such label";
        break;
      case Kind::Instruction:
        wait = is_of_wait(assembly, at);
        if (!assembly.sections[line.section].executable) {
          reason = "this stands among data and is none";
        }
        break;
      case Kind::Directive:
        reason = problem(line, assembly.sections[line.section], parts);
        break;
    }
    // The compiler's own notes stand there, too.
    // <iostream> of newer C++ libraries asks for one symbol.
    const bool free = (line.kind == Kind::Instruction && is_harmless(line, pass)) ||
                      (line.kind == Kind::Directive && line.name == ".globl" &&
                       line.rest == "_ZSt21ios_base_library_initv") ||
                      (line.kind == Kind::Directive && line.name == ".loc") ||
                      is_of_strings(assembly, line) ||
                      (line.kind == Kind::Label && line.name.starts_with(".L"));
    if (line.in_app && !wait && !free) {
      report.refuse(assembly, line, pass, "inline_assembly",
                    "inline assembly is outside of what can be judged");
    } else if (reason) {
      report.refuse(assembly, line, pass, "assembly", reason);
    }
  }
}

void judge_code(const Assembly& assembly, const Code& code, std::string_view pass, Report& report) {
  for (const Step& step : code.steps) {
    const Line& line = assembly.lines[step.line];
    if (line.in_app && !step.instruction.mnemonic) continue;  // refused above
    if (!step.instruction.mnemonic) {
      report.refuse(assembly, line, pass, "assembly", step.instruction.problem);
    } else if (step.instruction.mnemonic->host_only && pass != "host") {
      report.refuse(assembly, line, pass, "assembly", "no GPU has this instruction");
    }
  }
  for (const Line& line : assembly.lines) {
    const char* reserved = "only the emulator may define this name";
    if (line.kind == Kind::Label && is_reserved(line.name)) {
      report.refuse(assembly, line, pass, "assembly", reserved);
    }
    if (line.kind == Kind::Label && !may_stand(assembly, line)) {
      report.refuse(assembly, line, pass, "assembly", reserved);
    }
    if (line.kind != Kind::Directive) continue;
    const bool defines = line.name == ".set" || line.name == ".equ" || line.name == ".comm";
    if (!defines) continue;
    const auto parts = split_arguments(line.rest);
    if (is_reserved(parts[0]) || parts[0].starts_with(kIndirect.substr(1)))
      report.refuse(assembly, line, pass, "assembly", reserved);
    if (line.name != ".comm" && parts.size() == 2 && is_invoker(parts[0]) != is_invoker(parts[1]))
      report.refuse(assembly, line, pass, "assembly", reserved);
    if (line.name != ".comm" && parts.size() == 2 && !code.functions.contains(parts[1]) &&
        code.blocks_by_label.contains(parts[1])) {
      report.refuse(assembly, line, pass, "assembly", "a name for what is no function");
    }
  }
}

}  // namespace guard
