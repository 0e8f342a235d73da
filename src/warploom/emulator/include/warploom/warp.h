// Barriers of the block and operations of the warp.
#pragma once

#include "qualifiers.h"

inline void __syncthreads(int site = WARPLOOM_SITE) { warploom::block_barrier(site); }
inline int __syncthreads_count(int predicate, int site = WARPLOOM_SITE) {
  return warploom::voting_barrier(warploom::BarrierVote::Count, predicate, site);
}
inline int __syncthreads_and(int predicate, int site = WARPLOOM_SITE) {
  return warploom::voting_barrier(warploom::BarrierVote::And, predicate, site);
}
inline int __syncthreads_or(int predicate, int site = WARPLOOM_SITE) {
  return warploom::voting_barrier(warploom::BarrierVote::Or, predicate, site);
}
inline void __syncwarp(unsigned mask = 0xFFFFFFFFu) { warploom::warp_barrier(mask); }
inline unsigned __activemask(int site = WARPLOOM_SITE) { return warploom::active_mask(site); }

namespace warploom {

// Values wider than 8 bytes go in pieces, as the hardware moves 32-bit registers.
template <class _WT>
WARPLOOM_INLINED inline _WT shuffle(unsigned mask, _WT value, unsigned source,
                                    WarpOperation operation = WarpOperation::Shuffle) {
  static_assert(std::is_trivially_copyable_v<_WT>);
  operation = of_kind(operation, sizeof(_WT) > 4);  // two registers are two instructions
  _WT result;
  if constexpr (sizeof(_WT) <= 8) {
    std::uint64_t piece = 0;
    std::memcpy(&piece, &value, sizeof(_WT));
    piece = warp_exchange(mask, piece, source, operation);
    std::memcpy(&result, &piece, sizeof(_WT));
    return result;
  }
  for (std::size_t at = 0; at < sizeof(_WT); at += 8) {
    const std::size_t bytes = sizeof(_WT) - at < 8 ? sizeof(_WT) - at : 8;
    std::uint64_t piece = 0;
    std::memcpy(&piece, reinterpret_cast<const char*>(&value) + at, bytes);
    piece = warp_exchange(mask, piece, source, operation);
    std::memcpy(reinterpret_cast<char*>(&result) + at, &piece, bytes);
  }
  return result;
}

template <class _WT, class Combine>
WARPLOOM_UNCHECKED _WT warp_reduce(unsigned mask, _WT value, WarpOperation operation,
                                   Combine combine) {
  std::uint64_t in = 0, all[32];
  std::memcpy(&in, &value, sizeof(_WT));
  warp_gather(mask, in, all, of_kind(operation, std::is_signed_v<_WT>));
  mask &= warp_present();
  bool first = true;
  _WT result{};
  for (unsigned lane = 0; lane < 32; lane++) {
    if (!(mask >> lane & 1)) continue;
    _WT other;
    std::memcpy(&other, &all[lane], sizeof(_WT));
    result = first ? other : combine(result, other);
    first = false;
  }
  return result;
}

}  // namespace warploom

