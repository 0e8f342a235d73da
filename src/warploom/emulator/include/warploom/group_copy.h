// A copy shared out among the threads of a group, in the widest pieces that the addresses allow.
#pragma once

#include "device.h"

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

inline void group_copy(std::size_t rank, std::size_t threads, void* target, const void* source,
                       std::size_t bytes) {
  const std::size_t all =
      reinterpret_cast<std::uintptr_t>(target) | reinterpret_cast<std::uintptr_t>(source) | bytes;
  if (all % 8 == 0) return group_copy_pieces<std::uint64_t>(rank, threads, target, source, bytes);
  if (all % 4 == 0) return group_copy_pieces<std::uint32_t>(rank, threads, target, source, bytes);
  group_copy_pieces<char>(rank, threads, target, source, bytes);
}

}  // namespace warploom
