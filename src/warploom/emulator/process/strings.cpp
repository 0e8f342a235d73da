// Strings and characters: what a call remembers for the next, and texts that the next call changes.
#include <uchar.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cwchar>

#include "process.h"

namespace {

char* g_token;
char g_error[128];
char g_signal[64];
char g_number[128];
char g_base64[7];
mbstate_t g_mblen, g_mbtowc, g_wctomb;
mbstate_t g_mbrlen, g_mbrtowc, g_wcrtomb, g_mbsrtowcs, g_wcsrtombs, g_mbrtoc16, g_c16rtomb;
mbstate_t g_mbsnrtowcs, g_wcsnrtombs, g_mbrtoc32, g_c32rtomb;

// Never kept: the program could change what is.
template <class Function>
Function from_library(const char* name) {
  return reinterpret_cast<Function>(warploom_library(name));
}

int length_or_error(std::size_t length) {
  return length >= static_cast<std::size_t>(-2) ? -1 : static_cast<int>(length);
}

}  // namespace

extern "C" {

// Nobody else may write to the text meanwhile: the hooks see each byte that is looked at or ended.
char* strtok_r(char* text, const char* separators, char** rest) noexcept {
  if (!text) text = *rest;
  text += std::strspn(text, separators);
  if (!*text) {
    *rest = text;
    return nullptr;
  }
  char* end = text + std::strcspn(text, separators);
  if (*end) *end++ = 0;
  *rest = end;
  return text;
}

char* strtok(char* text, const char* separators) noexcept {
  return strtok_r(text, separators, &g_token);
}

char* strerror(int number) noexcept { return strerror_r(number, g_error, sizeof g_error); }

char* strsignal(int number) noexcept {
  const char* text = sigdescr_np(number);
  if (text) {
    std::snprintf(g_signal, sizeof g_signal, "%s", text);
  } else {
    std::snprintf(g_signal, sizeof g_signal, "Unknown signal %d", number);
  }
  return g_signal;
}

char* ecvt(double value, int digits, int* point, int* negative) noexcept {
  return ecvt_r(value, digits, point, negative, g_number, sizeof g_number) ? nullptr : g_number;
}
char* fcvt(double value, int digits, int* point, int* negative) noexcept {
  return fcvt_r(value, digits, point, negative, g_number, sizeof g_number) ? nullptr : g_number;
}
char* qecvt(long double value, int digits, int* point, int* negative) noexcept {
  return qecvt_r(value, digits, point, negative, g_number, sizeof g_number) ? nullptr : g_number;
}
char* qfcvt(long double value, int digits, int* point, int* negative) noexcept {
  return qfcvt_r(value, digits, point, negative, g_number, sizeof g_number) ? nullptr : g_number;
}

// POSIX a64l, "radix-64 characters", the least first.
char* l64a(long value) noexcept {
  static const char kDigits[] = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  unsigned rest = static_cast<unsigned>(value);
  int length = 0;
  for (; rest; rest >>= 6) g_base64[length++] = kDigits[rest & 63];
  g_base64[length] = 0;
  return g_base64;
}

int mblen(const char* text, std::size_t bytes) noexcept {
  if (!text) {
    g_mblen = {};
    return 0;
  }
  return length_or_error(mbrtowc(nullptr, text, bytes, &g_mblen));
}
int mbtowc(wchar_t* out, const char* text, std::size_t bytes) noexcept {
  if (!text) {
    g_mbtowc = {};
    return 0;
  }
  return length_or_error(mbrtowc(out, text, bytes, &g_mbtowc));
}
int wctomb(char* out, wchar_t character) noexcept {
  if (!out) {
    g_wctomb = {};
    return 0;
  }
  return length_or_error(wcrtomb(out, character, &g_wctomb));
}

}  // extern "C"

// The restartable ones keep a state of their own only where they are given none.
extern "C" {

std::size_t mbrlen(const char* text, std::size_t bytes, mbstate_t* given) noexcept {
  return mbrtowc(nullptr, text, bytes, given ? given : &g_mbrlen);
}
std::size_t mbrtowc(wchar_t* out, const char* text, std::size_t bytes, mbstate_t* given) noexcept {
  const auto real = from_library<decltype(&mbrtowc)>("mbrtowc");
  return real(out, text, bytes, given ? given : &g_mbrtowc);
}
std::size_t wcrtomb(char* out, wchar_t character, mbstate_t* given) noexcept {
  const auto real = from_library<decltype(&wcrtomb)>("wcrtomb");
  return real(out, character, given ? given : &g_wcrtomb);
}
std::size_t mbsrtowcs(wchar_t* out, const char** text, std::size_t most,
                      mbstate_t* given) noexcept {
  const auto real = from_library<decltype(&mbsrtowcs)>("mbsrtowcs");
  return real(out, text, most, given ? given : &g_mbsrtowcs);
}
std::size_t wcsrtombs(char* out, const wchar_t** text, std::size_t most,
                      mbstate_t* given) noexcept {
  const auto real = from_library<decltype(&wcsrtombs)>("wcsrtombs");
  return real(out, text, most, given ? given : &g_wcsrtombs);
}
std::size_t mbrtoc16(char16_t* out, const char* text, std::size_t bytes,
                     mbstate_t* given) noexcept {
  const auto real = from_library<decltype(&mbrtoc16)>("mbrtoc16");
  return real(out, text, bytes, given ? given : &g_mbrtoc16);
}
std::size_t c16rtomb(char* out, char16_t character, mbstate_t* given) noexcept {
  const auto real = from_library<decltype(&c16rtomb)>("c16rtomb");
  return real(out, character, given ? given : &g_c16rtomb);
}

std::size_t mbsnrtowcs(wchar_t* out, const char** text, std::size_t bytes, std::size_t most,
                       mbstate_t* given) noexcept {
  const auto real = from_library<decltype(&mbsnrtowcs)>("mbsnrtowcs");
  return real(out, text, bytes, most, given ? given : &g_mbsnrtowcs);
}
std::size_t wcsnrtombs(char* out, const wchar_t** text, std::size_t count, std::size_t most,
                       mbstate_t* given) noexcept {
  const auto real = from_library<decltype(&wcsnrtombs)>("wcsnrtombs");
  return real(out, text, count, most, given ? given : &g_wcsnrtombs);
}
std::size_t mbrtoc32(char32_t* out, const char* text, std::size_t bytes,
                     mbstate_t* given) noexcept {
  const auto real = from_library<decltype(&mbrtoc32)>("mbrtoc32");
  return real(out, text, bytes, given ? given : &g_mbrtoc32);
}
std::size_t c32rtomb(char* out, char32_t character, mbstate_t* given) noexcept {
  const auto real = from_library<decltype(&c32rtomb)>("c32rtomb");
  return real(out, character, given ? given : &g_c32rtomb);
}

}  // extern "C"