namespace warploom {

// A number for a type, by its name (FNV-1a).
template <class _WT>
consteval unsigned mark_of() {
  unsigned mark = 2166136261u;
  for (const char* at = __PRETTY_FUNCTION__; *at; at++) {
    mark = (mark ^ static_cast<unsigned char>(*at)) * 16777619u;
  }
  return mark & 0x3FFFFF;
}

// Of other widths the results are undefined ("Warp Shuffle Functions" in the programming guide).
WARPLOOM_INLINED inline void check_width(int width) {
  if (width <= 0 || width > 32 || (width & (width - 1))) [[unlikely]]
    refuse_width(width);
}

// Values of any type, as groups move them.
template <class _WT>
WARPLOOM_INLINED inline _WT shfl(unsigned mask, _WT value, int source, int width = 32) {
  check_width(width);
  const unsigned lane = lane_index(), group = lane & ~(unsigned(width) - 1);
  return shuffle(mask, value, group | (unsigned(source) & (unsigned(width) - 1)));
}
template <class _WT>
WARPLOOM_INLINED inline _WT shfl_up(unsigned mask, _WT value, unsigned delta, int width = 32) {
  check_width(width);
  const unsigned lane = lane_index(), first = lane & ~(unsigned(width) - 1);
  return shuffle(mask, value, lane >= first + delta ? lane - delta : lane,
                 WarpOperation::ShuffleUp);
}
template <class _WT>
WARPLOOM_INLINED inline _WT shfl_down(unsigned mask, _WT value, unsigned delta, int width = 32) {
  check_width(width);
  const unsigned lane = lane_index(), last = lane | (unsigned(width) - 1);
  return shuffle(mask, value, lane + delta <= last ? lane + delta : lane,
                 WarpOperation::ShuffleDown);
}
template <class _WT>
WARPLOOM_INLINED inline _WT shfl_xor(unsigned mask, _WT value, int bits, int width = 32) {
  check_width(width);
  const unsigned lane = lane_index(), other = lane ^ unsigned(bits);
  const unsigned last = lane | (unsigned(width) - 1);
  return shuffle(mask, value, other <= last ? other : lane, WarpOperation::ShuffleXor);
}

// The types of which CUDA has overloads.
template <class _WT>
inline constexpr bool kOneRegister = false;
template <>
inline constexpr bool kOneRegister<int> = true;
template <>
inline constexpr bool kOneRegister<unsigned> = true;
template <>
inline constexpr bool kOneRegister<long> = true;
template <>
inline constexpr bool kOneRegister<unsigned long> = true;
template <>
inline constexpr bool kOneRegister<long long> = true;
template <>
inline constexpr bool kOneRegister<unsigned long long> = true;
template <>
inline constexpr bool kOneRegister<float> = true;
template <>
inline constexpr bool kOneRegister<double> = true;
// What becomes int on its way: smaller integers, and enumerations that need no cast.
template <class _WT>
inline constexpr bool kPromoted = (std::is_integral_v<_WT> || std::is_enum_v<_WT>) &&
                                  std::is_convertible_v<_WT, int> && !kOneRegister<_WT>;
// And those of CUDA's headers of short numbers.
template <class _WT>
inline constexpr bool kShortNumber = false;

}  // namespace warploom

#define WARPLOOM_SHUFFLE(name, by, type)                                             \
  template <class _WT>                                                               \
    requires warploom::kOneRegister<_WT> || warploom::kShortNumber<_WT>              \
  WARPLOOM_INLINED inline _WT __shfl##name##_sync(unsigned mask, _WT value, type by, \
                                                  int width = 32) {                  \
    return warploom::shfl##name(mask, value, by, width);                             \
  }                                                                                  \
  template <class _WT>                                                               \
    requires warploom::kPromoted<_WT>                                                \
  WARPLOOM_INLINED inline int __shfl##name##_sync(unsigned mask, _WT value, type by, \
                                                  int width = 32) {                  \
    return warploom::shfl##name(mask, static_cast<int>(value), by, width);           \
  }
WARPLOOM_SHUFFLE(, source, int)
WARPLOOM_SHUFFLE(_up, delta, unsigned)
WARPLOOM_SHUFFLE(_down, delta, unsigned)
WARPLOOM_SHUFFLE(_xor, bits, int)
#undef WARPLOOM_SHUFFLE

