// The text of a compiler's assembly as a list of classified lines.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace guard {

enum class Kind : uint8_t {
  Blank,        // nothing but space or a comment; not written out
  Label,        // `name:`
  Directive,    // `.name rest`
  Instruction,  // `name rest`
  Marker,       // #APP and #NO_APP; not written out
  Unreadable,   // none of these: refused
};

constexpr int32_t kNone = -1;

// One line. Texts point into the file or into what `Assembly::keep` keeps.
struct Line {
  Kind kind = Kind::Blank;
  bool in_app = false;    // between #APP and #NO_APP; a hint, since a program's text can forge it
  bool is_ours = false;   // inserted by the guard
  std::string_view name;  // label, directive with its dot, or mnemonic (with prefixes: "rep movsq")
  std::string_view rest;  // arguments or operands, without space around them and comments
  int32_t number = 0;     // in the file, from 1
  int32_t function = kNone;  // index into Assembly::functions: whose code this is
  int32_t section = 0;       // index into Assembly::sections: where it goes
  int32_t file = kNone;      // of the last .loc: index into Assembly::files
  int32_t place = 0;         // the line in that file
};

struct Section {
  std::string_view name;   // ".text"
  std::string_view flags;  // "ax", without quotes; empty where none are given
  bool executable = false;
  bool read_only = false;  // neither written nor executed
};

// A symbol of type function that is defined here.
struct Function {
  std::string_view name;
  int32_t first = 0;  // the line of its label
  int32_t last = 0;   // one past its last line: its .size
};

struct File {
  int32_t number = 0;  // in .file and .loc
  std::string path;    // folder and name joined
};

class Assembly {
 public:
  // Reads `text`, which is kept.
  explicit Assembly(std::string text);
  Assembly(const Assembly&) = delete;
  Assembly& operator=(const Assembly&) = delete;

  // Returns a view that lives as long as this.
  std::string_view keep(std::string text);
  // Returns all lines as the assembler is to read them: without comments and markers.
  std::string written() const;
  // Fills in functions, sections and places again, after lines have been added or removed.
  void locate();

  std::vector<Line> lines;
  std::vector<Section> sections;
  std::vector<Function> functions;
  std::vector<File> files;

 private:
  void read();
  std::string text_;
  std::deque<std::string> kept_;
};

// Returns the line that `text`, one line without its end, is.
Line parse_line(std::string_view text);

// Returns the parts of a list of arguments: commas outside of quotes and parentheses part them.
std::vector<std::string_view> split_arguments(std::string_view rest);
// The same into `parts`, which is faster in a loop.
void split_arguments(std::string_view rest, std::vector<std::string_view>& parts);

std::string_view trimmed(std::string_view text);
// Whether `c` may be in a symbol: [A-Za-z0-9_.$].
bool is_symbol_letter(char c);
// Whether `text` is a symbol, which does not begin with a digit.
bool is_symbol(std::string_view text);
// Whether `text` is an integer: decimal, octal or hexadecimal, with a sign or without.
bool is_integer(std::string_view text);
bool parse_integer(std::string_view text, int64_t& value);

}  // namespace guard
