// Algorithms of a whole device that CUB and Thrust share, as kernels on a stream.
#pragma once

#include <warploom/libraries/cub_block.h>
#include <warploom/libraries/launch.h>

#include <cstdint>
#include <utility>

namespace warploom::libraries {

constexpr int kTileThreads = 256, kTileRows = 8, kTile = kTileThreads * kTileRows;

inline long long tiles_of(long long n) { return (n + kTile - 1) / kTile; }
inline long long grid_thread() {
  return blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
}
inline cudaError_t launched(bool good) {
  return good ? cudaSuccess : static_cast<cudaError_t>(cudaPeekAtLastError());
}

// --- one call for each index

template <class Function>
__global__ void each_index(long long n, Function function) {
  const long long step = gridDim.x * static_cast<long long>(blockDim.x);
  count_operations(static_cast<unsigned>((n + step - 1) / step) * 2);
  for (long long i = grid_thread(); i < n; i += step) function(i);
}
template <class Function>
cudaError_t for_each_index(const char* name, cudaStream_t stream, long long n, Function function) {
  if (n <= 0) return cudaSuccess;
  return launched(launch(name, blocks_for(static_cast<std::size_t>(n), kTileThreads, 2112),
                         kTileThreads, stream, each_index<Function>, n, function));
}

// --- reductions: of an operation that is associative and commutative

constexpr long long kMostPartials = 528;
inline long long partials_of(long long n) {
  const long long tiles = tiles_of(n);
  return tiles < 1 ? 1 : tiles < kMostPartials ? tiles : kMostPartials;
}

template <class Acc, class In, class Op>
__global__ void reduce_tiles(long long n, In in, Op op, Acc* partials) {
  using Reduce = cub::BlockReduce<Acc, kTileThreads>;
  const long long first = grid_thread();
  const long long step = gridDim.x * static_cast<long long>(kTileThreads);
  Acc sum = static_cast<Acc>(in(first < n ? first : 0));
  for (long long i = first + step; i < n; i += step) sum = op(sum, static_cast<Acc>(in(i)));
  count_operations(static_cast<unsigned>((n + step - 1) / step) * 2);
  const long long left = n - blockIdx.x * static_cast<long long>(kTileThreads);
  sum = Reduce().Reduce(sum, op, static_cast<int>(left < kTileThreads ? left : kTileThreads));
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}
template <class Acc, class Op, class Out>
__global__ void reduce_partials(int count, const Acc* partials, Op op, Acc initial, bool seeded,
                                Out out) {
  using Reduce = cub::BlockReduce<Acc, kTileThreads>;
  Acc sum = initial;
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < count) sum = partials[thread];
  for (int i = thread + kTileThreads; i < count; i += kTileThreads) sum = op(sum, partials[i]);
  count_operations(static_cast<unsigned>(count / kTileThreads + 1));
  if (count > 0) sum = Reduce().Reduce(sum, op, count < kTileThreads ? count : kTileThreads);
  if (thread == 0) *out = seeded && count > 0 ? op(initial, sum) : sum;
}
template <class Acc>
std::size_t reduce_bytes(long long n) {
  return static_cast<std::size_t>(partials_of(n)) * sizeof(Acc);
}
// `in`: the value at an index. `out`: what is dereferenced for the result.
template <class Acc, class In, class Op, class Out>
cudaError_t reduce_into(const char* name, cudaStream_t stream, void* temp, long long n, In in,
                        Op op, Acc initial, bool seeded, Out out) {
  auto* partials = static_cast<Acc*>(temp);
  const int count = n > 0 ? static_cast<int>(partials_of(n)) : 0;
  bool good = true;
  if (count) {
    good = launch(name, static_cast<unsigned>(count), kTileThreads, stream,
                  reduce_tiles<Acc, In, Op>, n, in, op, partials);
  }
  good = good && launch(name, 1, kTileThreads, stream, reduce_partials<Acc, Op, Out>, count,
                        static_cast<const Acc*>(partials), op, initial, seeded, out);
  return launched(good);
}

// --- scans: in the order of the indices

