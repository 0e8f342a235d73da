// CUB's exchanges, loads and stores of a block.
#pragma once

#include <warploom/libraries/cub_warp.h>

namespace cub {

enum BlockLoadAlgorithm {
  BLOCK_LOAD_DIRECT,
  BLOCK_LOAD_STRIPED,
  BLOCK_LOAD_VECTORIZE,
  BLOCK_LOAD_TRANSPOSE,
  BLOCK_LOAD_WARP_TRANSPOSE,
  BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED,
};
enum BlockStoreAlgorithm {
  BLOCK_STORE_DIRECT,
  BLOCK_STORE_STRIPED,
  BLOCK_STORE_VECTORIZE,
  BLOCK_STORE_TRANSPOSE,
  BLOCK_STORE_WARP_TRANSPOSE,
  BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED,
};

// Items from one arrangement over the threads to another: each thread's in a row (blocked), or each
// thread's a block apart (striped).
template <class _WT, int dim_x, int items, bool = false, int dim_y = 1, int dim_z = 1, int = 0>
class BlockExchange {
  static constexpr int kThreads = dim_x * dim_y * dim_z;

 public:
  using TempStorage = WarploomSlots<_WT, kThreads * items>;
  BlockExchange() : storage_(own()) {}
  explicit BlockExchange(TempStorage& storage) : storage_(storage) {}

  template <class Out>
  void StripedToBlocked(const _WT (&input)[items], Out (&output)[items]) {
    move(input, output, [](int i) { return striped(i); }, [](int i) { return blocked(i); });
  }
  template <class Out>
  void BlockedToStriped(const _WT (&input)[items], Out (&output)[items]) {
    move(input, output, [](int i) { return blocked(i); }, [](int i) { return striped(i); });
  }
  template <class Out, class Rank>
  void ScatterToBlocked(const _WT (&input)[items], Out (&output)[items], Rank (&ranks)[items]) {
    move(
        input, output, [&](int i) { return static_cast<int>(ranks[i]); },
        [](int i) { return blocked(i); });
  }
  template <class Out, class Rank>
  void ScatterToStriped(const _WT (&input)[items], Out (&output)[items], Rank (&ranks)[items]) {
    move(
        input, output, [&](int i) { return static_cast<int>(ranks[i]); },
        [](int i) { return striped(i); });
  }
  void StripedToBlocked(_WT (&both)[items]) { StripedToBlocked(both, both); }
  void BlockedToStriped(_WT (&both)[items]) { BlockedToStriped(both, both); }
  static int striped(int i) {
    return static_cast<int>(warploom::libraries::linear_thread()) + i * kThreads;
  }
  static int blocked(int i) {
    return static_cast<int>(warploom::libraries::linear_thread()) * items + i;
  }

 private:
  static TempStorage& own() {
    struct Tag {};
    return warploom::shared_variable<TempStorage, Tag>("cub::BlockExchange");
  }
  template <class Out, class From, class To>
  void move(const _WT (&input)[items], Out (&output)[items], From from, To to) {
    for (int i = 0; i < items; i++) storage_.values()[from(i)] = input[i];
    warploom::block_barrier(__LINE__);
    for (int i = 0; i < items; i++) output[i] = storage_.values()[to(i)];
    warploom::count_operations(2 * items);
  }
  TempStorage& storage_;
};

template <int threads, class In, class _WT, int items>
void LoadDirectStriped(int thread, In from, _WT (&into)[items]) {
  for (int i = 0; i < items; i++) into[i] = from[thread + i * threads];
}
template <int threads, class In, class _WT, int items>
void LoadDirectStriped(int thread, In from, _WT (&into)[items], int valid) {
  for (int i = 0; i < items; i++) {
    if (thread + i * threads < valid) into[i] = from[thread + i * threads];
  }
}
template <class In, class _WT, int items>
void LoadDirectBlocked(int thread, In from, _WT (&into)[items]) {
  for (int i = 0; i < items; i++) into[i] = from[thread * items + i];
}
template <class In, class _WT, int items>
void LoadDirectBlocked(int thread, In from, _WT (&into)[items], int valid) {
  for (int i = 0; i < items; i++) {
    if (thread * items + i < valid) into[i] = from[thread * items + i];
  }
}
template <int threads, class Out, class _WT, int items>
void StoreDirectStriped(int thread, Out into, _WT (&from)[items]) {
  for (int i = 0; i < items; i++) into[thread + i * threads] = from[i];
}
template <int threads, class Out, class _WT, int items>
void StoreDirectStriped(int thread, Out into, _WT (&from)[items], int valid) {
  for (int i = 0; i < items; i++) {
    if (thread + i * threads < valid) into[thread + i * threads] = from[i];
  }
}
template <class Out, class _WT, int items>
void StoreDirectBlocked(int thread, Out into, _WT (&from)[items]) {
  for (int i = 0; i < items; i++) into[thread * items + i] = from[i];
}
template <class Out, class _WT, int items>
void StoreDirectBlocked(int thread, Out into, _WT (&from)[items], int valid) {
  for (int i = 0; i < items; i++) {
    if (thread * items + i < valid) into[thread * items + i] = from[i];
  }
}

template <class _WT, int dim_x, int items, BlockLoadAlgorithm algorithm = BLOCK_LOAD_DIRECT,
          int dim_y = 1, int dim_z = 1, int = 0>
class BlockLoad {
  static constexpr int kThreads = dim_x * dim_y * dim_z;
  static constexpr bool kExchanges = algorithm >= BLOCK_LOAD_TRANSPOSE;
  static constexpr bool kStriped = algorithm == BLOCK_LOAD_STRIPED;
  using Exchange = BlockExchange<_WT, dim_x, items, false, dim_y, dim_z>;

