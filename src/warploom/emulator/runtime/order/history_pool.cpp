#include "order/history_pool.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "base/check.h"

namespace warploom {

namespace {

constexpr std::size_t kChunk = 2 << 20;  // can be one huge page

}  // namespace

void* Pool::take() {
  if (!free_.empty()) {
    void* piece = free_.back();
    free_.pop_back();
    return piece;
  }
  if (left_ < bytes_) {
    void* got = mmap(nullptr, 2 * kChunk, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (got == MAP_FAILED) {
      std::perror("warploom-emu: no memory for the access history");
      std::exit(70);
    }
    const auto start = reinterpret_cast<uintptr_t>(got);
    chunk_ = reinterpret_cast<char*>((start + kChunk - 1) & ~(kChunk - 1));
    madvise(chunk_, kChunk, MADV_HUGEPAGE);
    left_ = kChunk;
    held_ += kChunk;
  }
  WARPLOOM_INVARIANT(left_ >= bytes_ && left_ <= kChunk);
  left_ -= bytes_;
  return chunk_ + left_;
}

bool Pool::passes(std::size_t limit) const {
  return free_.empty() && left_ < bytes_ && held_ + kChunk > limit;
}

}  // namespace warploom
