// The inline PTX that is emulated: what the rewriter turns instructions into.
#pragma once

#include "async.h"
#include "cluster.h"
#include "group_copy.h"
#include "intrinsics.h"
#include "multimem.h"
#include "warp.h"

namespace warploom::ptx {

// Whether a template, of which macros are a part, is a text that was translated.
constexpr bool same_text(const char* _Wa, const char* _Wb) {
  for (; *_Wa && *_Wa == *_Wb; ++_Wa) ++_Wb;
  return *_Wa == *_Wb;
}

// A register by its constraint letter holds the bits; an instruction reads them as its own type.
template <class _WT, class _WR>
WARPLOOM_INLINED inline _WT read(_WR value) {
  if constexpr (std::is_pointer_v<_WR>) {
    return read<_WT>(reinterpret_cast<std::uintptr_t>(value));
  } else if constexpr (std::is_enum_v<_WR>) {
    return read<_WT>(static_cast<std::underlying_type_t<_WR>>(value));
  } else if constexpr (std::is_same_v<_WT, bool>) {
    return value != 0;
  } else if constexpr (std::is_integral_v<_WT> == std::is_integral_v<_WR>) {
    return static_cast<_WT>(value);
  } else if constexpr (sizeof(_WT) == sizeof(_WR)) {
    return bits_as<_WT>(value);
  } else {
    // A literal such as 1, or the low half of a wider register.
    _WT out{};
    std::memcpy(&out, &value, sizeof(_WT) < sizeof(_WR) ? sizeof(_WT) : sizeof(_WR));
    return out;
  }
}
template <class _WR, class _WT>
WARPLOOM_INLINED inline void write(_WR& target, _WT value) {
  target = read<_WR>(value);
}
// From a register to the variable that the statement names.
template <class _WV, class _WR>
WARPLOOM_INLINED inline void assign(_WV& variable, _WR value) {
  if constexpr (std::is_pointer_v<_WV>) {
    variable = reinterpret_cast<_WV>(static_cast<std::uintptr_t>(value));
  } else if constexpr (std::is_arithmetic_v<_WV>) {
    variable = read<_WV>(value);
  } else {
    static_assert(sizeof(_WV) <= sizeof(_WR));
    std::memcpy(&variable, &value, sizeof(_WV));
  }
}
// From the expression that the statement names to a register.
template <class _WR, class _WV>
WARPLOOM_INLINED inline _WR input(_WV value) {
  if constexpr (std::is_array_v<_WV> || std::is_pointer_v<_WV> || std::is_arithmetic_v<_WV> ||
                std::is_enum_v<_WV>) {
    return read<_WR>(value);
  } else {
    _WR out{};
    std::memcpy(&out, &value, sizeof(_WV) < sizeof(_WR) ? sizeof(_WV) : sizeof(_WR));
    return out;
  }
}

// Of an address of the shared state space, or of a generic one.
void* shared_address(std::uint64_t address);
// An address of the shared state space in another block of the cluster.
std::uint64_t mapped_offset(std::uint64_t address, unsigned rank);
WARPLOOM_UNCHECKED inline void* generic_address(std::uint64_t address) {
  return reinterpret_cast<void*>(address);
}

WARPLOOM_UNCHECKED inline PhaseBarrier* barrier_at(void* _Wp) {
  return static_cast<PhaseBarrier*>(_Wp);
}

// Plain accesses are checked as the program's own; the others are atomic.
template <class _WT>
_WT load(const void* _Wp) {
  return *static_cast<const _WT*>(_Wp);
}
template <class _WT>
void store(void* _Wp, _WT value) {
  *static_cast<_WT*>(_Wp) = value;
}
// The last operand of cp.async: how many bytes come from the source, or whether none do.
template <class _WR>
WARPLOOM_UNCHECKED unsigned kept_bytes(unsigned bytes, _WR operand) {
  if constexpr (std::is_same_v<_WR, bool>) {
    return operand ? 0 : bytes;
  } else {
    return read<std::uint32_t>(operand);
  }
}
template <class _WT>
WARPLOOM_UNCHECKED _WT load_atomic(const void* _Wp, Order order, Scope scope) {
  atomic_load_access(_Wp, sizeof(_WT), order, scope);
  _WT value;
  std::memcpy(&value, _Wp, sizeof value);
  return value;
}
template <class _WT>
WARPLOOM_UNCHECKED void store_atomic(void* _Wp, _WT value, Order order, Scope scope) {
  atomic_access(_Wp, sizeof(_WT), false, true, order, scope);
  std::memcpy(_Wp, &value, sizeof value);
  atomic_changed();
}
template <class _WT, Update kUpdate = Update::Other, class Change>
WARPLOOM_UNCHECKED _WT change(void* _Wp, Order order, Scope scope, Change change) {
  atomic_access(_Wp, sizeof(_WT), true, true, order, scope, kUpdate);
  _WT before;
  std::memcpy(&before, _Wp, sizeof before);
  const _WT after = change(before);
  if (!warploom::same_bits(before, after)) {
    std::memcpy(_Wp, &after, sizeof after);
    changed_by<kUpdate>();
  }
  return before;
}

unsigned warp_index();
unsigned sm_index();
unsigned dynamic_shared_bytes();
WARPLOOM_UNCHECKED inline bool elected(unsigned mask) {
  return (mask & ((1u << lane_index()) - 1)) == 0;
}

WARPLOOM_UNCHECKED inline unsigned find_top(unsigned long long value) {
  return value ? 63u - static_cast<unsigned>(__builtin_clzll(value)) : 0xFFFFFFFFu;
}
template <class _WT>
WARPLOOM_UNCHECKED _WT extract(_WT value, unsigned first, unsigned count) {
  first &= 255, count &= 255;
  if (count == 0 || first >= sizeof(_WT) * 8) return 0;
  using _WU = std::make_unsigned_t<_WT>;
  const unsigned width = sizeof(_WT) * 8;
  if (first + count > width) count = width - first;
  const _WU up = static_cast<_WU>(static_cast<_WU>(value) << (width - first - count));
  return static_cast<_WT>(static_cast<_WT>(up) >> (width - count));
}
template <class _WT>
WARPLOOM_UNCHECKED _WT insert(_WT piece, _WT into, unsigned first, unsigned count) {
  const unsigned width = sizeof(_WT) * 8;
  if (count == 0 || first >= width) return into;
  const _WT ones = count >= width ? ~_WT{0} : static_cast<_WT>((_WT{1} << count) - 1);
  return static_cast<_WT>((into & ~(ones << first)) | ((piece & ones) << first));
}
WARPLOOM_UNCHECKED inline unsigned logic3(unsigned _Wa, unsigned _Wb, unsigned _Wc,
                                          unsigned table) {
  unsigned out = 0;
  for (unsigned _Wi = 0; _Wi < 8; _Wi++) {
    if (!(table >> _Wi & 1)) continue;
    out |= (_Wi & 4 ? _Wa : ~_Wa) & (_Wi & 2 ? _Wb : ~_Wb) & (_Wi & 1 ? _Wc : ~_Wc);
  }
  return out;
}
template <class _WT>
WARPLOOM_UNCHECKED _WT shift_left(_WT value, unsigned by) {
  return by >= sizeof(_WT) * 8 ? _WT{0} : static_cast<_WT>(value << by);
}
template <class _WT>
WARPLOOM_UNCHECKED _WT shift_right(_WT value, unsigned by) {
  if (by >= sizeof(_WT) * 8) return value < _WT{0} ? static_cast<_WT>(-1) : _WT{0};
  return static_cast<_WT>(value >> by);
}
template <class _WT>
WARPLOOM_UNCHECKED _WT high_product(_WT _Wa, _WT _Wb) {
  using Wide =
      std::conditional_t<sizeof(_WT) == 8,
                         std::conditional_t<std::is_signed_v<_WT>, __int128, unsigned __int128>,
                         std::conditional_t<std::is_signed_v<_WT>, long long, unsigned long long>>;
  return static_cast<_WT>((static_cast<Wide>(_Wa) * static_cast<Wide>(_Wb)) >> (sizeof(_WT) * 8));
}

}  // namespace warploom::ptx