inline unsigned __ballot_sync(unsigned mask, int predicate) {
  return warploom::warp_ballot(mask, predicate);
}
inline int __any_sync(unsigned mask, int predicate) {
  return warploom::warp_ballot(mask, predicate, warploom::WarpOperation::Any) != 0;
}
inline int __all_sync(unsigned mask, int predicate) {
  return warploom::warp_ballot(mask, !predicate, warploom::WarpOperation::All) == 0;
}
// The forms of CUDA 8 and before: among the lanes that come together.
inline unsigned __ballot(int predicate, int site = WARPLOOM_SITE) {
  return warploom::warp_ballot(warploom::active_mask(site), predicate);
}
inline int __any(int predicate, int site = WARPLOOM_SITE) {
  return warploom::warp_ballot(warploom::active_mask(site), predicate) != 0;
}
inline int __all(int predicate, int site = WARPLOOM_SITE) {
  return warploom::warp_ballot(warploom::active_mask(site), !predicate) == 0;
}
template <class _WT>
_WT __shfl(_WT value, int source, int width = 32, int site = WARPLOOM_SITE) {
  return __shfl_sync(warploom::active_mask(site), value, source, width);
}
template <class _WT>
_WT __shfl_up(_WT value, unsigned delta, int width = 32, int site = WARPLOOM_SITE) {
  return __shfl_up_sync(warploom::active_mask(site), value, delta, width);
}
template <class _WT>
_WT __shfl_down(_WT value, unsigned delta, int width = 32, int site = WARPLOOM_SITE) {
  return __shfl_down_sync(warploom::active_mask(site), value, delta, width);
}
template <class _WT>
_WT __shfl_xor(_WT value, int bits, int width = 32, int site = WARPLOOM_SITE) {
  return __shfl_xor_sync(warploom::active_mask(site), value, bits, width);
}

namespace warploom {
template <class _WT>
WARPLOOM_DEVICE_INLINE unsigned match(unsigned mask, _WT value, WarpOperation operation) {
  std::uint64_t mine = 0, all[32];
  std::memcpy(&mine, &value, sizeof(_WT));
  warp_gather(mask, mine, all, of_kind(operation, sizeof(_WT) > 4));
  mask &= warp_present();
  unsigned same = 0;
  for (unsigned lane = 0; lane < 32; lane++) {
    if ((mask >> lane & 1) && all[lane] == mine) same |= 1u << lane;
  }
  return same;
}
}  // namespace warploom

template <class _WT>
  requires warploom::kOneRegister<_WT>
WARPLOOM_DEVICE_INLINE unsigned __match_any_sync(unsigned mask, _WT value) {
  return warploom::match(mask, value, warploom::WarpOperation::MatchAny);
}
template <class _WT>
  requires warploom::kPromoted<_WT>
WARPLOOM_DEVICE_INLINE unsigned __match_any_sync(unsigned mask, _WT value) {
  return __match_any_sync<int>(mask, static_cast<int>(value));
}
template <class _WT>
  requires warploom::kOneRegister<_WT>
unsigned __match_all_sync(unsigned mask, _WT value, int* predicate) {
  const unsigned same = warploom::match(mask, value, warploom::WarpOperation::MatchAll);
  *predicate = same == (mask & warploom::warp_present());
  return *predicate ? mask : 0;
}
template <class _WT>
  requires warploom::kPromoted<_WT>
unsigned __match_all_sync(unsigned mask, _WT value, int* predicate) {
  return __match_all_sync<int>(mask, static_cast<int>(value), predicate);
}

#define WARPLOOM_REDUCE(name, operation, type, expression)                        \
  inline type name(unsigned mask, type value) {                                   \
    return warploom::warp_reduce(mask, value, warploom::WarpOperation::operation, \
                                 [](type _Wa, type _Wb) { return expression; });  \
  }
WARPLOOM_REDUCE(__reduce_add_sync, ReduceAdd, unsigned, _Wa + _Wb)
WARPLOOM_REDUCE(__reduce_add_sync, ReduceAdd, int, _Wa + _Wb)
WARPLOOM_REDUCE(__reduce_min_sync, ReduceMin, unsigned, _Wa < _Wb ? _Wa : _Wb)
WARPLOOM_REDUCE(__reduce_min_sync, ReduceMin, int, _Wa < _Wb ? _Wa : _Wb)
WARPLOOM_REDUCE(__reduce_max_sync, ReduceMax, unsigned, _Wa < _Wb ? _Wb : _Wa)
WARPLOOM_REDUCE(__reduce_max_sync, ReduceMax, int, _Wa < _Wb ? _Wb : _Wa)
WARPLOOM_REDUCE(__reduce_and_sync, ReduceAnd, unsigned, _Wa& _Wb)
WARPLOOM_REDUCE(__reduce_or_sync, ReduceOr, unsigned, _Wa | _Wb)
WARPLOOM_REDUCE(__reduce_xor_sync, ReduceXor, unsigned, _Wa ^ _Wb)
#undef WARPLOOM_REDUCE