 public:
  struct None {};
  using TempStorage = std::conditional_t<kExchanges, typename Exchange::TempStorage, None>;
  BlockLoad() : storage_(own()) {}
  explicit BlockLoad(TempStorage& storage) : storage_(storage) {}

  template <class In>
  void Load(In from, _WT (&into)[items]) {
    load(from, into, kThreads * items);
  }
  template <class In>
  void Load(In from, _WT (&into)[items], int valid) {
    load(from, into, valid);
  }
  template <class In, class Default>
  void Load(In from, _WT (&into)[items], int valid, Default missing) {
    for (_WT& item : into) item = missing;
    load(from, into, valid);
  }

 private:
  static TempStorage& own() {
    struct Tag {};
    return warploom::shared_variable<TempStorage, Tag>("cub::BlockLoad");
  }
  template <class In>
  void load(In from, _WT (&into)[items], int valid) {
    const int thread = static_cast<int>(warploom::libraries::linear_thread());
    if constexpr (kExchanges || kStriped) {
      LoadDirectStriped<kThreads>(thread, from, into, valid);
    } else {
      LoadDirectBlocked(thread, from, into, valid);
    }
    if constexpr (kExchanges) Exchange(storage_).StripedToBlocked(into, into);
  }
  TempStorage& storage_;
};

template <class _WT, int dim_x, int items, BlockStoreAlgorithm algorithm = BLOCK_STORE_DIRECT,
          int dim_y = 1, int dim_z = 1, int = 0>
class BlockStore {
  static constexpr int kThreads = dim_x * dim_y * dim_z;
  static constexpr bool kExchanges = algorithm >= BLOCK_STORE_TRANSPOSE;
  static constexpr bool kStriped = algorithm == BLOCK_STORE_STRIPED;
  using Exchange = BlockExchange<_WT, dim_x, items, false, dim_y, dim_z>;

 public:
  struct None {};
  using TempStorage = std::conditional_t<kExchanges, typename Exchange::TempStorage, None>;
  BlockStore() : storage_(own()) {}
  explicit BlockStore(TempStorage& storage) : storage_(storage) {}

  template <class Out>
  void Store(Out into, _WT (&from)[items]) {
    Store(into, from, kThreads * items);
  }
  template <class Out>
  void Store(Out into, _WT (&from)[items], int valid) {
    const int thread = static_cast<int>(warploom::libraries::linear_thread());
    if constexpr (kExchanges) Exchange(storage_).BlockedToStriped(from, from);
    if constexpr (kExchanges || kStriped) {
      StoreDirectStriped<kThreads>(thread, into, from, valid);
    } else {
      StoreDirectBlocked(thread, into, from, valid);
    }
  }

 private:
  static TempStorage& own() {
    struct Tag {};
    return warploom::shared_variable<TempStorage, Tag>("cub::BlockStore");
  }
  TempStorage& storage_;
};

}  // namespace cub
