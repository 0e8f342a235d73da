// Groups of threads that call an operation together.
#pragma once

#include <nccl.h>
#include <warploom/nccl_runtime.h>

#include "utility.h"

template <int nThreadsPow2>
struct ncclCoopTile {
  static_assert(nThreadsPow2 > 0 && nThreadsPow2 <= 32 && (nThreadsPow2 & (nThreadsPow2 - 1)) == 0,
                "a tile has 1, 2, 4, 8, 16 or 32 threads");
  WARPLOOM_UNCHECKED int thread_rank() const {
    return static_cast<int>(warploom::lane_index()) % nThreadsPow2;
  }
  constexpr int size() const { return nThreadsPow2; }
  constexpr int num_threads() const { return nThreadsPow2; }
  WARPLOOM_UNCHECKED uint32_t laneMask() const {
    return (~0u >> (32 - nThreadsPow2)) << (warploom::lane_index() & -nThreadsPow2);
  }
  WARPLOOM_UNCHECKED void sync() {
    if (nThreadsPow2 > 1) warploom::warp_barrier(laneMask());
  }
};

typedef ncclCoopTile<1> ncclCoopThread;
typedef ncclCoopTile<32> ncclCoopWarp;

struct ncclCoopLanes {
  uint32_t lmask;
  constexpr ncclCoopLanes(uint32_t lmask = ~0u) : lmask(lmask) {}
  WARPLOOM_UNCHECKED int thread_rank() const {
    return __builtin_popcount(lmask & ((1u << warploom::lane_index()) - 1));
  }
  WARPLOOM_UNCHECKED int size() const { return __builtin_popcount(lmask); }
  WARPLOOM_UNCHECKED int num_threads() const { return __builtin_popcount(lmask); }
  WARPLOOM_UNCHECKED void sync() { warploom::warp_barrier(lmask); }
};

struct ncclCoopWarpSpan {
  uint32_t warp0 : 8, nWarps : 8, id : 8;
  constexpr ncclCoopWarpSpan(int warp0, int nWarps, int id)
      : warp0(static_cast<uint8_t>(warp0)),
        nWarps(static_cast<uint8_t>(nWarps)),
        id(static_cast<uint8_t>(id)) {}
  WARPLOOM_UNCHECKED int thread_rank() const {
    return static_cast<int>(warploom::thread_index().x) - 32 * static_cast<int>(warp0);
  }
  WARPLOOM_UNCHECKED int size() const { return 32 * static_cast<int>(nWarps); }
  WARPLOOM_UNCHECKED int num_threads() const { return size(); }
  WARPLOOM_UNCHECKED void sync(int site = WARPLOOM_SITE) {
    warploom::named_barrier(1 + id, 32 * nWarps, site);
  }
};

struct ncclCoopCta {
  WARPLOOM_UNCHECKED int thread_rank() const {
    return static_cast<int>(warploom::thread_index().x);
  }
  WARPLOOM_UNCHECKED int size() const { return static_cast<int>(warploom::block_dimension().x); }
  WARPLOOM_UNCHECKED int num_threads() const { return size(); }
  WARPLOOM_UNCHECKED void sync(int site = WARPLOOM_SITE) { warploom::block_barrier(site); }
};

#if WARPLOOM_NCCL_VERSION >= 22900
// Any of the groups above, chosen at run time.
struct alignas(8) ncclCoopAny {
  enum class Kind : uint8_t { Tile, Lanes, WarpSpan, Cta };
  Kind kind = Kind::Tile;
  int tile = 1;
  ncclCoopLanes lanes{};
  ncclCoopWarpSpan span{0, 1, 0};
  char warploom_rest[8] = {};  // see ncclDevComm

