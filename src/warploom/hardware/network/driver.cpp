#include "driver.h"

#include <dlfcn.h>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace warploom {

namespace {

constexpr unsigned kNonBlocking = 1;  // CU_STREAM_NON_BLOCKING
constexpr int kRelaxedCapture = 2;    // CU_STREAM_CAPTURE_MODE_RELAXED

template <typename Function>
Function* driver_call(const char* name) {
  static void* library = dlopen("libcuda.so.1", RTLD_NOW);
  void* found = library ? dlsym(library, name) : nullptr;
  if (!found) throw std::runtime_error(std::string("the CUDA driver has no ") + name);
  return reinterpret_cast<Function*>(found);
}

void require(int result, const char* what) {
  if (result) throw std::runtime_error(std::string(what) + " failed: " + std::to_string(result));
}

}  // namespace

Driver::Driver() {
  require(driver_call<int(void**)>("cuCtxGetCurrent")(&context_), "cuCtxGetCurrent");
  if (!context_) throw std::runtime_error("the thread has no CUDA context");
  require(driver_call<int(void**, unsigned)>("cuStreamCreate")(&stream_, kNonBlocking),
          "cuStreamCreate");
}

Driver::~Driver() { driver_call<int(void*)>("cuStreamDestroy_v2")(stream_); }

void Driver::enter_thread() {
  require(driver_call<int(void*)>("cuCtxSetCurrent")(context_), "cuCtxSetCurrent");
  // The program may be capturing a graph: our copies are none of its business.
  int mode = kRelaxedCapture;
  driver_call<int(int*)>("cuThreadExchangeStreamCaptureMode")(&mode);
}

void Driver::copy(void* to, const void* from, std::size_t bytes) {
  static auto* copy_async =
      driver_call<int(uint64_t, uint64_t, std::size_t, void*)>("cuMemcpyAsync");
  static auto* synchronize = driver_call<int(void*)>("cuStreamSynchronize");
  if (bytes == 0) return;
  require(
      copy_async(reinterpret_cast<uint64_t>(to), reinterpret_cast<uint64_t>(from), bytes, stream_),
      "cuMemcpyAsync");
  require(synchronize(stream_), "cuStreamSynchronize");
}

}  // namespace warploom
