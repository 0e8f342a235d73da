// How libraries launch their kernels: as a program does, so that every access of theirs is checked.
#pragma once

#include <warploom/device.h>

#include <cstddef>

namespace warploom::libraries {

template <class... Parameters, class... Args>
inline bool launch(const char* name, dim3 grid, dim3 block, cudaStream_t stream,
                   void (*kernel)(Parameters...), const Args&... args) {
  return launch_typed(name, LaunchConfig(grid, block, 0, stream), kernel)(args...) == 0;
}

// Blocks for `count` pieces of work, `most` at most.
inline unsigned blocks_for(std::size_t count, std::size_t each, std::size_t most) {
  const std::size_t blocks = (count + each - 1) / each;
  return static_cast<unsigned>(blocks < 1 ? 1 : blocks < most ? blocks : most);
}

}  // namespace warploom::libraries
