// Memory for objects of one size that come and go all the time: what was given back is taken again,
// the latest first, which the caches still hold.
#pragma once

#include <cstddef>
#include <new>
#include <utility>
#include <vector>

namespace warploom {

template <std::size_t kBytes>
class ObjectPool {
  static constexpr std::size_t kAlign = 16;
  static constexpr std::size_t kSize = (kBytes + kAlign - 1) / kAlign * kAlign;
  static constexpr std::size_t kInChunk = kSize < 4096 ? 65536 / kSize : 16;

  struct Free {
    Free* next;
  };

 public:
  static void* take() {
    if (!free_) refill();
    Free* taken = free_;
    free_ = taken->next;
    return taken;
  }
  static void give_back(void* memory) { free_ = new (memory) Free{free_}; }

 private:
  [[gnu::noinline]] static void refill() {
    auto* chunk = static_cast<char*>(::operator new(kSize * kInChunk));
    for (std::size_t i = kInChunk; i-- > 0;) give_back(chunk + kSize * i);
  }
  static inline Free* free_ = nullptr;
};

template <class T, class... Arguments>
T* make_pooled(Arguments&&... arguments) {
  return new (ObjectPool<sizeof(T)>::take()) T{std::forward<Arguments>(arguments)...};
}
template <class T>
void drop_pooled(T* object) {
  object->~T();
  ObjectPool<sizeof(T)>::give_back(object);
}

// For std::allocate_shared, and for vectors that mostly stay short.
template <class T>
struct PoolAllocator {
  using value_type = T;
  PoolAllocator() = default;
  template <class Other>
  PoolAllocator(const PoolAllocator<Other>&) {}
  T* allocate(std::size_t count) {
    if (count == 1) return static_cast<T*>(ObjectPool<sizeof(T)>::take());
    if (count == 2) return static_cast<T*>(ObjectPool<2 * sizeof(T)>::take());
    if (count == 4) return static_cast<T*>(ObjectPool<4 * sizeof(T)>::take());
    return static_cast<T*>(::operator new(count * sizeof(T)));
  }
  void deallocate(T* memory, std::size_t count) {
    if (count == 1) return ObjectPool<sizeof(T)>::give_back(memory);
    if (count == 2) return ObjectPool<2 * sizeof(T)>::give_back(memory);
    if (count == 4) return ObjectPool<4 * sizeof(T)>::give_back(memory);
    ::operator delete(memory);
  }
  bool operator==(const PoolAllocator&) const = default;
};
template <class T>
using ShortVector = std::vector<T, PoolAllocator<T>>;

}  // namespace warploom
