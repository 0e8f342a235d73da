// Results in memory that both sides see: pinned and managed memory, and managed variables.
//
// No copy tells when such a result comes to the host, so each byte has a mark: a device has stored
// it, and the host has not taken it since. What the host then reads by a plain access is a result,
// as a read-back is. It does not matter in which order it reads: the n-th value that it takes of a
// byte belongs to the n-th reading of that byte's memory. Polled flags, which are read by volatile
// and atomic accesses, hold whatever the moment gives, and are none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/layout.h"
#include "memory/memory.h"

namespace warploom {

// One bit for each byte of pinned memory, and of the history of variables behind it.
inline uint32_t result_marks(uintptr_t place, unsigned bytes) {
  uint32_t word = 0;
  std::memcpy(&word, reinterpret_cast<const void*>(kStoredMarks + place / 8), sizeof word);
  return word >> place % 8 & ((1u << bytes) - 1);
}

// A thread of a kernel stores a few bytes, whose history lies at `address`.
[[gnu::always_inline]] inline void note_device_store(uintptr_t address, unsigned bytes) {
  const uintptr_t place = address - g_places.pinned;
  if (place >= kPinnedBytes) return;
  auto* marks = reinterpret_cast<void*>(kStoredMarks + place / 8);
  uint32_t word = 0;
  std::memcpy(&word, marks, sizeof word);
  word |= ((1u << bytes) - 1) << place % 8;
  std::memcpy(marks, &word, sizeof word);
}
// The same for any number of bytes at `p`, by kernels and collectives.
void note_device_stores(const void* p, std::size_t bytes);

// Host code touches memory. A strong access is a volatile or atomic one.
void note_host_access(const void* p, std::size_t bytes, bool write, bool strong);
// The same for a few bytes of pinned memory.
[[gnu::always_inline]] inline void note_host_touch(const void* p, unsigned bytes, bool write) {
  const uintptr_t place = reinterpret_cast<uintptr_t>(p) - g_places.pinned;
  if (result_marks(place, bytes)) [[unlikely]]
    note_host_access(p, bytes, write, false);
}
// Something else than a kernel or the host reads it: what comes back to a host is no input any
// more.
void note_result_passes(const void* p, std::size_t bytes);
// A copy writes memory that both sides see: what it brings is looked at elsewhere.
void forget_results(const void* p, std::size_t bytes);
// The host gets a copy of what lies at `src`, in its own memory or in such as both sides see.
void copy_results(const void* dst, const void* src, std::size_t bytes);

void create_result_marks();
void report_results();  // before the end of the report

}  // namespace warploom
