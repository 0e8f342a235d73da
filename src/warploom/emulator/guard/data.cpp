#include "data.h"

namespace guard {

namespace {

// The bytes of a string with its escapes, without the end mark.
int64_t string_bytes(std::string_view text) {
  int64_t bytes = 0;
  for (std::size_t at = 1; at + 1 < text.size(); at++, bytes++) {
    if (text[at] != '\\') continue;
    at++;
    const auto octal = [&](std::size_t place) {
      return place < text.size() && text[place] >= '0' && text[place] <= '7';
    };
    if (octal(at) && octal(at + 1)) at += octal(at + 2) ? 2 : 1;
  }
  return bytes;
}

int64_t element_bytes(std::string_view name) {
  if (name == ".byte") return 1;
  if (name == ".value" || name == ".short" || name == ".2byte") return 2;
  if (name == ".long" || name == ".int" || name == ".4byte") return 4;
  if (name == ".quad" || name == ".8byte") return 8;
  return 0;
}

// How many bytes a directive makes; -1 if that is not known.
int64_t bytes_of(const Line& line) {
  if (const int64_t bytes = element_bytes(line.name)) {
    return bytes * static_cast<int64_t>(split_arguments(line.rest).size());
  }
  if (line.name == ".zero" || line.name == ".skip" || line.name == ".space") {
    int64_t bytes = 0;
    return parse_integer(line.rest.substr(0, line.rest.find(',')), bytes) ? bytes : -1;
  }
  if (line.name == ".string" || line.name == ".asciz") return string_bytes(line.rest) + 1;
  if (line.name == ".ascii") return string_bytes(line.rest);
  if (line.name == ".type" || line.name == ".size" || line.name == ".loc" ||
      line.name == ".globl" || line.name == ".weak" || line.name == ".hidden") {
    return 0;
  }
  return -1;
}

}  // namespace

std::unordered_map<std::string_view, int64_t> constants_of(const Assembly& assembly) {
  std::unordered_map<std::string_view, int64_t> found;
  int64_t* last = nullptr;
  for (const Line& line : assembly.lines) {
    const Section& section = assembly.sections[line.section];
    const bool fixed = section.name.starts_with(".rodata") && section.read_only;
    if (!fixed) {
      last = nullptr;
    } else if (line.kind == Kind::Label) {
      last = &found[line.name];
    } else if (line.kind == Kind::Directive && last) {
      const int64_t bytes = bytes_of(line);
      if (bytes < 0) {
        last = nullptr;
      } else {
        *last += bytes;
      }
    }
  }
  return found;
}

}  // namespace guard
