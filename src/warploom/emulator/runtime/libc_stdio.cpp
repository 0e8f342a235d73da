// Printing and scanning of the C library, as the program calls it: memory that formats name.
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <cwchar>

#include "call_targets.h"
#include "program_range.h"
#include "report.h"

using warploom::program_reads;
using warploom::program_reads_text;
using warploom::program_writes;

namespace {

// The C library follows what lies in a stream: one that the program has laid out by itself would
// lead it anywhere. A program that opens none has three.
void check_stream(const FILE* file) {
  if (!file || file == stdin || file == stdout || file == stderr || warploom::opens_files()) return;
  warploom::report_finding({.kind = "emulator_access",
                            .message = "a stream of the C library that nobody has opened",
                            .hint = "pass stdin, stdout, stderr, or what fopen returned"});
  warploom::stop_run();
}

// One conversion of a format: what follows its '%'.
struct Conversion {
  int stars = 0;  // arguments for width and precision
  long precision = -1, width = -1;
  bool star_precision = false, skipped = false, numbered = false, allocates = false;
  char length = 0;  // 'H' for hh, 'L' for ll and L, else the letter
  char kind = 0;
};

long number_at(const char*& at) {
  long value = 0;
  while (*at >= '0' && *at <= '9' && value < 1000000000) value = value * 10 + (*at++ - '0');
  return value;
}

// Reads one that begins behind '%'; `at` ends behind it.
Conversion read_conversion(const char*& at, bool scans) {
  Conversion found;
  while (*at && std::strchr(scans ? "*'m" : "-+ #0'I", *at)) {
    found.skipped |= *at == '*';
    found.allocates |= *at == 'm';
    at++;
  }
  if (*at == '*') {
    found.stars++;
    at++;
  } else if (*at >= '0' && *at <= '9') {
    found.width = number_at(at);
  }
  found.numbered = *at == '$';
  if (*at == '.') {
    at++;
    if (*at == '*') {
      found.star_precision = true;
      found.stars++;
      at++;
    } else {
      found.precision = number_at(at);
    }
  }
  if (scans && *at == 'm') found.allocates = *at++ == 'm';
  while (*at && std::strchr("hlLqjzt", *at)) {
    found.length = *at == found.length ? (*at == 'h' ? 'H' : 'L') : *at;
    at++;
  }
  found.kind = *at;
  if (*at) at++;
  return found;
}

std::size_t bytes_of_integer(char length) {
  switch (length) {
    case 'H':
      return 1;
    case 'h':
      return 2;
    case 0:
      return 4;
    default:
      return 8;
  }
}

// The arguments of printf: texts are read, %n writes.
void check_print(const char* format, std::va_list given) {
  program_reads_text(format);
  std::va_list args;
  va_copy(args, given);
  for (const char* at = format; at && (at = std::strchr(at, '%'));) {
    Conversion c = read_conversion(++at, false);
    if (c.numbered) break;  // arguments in another order: their types are not known one by one
    for (int i = 0; i < c.stars; i++) {
      const long value = va_arg(args, int);
      if (c.star_precision && i == c.stars - 1) c.precision = value;
    }
    if (c.kind == '%' || c.kind == 'm') continue;
    if (c.kind == 's' && c.length != 'l') {
      program_reads_text(va_arg(args, const char*),
                         c.precision < 0 ? ~std::size_t{0} : static_cast<std::size_t>(c.precision));
    } else if (c.kind == 's' || c.kind == 'S') {
      const auto* text = va_arg(args, const wchar_t*);
      if (text) program_reads(text, sizeof *text);
    } else if (c.kind == 'n') {
      program_writes(va_arg(args, void*), bytes_of_integer(c.length));
    } else if (std::strchr("aAeEfFgG", c.kind) && c.kind) {
      if (c.length == 'L') {
        va_arg(args, long double);
      } else {
        va_arg(args, double);
      }
    } else if (c.kind == 'p' || bytes_of_integer(c.length) == 8) {
      va_arg(args, void*);
    } else {
      va_arg(args, int);
    }
  }
  va_end(args);
}

// Of scanf, which writes to all of them.
void check_scan(const char* format, std::va_list given) {
  program_reads_text(format);
  std::va_list args;
  va_copy(args, given);
  for (const char* at = format; at && (at = std::strchr(at, '%'));) {
    const Conversion c = read_conversion(++at, true);
    if (c.kind == '[') {
      if (*at == '^') at++;
      if (*at == ']') at++;
      while (*at && *at != ']') at++;
    }
    if (c.numbered) break;
    if (c.kind == '%' || c.skipped) continue;
    void* out = va_arg(args, void*);
    const auto width = static_cast<std::size_t>(c.width > 0 ? c.width : 1);
    if (c.allocates || c.kind == 'p') {
      program_writes(out, sizeof(void*));
    } else if (c.kind == 's' || c.kind == '[') {
      program_writes(out, c.width > 0 ? width + 1 : 1);
    } else if (c.kind == 'c') {
      program_writes(out, width);
    } else if (c.kind && std::strchr("aAeEfFgG", c.kind)) {
      program_writes(out, c.length == 'L' ? sizeof(long double) : c.length == 'l' ? 8 : 4);
    } else {
      program_writes(out, bytes_of_integer(c.length));
    }
  }
  va_end(args);
}

}  // namespace

