// Sorts of a whole device that CUB and Thrust share: by digits of keys, and by merging.
#pragma once

#include <warploom/libraries/cub_sort.h>
#include <warploom/libraries/device_algorithms.h>

namespace warploom::libraries {

// --- by digits, from the lowest: a pass counts the digits of each tile, says where each of them
// goes, and moves the keys there in their order

constexpr int kDigitBits = 8, kDigits = 1 << kDigitBits, kSortWarps = kTileThreads / 32;

template <class Key>
struct Digit {
  int begin, bits;
  bool descending;
  unsigned of(Key key) const {
    return static_cast<unsigned>(ordered_bits(key, descending) >> begin) & ((1u << bits) - 1);
  }
};

template <class Key>
__global__ void digit_counts(long long n, Digit<Key> digit, const Key* keys, int* counts) {
  struct Tag {};
  auto& found = shared_variable<int[kDigits], Tag>("digits");
  found[threadIdx.x] = 0;
  block_barrier(__LINE__);
  for (int row = 0; row < kTileRows; row++) {
    const long long at =
        blockIdx.x * static_cast<long long>(kTile) + row * kTileThreads + threadIdx.x;
    if (at < n) atomicAdd(&found[digit.of(keys[at])], 1);
  }
  count_operations(5 * kTileRows);
  block_barrier(__LINE__);
  counts[threadIdx.x * gridDim.x + blockIdx.x] = found[threadIdx.x];
}

// Each warp moves a row of the tile after the other; lanes with the same digit go side by side.
template <class Key, class Value>
__global__ void move_by_digit(long long n, Digit<Key> digit, const int* before, const Key* keys,
                              Key* sorted, const Value* values, Value* sorted_values) {
  struct Tag {};
  auto& next = shared_variable<int[kSortWarps][kDigits], Tag>("next place of each digit");
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const long long first = blockIdx.x * static_cast<long long>(kTile) + warp * (kTile / kSortWarps);
  for (int w = 0; w < kSortWarps; w++) next[w][threadIdx.x] = 0;
  block_barrier(__LINE__);
  for (int row = 0; row < kTileRows; row++) {
    const long long at = first + row * 32 + lane;
    if (at < n) atomicAdd(&next[warp][digit.of(keys[at])], 1);
  }
  block_barrier(__LINE__);
  int place = before[threadIdx.x * gridDim.x + blockIdx.x];
  for (int w = 0; w < kSortWarps; w++) {
    const int count = next[w][threadIdx.x];
    next[w][threadIdx.x] = place;
    place += count;
  }
  count_operations(12 * kTileRows + kSortWarps);
  block_barrier(__LINE__);
  for (int row = 0; row < kTileRows; row++) {
    const long long at = first + row * 32 + lane;
    const bool there = at < n;
    const unsigned own = there ? digit.of(keys[at]) : kDigits;
    const unsigned peers = __match_any_sync(~0u, own);
    int to = 0;
    if (there) to = next[warp][own] + __popc(peers & ((1u << lane) - 1));
    __syncwarp();
    if (there) {
      sorted[to] = keys[at];
      if constexpr (!std::is_same_v<Value, cub::NullType>) sorted_values[to] = values[at];
      if (lane == 31u - static_cast<unsigned>(__clz(static_cast<int>(peers))))
        next[warp][own] = to + 1;
    }
    __syncwarp();
  }
}

inline std::size_t aligned_bytes(std::size_t bytes) { return (bytes + 255) / 256 * 256; }
inline std::size_t digit_bytes(long long n) {
  const long long counts = kDigits * tiles_of(n);
  return aligned_bytes(static_cast<std::size_t>(counts) * sizeof(int)) * 2 +
         aligned_bytes(scan_bytes<int>(counts));
}
// What a sort needs: its counts, and keys and values in between.
template <class Key, class Value>
std::size_t radix_bytes(long long n, bool spare) {
  const auto count = static_cast<std::size_t>(n > 0 ? n : 1);
  const std::size_t items =
      aligned_bytes(count * sizeof(Key)) + aligned_bytes(count * sizeof(Value));
  return digit_bytes(n) + (spare ? items : 0);
}

template <class Key, class Value>
struct SortBuffers {
  Key *from, *to, *spare;
  Value *values_from, *values_to, *values_spare;
};
template <class Key, class Value>
cudaError_t radix_pass(const char* name, cudaStream_t stream, void* temp, long long n,
                       Digit<Key> digit, const Key* keys, Key* sorted, const Value* values,
                       Value* sorted_values) {
  const auto tiles = static_cast<unsigned>(tiles_of(n));
  const long long counts = kDigits * tiles_of(n);
  const std::size_t bytes = aligned_bytes(static_cast<std::size_t>(counts) * sizeof(int));
  auto* found = static_cast<int*>(temp);
  auto* before = reinterpret_cast<int*>(static_cast<char*>(temp) + bytes);
  void* rest = static_cast<char*>(temp) + 2 * bytes;
  if (!launch(name, tiles, kTileThreads, stream, digit_counts<Key>, n, digit, keys, found))
    return launched(false);
  const cudaError_t scanned = scan_into<int>(
      name, stream, rest, counts, [found](long long i) { return found[i]; }, cub::Sum(), 0, true,
      false, [before](long long i, int value) { before[i] = value; });
  if (scanned != cudaSuccess) return scanned;
  return launched(launch(name, tiles, kTileThreads, stream, move_by_digit<Key, Value>, n, digit,
                         static_cast<const int*>(before), keys, sorted, values, sorted_values));
}
inline int radix_passes(int begin, int end) {
  return end > begin ? (end - begin + kDigitBits - 1) / kDigitBits : 0;
}
// The result is in `to` if there is a spare buffer; without one, `from` and `to` take turns.
template <class Key, class Value>
cudaError_t radix_sort(const char* name, cudaStream_t stream, void* temp, long long n,
                       SortBuffers<Key, Value> buffers, int begin, int end, bool descending) {
  if (n <= 0) return cudaSuccess;
  const int passes = radix_passes(begin, end);
  const Key* keys = buffers.from;
  const Value* values = buffers.values_from;
  Key* other = buffers.spare ? buffers.spare : buffers.from;
  Value* other_values = buffers.spare ? buffers.values_spare : buffers.values_from;
  for (int pass = 0; pass < passes; pass++) {
    const bool to_end = buffers.spare ? (passes - pass) % 2 == 1 : pass % 2 == 0;
    Key* sorted = to_end ? buffers.to : other;
    Value* sorted_values = to_end ? buffers.values_to : other_values;
    const int first = begin + pass * kDigitBits;
    const Digit<Key> digit{first, end - first < kDigitBits ? end - first : kDigitBits, descending};
    const cudaError_t error =
        radix_pass(name, stream, temp, n, digit, keys, sorted, values, sorted_values);
    if (error != cudaSuccess) return error;
    keys = sorted;
    values = sorted_values;
  }
  if (passes || !buffers.spare) return cudaSuccess;
  return for_each_index(name, stream, n, [=](long long i) {
    buffers.to[i] = buffers.from[i];
    if constexpr (!std::is_same_v<Value, cub::NullType>)
      buffers.values_to[i] = buffers.values_from[i];
  });
}

// --- by merging: for any order; equal keys stay as they were

// Where an element of one run goes among those of its neighbor.
template <class Key, class Less>
long long merge_place(const Key* keys, long long from, long long to, const Key& key, bool behind,
                      Less less) {
  unsigned steps = 0;
  for (; from < to; steps++) {
    const long long middle = from + (to - from) / 2;
    const bool before = behind ? !less(key, keys[middle]) : less(keys[middle], key);
    (before ? from : to) = before ? middle + 1 : middle;
  }
  count_operations(4 * steps);
  return from;
}
template <class Key, class Value, class Less>
cudaError_t merge_sort(const char* name, cudaStream_t stream, long long n,
                       SortBuffers<Key, Value> buffers, Less less) {
  // Between `from` and `to`, in place of the first in the end.
  Key *keys = buffers.from, *sorted = buffers.to;
  Value *values = buffers.values_from, *sorted_values = buffers.values_to;
  cudaError_t error = cudaSuccess;
  for (long long width = 1; width < n && error == cudaSuccess; width *= 2) {
    error = for_each_index(name, stream, n, [=](long long i) {
      const long long pair = i / (2 * width) * (2 * width);
      const long long middle = pair + width < n ? pair + width : n;
      const long long end = pair + 2 * width < n ? pair + 2 * width : n;
      const bool left = i < middle;
      const Key key = keys[i];
      const long long other = left ? merge_place(keys, middle, end, key, false, less) - middle
                                   : merge_place(keys, pair, middle, key, true, less) - pair;
      const long long place = (left ? i : pair + i - middle) + other;
      sorted[place] = key;
      if constexpr (!std::is_same_v<Value, cub::NullType>) sorted_values[place] = values[i];
    });
    std::swap(keys, sorted);
    std::swap(values, sorted_values);
  }
  if (keys == buffers.from || error != cudaSuccess) return error;
  return for_each_index(name, stream, n, [=](long long i) {
    sorted[i] = keys[i];
    if constexpr (!std::is_same_v<Value, cub::NullType>) sorted_values[i] = values[i];
  });
}

}  // namespace warploom::libraries
