// Printing and scanning of the C library, as the program calls it: memory that formats name.
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "base/formats.h"
#include "host/call_targets.h"
#include "host/libc_made.h"
#include "host/process_heap.h"
#include "host/program_range.h"
#include "report/report.h"
#include "schedule/fiber.h"

using warploom::check_stream;
using warploom::PrintCall;
using warploom::program_reads;
using warploom::program_reads_text;
using warploom::program_writes;
using warploom::ScanCall;
using warploom::text_of_program;

namespace {

int print_to(FILE* file, PrintCall call) {
  return call.run(
      [&](const char* format, std::va_list list) { return std::vfprintf(file, format, list); });
}

// The text is made in memory of the runtime: it may overlap with what it is made of.
int print_to(char* to, std::size_t most, PrintCall call, const void* caller) {
  std::string made;
  if (!call.text(made)) return -1;
  if (most) {
    const std::size_t bytes = std::min(most - 1, made.size());
    program_writes(to, bytes + 1, caller);
    std::memcpy(to, made.c_str(), bytes);
    to[bytes] = 0;
  }
  return static_cast<int>(made.size());
}

int print_new(char** to, PrintCall call, const void* caller) {
  std::string made;
  if (!call.text(made)) return -1;
  const bool of_program =
      warploom::g_current && warploom::g_current->process && !warploom::g_current->gpu;
  const std::size_t bytes = made.size() + 1;
  auto* block =
      static_cast<char*>(of_program ? warploom::program_memory(bytes) : std::malloc(bytes));
  if (!block) return -1;
  std::memcpy(block, made.c_str(), bytes);
  program_writes(to, sizeof *to, caller);
  *to = block;
  return static_cast<int>(made.size());
}

int print_to(int descriptor, PrintCall call) {
  return call.run(
      [&](const char* format, std::va_list list) { return vdprintf(descriptor, format, list); });
}

// A GPU's printf gives the number of its arguments, not of characters (CUDA C++ Programming Guide).
int print_on_device(const char* format, PrintCall call) {
  const std::string own = text_of_program(format, ~std::size_t{0}, __builtin_return_address(0));
  if (print_to(stdout, call) < 0) return -1;
  int arguments = 0;
  for (std::size_t at = own.find('%'); at != std::string::npos; at = own.find('%', at)) {
    at = own.find_first_not_of("-+ #0123456789.hlLqjzt*", at + 1);
    if (at == std::string::npos) break;
    if (own[at] != '%') ++arguments;
    ++at;
  }
  return arguments;
}

int scan_stream(FILE* file, ScanCall call) {
  return call.run(
      [&](const char* format, std::va_list list) { return std::vfscanf(file, format, list); });
}

// The text is copied first: what is found may be written over it.
int scan_text(const char* text, ScanCall call, const void* caller) {
  const std::string own = text_of_program(text, ~std::size_t{0}, caller);
  return call.run([&](const char* format, std::va_list list) {
    return std::vsscanf(own.c_str(), format, list);
  });
}

// Streams are of all ranks: none of them may have its memory filled by what others print.
void set_buffer(FILE* file, const char* buffer, std::size_t bytes) {
  check_stream(file);
  if (buffer) program_writes(buffer, bytes);
}

}  // namespace

// Each function comes with `...` and with a list, which the program may have made by itself.
#define FROM __builtin_return_address(0)
#define WITH_ARGUMENTS(call)      \
  {                               \
    std::va_list args;            \
    va_start(args, format);       \
    constexpr bool given = false; \
    const int done = call;        \
    va_end(args);                 \
    return done;                  \
  }
#define WITH_LIST(call)          \
  {                              \
    constexpr bool given = true; \
    return call;                 \
  }
