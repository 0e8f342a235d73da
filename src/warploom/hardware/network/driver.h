// The few calls of the CUDA driver that the network needs, found in the library that the process
// has loaded already: it is built with the host compiler alone.
#pragma once

#include <cstddef>

namespace warploom {

// The GPU of the thread that creates it. Its copies need no turn of a kernel, so that they go on
// while one runs and waits for them.
class Driver {
 public:
  Driver();  // throws std::runtime_error where the driver or a context is missing
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  // To be called once on each thread that copies.
  void enter_thread();
  // Copies between host and device memory, either way; over when it returns.
  void copy(void* to, const void* from, std::size_t bytes);

 private:
  void* context_ = nullptr;
  void* stream_ = nullptr;
};

}  // namespace warploom
