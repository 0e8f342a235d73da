// What functions of the C library do to memory on the program's behalf: told like accesses of the
// program's own code, before they are done.
#pragma once

#include <dlfcn.h>

#include <cstddef>

namespace warploom {

// The running fiber touches `bytes` at `p`; a violation becomes a finding.
// `caller`: where in the program the function was called.
void program_reads(const void* p, std::size_t bytes,
                   const void* caller = __builtin_return_address(0));
void program_writes(const void* p, std::size_t bytes,
                    const void* caller = __builtin_return_address(0));
// A string, of which at most `most` bytes are read. Null is nobody's: the call itself will fail.
void program_reads_text(const char* text, std::size_t most = static_cast<std::size_t>(-1),
                        const void* caller = __builtin_return_address(0));

// `count` times `bytes`, where it is a number: what wraps around would be looked at in part.
std::size_t bytes_of(std::size_t count, std::size_t bytes);

// The next definition of a function that this executable has as well: the C library's.
template <class Function>
Function* next_definition(Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace warploom

#define WARPLOOM_REAL(name) \
  static auto* const real_##name = ::warploom::next_definition(&::name, #name)