  ncclCoopAny() = default;
  template <int _Wn>
  WARPLOOM_UNCHECKED ncclCoopAny(ncclCoopTile<_Wn> coop)
      : kind(Kind::Lanes), tile(_Wn), lanes(coop.laneMask()) {
    if (_Wn == 1) kind = Kind::Tile;
  }
  WARPLOOM_UNCHECKED ncclCoopAny(ncclCoopLanes coop) : kind(Kind::Lanes), lanes(coop) {}
  WARPLOOM_UNCHECKED ncclCoopAny(ncclCoopWarpSpan coop) : kind(Kind::WarpSpan), span(coop) {}
  WARPLOOM_UNCHECKED ncclCoopAny(ncclCoopCta) : kind(Kind::Cta) {}

  WARPLOOM_UNCHECKED int thread_rank() const {
    switch (kind) {
      case Kind::Tile:
        return 0;
      case Kind::Lanes:
        return lanes.thread_rank();
      case Kind::WarpSpan:
        return span.thread_rank();
      case Kind::Cta:
        return ncclCoopCta{}.thread_rank();
    }
    return 0;
  }
  WARPLOOM_UNCHECKED int size() const {
    switch (kind) {
      case Kind::Tile:
        return 1;
      case Kind::Lanes:
        return lanes.size();
      case Kind::WarpSpan:
        return span.size();
      case Kind::Cta:
        return ncclCoopCta{}.size();
    }
    return 1;
  }
  WARPLOOM_UNCHECKED int num_threads() const { return size(); }
  WARPLOOM_UNCHECKED void sync() {
    switch (kind) {
      case Kind::Tile:
        return;
      case Kind::Lanes:
        return lanes.sync();
      case Kind::WarpSpan:
        return span.sync();
      case Kind::Cta:
        return ncclCoopCta{}.sync();
    }
  }
};
#endif

template <int _Wn>
WARPLOOM_UNCHECKED inline uint32_t ncclCoopGetLaneMask(ncclCoopTile<_Wn> coop) {
  return coop.laneMask();
}
WARPLOOM_UNCHECKED inline uint32_t ncclCoopGetLaneMask(ncclCoopLanes coop) { return coop.lmask; }
WARPLOOM_UNCHECKED inline uint32_t ncclCoopGetLaneMask(ncclCoopWarpSpan) { return ~0u; }
WARPLOOM_UNCHECKED inline uint32_t ncclCoopGetLaneMask(ncclCoopCta) { return ~0u; }

template <int _Wn>
constexpr bool ncclCoopIsThread(ncclCoopTile<_Wn>) {
  return _Wn == 1;
}
constexpr bool ncclCoopIsThread(ncclCoopLanes) { return false; }
constexpr bool ncclCoopIsThread(ncclCoopWarpSpan) { return false; }
constexpr bool ncclCoopIsThread(ncclCoopCta) { return false; }

template <int _Wn>
constexpr bool ncclCoopWithinWarp(ncclCoopTile<_Wn>) {
  return true;
}
constexpr bool ncclCoopWithinWarp(ncclCoopLanes) { return true; }
constexpr bool ncclCoopWithinWarp(ncclCoopWarpSpan) { return false; }
constexpr bool ncclCoopWithinWarp(ncclCoopCta) { return false; }

WARPLOOM_UNCHECKED inline ncclCoopLanes ncclCoopCoalesced(int site = WARPLOOM_SITE) {
  return ncclCoopLanes{warploom::active_mask(site)};
}
template <typename Coop>
WARPLOOM_UNCHECKED inline ncclCoopTile<32> ncclCoopCoalesced(Coop) {
  return {};
}
WARPLOOM_UNCHECKED inline ncclCoopLanes ncclCoopCoalesced(ncclCoopLanes coop) { return coop; }
template <int _Wn>
WARPLOOM_UNCHECKED inline ncclCoopTile<_Wn> ncclCoopCoalesced(ncclCoopTile<_Wn> coop) {
  return coop;
}

