// nccl::utility: what NCCL's own headers offer to programs besides the device API. Loads and stores
// through a pointer are the program's and are checked as such.
#pragma once

#include <warploom/intrinsics.h>

#include <cstddef>
#include <cstdint>
#include <cuda/atomic>
#include <type_traits>

#include "utility.h"

#define NCCL_IR_EXTERN_C
#define NCCL_IF_CONSTEXPR constexpr
// How often a loop is unrolled is no matter here.
#define DO_PRAGMA(_Wx) _Pragma(#_Wx)
#define NVCC_PRAGMA_UNROLL(_Wn) DO_PRAGMA(unroll _Wn)
#define NVCC_PRAGMA_UNROLL_AUTO DO_PRAGMA(unroll)
#define NVCC_PRAGMA_UNROLL_DISABLED NVCC_PRAGMA_UNROLL(1)
#define NCCL_DEVICE_LOADCONST_USE_LDG 0

namespace nccl::utility {

// Types

template <typename>
struct always_false {
  static constexpr bool value = false;
};
template <typename _WT>
_WT&& declval() noexcept {
  static_assert(always_false<_WT>::value, "declval may only be named where nothing is evaluated");
}
template <typename _WT, _WT value_>
struct ValueAsType {
  static constexpr _WT value = value_;
};
template <int... vals>
struct IntSeq {};
template <int n, int m, int... i>
struct IntSeqUpTo : IntSeqUpTo<n, m + 1, i..., m> {};
template <int n, int... i>
struct IntSeqUpTo<n, n, i...> {
  using Type = IntSeq<i...>;
};

// Whole numbers. Alignments and the like are powers of two.

template <typename _WX, typename _WY, typename _WZ = decltype(_WX() + _WY())>
constexpr _WZ divUp(_WX x, _WY y) {
  return (x + y - 1) / y;
}
template <typename _WX, typename _WY, typename _WZ = decltype(_WX() + _WY())>
constexpr _WZ roundUp(_WX x, _WY y) {
  return divUp(x, y) * y;
}
template <typename _WX, typename _WY, typename _WZ = decltype(_WX() + _WY())>
constexpr _WZ roundDown(_WX x, _WY y) {
  return x / y * y;
}
template <typename _WX, typename _WY, typename _WZ = decltype(_WX() + int())>
  requires(!std::is_pointer_v<_WX>)
constexpr _WZ alignDown(_WX x, _WY a) {
  return x & ~(_WZ(a) - 1);
}
template <typename _WX, typename _WY, typename _WZ = decltype(_WX() + _WY())>
  requires(!std::is_pointer_v<_WX>)
constexpr _WZ alignUp(_WX x, _WY a) {
  return alignDown(_WZ(x + a - 1), a);
}
template <typename _WT>
_WT* alignDown(_WT* x, std::size_t a) {
  static_assert(sizeof(_WT) == 1, "only pointers to bytes can be aligned");
  return x - reinterpret_cast<std::uintptr_t>(x) % a;
}
template <typename _WT>
_WT* alignUp(_WT* x, std::size_t a) {
  static_assert(sizeof(_WT) == 1, "only pointers to bytes can be aligned");
  return alignDown(x + a - 1, a);
}
template <typename _WT = void>
void* alignDown(const void* x, std::size_t a) {
  return alignDown(const_cast<char*>(static_cast<const char*>(x)), a);
}
template <typename _WT = void>
void* alignUp(const void* x, std::size_t a) {
  return alignUp(const_cast<char*>(static_cast<const char*>(x)), a);
}
template <typename _WT>
_WT add4G(_WT base, int delta4G) {
  static_assert(sizeof(_WT) == 8, "only what has 64 bits has an upper half");
  const auto more = static_cast<std::uint64_t>(static_cast<std::uint32_t>(delta4G)) << 32;
  return __builtin_bit_cast(_WT, __builtin_bit_cast(std::uint64_t, base) + more);
}
template <typename Int>
constexpr bool isPow2(Int x) {
  return (x & (x - 1)) == 0;
}
// Comparisons of counters that wrap around after `nBits` bits.
template <typename Uint>
bool rollingLessEq(Uint a, Uint b, int nBits = 8 * sizeof(Uint)) {
  static_assert(Uint(0) < Uint(-1), "a counter that wraps around is unsigned");
  const Uint mask = Uint(-1) >> (8 * static_cast<int>(sizeof(Uint)) - nBits);
  return (Uint(b - a) & mask) <= mask / 2;
}
template <typename Uint>
bool rollingLessThan(Uint a, Uint b, int nBits = 8 * sizeof(Uint)) {
  return !rollingLessEq(b, a, nBits);
}

// Division by a number whose reciprocal is known: idivFast(x, y, idivRcp(y)) is x / y.

constexpr std::uint32_t idivRcp32(std::uint32_t x) { return ~0u / x + isPow2(x); }
constexpr std::uint64_t idivRcp64(std::uint64_t x) { return ~std::uint64_t{0} / x + isPow2(x); }
inline std::uint32_t mul32hi(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint32_t>(std::uint64_t{a} * b >> 32);
}
inline std::uint64_t mul64hi(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::uint64_t>(static_cast<unsigned __int128>(a) * b >> 64);
}
inline std::uint32_t imulRcp32(std::uint32_t x, std::uint32_t, std::uint32_t y, std::uint32_t) {
  return idivRcp32(x * y);
}
inline std::uint64_t imulRcp64(std::uint64_t x, std::uint64_t, std::uint64_t y, std::uint64_t) {
  return idivRcp64(x * y);
}
inline void idivmodFast32(std::uint32_t* quo, std::uint32_t* rem, std::uint32_t x, std::uint32_t y,
                          std::uint32_t) {
  *quo = x / y;
  *rem = x % y;
}
inline void idivmodFast64(std::uint64_t* quo, std::uint64_t* rem, std::uint64_t x, std::uint64_t y,
                          std::uint64_t) {
  *quo = x / y;
  *rem = x % y;
}
inline std::uint32_t idivFast32(std::uint32_t x, std::uint32_t y, std::uint32_t) { return x / y; }
inline std::uint64_t idivFast64(std::uint64_t x, std::uint64_t y, std::uint64_t) { return x / y; }
inline std::uint32_t imodFast32(std::uint32_t x, std::uint32_t y, std::uint32_t) { return x % y; }
inline std::uint64_t imodFast64(std::uint64_t x, std::uint64_t y, std::uint64_t) { return x % y; }
// Reciprocals of 1 to 64; 0 has that of 1.
inline std::uint64_t idivRcp64_upto64(int x) {
  return idivRcp64(x ? static_cast<std::uint64_t>(x) : 1);
}
inline std::uint32_t idivRcp32_upto64(int x) {
  return static_cast<std::uint32_t>(idivRcp64_upto64(x) >> 32);
}

// Threads and memory

template <typename = void>
int opaqueZero() {
  return static_cast<int>(warploom::some_zero());
}
WARPLOOM_UNCHECKED inline int lane() { return static_cast<int>(warploom::lane_index()); }
WARPLOOM_UNCHECKED inline unsigned lanemask_lt() { return (1u << warploom::lane_index()) - 1; }

inline ::cuda::memory_order acquireOrderOf(::cuda::memory_order ord) {
  if (ord == ::cuda::memory_order_release) return ::cuda::memory_order_relaxed;
  return ord == ::cuda::memory_order_acq_rel ? ::cuda::memory_order_acquire : ord;
}
inline ::cuda::memory_order releaseOrderOf(::cuda::memory_order ord) {
  if (ord == ::cuda::memory_order_acquire) return ::cuda::memory_order_relaxed;
  return ord == ::cuda::memory_order_acq_rel ? ::cuda::memory_order_release : ord;
}
template <typename _WT>
_WT atomicLoad(_WT* ptr, ::cuda::memory_order ord, ::cuda::thread_scope scope) {
  switch (scope) {
    case ::cuda::thread_scope_thread:
      return ::cuda::atomic_ref<_WT, ::cuda::thread_scope_thread>{*ptr}.load(ord);
    case ::cuda::thread_scope_block:
      return ::cuda::atomic_ref<_WT, ::cuda::thread_scope_block>{*ptr}.load(ord);
    case ::cuda::thread_scope_device:
      return ::cuda::atomic_ref<_WT, ::cuda::thread_scope_device>{*ptr}.load(ord);
    default:
      return ::cuda::atomic_ref<_WT, ::cuda::thread_scope_system>{*ptr}.load(ord);
  }
}
template <typename _WT>
void atomicStore(_WT* ptr, _WT val, ::cuda::memory_order ord, ::cuda::thread_scope scope) {
  switch (scope) {
    case ::cuda::thread_scope_thread:
      return ::cuda::atomic_ref<_WT, ::cuda::thread_scope_thread>{*ptr}.store(val, ord);
    case ::cuda::thread_scope_block:
      return ::cuda::atomic_ref<_WT, ::cuda::thread_scope_block>{*ptr}.store(val, ord);
    case ::cuda::thread_scope_device:
      return ::cuda::atomic_ref<_WT, ::cuda::thread_scope_device>{*ptr}.store(val, ord);
    default:
      return ::cuda::atomic_ref<_WT, ::cuda::thread_scope_system>{*ptr}.store(val, ord);
  }
}
// Every ten thousand steps: has the flag been raised?
inline bool testAbort(std::uint32_t* abortFlag, std::uint32_t& steps) {
  if (++steps < 10000) return false;
  steps = 0;
  return abortFlag != nullptr &&
         ::cuda::atomic_ref<std::uint32_t>{*abortFlag}.load(::cuda::memory_order_relaxed) != 0;
}
// Constant memory may be read by the read-only path, for any type.
template <typename _WT>
_WT loadConstLdg(const _WT* p) {
  warploom::read_only_access(p, sizeof(_WT));
  return *p;
}
template <typename _WT>
_WT loadConst(const _WT* p) {
  return *p;
}

// Arguments for an object that may be made later, and an object that may be there.

template <typename... Arg>
struct Present;
template <>
struct Present<> {};
template <typename _WH, typename... _WT>
struct Present<_WH, _WT...> {
  _WH h;
  Present<_WT...> t;

