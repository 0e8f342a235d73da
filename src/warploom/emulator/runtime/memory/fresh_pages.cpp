#include "memory/fresh_pages.h"

#include "host/descriptors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "machine/world.h"
#include "memory/memory.h"

namespace warploom {

namespace {

constexpr std::size_t kPiece = 4 << 20;
constexpr std::size_t kFewPieces = 4;          // a range with fewer is filled word by word
constexpr std::size_t kMostPieces = 48 << 10;  // Linux allows a process 65,530 mappings

std::set<uintptr_t> g_pieces;  // mapped to the pattern

// The file of one piece; the program may have closed it, and opened another.
class Pattern {
 public:
  Pattern() : file_(memfd_create("warploom-fresh", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
    if (file_ >= 0) keep_from_program(file_);
    if (file_ < 0 || ftruncate(file_, kPiece) != 0) return;
    void* all = mmap(nullptr, kPiece, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (all == MAP_FAILED) return;
    std::fill_n(static_cast<uint32_t*>(all), kPiece / 4, g_config.fresh_word);
    munmap(all, kPiece);
    ready_ = fcntl(file_, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW) == 0 &&
             fstat(file_, &known_) == 0;
  }
  bool is_there() const {
    struct stat now{};
    return ready_ && fstat(file_, &now) == 0 && now.st_dev == known_.st_dev &&
           now.st_ino == known_.st_ino;
  }
  bool map(uintptr_t piece) const {
    return mmap(reinterpret_cast<void*>(piece), kPiece, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED, file_, 0) != MAP_FAILED;
  }

 private:
  int file_;
  bool ready_ = false;
  struct stat known_{};
};

// Anonymous memory in place of the pattern; its contents are undefined.
void map_plain(uintptr_t first, uintptr_t last) {
  void* start = reinterpret_cast<void*>(first);
  if (mmap(start, last - first, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED) {
    return;  // the pattern stays, which does as well
  }
  g_pieces.erase(g_pieces.lower_bound(first), g_pieces.lower_bound(last));
  prefer_huge_pages(start, last - first);
}

}  // namespace

FreshPieces map_fresh(uintptr_t start, std::size_t bytes) {
  const uintptr_t first = (start + kPiece - 1) & ~(kPiece - 1);
  const uintptr_t end = (start + bytes) & ~(kPiece - 1);
  if (end < first + kFewPieces * kPiece) return {start, start};
  static const Pattern pattern;
  if (!pattern.is_there()) return {start, start};
  uintptr_t last = first;
  for (; last < end; last += kPiece) {
    // What was written to a piece goes, and the pattern is there again.
    if (g_pieces.contains(last)) {
      madvise(reinterpret_cast<void*>(last), kPiece, MADV_DONTNEED);
    } else if (g_pieces.size() >= kMostPieces || !pattern.map(last)) {
      break;
    } else {
      g_pieces.insert(last);
    }
  }
  return {first, last};
}

void will_overwrite(const void* p, std::size_t bytes) {
  if (bytes < kPiece || g_pieces.empty()) return;
  const auto start = reinterpret_cast<uintptr_t>(p);
  const uintptr_t end = (start + bytes) & ~(kPiece - 1);
  auto piece = g_pieces.lower_bound((start + kPiece - 1) & ~(kPiece - 1));
  while (piece != g_pieces.end() && *piece < end) {
    const uintptr_t first = *piece;
    uintptr_t last = first;
    for (; piece != g_pieces.end() && *piece == last && last < end; ++piece) last += kPiece;
    map_plain(first, last);
    piece = g_pieces.lower_bound(last);
  }
}

}  // namespace warploom
