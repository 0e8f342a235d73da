// Reads of memory that nobody has written. Fresh memory holds one word throughout, so that a look
// at what is read says whether the history has to be asked at all. (Nobody looks where that word is
// 0, in a run that is only compared with another one.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/config.h"
#include "schedule/fiber.h"

namespace warploom {

// Has host code read memory that devices can reach, or a copy given it any? Else nothing shows what
// kernels computed.
extern bool g_host_looked;

void fill_fresh(uintptr_t start, std::size_t bytes);

inline bool may_be_fresh(uintptr_t address) {
  return *reinterpret_cast<const uint32_t*>(address & ~uintptr_t{3}) == g_config.fresh_word;
}
// The running fiber reads emulated memory or a variable, whose first word may be fresh.
void note_fresh_read(const void* p, std::size_t bytes, uint32_t pc);
// The operation `name`, issued at `where`, hands memory to the host or computes with it: that
// matters only where the program's results change with it.
void note_fresh_source(const void* p, std::size_t bytes, const char* name, int rank,
                       const Frames& where);

// The running fiber takes a value that nobody has given, which `what` says: the word to take for
// it.
uint32_t note_undefined(const std::string& what);

}  // namespace warploom