  Present(_WH first, Present<_WT...> rest) : h(static_cast<_WH>(first)), t(rest) {}
  Present(const Present& that) : h(static_cast<_WH>(that.h)), t(that.t) {}
  _WH get(IntSeq<0>) { return static_cast<_WH>(h); }
  template <int i>
  decltype(auto) get(IntSeq<i>) {
    return t.get(IntSeq<i - 1>{});
  }
};
inline Present<> present() { return {}; }
template <typename _WH, typename... _WT>
Present<_WH&&, _WT&&...> present(_WH&& h, _WT&&... t) {
  return {static_cast<_WH&&>(h), present(static_cast<_WT&&>(t)...)};
}
struct Absent {};
template <typename _WT>
struct Optional {
  bool present;
  union {
    _WT thing;
  };

  constexpr Optional() : present(false) {}
  constexpr Optional(Absent) : present(false) {}
  template <typename... Arg, int... i>
  Optional(Present<Arg...> args, IntSeq<i...>) : present(true), thing{args.get(IntSeq<i>())...} {}
  template <typename... Arg>
  Optional(Present<Arg...> args) : Optional(args, typename IntSeqUpTo<sizeof...(Arg), 0>::Type()) {}
  ~Optional() {
    if (present) thing.~_WT();
  }
};

}  // namespace nccl::utility
