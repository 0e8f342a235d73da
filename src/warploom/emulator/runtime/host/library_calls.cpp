// The C++ library's functions that follow a pointer to plain bytes, as the program calls them: like
// libc_*.cpp, its objects are linked with --wrap for each name here.
#include "host/library_calls.h"

#include <version>

#if defined(__GLIBCXX__)
#include <dlfcn.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <functional>
#include <locale>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host/libc_calls.h"
#include "host/program_range.h"

namespace {

struct Characters : std::ctype<char> {
  // The first of the members that headers change.
  static const char std::ctype<char>::* first() { return &Characters::_M_widen_ok; }
};

}  // namespace

std::pair<uintptr_t, uintptr_t> warploom::character_cache(link_map& program) {
  const auto classic =
      reinterpret_cast<decltype(&std::locale::classic)>(dlsym(&program, "_ZNSt6locale7classicEv"));
  const auto facet = reinterpret_cast<const std::ctype<char>& (*)(const std::locale&)>(
      dlsym(&program, "_ZSt9use_facetISt5ctypeIcEERKT_RKSt6locale"));
  if (!classic || !facet) return {};
  const std::ctype<char>& object = facet(classic());
  return {reinterpret_cast<uintptr_t>(&(object.*Characters::first())),
          reinterpret_cast<uintptr_t>(&object + 1)};
}

using Policy = std::__detail::_Prime_rehash_policy;
using warploom::program_reads;
using warploom::program_writes;

namespace {

// `make(first, last)` writes a number's text: what it has written the program gets.
template <class Make>
std::to_chars_result text_of_number(char* first, char* last, const void* caller, Make make) {
  constexpr std::ptrdiff_t kMost = 1 << 16;
  if (last <= first) return {last, std::errc::value_too_large};
  std::vector<char> text(static_cast<std::size_t>(std::min(last - first, kMost)));
  const std::to_chars_result made = make(text.data(), text.data() + text.size());
  if (made.ec != std::errc{}) return {last, made.ec};
  const auto bytes = static_cast<std::size_t>(made.ptr - text.data());
  program_writes(first, bytes, caller);
  std::memcpy(first, text.data(), bytes);
  return {first + bytes, made.ec};
}

template <class Number>
std::from_chars_result number_of_text(const char* first, const char* last, Number& value,
                                      std::chars_format format, const void* caller) {
  if (last <= first) return {first, std::errc::invalid_argument};
  program_reads(first, 1, caller);  // before it is followed
  Number found{};
  const std::from_chars_result read = std::from_chars(first, last, found, format);
  const std::ptrdiff_t seen = read.ptr - first + (read.ptr < last);
  program_reads(first, static_cast<std::size_t>(seen), caller);
  if (read.ec != std::errc{}) return read;
  program_writes(&value, sizeof value, caller);
  value = found;
  return read;
}

}  // namespace

#define NUMBER_TEXTS(type, code)                                                                 \
  std::to_chars_result __wrap__ZSt8to_charsPcS_##code(char* first, char* last, type value) {     \
    return text_of_number(first, last, CALLER,                                                   \
                          [=](char* from, char* to) { return std::to_chars(from, to, value); }); \
  }                                                                                              \
  std::to_chars_result __wrap__ZSt8to_charsPcS_##code##St12chars_format(                         \
      char* first, char* last, type value, std::chars_format format) {                           \
    return text_of_number(first, last, CALLER, [=](char* from, char* to) {                       \
      return std::to_chars(from, to, value, format);                                             \
    });                                                                                          \
  }                                                                                              \
  std::to_chars_result __wrap__ZSt8to_charsPcS_##code##St12chars_formati(                        \
      char* first, char* last, type value, std::chars_format format, int precision) {            \
    return text_of_number(first, last, CALLER, [=](char* from, char* to) {                       \
      return std::to_chars(from, to, value, format, precision);                                  \
    });                                                                                          \
  }                                                                                              \
  std::from_chars_result __wrap__ZSt10from_charsPKcS0_R##code##St12chars_format(                 \
      const char* first, const char* last, type& value, std::chars_format format) {              \
    return number_of_text(first, last, value, format, CALLER);                                   \
  }

extern "C" {

NUMBER_TEXTS(float, f)
NUMBER_TEXTS(double, d)
NUMBER_TEXTS(long double, e)

std::size_t __wrap__ZSt11_Hash_bytesPKvmm(const void* bytes, std::size_t count, std::size_t seed) {
  program_reads(bytes, count);
  return std::_Hash_bytes(bytes, count, seed);
}
std::size_t __wrap__ZSt15_Fnv_hash_bytesPKvmm(const void* bytes, std::size_t count,
                                              std::size_t seed) {
  program_reads(bytes, count);
  return std::_Fnv_hash_bytes(bytes, count, seed);
}

std::pair<bool, std::size_t> __wrap__ZNKSt8__detail20_Prime_rehash_policy14_M_need_rehashEmmm(
    const Policy* policy, std::size_t buckets, std::size_t elements, std::size_t more) {
  program_reads(policy, sizeof *policy);
  program_writes(policy, sizeof *policy);
  return policy->_M_need_rehash(buckets, elements, more);
}
std::size_t __wrap__ZNKSt8__detail20_Prime_rehash_policy11_M_next_bktEm(const Policy* policy,
                                                                        std::size_t buckets) {
  program_reads(policy, sizeof *policy);
  program_writes(policy, sizeof *policy);
  return policy->_M_next_bkt(buckets);
}

}  // extern "C"
#else
std::pair<uintptr_t, uintptr_t> warploom::character_cache(link_map&) { return {}; }
#endif
