// The C++ library's functions that follow a pointer to plain bytes, as the program calls them: like
// libc_*.cpp, its objects are linked with --wrap for each name here.
#include <version>

#if defined(__GLIBCXX__)
#include <functional>
#include <unordered_map>
#include <utility>

#include "program_range.h"

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
#endif
