// The C++ library's functions that follow a pointer to plain bytes, as the program calls them: like
// libc_*.cpp, its objects are linked with --wrap for each name here.
#include "library_calls.h"

#include <version>

#if defined(__GLIBCXX__)
#include <dlfcn.h>

#include <functional>
#include <locale>
#include <unordered_map>
#include <utility>

#include "program_range.h"

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

extern "C" {

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