#define PRINTED PrintCall(format, args, given, FROM)
#define SCANNED ScanCall(format, args, given, FROM)
extern "C" {

int __wrap_printf(const char* format, ...) {
  if (warploom::on_device()) WITH_ARGUMENTS(print_on_device(format, PRINTED))
  WITH_ARGUMENTS(print_to(stdout, PRINTED))
}
int __wrap_vprintf(const char* format, std::va_list args) {
  if (warploom::on_device()) WITH_LIST(print_on_device(format, PRINTED))
  WITH_LIST(print_to(stdout, PRINTED))
}
int __wrap_fprintf(FILE* file, const char* format, ...) {
  check_stream(file);
  WITH_ARGUMENTS(print_to(file, PRINTED))
}
int __wrap_vfprintf(FILE* file, const char* format, std::va_list args) {
  check_stream(file);
  WITH_LIST(print_to(file, PRINTED))
}
int __wrap_sprintf(char* to, const char* format, ...) {
  WITH_ARGUMENTS(print_to(to, ~std::size_t{0}, PRINTED, FROM))
}
int __wrap_vsprintf(char* to, const char* format, std::va_list args) {
  WITH_LIST(print_to(to, ~std::size_t{0}, PRINTED, FROM))
}
int __wrap_snprintf(char* to, std::size_t bytes, const char* format, ...) {
  WITH_ARGUMENTS(print_to(to, bytes, PRINTED, FROM))
}
int __wrap_vsnprintf(char* to, std::size_t bytes, const char* format, std::va_list args) {
  WITH_LIST(print_to(to, bytes, PRINTED, FROM))
}
int __wrap_dprintf(int descriptor, const char* format, ...) {
  WITH_ARGUMENTS(print_to(descriptor, PRINTED))
}
int __wrap_vdprintf(int descriptor, const char* format, std::va_list args) {
  WITH_LIST(print_to(descriptor, PRINTED))
}
int __wrap_asprintf(char** to, const char* format, ...) {
  WITH_ARGUMENTS(print_new(to, PRINTED, FROM))
}
int __wrap_vasprintf(char** to, const char* format,
                     std::va_list args){WITH_LIST(print_new(to, PRINTED, FROM))}
// C99 and C23 names of these in headers of glibc.
#define SCANNING(prefix)                                                                  \
  int __wrap_##prefix##scanf(const char* format, ...) {                                   \
    WITH_ARGUMENTS(scan_stream(stdin, SCANNED))                                           \
  }                                                                                       \
  int __wrap_##prefix##vscanf(const char* format, std::va_list args) {                    \
    WITH_LIST(scan_stream(stdin, SCANNED))                                                \
  }                                                                                       \
  int __wrap_##prefix##fscanf(FILE* file, const char* format, ...) {                      \
    check_stream(file);                                                                   \
    WITH_ARGUMENTS(scan_stream(file, SCANNED))                                            \
  }                                                                                       \
  int __wrap_##prefix##vfscanf(FILE* file, const char* format, std::va_list args) {       \
    check_stream(file);                                                                   \
    WITH_LIST(scan_stream(file, SCANNED))                                                 \
  }                                                                                       \
  int __wrap_##prefix##sscanf(const char* text, const char* format, ...) {                \
    WITH_ARGUMENTS(scan_text(text, SCANNED, FROM))                                        \
  }                                                                                       \
  int __wrap_##prefix##vsscanf(const char* text, const char* format, std::va_list args) { \
    WITH_LIST(scan_text(text, SCANNED, FROM))                                             \
  }
SCANNING() SCANNING(__isoc99_) SCANNING(__isoc23_)
#undef SCANNING

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
  file ? check_stream(file) : warploom::check_all_streams();
  return std::fflush(file);
}
std::size_t __wrap_fwrite(const void* from, std::size_t bytes, std::size_t count, FILE* file) {
  check_stream(file);
  program_reads(from, warploom::bytes_of(count, bytes));
  return std::fwrite(from, bytes, count, file);
}
std::size_t __wrap_fread(void* to, std::size_t bytes, std::size_t count, FILE* file) {
  check_stream(file);
  program_writes(to, warploom::bytes_of(count, bytes));
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
// What headers make of getline.
ssize_t __wrap___getdelim(char** line, std::size_t* bytes, int end, FILE* file) {
  check_stream(file);
  return __wrap_getdelim(line, bytes, end, file);
}
ssize_t __wrap_getline(char** line, std::size_t* bytes, FILE* file) {
  check_stream(file);
  return __wrap_getdelim(line, bytes, '\n', file);
}
int __wrap_setvbuf(FILE* file, char* buffer, int mode, std::size_t bytes) {
  set_buffer(file, buffer, bytes);
  return std::setvbuf(file, nullptr, mode, bytes);
}
void __wrap_setbuffer(FILE* file, char* buffer, std::size_t bytes) {
  set_buffer(file, buffer, bytes);
  std::setvbuf(file, nullptr, buffer ? _IOFBF : _IONBF, bytes);
}
void __wrap_setbuf(FILE* file, char* buffer) { __wrap_setbuffer(file, buffer, BUFSIZ); }
void __wrap_setlinebuf(FILE* file) {
  check_stream(file);
  setlinebuf(file);
}

}  // extern "C"
