#include "host/process_heap.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

namespace warploom {

unsigned g_heap_shift = 36;
bool g_loading = false;

namespace {

constexpr std::size_t kRun = 64 << 10;  // what is cut into blocks of one size, or part of a
                                        // larger block
constexpr std::size_t kLargestSmall = 32 << 10;  // larger blocks have runs of their own
constexpr std::size_t kGiveBack = 256 << 10;     // such freed memory goes back to the system
constexpr std::size_t kFineSizes = 1024;         // sizes up to here differ by 16 bytes
constexpr unsigned kFineClasses = kFineSizes / 16 + 1;
constexpr unsigned kBlockSizes = kFineClasses + 4 * 5;  // four in each doubling up to 32 KiB
constexpr std::size_t kHeapStep = 2 << 20;
constexpr unsigned kMostShift = 38;
constexpr std::size_t kHeapsBytes = std::size_t{8} << 40;

// What a run, or the first run of a large block, holds.
struct BlockRun {
  uint32_t block_bytes = 0;     // 0: one large block
  std::size_t large_bytes = 0;  // as asked for
  std::size_t runs = 1;
  std::vector<uint64_t> live{};  // a bit for each block
};

struct Heap {
  uintptr_t base = 0, top = 0, end = 0;
  BlockRun** runs = nullptr;  // by number; a table that takes memory only where it is used
  std::vector<void*> free[kBlockSizes];
  uintptr_t next[kBlockSizes] = {}, next_end[kBlockSizes] = {};  // what was never handed out
  std::map<uintptr_t, std::size_t> free_runs;                    // bytes, by start
};
std::vector<Heap> g_heaps;

unsigned size_class_of(std::size_t bytes) {
  if (bytes <= kFineSizes)
    return static_cast<unsigned>((std::max<std::size_t>(bytes, 1) + 15) / 16);
  const unsigned doubling =
      static_cast<unsigned>(std::bit_width(bytes - 1)) - 1;  // 10 from 1025 on
  const auto quarter =
      static_cast<unsigned>((bytes - 1 - (std::size_t{1} << doubling)) >> (doubling - 2));
  return kFineClasses + (doubling - 10) * 4 + quarter;
}

uint32_t bytes_of_class(unsigned number) {
  if (number < kFineClasses) return number * 16;
  const unsigned step = number - kFineClasses, doubling = 10 + step / 4;
  return (1u << doubling) + ((step % 4 + 1) << (doubling - 2));
}

BlockRun*& run_at(Heap& heap, uintptr_t address) { return heap.runs[(address - heap.base) / kRun]; }

// Whole runs, first from what was given back; 0: no addresses are left.
uintptr_t take_runs(Heap& heap, std::size_t bytes, std::size_t alignment) {
  const auto aligned = [&](uintptr_t at) { return (at + alignment - 1) & ~(alignment - 1); };
  for (auto it = heap.free_runs.begin(); it != heap.free_runs.end(); ++it) {
    const auto [start, length] = *it;
    const uintptr_t at = aligned(start);
    if (at + bytes > start + length) continue;
    heap.free_runs.erase(it);
    if (at > start) heap.free_runs[start] = at - start;
    if (start + length > at + bytes) heap.free_runs[at + bytes] = start + length - at - bytes;
    return at;
  }
  const uintptr_t at = aligned(heap.top);
  if (bytes > heap.end - heap.base || at > heap.end - bytes) return 0;
  if (at > heap.top) heap.free_runs[heap.top] = at - heap.top;
  heap.top = at + bytes;
  return at;
}

void give_runs(Heap& heap, uintptr_t start, std::size_t bytes) {
  if (bytes >= kGiveBack) madvise(reinterpret_cast<void*>(start), bytes, MADV_DONTNEED);
  auto next = heap.free_runs.lower_bound(start);
  if (next != heap.free_runs.end() && next->first == start + bytes) {
    bytes += next->second;
    next = heap.free_runs.erase(next);
  }
  if (next != heap.free_runs.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == start) {
      before->second += bytes;
      return;
    }
  }
  heap.free_runs[start] = bytes;
}

void* take_large(Heap& heap, std::size_t bytes, std::size_t alignment) {
  if (bytes > heap.end - heap.base) return nullptr;
  const std::size_t whole = (bytes + kRun - 1) / kRun * kRun;
  const uintptr_t start = take_runs(heap, whole, std::max(alignment, kRun));
  if (!start) return nullptr;
  run_at(heap, start) = new BlockRun{0, bytes, whole / kRun, {}};
  return reinterpret_cast<void*>(start);
}

bool add_run(Heap& heap, unsigned number) {
  const uintptr_t start = take_runs(heap, kRun, kRun);
  if (!start) return false;
  const uint32_t bytes = bytes_of_class(number);
  auto* run = new BlockRun{bytes, 0, 1, {}};
  const std::size_t blocks = kRun / bytes;
  run->live.assign((blocks + 63) / 64, 0);
  run_at(heap, start) = run;
  heap.next[number] = start;
  heap.next_end[number] = start + blocks * bytes;
  return true;
}

uint64_t& live_word(BlockRun& run, std::size_t block) { return run.live[block / 64]; }

void* take_small(Heap& heap, unsigned number) {
  auto& free = heap.free[number];
  uintptr_t start;
  if (!free.empty()) {
    start = reinterpret_cast<uintptr_t>(free.back());
    free.pop_back();
  } else {
    if (heap.next[number] == heap.next_end[number] && !add_run(heap, number)) return nullptr;
    start = heap.next[number];
    heap.next[number] += bytes_of_class(number);
  }
  BlockRun& run = *run_at(heap, start);
  const std::size_t block = start % kRun / run.block_bytes;
  live_word(run, block) |= uint64_t{1} << block % 64;
  return reinterpret_cast<void*>(start);
}

Heap* heap_at(const void* p) {
  const auto number = static_cast<std::size_t>(heap_owner(p));
  return in_heaps(p) && number < g_heaps.size() ? &g_heaps[number] : nullptr;
}

// The run that begins a block at `p`, or nullptr. `block`: its number there.
BlockRun* run_of(const void* p, std::size_t& block) {
  Heap* heap = heap_at(p);
  const auto address = reinterpret_cast<uintptr_t>(p);
  BlockRun* run = heap ? run_at(*heap, address) : nullptr;
  if (!run) return nullptr;
  const std::size_t offset = address % kRun;
  if (run->block_bytes == 0) return offset == 0 ? run : nullptr;
  block = offset / run->block_bytes;
  return offset % run->block_bytes == 0 && block < kRun / run->block_bytes ? run : nullptr;
}

void* reserve_table(std::size_t bytes) {
  void* got = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == MAP_FAILED) {
    std::perror("warploom-emu: cannot reserve address space for the processes' heaps");
    std::_Exit(70);
  }
  return got;
}

}  // namespace

