// Formats of printf and scanf, as programs write them: see formats.h.
#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cwchar>
#include <utility>

#include "base/formats.h"
#include "host/program_range.h"
#include "report/report.h"

namespace warploom {

namespace {

// What a number stands for is known by the last of them only, and hardly a program has them.
[[noreturn]] void refuse_numbered() {
  stop_unsupported("a numbered argument of a format",
                   "a format may not name its arguments by number (%1$d) here");
}

std::string digits_at(const char*& at) {
  std::string found;
  while (*at >= '0' && *at <= '9') found += *at++;
  return found;
}

long number_of(const std::string& digits) {
  return digits.empty() ? -1 : std::min(std::strtol(digits.c_str(), nullptr, 10), long{INT_MAX});
}

std::string length_at(const char*& at) {
  std::string found;
  while (*at && std::strchr("hlLqjztZ", *at)) found += *at++;
  return found;
}

bool is_one_of(const std::string& word, std::initializer_list<const char*> words) {
  return std::ranges::find(words, word) != words.end();
}

bool is_length(const std::string& length) {
  return is_one_of(length, {"", "h", "hh", "l", "ll", "L", "q", "j", "z", "t", "Z"});
}

std::size_t bytes_of_integer(const std::string& length) {
  return length == "hh" ? 1 : length == "h" ? 2 : length.empty() ? 4 : 8;
}

bool is_long_double(const std::string& length) { return is_one_of(length, {"L", "ll", "q"}); }

}  // namespace

std::string text_of_program(const char* text, std::size_t most, const void* caller) {
  if (most == 0) return {};
  program_reads(text, 1, caller);
  const std::size_t length = strnlen(text, most);
  program_reads(text, std::min(length + 1, most), caller);
  return {text, length};
}

Arguments::Arguments(std::va_list list, bool given, const void* caller)
    : given_(given), caller_(caller) {
#if defined(__x86_64__)
  if (given) program_reads(list, sizeof list_, caller);
  std::memcpy(&list_, list, sizeof list_);
#else
  std::memcpy(&list_, &list, sizeof list_);
#endif
}

// As the ABI has it: registers' values are saved in the order of their numbers.
const char* Arguments::place(std::size_t bytes, bool floating) {
#if defined(__x86_64__)
  constexpr unsigned kGeneral = 48, kFloating = 176;
  const bool in_register = bytes <= 8;
  if (in_register && floating && list_.floating < kFloating) {
    return list_.saved + std::exchange(list_.floating, list_.floating + 16);
  }
  if (in_register && !floating && list_.general < kGeneral) {
    return list_.saved + std::exchange(list_.general, list_.general + 8);
  }
#else
  if (floating && list_.floating < 0) {
    return list_.floating_end + std::exchange(list_.floating, list_.floating + 16);
  }
  if (!floating && list_.general < 0) {
    return list_.general_end + std::exchange(list_.general, list_.general + 8);
  }
#endif
  if (bytes == 16) {
    const auto start = (reinterpret_cast<uintptr_t>(list_.stack) + 15) & ~uintptr_t{15};
    list_.stack = reinterpret_cast<const char*>(start);
  }
  return std::exchange(list_.stack, list_.stack + (bytes <= 8 ? 8 : 16));
}

void Arguments::fetch(void* to, std::size_t bytes, bool floating) {
  const char* from = place(bytes, floating);
  if (given_) program_reads(from, bytes, caller_);
  std::memcpy(to, from, bytes);
}

double Arguments::take_double() {
  double value;
  fetch(&value, sizeof value, true);
  return value;
}

long double Arguments::take_long_double() {
  long double value;
  fetch(&value, sizeof value, true);
  return value;
}

void PassedArguments::add(const void* value, std::size_t bytes) {
  if (bytes == 16 && words_.size() % 2) words_.push_back(0);
  const std::size_t at = words_.size();
  words_.resize(at + (bytes + 7) / 8);
  std::memcpy(&words_[at], value, bytes);
}

void PassedArguments::give(std::va_list& list) {
  words_.reserve(words_.size() + 2);  // there is memory, if there is no argument
#if defined(__x86_64__)
  const struct {
    unsigned general = 48, floating = 176;  // no registers
    void *stack, *saved = nullptr;
  } made{.stack = words_.data()};
  static_assert(sizeof made == sizeof(std::va_list));
  std::memcpy(list, &made, sizeof made);
#else
  const struct {
    void *stack, *general_end = nullptr, *floating_end = nullptr;
    int general = 0, floating = 0;
  } made{.stack = words_.data()};
  static_assert(sizeof made == sizeof(std::va_list));
  std::memcpy(&list, &made, sizeof made);
#endif
}

// Copies what stands between conversions to `made`; `convert` takes one, behind its '%', and says
// whether to go on.
template <class Convert>
static void follow_format(const std::string& format, std::string& made, Convert&& convert) {
  for (const char* at = format.c_str(); *at;) {
    if (*at != '%') {
      made += *at++;
    } else if (!convert(++at)) {
      return;
    }
  }
}

PrintCall::PrintCall(const char* format, std::va_list list, bool given, const void* caller)
    : null_(!format), caller_(caller) {
  if (null_) return;
  const std::string own = text_of_program(format, ~std::size_t{0}, caller);
  Arguments args(list, given, caller);
  follow_format(own, format_, [&](const char*& at) {
    add_conversion(at, args);
    return true;
  });
}

// `at` is behind the '%'. What is no conversion is printed as it stands, as the C library does.
void PrintCall::add_conversion(const char*& at, Arguments& args) {
  const char* const begin = at;
  std::string made = "%";
  long precision = -1;
  while (*at && std::strchr("-+ #0'I", *at)) made += *at++;
  const auto number = [&](long& value) {
    if (*at == '*') {
      at++;
      if (!digits_at(at).empty()) refuse_numbered();
      const int taken = args.take<int>();
      passed_.add(taken);
      made += '*';
      value = taken;
    } else {
      const std::string digits = digits_at(at);
      made += digits;
      value = number_of(digits);
    }
  };
  long width = 0;
  number(width);
  if (*at == '$') refuse_numbered();
  if (*at == '.') {
    made += *at++;
    number(precision);
    if (precision < 0 && made.back() == '.') precision = 0;
  }
  const std::string length = length_at(at);
  const char kind = *at;
  if (kind) at++;
  if (kind == '%') {
    format_ += "%%";
  } else if (is_length(length) && add_argument(length, kind, precision, args)) {
    format_ += made + (kind == 'p' || kind == 'm' ? "" : length) + kind;
  } else {
    // Its numbers are not passed on: nothing takes them.
    if (made.find('*') != std::string::npos) {
      stop_unsupported("a conversion of printf", "'%" + std::string(begin, at) + "' is not known");
    }
    format_ += "%%" + std::string(begin, at);
  }
}

// False: there is no such conversion.
bool PrintCall::add_argument(const std::string& length, char kind, long precision,
                             Arguments& args) {
  const bool plain = length.empty(), wide = length == "l";
  if (kind == 0) return false;
  if (kind == 'm') return true;
  if (std::strchr("diouxX", kind)) {
    bytes_of_integer(length) == 8 ? passed_.add(args.take<int64_t>())
                                  : passed_.add(args.take<int>());
    return true;
  }
  if (std::strchr("aAeEfFgG", kind) && (plain || wide || is_long_double(length))) {
    plain || wide ? passed_.add(args.take_double()) : passed_.add(args.take_long_double());
    return true;
  }
  if (kind == 'p') {
    passed_.add(args.take<void*>());
    return true;
  }
  if ((kind == 'c' && (plain || wide)) || (kind == 'C' && plain)) {
    passed_.add(args.take<int>());
    return true;
  }
  if ((kind == 's' && wide) || (kind == 'S' && plain)) {
    add_wide_text(args.take<const wchar_t*>(), precision);
    return true;
  }
  if (kind == 's' && plain) {
    add_text(args.take<const char*>(), precision);
    return true;
  }
  if (kind == 'n') {
    counts_.push_back({args.take<void*>(), bytes_of_integer(length), 0});
    passed_.add(&counts_.back().value);
    return true;
  }
  return false;
}

void PrintCall::add_text(const char* text, long precision) {
  if (!text) return passed_.add(text);
  texts_.push_back(text_of_program(
      text, precision < 0 ? ~std::size_t{0} : static_cast<std::size_t>(precision), caller_));
  passed_.add(texts_.back().c_str());
}

void PrintCall::add_wide_text(const wchar_t* text, long precision) {
  if (!text) return passed_.add(text);
  // Each character makes a byte or more, and the precision is in bytes.
  const auto most = precision < 0 ? ~std::size_t{0} >> 3 : static_cast<std::size_t>(precision);
  std::vector<wchar_t> own;
  if (most) {
    program_reads(text, sizeof *text, caller_);
    const std::size_t length = wcsnlen(text, most);
    program_reads(text, std::min(length + 1, most) * sizeof *text, caller_);
    own.assign(text, text + length);
  }
  own.push_back(0);
  wide_texts_.push_back(std::move(own));
  passed_.add(wide_texts_.back().data());
}

void PrintCall::write_counts() {
  const int error = errno;
  for (const Count& count : counts_) {
    program_writes(count.to, count.bytes, caller_);
    std::memcpy(count.to, &count.value, count.bytes);
  }
  errno = error;
}

bool PrintCall::text(std::string& made) {
  const int length = again([](const char* format, std::va_list list) {
    return std::vsnprintf(nullptr, 0, format, list);
  });
  if (length < 0) return false;
  made.resize(static_cast<std::size_t>(length));
  return run([&](const char* format, std::va_list list) {
           return std::vsnprintf(made.data(), made.size() + 1, format, list);
         }) == length;
}

ScanCall::ScanCall(const char* format, std::va_list list, bool given, const void* caller)
    : null_(!format), caller_(caller) {
  if (null_) return;
  const std::string own = text_of_program(format, ~std::size_t{0}, caller);
  Arguments args(list, given, caller);
  // The C library goes no further than to what it does not know.
  follow_format(own, format_, [&](const char*& at) { return add_conversion(at, args); });
}

void ScanCall::add_found(void* to, Kind kind, std::size_t bytes) {
  const std::size_t words = kind == Kind::Value || kind == Kind::Characters ? (bytes + 7) / 8 : 1;
  const uint64_t before = kind == Kind::Count ? ~uint64_t{0} : 0;
  found_.push_back({to, kind, bytes, std::vector<uint64_t>(words, before)});
  passed_.add(found_.back().room.data());
}

bool ScanCall::add_conversion(const char*& at, Arguments& args) {
  std::string made = "%";
  bool skipped = false, allocates = false;
  const auto flags = [&] {
    while (*at && std::strchr("*'I", *at)) {
      skipped |= *at == '*';
      made += *at++;
    }
  };
  flags();
  const std::string digits = digits_at(at);
  if (*at == '$') refuse_numbered();
  made += digits;
  if (*at == 'm') {
    allocates = true;
    at++;
  }
  const std::string length = length_at(at);
  const char kind = *at;
  if (!kind || !is_length(length)) return false;
  at++;
  std::string set;
  if (kind == '[') {
    const char* const start = at;
    if (*at == '^') at++;
    if (*at == ']') at++;
    while (*at && *at != ']') at++;
    if (!*at) return false;
    set.assign(start, ++at);
  }
  if (kind == '%') {
    format_ += made + kind;
    return true;
  }
  const bool wide = length == "l" || kind == 'S' || kind == 'C';
  const bool is_text = std::strchr("sS[", kind), is_character = std::strchr("cC", kind);
  if (!is_text && !is_character && !std::strchr("diouxXaAeEfFgGpn", kind)) return false;
  // The C library makes room for a text by itself: as much as there is of it.
  const char* const room = !skipped && (is_text || allocates) ? "m" : "";
  const bool counts = kind == 'n';
  const std::string passed_length = counts ? "l" : kind == 'p' ? "" : length;
  format_ += made + room + passed_length + kind + set;
  if (skipped) return true;
  void* to = args.take<void*>();
  const std::size_t unit = wide ? sizeof(wchar_t) : 1;
  if (allocates || kind == 'p') {
    add_found(to, Kind::Value, sizeof(void*));
  } else if (is_text) {
    add_found(to, wide ? Kind::WideText : Kind::Text, 0);
  } else if (is_character) {
    add_found(to, Kind::Characters,
              unit * static_cast<std::size_t>(std::max(1L, number_of(digits))));
  } else if (counts) {
    add_found(to, Kind::Count, bytes_of_integer(length));
  } else if (std::strchr("aAeEfFgG", kind)) {
    add_found(to, Kind::Value,
              is_long_double(length) ? sizeof(long double)
              : length == "l"        ? 8
                                     : 4);
  } else {
    add_found(to, Kind::Value, bytes_of_integer(length));
  }
  return true;
}

// `done` of them were found, those that count characters apart.
void ScanCall::write_found(int done) {
  int number = 0;
  for (Found& one : found_) {
    const bool counts = one.kind == Kind::Count;
    const bool was_found = counts ? one.room[0] != ~uint64_t{0} : number++ < done;
    const void* from = one.room.data();
    std::size_t bytes = one.bytes;
    void* made = nullptr;
    if (one.kind == Kind::Text || one.kind == Kind::WideText) {
      std::memcpy(&made, one.room.data(), sizeof made);
      from = made;
      if (made && was_found) {
        bytes = one.kind == Kind::Text
                    ? std::strlen(static_cast<char*>(made)) + 1
                    : (std::wcslen(static_cast<wchar_t*>(made)) + 1) * sizeof(wchar_t);
      }
    }
    if (was_found && from) {
      program_writes(one.to, bytes, caller_);
      std::memcpy(one.to, from, bytes);
    }
    std::free(made);
  }
}

}  // namespace warploom
