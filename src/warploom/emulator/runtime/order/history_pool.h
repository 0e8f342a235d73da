// Memory for records: pieces of one size, which are used again and never given back.
#pragma once

#include <cstddef>
#include <vector>

namespace warploom {

class Pool {
 public:
  explicit Pool(std::size_t bytes) : bytes_(bytes) {}
  // Zero, or what was left there.
  void* take();
  void give_back(void* piece) { free_.push_back(piece); }
  // Would one more piece take more memory than `limit`?
  bool passes(std::size_t limit) const;

 private:
  std::size_t bytes_, left_ = 0, held_ = 0;
  char* chunk_ = nullptr;
  std::vector<void*> free_;
};

}  // namespace warploom
