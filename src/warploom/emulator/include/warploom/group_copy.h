// A copy shared out among the threads of a group, in the widest pieces that the addresses allow.
#pragma once

#include "async.h"

namespace cuda {

// A size that promises an alignment of source and target.
template <::std::size_t Alignment>
struct aligned_size_t {
  static constexpr ::std::size_t align = Alignment;
  ::std::size_t value;
  explicit constexpr aligned_size_t(::std::size_t bytes) : value(bytes) {}
  constexpr operator ::std::size_t() const { return value; }
};

}  // namespace cuda

namespace warploom {

template <class Piece>
void group_copy_pieces(std::size_t rank, std::size_t threads, void* target, const void* source,
                       std::size_t bytes) {
  auto* to = static_cast<Piece*>(target);
  auto* from = static_cast<const Piece*>(source);
  for (std::size_t _Wi = rank; _Wi < bytes / sizeof(Piece); _Wi += threads) to[_Wi] = from[_Wi];
}

// The same as copies that take their time. False: nothing was done.
template <class Piece>
[[gnu::always_inline]] inline void group_pieces_later(std::size_t rank, std::size_t threads,
                                                      void* target, const void* source,
                                                      std::size_t bytes) {
  auto* to = static_cast<Piece*>(target);
  auto* from = static_cast<const Piece*>(source);
  for (std::size_t _Wi = rank; _Wi < bytes / sizeof(Piece); _Wi += threads) {
    copy_later(to + _Wi, from + _Wi, sizeof(Piece), sizeof(Piece));
  }
}
[[gnu::always_inline]] inline bool group_copy_later(std::size_t rank, std::size_t threads,
                                                    void* target, const void* source,
                                                    std::size_t bytes) {
  if (!copies_later(target, source, 0)) return false;
  const std::size_t all =
      reinterpret_cast<std::uintptr_t>(target) | reinterpret_cast<std::uintptr_t>(source) | bytes;
  if (all % 8 == 0) {
    group_pieces_later<std::uint64_t>(rank, threads, target, source, bytes);
  } else if (all % 4 == 0) {
    group_pieces_later<std::uint32_t>(rank, threads, target, source, bytes);
  } else {
    group_pieces_later<char>(rank, threads, target, source, bytes);
  }
  return true;
}

inline void group_copy(std::size_t rank, std::size_t threads, void* target, const void* source,
                       std::size_t bytes) {
  const std::size_t all =
      reinterpret_cast<std::uintptr_t>(target) | reinterpret_cast<std::uintptr_t>(source) | bytes;
  if (all % 8 == 0) return group_copy_pieces<std::uint64_t>(rank, threads, target, source, bytes);
  if (all % 4 == 0) return group_copy_pieces<std::uint32_t>(rank, threads, target, source, bytes);
  group_copy_pieces<char>(rank, threads, target, source, bytes);
}

// One cp.async: of `bytes`, the first `kept` come from the source, and the rest becomes zero.
[[gnu::always_inline]] inline void thread_copy(void* to, const void* from, unsigned bytes,
                                               unsigned kept) {
  if (kept > bytes) kept = bytes;
  if (copies_later(to, kept ? from : nullptr, bytes)) return copy_later(to, from, bytes, kept);
  group_copy(0, 1, to, from, kept);
  for (unsigned _Wi = kept; _Wi < bytes; _Wi++) static_cast<char*>(to)[_Wi] = 0;
}

}  // namespace warploom
