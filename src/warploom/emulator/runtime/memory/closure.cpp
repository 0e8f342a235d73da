// Memory for kernels and their arguments: device code reads it, so it has a range of its own.
#include <vector>

#include "../../include/warploom/device.h"
#include "kernels/kernel.h"
#include "memory/memory.h"

namespace warploom {

namespace {

constexpr std::size_t kHeader = 64;
constexpr int kClasses = 16;  // powers of two from 128 bytes

uintptr_t g_top = 0;
std::vector<void*> g_free[kClasses];

int class_of(std::size_t bytes) {
  int c = 0;
  while ((std::size_t{128} << c) < bytes + kHeader) c++;
  return c;
}

}  // namespace

void* closure_memory(std::size_t bytes) {
  if (!g_top) g_top = g_places.closures;
  const int size = class_of(bytes);
  auto& pool = g_free[size];
  char* block;
  if (pool.empty()) {
    block = reinterpret_cast<char*>(g_top);
    g_top += std::size_t{128} << size;
  } else {
    block = static_cast<char*>(pool.back());
    pool.pop_back();
  }
  *reinterpret_cast<int*>(block) = size;
  return block + kHeader;
}

void release_closure(void* closure) {
  char* block = static_cast<char*>(closure) - kHeader;
  g_free[*reinterpret_cast<int*>(block)].push_back(block);
}

bool is_closure(const void* p) {
  return reinterpret_cast<uintptr_t>(p) - g_places.closures < kClosureBytes;
}

}  // namespace warploom
