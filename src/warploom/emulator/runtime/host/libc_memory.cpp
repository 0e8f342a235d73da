// The C library's functions on memory and strings, as the program calls them: its objects are
// linked with --wrap for each name here (build.py reads them off the runtime's exports).
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/jumps.h"
#include "host/call_targets.h"
#include "host/program_range.h"
#include "kernels/kernel.h"
#include "machine/into_program.h"
#include "report/report.h"

namespace warploom {

void program_reads_text(const char* text, std::size_t most, const void* caller) {
  if (!text || most == 0) return;
  program_reads(text, 1, caller);  // before its length is looked for
  program_reads(text, std::min(strnlen(text, most) + 1, most), caller);
}

std::size_t bytes_of(std::size_t count, std::size_t bytes) {
  std::size_t all = 0;
  if (!__builtin_mul_overflow(count, bytes, &all)) return all;
  report_finding({.kind = kinds::out_of_bounds,
                  .message = format("a call gets %zu elements of %zu bytes, which no memory holds",
                                    count, bytes),
                  .hint = "compare the count with the array's size"});
  stop_run();
}

}  // namespace warploom

using warploom::program_reads;
using warploom::program_reads_text;
using warploom::program_writes;

namespace {
[[gnu::always_inline]] inline std::size_t text_bytes(const char* text) {
  program_reads_text(text);
  return text ? std::strlen(text) + 1 : 0;
}
[[gnu::always_inline]] inline std::size_t text_bytes(const char* text, std::size_t most) {
  program_reads_text(text, most);
  return text ? strnlen(text, most) : 0;
}
[[gnu::always_inline]] inline std::size_t copy_within(char* to, const char* text,
                                                      std::size_t bytes) {
  program_reads_text(text);
  const std::size_t length = std::strlen(text);
  if (bytes) {
    const std::size_t copied = std::min(length, bytes - 1);
    program_writes(to, copied + 1);
    std::memcpy(to, text, copied);
    to[copied] = 0;
  }
  return length;
}
}  // namespace

namespace {

struct Comparing {
  int (*compare)(const void*, const void*);
  const void* frame;  // of the call by the program
};

int compare_for(const void* one, const void* other, void* data) {
  const auto& how = *static_cast<const Comparing*>(data);
  return warploom::into_program(how.frame, how.compare, one, other);
}

}  // namespace

