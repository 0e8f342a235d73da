#include "base/layout.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>

#include "base/config.h"
#include "base/mix_bits.h"

namespace warploom {

Places g_places;

namespace {

constexpr std::size_t kGiga = std::size_t{1} << 30, kTera = std::size_t{1} << 40;
constexpr std::size_t kLargePage = 2 << 20;  // cudaMalloc begins at multiples
constexpr int kTries = 64, kTriesAnywhere = 512;

struct AddressRange {
  uintptr_t first, end;
};
// Linux puts mappings, and CUDA what it gives, into the terabyte below the stack or, where it draws
// from more, into sixteen. Virtual memory management (ncclMemAlloc, pools) gives low addresses too.
constexpr AddressRange kTop{0x7e0000000000, 0x7ffc00000000}, kBelow{0x6f0000000000, 0x7e0000000000};
constexpr AddressRange kLow{0x000200000000, 0x040000000000};
constexpr uintptr_t kLowMost = 0x010000000000;  // where a low range begins at most
constexpr uintptr_t kBehindProgram = 0x555800000000, kBehindProgramMost = 0x565600000000;
constexpr std::size_t kOwnHeap = 4 * kGiga;  // of the emulator itself, behind it
constexpr AddressRange kMainStack{0x7ffc00000000, 0x7ffff0000000};
// The last resort, for jobs of many ranks: the ranges of the runtime itself lie below.
constexpr AddressRange kAnywhere{0x200000000000, 0x7ffc00000000};
static_assert(kLow.end <= kGranules);

uint64_t mixed(uint64_t value) { return mix_bits(value + 0x9E3779B97F4A7C15); }

// The same for each run of one seed and timing: what a run shows can be looked at again.
uint64_t drawn(uint64_t salt, uint64_t attempt) {
  const auto timing = static_cast<uint64_t>(g_config.timing);
  return mixed(mixed(mixed(g_config.seed) + timing) + (salt << 32 | attempt));
}

// Of the three ranges of a habitat, the runs of one seed in all timings have one each: who tells
// them apart behaves differently in one of these runs.
unsigned turn_of(uint64_t salt) {
  const uint64_t first = mixed(mixed(g_config.seed) ^ salt) >> 32;
  return static_cast<unsigned>((first + static_cast<uint64_t>(g_config.timing)) % 3);
}

// Where a heap may lie behind this very program: in front of it there is seldom room, and the
// highest programs leave hardly any room behind them, so that a heap may begin farther on.
AddressRange behind_program(std::size_t bytes) {
  const auto own = reinterpret_cast<uintptr_t>(sbrk(0)) + kOwnHeap;
  const bool usual = own > kBehindProgram && own < kBehindProgramMost + kOwnHeap;
  const uintptr_t first = usual ? own : kBehindProgram;
  return {first, std::max(kBehindProgramMost, first + kTera / 64) + bytes};
}

AddressRange place_for(Habitat habitat, std::size_t bytes, unsigned turn) {
  const bool fits_top = bytes < kTop.end - kTop.first - kTera / 4;
  if (turn == 0) return fits_top ? kTop : kBelow;
  if (turn == 1) return kBelow;
  switch (habitat) {
    case Habitat::Device:
      return bytes < kLow.end - kLowMost ? AddressRange{kLow.first, kLowMost + bytes} : kBelow;
    case Habitat::Heap:
      return behind_program(bytes);
    default:
      return bytes < 8 * kGiga ? kMainStack : kBelow;
  }
}

bool reserve(uintptr_t start, std::size_t bytes) {
  void* got = mmap(reinterpret_cast<void*>(start), bytes, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == reinterpret_cast<void*>(start)) return true;
  if (got != MAP_FAILED) munmap(got, bytes);  // of a kernel that does not know the flag
  return false;
}

std::size_t rounded(std::size_t bytes, std::size_t step) {
  return (bytes + step - 1) / step * step;
}

void draw_arena() {
  const auto devices = static_cast<std::size_t>(g_config.ranks);
  // A power of two each: an address is looked up often.
  g_places.device_shift =
      std::min(36u, static_cast<unsigned>(std::bit_width(8 * kTera / devices)) - 1);
  const std::size_t device_bytes = devices << g_places.device_shift;
  const std::size_t shared_bytes = kSharedStride * static_cast<std::size_t>(shared_slots());
  g_places.arena_bytes = device_bytes + kSharedStride + shared_bytes + kPinnedBytes;
  g_places.arena = draw_addresses(Habitat::Device, g_places.arena_bytes, kLargePage, kArenaDraw);
  g_places.shared = rounded(g_places.arena + device_bytes, kSharedStride);
  g_places.pinned = g_places.shared + shared_bytes;
  g_places.arena_bytes = g_places.pinned + kPinnedBytes - g_places.arena;
}

}  // namespace

int shared_slots() {
  // As many as fit on all devices together, of the smallest blocks.
  return std::min(g_config.ranks * (8 << 10), 64 << 10);
}

uintptr_t draw_addresses(Habitat habitat, std::size_t bytes, std::size_t step, uint64_t salt) {
  bytes = rounded(bytes, step);
  for (uint64_t attempt = 0; attempt < kTries + kTriesAnywhere; attempt++) {
    const uint64_t draw = drawn(salt, attempt);
    // Where the first range has no room, the others may have.
    const unsigned turn = (turn_of(salt) + static_cast<unsigned>(attempt / (kTries / 3))) % 3;
    const AddressRange place = attempt < kTries ? place_for(habitat, bytes, turn) : kAnywhere;
    if (place.first + bytes >= place.end) continue;
    const uint64_t choices = (place.end - place.first - bytes) / step;
    const uintptr_t start =
        rounded(place.first, step) + (draw & ~uint64_t{0} >> 8) % choices * step;
    if (reserve(start, bytes)) return start;
  }
  std::fprintf(stderr, "warploom-emu: cannot reserve %zu GiB of addresses\n", bytes >> 30);
  std::_Exit(70);
}

void open_addresses(uintptr_t start, std::size_t bytes) {
  if (mprotect(reinterpret_cast<void*>(start), bytes, PROT_READ | PROT_WRITE) != 0) {
    std::perror("warploom-emu: cannot use the addresses that it reserved");
    std::_Exit(70);
  }
}

void draw_layout() {
  const auto devices = static_cast<std::size_t>(g_config.ranks);
  draw_arena();
  // Room for more threads than a device can hold at a time.
  const std::size_t stacks = std::clamp(devices * 96 * kGiga, kTera / 4, 2 * kTera);
  g_places.gpu_stacks = draw_addresses(Habitat::Device, stacks, kSharedStride, kGpuStacksDraw);
  g_places.gpu_stacks_bytes = stacks;
  open_addresses(g_places.gpu_stacks, stacks);
  g_places.closures = draw_addresses(Habitat::Device, kClosureBytes, kLargePage, kClosuresDraw);
  open_addresses(g_places.closures, kClosureBytes);
  g_places.multimem_teams = std::clamp<std::size_t>(devices, 32, 256);
  g_places.multimem = draw_addresses(Habitat::Device, g_places.multimem_teams * nccl::kMultimemTeam,
                                     kLargePage, kMultimemDraw);
}

}  // namespace warploom
