// Which calls wait in the driver was seen on H200s with driver 580: tests/hardware.
#include "waits.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdlib>
#include <set>

#include "preload.h"

namespace warploom {

namespace {

constexpr int kNotReady = 600;        // CUDA_ERROR_NOT_READY
constexpr unsigned kNoTiming = 2;     // CU_EVENT_DISABLE_TIMING
constexpr unsigned kNonBlocking = 1;  // cudaStreamNonBlocking
constexpr useconds_t kPause = 50;

bool has_own_network() {
  static const bool has = getenv("WARPLOOM_NETWORK") != nullptr;
  return has;
}

// The driver's, since the runtime's would leave their answer in cudaGetLastError.
template <typename Function>
Function* of_driver(const char* name) {
  static void* library = dlopen("libcuda.so.1", RTLD_NOW);
  void* found = library ? dlsym(library, name) : nullptr;
  if (found == nullptr) {
    fprintf(stderr, "warploom: the CUDA driver has no %s\n", name);
    _exit(1);
  }
  return reinterpret_cast<Function*>(found);
}

// Asked for anything, a stream that is being captured would end that.
bool is_captured(void* stream) {
  static auto* ask = of_driver<int(void*, int*)>("cuStreamIsCapturing");
  int status = 0;
  return ask(stream, &status) != 0 || status != 0;
}

void poll_stream(void* stream) {
  static auto* query = of_driver<int(void*)>("cuStreamQuery");
  if (is_captured(stream)) return;
  while (query(stream) == kNotReady) usleep(kPause);
}

// A thread that has called nothing yet has no context: the runtime's first call makes it one.
void enter_context() {
  static auto* current = of_driver<int(void**)>("cuCtxGetCurrent");
  static auto* real_free = next<int(void*)>("cudaFree");
  void* context = nullptr;
  if (current(&context) != 0 || context == nullptr) real_free(nullptr);
}

// Streams that take no turns with the default stream.
class OtherStreams {
 public:
  void add(void* stream) {
    pthread_mutex_lock(&mutex_);
    streams_.insert(stream);
    pthread_mutex_unlock(&mutex_);
  }
  void remove(void* stream) {
    pthread_mutex_lock(&mutex_);
    streams_.erase(stream);
    pthread_mutex_unlock(&mutex_);
  }
  std::set<void*> all() {
    pthread_mutex_lock(&mutex_);
    const std::set<void*> streams = streams_;
    pthread_mutex_unlock(&mutex_);
    return streams;
  }

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  std::set<void*> streams_;
};

OtherStreams& other_streams() {
  static auto* streams = new OtherStreams;  // never destroyed: calls may come late
  return *streams;
}

}  // namespace

void wait_before_copy(void* to, void* stream) {
  if (!has_own_network() || !has_type(to, {kUnregistered})) return;
  stream ? poll_stream(stream) : wait_for_default_stream();
}

void wait_for_default_stream() {
  if (!has_own_network()) return;
  static auto* create = of_driver<int(void**, unsigned)>("cuEventCreate");
  static auto* record = of_driver<int(void*, void*)>("cuEventRecord");
  static auto* query = of_driver<int(void*)>("cuEventQuery");
  static auto* destroy = of_driver<int(void*)>("cuEventDestroy_v2");
  enter_context();
  if (is_captured(nullptr)) return;
  void* event = nullptr;
  if (create(&event, kNoTiming) != 0) return;
  if (record(event, nullptr) == 0) {
    while (query(event) == kNotReady) usleep(kPause);
  }
  destroy(event);
}

void wait_for_device() {
  if (!has_own_network()) return;
  wait_for_default_stream();
  for (void* stream : other_streams().all()) poll_stream(stream);
}

}  // namespace warploom

using namespace warploom;

extern "C" {

int cudaStreamCreateWithFlags(void** stream, unsigned flags) {
  static auto* real = next<int(void**, unsigned)>("cudaStreamCreateWithFlags");
  const int status = real(stream, flags);
  if (status == 0 && flags & kNonBlocking) other_streams().add(*stream);
  return status;
}
int cudaStreamCreateWithPriority(void** stream, unsigned flags, int priority) {
  static auto* real = next<int(void**, unsigned, int)>("cudaStreamCreateWithPriority");
  const int status = real(stream, flags, priority);
  if (status == 0 && flags & kNonBlocking) other_streams().add(*stream);
  return status;
}
int cudaStreamDestroy(void* stream) {
  static auto* real = next<int(void*)>("cudaStreamDestroy");
  other_streams().remove(stream);
  return real(stream);
}

// They give memory back, which a kernel might still use.
#define WAITS_FOR_DEVICE(name)                   \
  int name(void* memory) {                       \
    static auto* real = next<int(void*)>(#name); \
    if (memory) wait_for_device();               \
    return real(memory);                         \
  }
WAITS_FOR_DEVICE(cudaFree)
WAITS_FOR_DEVICE(cudaFreeHost)
WAITS_FOR_DEVICE(cudaHostUnregister)
WAITS_FOR_DEVICE(cudaFreeArray)
#undef WAITS_FOR_DEVICE
int cudaDeviceSetLimit(int limit, size_t value) {
  static auto* real = next<int(int, size_t)>("cudaDeviceSetLimit");
  wait_for_device();
  return real(limit, value);
}
int cudaDeviceReset() {
  static auto* real = next<int()>("cudaDeviceReset");
  wait_for_device();
  return real();
}

int cudaMemcpyToSymbol(const void* symbol, const void* from, size_t bytes, size_t offset,
                       int kind) {
  static auto* real =
      next<int(const void*, const void*, size_t, size_t, int)>("cudaMemcpyToSymbol");
  wait_for_default_stream();
  return real(symbol, from, bytes, offset, kind);
}
int cudaMemcpy3D(const void* parameters) {
  static auto* real = next<int(const void*)>("cudaMemcpy3D");
  wait_for_default_stream();
  return real(parameters);
}
int cudaMemcpy2DToArray(void* array, size_t x, size_t y, const void* from, size_t pitch,
                        size_t width, size_t height, int kind) {
  static auto* real = next<int(void*, size_t, size_t, const void*, size_t, size_t, size_t, int)>(
      "cudaMemcpy2DToArray");
  wait_for_default_stream();
  return real(array, x, y, from, pitch, width, height, kind);
}
int cudaMemcpy2DFromArray(void* to, size_t pitch, const void* array, size_t x, size_t y,
                          size_t width, size_t height, int kind) {
  static auto* real = next<int(void*, size_t, const void*, size_t, size_t, size_t, size_t, int)>(
      "cudaMemcpy2DFromArray");
  wait_for_default_stream();
  return real(to, pitch, array, x, y, width, height, kind);
}
}
