// Addresses of an arena against a model that marks each of its chunks. Random requests of all sizes
// and alignments are met or refused; some are freed, some of these belong to graphs or have
// windows, so that nobody else may get them. Prints how many answers were compared.
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "memory/memory_arena.h"

using namespace warploom;

namespace {

constexpr uintptr_t kBase = 0x7000000000;
constexpr std::size_t kChunk = 256, kChunks = 4096;
enum class Mark : char { Untouched, Taken, Kept, Freed };

class Game {
 public:
  explicit Game(unsigned seed) : random_(seed), marks_(kChunks, Mark::Untouched) {
    arena_.base = arena_.top = kBase;
    arena_.end = kBase + kChunks * kChunk;
  }

  long play(int steps) {
    for (int step = 0; step < steps; step++) {
      below(5) < 3 ? take() : give();
      for (int n = 0; n < 4; n++) look(kBase + below(kChunks * kChunk));
    }
    return compared_;
  }

 private:
  uint32_t below(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }
  [[noreturn]] static void fail(const char* what, uintptr_t where) {
    std::printf("%s at %zx\n", what, static_cast<std::size_t>(where - kBase));
    std::exit(1);
  }
  void take() {
    const std::size_t span = kChunk * (1 + below(below(6) ? 8 : 200));
    const std::size_t align = kChunk << below(4);
    uintptr_t start = arena_.take_untouched(span, align);
    const bool untouched = start != 0;
    if (!start) start = arena_.take_freed(span, align);
    compared_++;
    if (!start) return refused(span, align);
    if (start % align || start < kBase || start + span > arena_.end) fail("out of range", start);
    for (std::size_t c = 0; c < span / kChunk; c++) {
      Mark& mark = marks_[(start - kBase) / kChunk + c];
      if (mark == Mark::Taken || mark == Mark::Kept) fail("given twice", start + c * kChunk);
      if (untouched && mark != Mark::Untouched) fail("touched before", start + c * kChunk);
      mark = Mark::Taken;
    }
    Allocation made;
    made.start = start;
    made.bytes = span - below(kChunk);
    arena_.allocations[start] = made;
  }
  // Then no run of freed chunks is as long, whatever lies in it.
  void refused(std::size_t span, std::size_t align) {
    for (auto& [start, one] : arena_.allocations) {
      if (one.live || one.of_graph || one.windows) continue;
      const uintptr_t first = (start + align - 1) / align * align;
      std::size_t c = (first - kBase) / kChunk, free = 0;
      while (c < kChunks && (marks_[c] == Mark::Freed || marks_[c] == Mark::Untouched) &&
             kBase + c * kChunk < arena_.top) {
        c++, free++;
      }
      if (free * kChunk >= span) fail("refused, though it fits", first);
    }
  }
  void give() {
    std::vector<Allocation*> live;
    for (auto& [start, one] : arena_.allocations) {
      if (one.live) live.push_back(&one);
    }
    if (live.empty()) return;
    Allocation& one = *live[below(static_cast<uint32_t>(live.size()))];
    one.live = false;
    one.of_graph = below(9) == 0;
    one.windows = below(9) == 0;
    const bool kept = one.of_graph || one.windows;
    const std::size_t chunks = (one.bytes + kChunk - 1) / kChunk;
    for (std::size_t c = 0; c < chunks; c++) {
      marks_[(one.start - kBase) / kChunk + c] = kept ? Mark::Kept : Mark::Freed;
    }
  }
  void look(uintptr_t p) {
    const Allocation* wanted = nullptr;
    for (auto& [start, one] : arena_.allocations) {
      if (start <= p) wanted = &one;
    }
    compared_++;
    if (arena_.at_or_before(p) != wanted) fail("another allocation", p);
  }

  std::mt19937 random_;
  Arena arena_;
  std::vector<Mark> marks_;
  long compared_ = 0;
};

}  // namespace

int main() {
  long compared = 0;
  for (unsigned seed = 1; seed <= 20; seed++) compared += Game(seed).play(600);
  std::printf("%ld\n", compared);
}