// Each function comes with `...` and with a list.
#define WITH_ARGUMENTS(last, call) \
  std::va_list args;               \
  va_start(args, last);            \
  const int done = call;           \
  va_end(args);                    \
  return done;

extern "C" {

int __wrap_vfprintf(FILE* file, const char* format, std::va_list args) {
  check_stream(file);
  check_print(format, args);
  return std::vfprintf(file, format, args);
}
int __wrap_vprintf(const char* format, std::va_list args) {
  return __wrap_vfprintf(stdout, format, args);
}
int __wrap_vsnprintf(char* to, std::size_t bytes, const char* format, std::va_list args) {
  check_print(format, args);
  if (!to || bytes == 0) return std::vsnprintf(to, bytes, format, args);
  std::va_list again;
  va_copy(again, args);
  const int length = std::vsnprintf(nullptr, 0, format, again);
  va_end(again);
  if (length >= 0) program_writes(to, std::min(bytes, static_cast<std::size_t>(length) + 1));
  return std::vsnprintf(to, bytes, format, args);
}
int __wrap_vsprintf(char* to, const char* format, std::va_list args) {
  return __wrap_vsnprintf(to, std::size_t{1} << 30, format, args);
}
int __wrap_vdprintf(int descriptor, const char* format, std::va_list args) {
  check_print(format, args);
  return vdprintf(descriptor, format, args);
}
int __wrap_vasprintf(char** to, const char* format, std::va_list args) {
  check_print(format, args);
  program_writes(to, sizeof *to);
  return vasprintf(to, format, args);
}
int __wrap_vfscanf(FILE* file, const char* format, std::va_list args) {
  check_stream(file);
  check_scan(format, args);
  return std::vfscanf(file, format, args);
}
int __wrap_vsscanf(const char* text, const char* format, std::va_list args) {
  program_reads_text(text);
  check_scan(format, args);
  return std::vsscanf(text, format, args);
}

int __wrap_printf(const char* format, ...) { WITH_ARGUMENTS(format, __wrap_vprintf(format, args)) }
int __wrap_fprintf(FILE* file, const char* format, ...) {
  check_stream(file);
  WITH_ARGUMENTS(format, __wrap_vfprintf(file, format, args))
}
int __wrap_sprintf(char* to, const char* format, ...) {
  WITH_ARGUMENTS(format, __wrap_vsprintf(to, format, args))
}
int __wrap_snprintf(char* to, std::size_t bytes, const char* format, ...) {
  WITH_ARGUMENTS(format, __wrap_vsnprintf(to, bytes, format, args))
}
int __wrap_dprintf(int descriptor, const char* format, ...) {
  WITH_ARGUMENTS(format, __wrap_vdprintf(descriptor, format, args))
}
int __wrap_asprintf(char** to, const char* format, ...) {
  WITH_ARGUMENTS(format, __wrap_vasprintf(to, format, args))
}
// C99 names of these in headers of glibc.
int __wrap___isoc99_fscanf(FILE* file, const char* format, ...) {
  check_stream(file);
  WITH_ARGUMENTS(format, __wrap_vfscanf(file, format, args))
}
int __wrap___isoc99_scanf(const char* format, ...) {
  WITH_ARGUMENTS(format, __wrap_vfscanf(stdin, format, args))
}
int __wrap___isoc99_sscanf(const char* text, const char* format, ...) {
  WITH_ARGUMENTS(format, __wrap_vsscanf(text, format, args))
}
int __wrap_fscanf(FILE* file, const char* format, ...) {
  check_stream(file);
  WITH_ARGUMENTS(format, __wrap_vfscanf(file, format, args))
}
int __wrap_sscanf(const char* text, const char* format, ...) {
  WITH_ARGUMENTS(format, __wrap_vsscanf(text, format, args))
}

int __wrap_puts(const char* text) {
  program_reads_text(text);
  return std::puts(text);
}
int __wrap_fputs(const char* text, FILE* file) {
  check_stream(file);
  program_reads_text(text);
  return std::fputs(text, file);
}
void __wrap_perror(const char* text) {
  program_reads_text(text);
  std::perror(text);
}
int __wrap_fputc(int character, FILE* file) {
  check_stream(file);
  return std::fputc(character, file);
}
int __wrap_putc(int character, FILE* file) {
  check_stream(file);
  return std::fputc(character, file);
}
int __wrap_fgetc(FILE* file) {
  check_stream(file);
  return std::fgetc(file);
}
int __wrap_getc(FILE* file) {
  check_stream(file);
  return std::fgetc(file);
}
int __wrap_fflush(FILE* file) {
  check_stream(file);
  return std::fflush(file);
}
std::size_t __wrap_fwrite(const void* from, std::size_t bytes, std::size_t count, FILE* file) {
  check_stream(file);
  program_reads(from, bytes * count);
  return std::fwrite(from, bytes, count, file);
}
std::size_t __wrap_fread(void* to, std::size_t bytes, std::size_t count, FILE* file) {
  check_stream(file);
  program_writes(to, bytes * count);
  return std::fread(to, bytes, count, file);
}
char* __wrap_fgets(char* to, int bytes, FILE* file) {
  check_stream(file);
  if (bytes > 0) program_writes(to, static_cast<std::size_t>(bytes));
  return std::fgets(to, bytes, file);
}
ssize_t __wrap_getdelim(char** line, std::size_t* bytes, int end, FILE* file) {
  check_stream(file);
  program_writes(line, sizeof *line);
  program_writes(bytes, sizeof *bytes);
  if (*line) program_writes(*line, *bytes);
  return getdelim(line, bytes, end, file);
}
ssize_t __wrap_getline(char** line, std::size_t* bytes, FILE* file) {
  check_stream(file);
  return __wrap_getdelim(line, bytes, '\n', file);
}
int __wrap_setvbuf(FILE* file, char* buffer, int mode, std::size_t bytes) {
  check_stream(file);
  if (buffer) program_writes(buffer, bytes);
  return std::setvbuf(file, buffer, mode, bytes);
}
void __wrap_setbuf(FILE* file, char* buffer) {
  check_stream(file);
  if (buffer) program_writes(buffer, BUFSIZ);
  std::setbuf(file, buffer);
}

}  // extern "C"
