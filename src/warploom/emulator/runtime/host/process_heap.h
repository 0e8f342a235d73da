// The host heap of each emulated process, in a range of addresses of its own: an address tells
// whose memory it is. What the heap knows of its blocks lies elsewhere, where no program can reach
// it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/layout.h"

namespace warploom {

constexpr std::size_t kLeastAlignment = 16;  // of malloc

inline bool in_heaps(const void* p) {
  return reinterpret_cast<uintptr_t>(p) - g_places.heaps < g_places.heaps_bytes;
}
extern unsigned g_heap_shift;  // addresses of one heap, as a power of two
inline std::size_t heap_span() { return std::size_t{1} << g_heap_shift; }
inline uintptr_t heap_of(int process) {
  return g_places.heaps + (static_cast<uintptr_t>(process) << g_heap_shift);
}
inline int heap_owner(const void* p) {
  return static_cast<int>((reinterpret_cast<uintptr_t>(p) - g_places.heaps) >> g_heap_shift);
}
void create_heaps(int processes);

// nullptr: there are no addresses left.
void* heap_take(int process, std::size_t bytes, std::size_t alignment = kLeastAlignment);
void* heap_take_zeroed(int process, std::size_t bytes);
// What became of a block that is given back.
enum class Given { Back, NoBlock, Before };
Given heap_give(void* block);
// How many bytes a live block has; 0: it is none.
std::size_t heap_bytes(const void* block);
// How many bytes there are from an address of a heap to the end of its block, as the heap divides
// its memory; 0: it lies in no live one.
std::size_t heap_room(const void* p);
inline bool heap_holds(const void* p) { return heap_room(p) > 0; }

// What the C library's allocator gives, for the runtime itself.
extern "C" {
void* __libc_malloc(std::size_t bytes);
void __libc_free(void* block);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* block, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
}

// While the loader loads a program, up to the program's first own instruction: what is allocated
// belongs to libraries.
extern bool g_loading;
// The process whose heap serves a call from `caller`; -1: the runtime's own memory.
int heap_for(const void* caller);
// A block of the running process, for what the runtime hands to the program.
void* program_memory(std::size_t bytes, std::size_t alignment = kLeastAlignment);

// What the program calls free with: a block of its own, or a finding.
void free_for_program(void* block);

}  // namespace warploom