template <class Acc, class In, class Op>
__global__ void scan_tile_sums(long long n, In in, Op op, Acc* sums) {
  using Reduce = cub::BlockReduce<Acc, kTileThreads>;
  const long long first = blockIdx.x * static_cast<long long>(kTile) + threadIdx.x * kTileRows;
  const long long last = first + kTileRows < n ? first + kTileRows : n;
  Acc sum = static_cast<Acc>(in(first < n ? first : n - 1));
  for (long long i = first + 1; i < last; i++) sum = op(sum, static_cast<Acc>(in(i)));
  count_operations(kTileRows);
  const long long left = n - blockIdx.x * static_cast<long long>(kTile);
  const long long valid = (left + kTileRows - 1) / kTileRows;
  sum = Reduce().Reduce(sum, op, static_cast<int>(valid < kTileThreads ? valid : kTileThreads));
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}
// What comes before each tile; behind the last, the sum of all.
template <class Acc, class Op>
__global__ void scan_sums(int count, Op op, Acc initial, bool seeded, const Acc* sums,
                          Acc* before) {
  using Scan = cub::BlockScan<Acc, kTileThreads>;
  const int thread = static_cast<int>(threadIdx.x);
  Acc running = initial;
  bool has = seeded;
  if (thread == 0 && seeded) before[0] = initial;
  for (int base = 0; base < count; base += kTileThreads) {
    const int at = base + thread;
    const Acc mine = sums[at < count ? at : count - 1];
    Acc upto = mine, all = mine;
    Scan().InclusiveScan(mine, upto, op, all);
    if (at < count) before[at + 1] = has ? op(running, upto) : upto;
    running = has ? op(running, all) : all;
    has = true;
    count_operations(4);
    block_barrier(__LINE__);
  }
}
template <class Acc, class In, class Op, class Out>
__global__ void scan_tiles(long long n, In in, Op op, Acc initial, bool seeded, bool inclusive,
                           const Acc* before, Out out) {
  using Scan = cub::BlockScan<Acc, kTileThreads>;
  Acc running = blockIdx.x ? before[blockIdx.x] : initial;
  bool has = blockIdx.x || seeded;
  for (int row = 0; row < kTileRows; row++) {
    const long long base = blockIdx.x * static_cast<long long>(kTile) + row * kTileThreads;
    if (base >= n) break;
    const long long at = base + threadIdx.x;
    const Acc mine = static_cast<Acc>(in(at < n ? at : n - 1));
    Acc result = mine, all = mine;
    if (inclusive) {
      Scan().InclusiveScan(mine, result, op, all);
      if (has) result = op(running, result);
    } else {
      Scan().ExclusiveScan(mine, result, running, op, all);
    }
    // Where it is done in place, all have read their row before it is written.
    if (at < n) out(at, result);
    running = has ? op(running, all) : all;
    has = true;
    count_operations(4);
    block_barrier(__LINE__);
  }
}
template <class Acc>
std::size_t scan_bytes(long long n) {
  return static_cast<std::size_t>(2 * tiles_of(n) + 1) * sizeof(Acc);
}
// `in`: the value at an index; `out`: takes an index and a value. An exclusive scan is seeded.
template <class Acc, class In, class Op, class Out>
cudaError_t scan_into(const char* name, cudaStream_t stream, void* temp, long long n, In in, Op op,
                      Acc initial, bool seeded, bool inclusive, Out out) {
  if (n <= 0) return cudaSuccess;
  const auto tiles = static_cast<unsigned>(tiles_of(n));
  auto* sums = static_cast<Acc*>(temp);
  Acc* before = sums + tiles;
  bool good = true;
  if (tiles > 1) {
    good =
        launch(name, tiles, kTileThreads, stream, scan_tile_sums<Acc, In, Op>, n, in, op, sums) &&
        launch(name, 1, kTileThreads, stream, scan_sums<Acc, Op>, static_cast<int>(tiles), op,
               initial, seeded, static_cast<const Acc*>(sums), before);
  }
  good = good && launch(name, tiles, kTileThreads, stream, scan_tiles<Acc, In, Op, Out>, n, in, op,
                        initial, seeded, inclusive, static_cast<const Acc*>(before), out);
  return launched(good);
}

// --- selections: what a flag is set for goes in front, in its order

template <class Flag>
__global__ void select_counts(long long n, Flag flag, long long* counts) {
  using Reduce = cub::BlockReduce<long long, kTileThreads>;
  long long count = 0;
  for (int row = 0; row < kTileRows; row++) {
    const long long at =
        blockIdx.x * static_cast<long long>(kTile) + row * kTileThreads + threadIdx.x;
    if (at < n && flag(at)) count++;
  }
  count_operations(2 * kTileRows);
  count = Reduce().Sum(count);
  if (threadIdx.x == 0) counts[blockIdx.x] = count;
}
// `emit` takes an index, whether it was selected, and its place among those that were, or were not.
template <class Flag, class Emit, class Count>
__global__ void select_tiles(long long n, Flag flag, const long long* before, Emit emit,
                             Count count) {
  using Scan = cub::BlockScan<int, kTileThreads>;
  long long running = before[blockIdx.x];
  for (int row = 0; row < kTileRows; row++) {
    const long long base = blockIdx.x * static_cast<long long>(kTile) + row * kTileThreads;
    if (base >= n) break;
    const long long at = base + threadIdx.x;
    const int chosen = at < n && flag(at);
    int ahead = 0, all = 0;
    Scan().ExclusiveSum(chosen, ahead, all);
    if (at < n) emit(at, chosen != 0, chosen ? running + ahead : at - (running + ahead));
    running += all;
    count_operations(4);
    block_barrier(__LINE__);
  }
  if (blockIdx.x + 1 == gridDim.x && threadIdx.x == 0) *count = running;
}
inline std::size_t select_bytes(long long n) { return scan_bytes<long long>(n); }
template <class Flag, class Emit, class Count>
cudaError_t select_into(const char* name, cudaStream_t stream, void* temp, long long n, Flag flag,
                        Emit emit, Count count) {
  if (n <= 0) return for_each_index(name, stream, 1, [=](long long) { *count = 0; });
  const auto tiles = static_cast<unsigned>(tiles_of(n));
  auto* counts = static_cast<long long*>(temp);
  long long* before = counts + tiles;
  return launched(launch(name, tiles, kTileThreads, stream, select_counts<Flag>, n, flag, counts) &&
                  launch(name, 1, kTileThreads, stream, scan_sums<long long, cub::Sum>,
                         static_cast<int>(tiles), cub::Sum(), 0ll, true,
                         static_cast<const long long*>(counts), before) &&
                  launch(name, tiles, kTileThreads, stream, select_tiles<Flag, Emit, Count>, n,
                         flag, static_cast<const long long*>(before), emit, count));
}

}  // namespace warploom::libraries