void create_heaps(int processes) {
  const auto count = std::bit_ceil(static_cast<std::size_t>(processes));
  g_heap_shift =
      std::min(kMostShift, static_cast<unsigned>(std::bit_width(kHeapsBytes / count)) - 1);
  g_heaps.resize(static_cast<std::size_t>(processes));
  g_places.heaps_bytes = g_heaps.size() << g_heap_shift;
  g_places.heaps = draw_addresses(Habitat::Heap, g_places.heaps_bytes, kHeapStep, kHeapsDraw);
  open_addresses(g_places.heaps, g_places.heaps_bytes);
  for (int process = 0; process < processes; process++) {
    Heap& heap = g_heaps[static_cast<std::size_t>(process)];
    heap.base = heap.top = heap_of(process);
    heap.end = heap.base + heap_span();
    heap.runs = static_cast<BlockRun**>(reserve_table(heap_span() / kRun * sizeof(BlockRun*)));
  }
}

void* heap_take(int process, std::size_t bytes, std::size_t alignment) {
  Heap& heap = g_heaps[static_cast<std::size_t>(process)];
  if (alignment > kLeastAlignment) {
    // Blocks of a power of two lie at multiples of it.
    if (bytes > kLargestSmall || alignment > kLargestSmall) {
      return take_large(heap, bytes, alignment);
    }
    bytes = std::bit_ceil(std::max(bytes, alignment));
  }
  if (bytes > kLargestSmall) return take_large(heap, bytes, kRun);
  return take_small(heap, size_class_of(bytes));
}

void* heap_take_zeroed(int process, std::size_t bytes) {
  void* block = heap_take(process, bytes);
  if (!block) return nullptr;
  if (bytes >= kGiveBack) {
    madvise(block, (bytes + 4095) & ~std::size_t{4095}, MADV_DONTNEED);
  } else {
    std::memset(block, 0, bytes);
  }
  return block;
}

Given heap_give(void* p) {
  std::size_t block = 0;
  BlockRun* run = run_of(p, block);
  if (!run) return Given::NoBlock;
  Heap& heap = *heap_at(p);
  const auto start = reinterpret_cast<uintptr_t>(p);
  if (run->block_bytes == 0) {
    run_at(heap, start) = nullptr;
    give_runs(heap, start, run->runs * kRun);
    delete run;
    return Given::Back;
  }
  uint64_t& word = live_word(*run, block);
  const uint64_t bit = uint64_t{1} << block % 64;
  if (!(word & bit)) return Given::Before;
  word &= ~bit;
  heap.free[size_class_of(run->block_bytes)].push_back(p);
  return Given::Back;
}

std::size_t heap_room(const void* p) {
  Heap* heap = heap_at(p);
  if (!heap) return 0;
  const auto address = reinterpret_cast<uintptr_t>(p);
  // A large block is known by its first run alone.
  std::size_t before = 0;
  BlockRun* run = run_at(*heap, address);
  while (!run && address - heap->base >= (before + 1) * kRun) {
    before++;
    run = run_at(*heap, address - before * kRun);
  }
  if (!run) return 0;
  const std::size_t within = address % kRun;
  if (run->block_bytes == 0) {
    return before < run->runs ? (run->runs - before) * kRun - within : 0;
  }
  const std::size_t block = within / run->block_bytes;
  const bool lives =
      before == 0 && block < kRun / run->block_bytes && (live_word(*run, block) >> block % 64 & 1);
  return lives ? (block + 1) * run->block_bytes - within : 0;
}

std::size_t heap_bytes(const void* p) {
  std::size_t block = 0;
  BlockRun* run = run_of(p, block);
  if (!run) return 0;
  if (run->block_bytes == 0) return run->runs * kRun;
  return live_word(*run, block) >> block % 64 & 1 ? run->block_bytes : 0;
}

}  // namespace warploom