namespace warploom::nccl {

// The group barrier of an operation; a group of the user's own kind is only synchronized.
template <class Coop>
WARPLOOM_UNCHECKED inline void sync_group(Coop& coop, const char*) {
  coop.sync();
}
template <int _Wn>
WARPLOOM_UNCHECKED inline void sync_group(ncclCoopTile<_Wn>& coop, const char* op) {
  if (_Wn > 1) sync_lanes(coop.laneMask(), op);
}
WARPLOOM_UNCHECKED inline void sync_group(ncclCoopLanes& coop, const char* op) {
  sync_lanes(coop.lmask, op);
}
WARPLOOM_UNCHECKED inline void sync_group(ncclCoopWarpSpan& coop, const char* op) {
  sync_warps(coop.warp0, coop.nWarps, 1 + coop.id, op);
}
WARPLOOM_UNCHECKED inline void sync_group(ncclCoopCta&, const char* op) { sync_block(op); }
#if WARPLOOM_NCCL_VERSION >= 22900
WARPLOOM_UNCHECKED inline void sync_group(ncclCoopAny& coop, const char* op) {
  switch (coop.kind) {
    case ncclCoopAny::Kind::Tile:
      return;
    case ncclCoopAny::Kind::Lanes:
      return sync_lanes(coop.lanes.lmask, op);
    case ncclCoopAny::Kind::WarpSpan:
      return sync_group(coop.span, op);
    case ncclCoopAny::Kind::Cta:
      return sync_block(op);
  }
}
#endif

}  // namespace warploom::nccl

// A value of one thread for the whole group.
template <int _Wn, typename _WT>
WARPLOOM_UNCHECKED inline _WT ncclCoopBcast(ncclCoopTile<_Wn> coop, _WT value, int root,
                                            bool entrySync = true) {
  (void)entrySync;
  const unsigned first = warploom::lane_index() & static_cast<unsigned>(-_Wn);
  return warploom::nccl::broadcast_lanes(coop.laneMask(), value,
                                         first + static_cast<unsigned>(root));
}
template <typename _WT>
WARPLOOM_UNCHECKED inline _WT ncclCoopBcast(ncclCoopLanes coop, _WT value, int root,
                                            bool entrySync = true) {
  (void)entrySync;
  unsigned lane = 0;
  for (int seen = -1; lane < 32; lane++) {
    if ((coop.lmask >> lane & 1) && ++seen == root) break;
  }
  return warploom::nccl::broadcast_lanes(coop.lmask, value, lane);
}
template <typename _WT>
WARPLOOM_UNCHECKED inline _WT ncclCoopBcast(ncclCoopWarpSpan coop, _WT value, int root,
                                            bool entrySync = true) {
  struct Stash {};
  using Slots = warploom::nccl::StashArray<16>;
  static_assert(sizeof(_WT) <= sizeof(Slots::Slot), "the value must fit into 16 bytes");
  auto& slots = warploom::shared_variable<Slots, Stash>("ncclCoopBcast");
  if (entrySync) coop.sync();
  if (coop.thread_rank() == root) std::memcpy(&slots.slot[coop.id & 15], &value, sizeof(_WT));
  coop.sync();
  _WT out;
  std::memcpy(&out, &slots.slot[coop.id & 15], sizeof(_WT));
  return out;
}
template <typename _WT>
WARPLOOM_UNCHECKED inline _WT ncclCoopBcast(ncclCoopCta coop, _WT value, int root,
                                            bool entrySync = true) {
  struct Stash {};
  using Slots = warploom::nccl::StashArray<1>;
  static_assert(sizeof(_WT) <= sizeof(Slots::Slot), "the value must fit into 16 bytes");
  auto& slots = warploom::shared_variable<Slots, Stash>("ncclCoopBcast");
  if (entrySync) coop.sync();
  if (coop.thread_rank() == root) std::memcpy(&slots.slot[0], &value, sizeof(_WT));
  coop.sync();
  _WT out;
  std::memcpy(&out, &slots.slot[0], sizeof(_WT));
  return out;
}

#if WARPLOOM_NCCL_VERSION >= 23000
namespace warploom::nccl {
// What a wait with a time-out returns to the whole group.
template <class Coop>
WARPLOOM_UNCHECKED ncclResult_t result_of(Coop& coop, bool done, const char* op) {
  sync_group(coop, op);
  return ncclCoopBcast(coop, done, 0) ? ncclSuccess : ncclTimeout;
}
}  // namespace warploom::nccl
#endif
