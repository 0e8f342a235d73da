// Functions of the C library that give a second value through a pointer, as the program calls them.
#include <sys/time.h>

#include <cmath>
#include <cstring>
#include <ctime>
#include <string>

#include "host/program_range.h"

using warploom::program_reads;
using warploom::program_writes;

#define ONE_OUT(result, name, other)               \
  result __wrap_##name(result value, other* out) { \
    program_writes(out, sizeof *out);              \
    return name(value, out);                       \
  }
#define SINCOS(name, type)                                   \
  void __wrap_##name(type value, type* sine, type* cosine) { \
    program_writes(sine, sizeof *sine);                      \
    program_writes(cosine, sizeof *cosine);                  \
    name(value, sine, cosine);                               \
  }
#define REMQUO(name, type)                             \
  type __wrap_##name(type one, type other, int* out) { \
    program_writes(out, sizeof *out);                  \
    return name(one, other, out);                      \
  }

extern "C" {

ONE_OUT(float, modff, float)
ONE_OUT(double, modf, double)
ONE_OUT(long double, modfl, long double)
ONE_OUT(float, frexpf, int)
ONE_OUT(double, frexp, int)
ONE_OUT(long double, frexpl, int)
ONE_OUT(float, lgammaf_r, int)
ONE_OUT(double, lgamma_r, int)
SINCOS(sincosf, float)
SINCOS(sincos, double)
SINCOS(sincosl, long double)
REMQUO(remquof, float)
REMQUO(remquo, double)
REMQUO(remquol, long double)

std::time_t __wrap_time(std::time_t* out) {
  if (out) program_writes(out, sizeof *out);
  return std::time(out);
}
int __wrap_gettimeofday(timeval* out, void* zone) {
  if (out) program_writes(out, sizeof *out);
  return gettimeofday(out, static_cast<struct timezone*>(zone));
}
int __wrap_clock_gettime(clockid_t clock, timespec* out) {
  program_writes(out, sizeof *out);
  return clock_gettime(clock, out);
}
int __wrap_nanosleep(const timespec* wanted, timespec* left) {
  program_reads(wanted, sizeof *wanted);
  if (left) program_writes(left, sizeof *left);
  return nanosleep(wanted, left);
}
std::size_t __wrap_strftime(char* to, std::size_t bytes, const char* pattern, const std::tm* at) {
  warploom::program_reads_text(pattern);
  program_reads(at, sizeof *at);
  program_writes(to, bytes);
  // It names the zone, where that is asked for: others may leave the pointer as it was.
  std::tm copy = *at;
  std::string zone;
  if (!std::strchr(pattern, 'Z')) {
    copy.tm_zone = nullptr;
  } else if (at->tm_zone) {
    warploom::program_reads_text(at->tm_zone);
    copy.tm_zone = (zone = at->tm_zone).c_str();
  }
  return std::strftime(to, bytes, pattern, &copy);
}

}  // extern "C"