extern "C" {

void* __wrap_memcpy(void* to, const void* from, std::size_t bytes) {
  program_reads(from, bytes);
  program_writes(to, bytes);
  return std::memcpy(to, from, bytes);
}
void* __wrap_mempcpy(void* to, const void* from, std::size_t bytes) {
  program_reads(from, bytes);
  program_writes(to, bytes);
  return mempcpy(to, from, bytes);
}
void* __wrap_memmove(void* to, const void* from, std::size_t bytes) {
  program_reads(from, bytes);
  program_writes(to, bytes);
  return std::memmove(to, from, bytes);
}
void* __wrap_memset(void* to, int value, std::size_t bytes) {
  program_writes(to, bytes);
  return std::memset(to, value, bytes);
}
int __wrap_memcmp(const void* a, const void* b, std::size_t bytes) {
  program_reads(a, bytes);
  program_reads(b, bytes);
  return std::memcmp(a, b, bytes);
}
int __wrap_bcmp(const void* a, const void* b, std::size_t bytes) {
  program_reads(a, bytes);
  program_reads(b, bytes);
  return std::memcmp(a, b, bytes);
}
void* __wrap_memchr(const void* p, int value, std::size_t bytes) {
  if (bytes) program_reads(p, 1);
  const void* found = bytes ? std::memchr(p, value, bytes) : nullptr;
  program_reads(p, found ? static_cast<std::size_t>(static_cast<const char*>(found) -
                                                    static_cast<const char*>(p)) +
                               1
                         : bytes);
  return const_cast<void*>(found);
}
void* __wrap_memrchr(const void* p, int value, std::size_t bytes) {
  program_reads(p, bytes);
  return const_cast<void*>(memrchr(p, value, bytes));
}
void* __wrap_memmem(const void* p, std::size_t bytes, const void* part, std::size_t part_bytes) {
  program_reads(p, bytes);
  program_reads(part, part_bytes);
  return const_cast<void*>(memmem(p, bytes, part, part_bytes));
}
void __wrap_bzero(void* to, std::size_t bytes) {
  program_writes(to, bytes);
  std::memset(to, 0, bytes);
}

std::size_t __wrap_strlen(const char* text) {
  program_reads_text(text);
  return std::strlen(text);
}
std::size_t __wrap_strnlen(const char* text, std::size_t most) {
  program_reads_text(text, most);
  return strnlen(text, most);
}
char* __wrap_strcpy(char* to, const char* from) {
  program_writes(to, text_bytes(from));
  return std::strcpy(to, from);
}
char* __wrap_stpcpy(char* to, const char* from) {
  program_writes(to, text_bytes(from));
  return stpcpy(to, from);
}
char* __wrap_strncpy(char* to, const char* from, std::size_t bytes) {
  program_reads_text(from, bytes);
  program_writes(to, bytes);
  return std::strncpy(to, from, bytes);
}
char* __wrap_stpncpy(char* to, const char* from, std::size_t bytes) {
  program_reads_text(from, bytes);
  program_writes(to, bytes);
  return stpncpy(to, from, bytes);
}
char* __wrap_strcat(char* to, const char* from) {
  const std::size_t had = text_bytes(to);
  program_writes(to, had + text_bytes(from));
  return std::strcat(to, from);
}
char* __wrap_strncat(char* to, const char* from, std::size_t most) {
  const std::size_t had = text_bytes(to);
  program_writes(to, had + text_bytes(from, most));
  return std::strncat(to, from, most);
}
int __wrap_strcmp(const char* a, const char* b) {
  program_reads_text(a);
  program_reads_text(b);
  return std::strcmp(a, b);
}
int __wrap_strncmp(const char* a, const char* b, std::size_t most) {
  program_reads_text(a, most);
  program_reads_text(b, most);
  return std::strncmp(a, b, most);
}
int __wrap_strcasecmp(const char* a, const char* b) {
  program_reads_text(a);
  program_reads_text(b);
  return strcasecmp(a, b);
}
int __wrap_strncasecmp(const char* a, const char* b, std::size_t most) {
  program_reads_text(a, most);
  program_reads_text(b, most);
  return strncasecmp(a, b, most);
}
int __wrap_strcoll(const char* a, const char* b) {
  program_reads_text(a);
  program_reads_text(b);
  return std::strcoll(a, b);
}
char* __wrap_strchr(const char* text, int value) {
  program_reads_text(text);
  return const_cast<char*>(std::strchr(text, value));
}
char* __wrap_strrchr(const char* text, int value) {
  program_reads_text(text);
  return const_cast<char*>(std::strrchr(text, value));
}
char* __wrap_strchrnul(const char* text, int value) {
  program_reads_text(text);
  return const_cast<char*>(strchrnul(text, value));
}
char* __wrap_strstr(const char* text, const char* part) {
  program_reads_text(text);
  program_reads_text(part);
  return const_cast<char*>(std::strstr(text, part));
}
char* __wrap_strcasestr(const char* text, const char* part) {
  program_reads_text(text);
  program_reads_text(part);
  return const_cast<char*>(strcasestr(text, part));
}
std::size_t __wrap_strspn(const char* text, const char* set) {
  program_reads_text(text);
  program_reads_text(set);
  return std::strspn(text, set);
}
std::size_t __wrap_strcspn(const char* text, const char* set) {
  program_reads_text(text);
  program_reads_text(set);
  return std::strcspn(text, set);
}
char* __wrap_strpbrk(const char* text, const char* set) {
  program_reads_text(text);
  program_reads_text(set);
  return const_cast<char*>(std::strpbrk(text, set));
}
// Of glibc 2.38 and later.
std::size_t __wrap_strlcpy(char* to, const char* text, std::size_t bytes) {
  return copy_within(to, text, bytes);
}
std::size_t __wrap_strlcat(char* to, const char* text, std::size_t bytes) {
  program_reads_text(to, bytes);
  const std::size_t before = strnlen(to, bytes);
  return before + copy_within(to + before, text, bytes - before);
}
char* __wrap_strdup(const char* text) {
  program_reads_text(text);
  return strdup(text);
}
char* __wrap_strndup(const char* text, std::size_t most) {
  program_reads_text(text, most);
  return strndup(text, most);
}

// Numbers in texts. Where one ends is told through the second parameter.
#define NUMBER(type, name)                           \
  type __wrap_##name(const char* text, char** end) { \
    program_reads_text(text);                        \
    if (end) program_writes(end, sizeof *end);       \
    return name(text, end);                          \
  }
#define INTEGER(type, name)                                    \
  type __wrap_##name(const char* text, char** end, int base) { \
    program_reads_text(text);                                  \
    if (end) program_writes(end, sizeof *end);                 \
    return name(text, end, base);                              \
  }                                                            \
  WARPLOOM_C23_NAME(name)
NUMBER(float, strtof)
NUMBER(double, strtod)
NUMBER(long double, strtold)
INTEGER(long, strtol)
INTEGER(long long, strtoll)
INTEGER(unsigned long, strtoul)
INTEGER(unsigned long long, strtoull)
#undef NUMBER
#undef INTEGER
int __wrap_atoi(const char* text) {
  program_reads_text(text);
  return std::atoi(text);
}
long __wrap_atol(const char* text) {
  program_reads_text(text);
  return std::atol(text);
}
long long __wrap_atoll(const char* text) {
  program_reads_text(text);
  return std::atoll(text);
}
double __wrap_atof(const char* text) {
  program_reads_text(text);
  return std::atof(text);
}

void __wrap_qsort(void* base, std::size_t count, std::size_t bytes,
                  int (*compare)(const void*, const void*)) {
  program_reads(base, warploom::bytes_of(count, bytes));
  program_writes(base, warploom::bytes_of(count, bytes));
  warploom::check_call_target(compare);
  Comparing comparing{compare, WARPLOOM_FRAME};
  ::qsort_r(base, count, bytes, compare_for, &comparing);
}
void* __wrap_bsearch(const void* key, const void* base, std::size_t count, std::size_t bytes,
                     int (*compare)(const void*, const void*)) {
  program_reads(base, warploom::bytes_of(count, bytes));
  warploom::check_call_target(compare);
  const char* first = static_cast<const char*>(base);
  while (count > 0) {
    const char* middle = first + count / 2 * bytes;
    const int order = warploom::into_program(WARPLOOM_FRAME, compare, key, middle);
    if (order == 0) return const_cast<char*>(middle);
    if (order > 0) first = middle + bytes;
    count = order > 0 ? count - count / 2 - 1 : count / 2;
  }
  return nullptr;
}

}  // extern "C"
