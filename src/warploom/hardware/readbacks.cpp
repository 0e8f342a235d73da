// Stands before the CUDA runtime in a program on real GPUs and notes what it reads back: every
// device-to-host copy, with its bytes as they were when the copy was over, and every interval that
// the program times with events or MPI_Wtime.
//
// $WARPLOOM_READBACKS names a folder; each process appends to its own RANK.index and RANK.data.
// Lines of the index: `R THREAD SEQUENCE RANK FRAME OFFSET BYTES` (a copy) and
// `T THREAD SEQUENCE RANK FRAME MS` (an interval), FRAME being the caller's offset in the program
// and THREAD the caller's number, in the order in which threads were made. Nothing is kept in
// memory, so that what a program did before it hung is still told. Declares what it needs of CUDA
// itself: it is built with the host compiler alone.
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "preload.h"
#include "waits.h"

using namespace warploom;

namespace {

constexpr int kDeviceToHost = 2, kDeviceToDevice = 3, kDefault = 4;

int environment(const char* name) {
  const char* text = getenv(name);
  return text == nullptr ? -1 : atoi(text);
}

int process_rank() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"}) {
    int rank = environment(name);
    if (rank >= 0) return rank;
  }
  return 0;
}

// The rank that a copy on a stream belongs to: the process's, or the device where one process
// drives all.
int rank_of(void* stream) {
  static const int rank = process_rank();
  static const bool single = environment("WARPLOOM_ONE_PROCESS") == 1;
  if (!single) return rank;
  static auto* get_device = next<int(int*)>("cudaGetDevice");
  // Not before CUDA 12.8. A default stream is the current device's.
  static auto* of_stream =
      reinterpret_cast<int (*)(void*, int*)>(dlsym(RTLD_NEXT, "cudaStreamGetDevice"));
  int device = 0;
  if (stream && of_stream && of_stream(stream, &device) == 0) return device;
  get_device(&device);
  return device;
}

// Threads are numbered as they are made: those that one thread makes keep their order, whatever
// they do next.
int g_threads_made = 0;
thread_local int g_thread = 0;

struct Start {
  void* (*function)(void*);
  void* argument;
  int number;
};

void* begin_thread(void* data) {
  const Start start = *static_cast<Start*>(data);
  delete static_cast<Start*>(data);
  g_thread = start.number;
  return start.function(start.argument);
}

// Which read-back or interval: what the calling thread did, in its order.
struct Place {
  int thread;
  long sequence;
};
Place here() {
  static long sequence = 0;
  return {g_thread, __atomic_fetch_add(&sequence, 1, __ATOMIC_RELAXED)};
}

uintptr_t program_base() {
  static uintptr_t base = [] {
    uintptr_t found = 0;
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* to) {
          *static_cast<uintptr_t*>(to) = info->dlpi_addr;
          return 1;  // the first is the program itself
        },
        &found);
    return found;
  }();
  return base;
}

class Log {
 public:
  Log() {
    const char* folder = getenv("WARPLOOM_READBACKS");
    if (folder == nullptr) return;
    char path[4096];
    snprintf(path, sizeof path, "%s/%d.index", folder, process_rank());
    index_ = fopen(path, "w");
    snprintf(path, sizeof path, "%s/%d.data", folder, process_rank());
    data_ = fopen(path, "w");
  }

  void copy(Place place, int rank, const void* caller, const void* bytes, size_t count) {
    if (index_ == nullptr || data_ == nullptr) return;
    pthread_mutex_lock(&mutex_);
    size_t written = fwrite(bytes, 1, count, data_);
    fflush(data_);
    fprintf(index_, "R %d %ld %d %lu %zu %zu\n", place.thread, place.sequence, rank,
            offset_of(caller), at_, written);
    fflush(index_);
    at_ += written;
    pthread_mutex_unlock(&mutex_);
  }

  void interval(const void* caller, double milliseconds) {
    if (index_ == nullptr) return;
    const int rank = rank_of(nullptr);
    const Place place = here();
    pthread_mutex_lock(&mutex_);
    fprintf(index_, "T %d %ld %d %lu %.9g\n", place.thread, place.sequence, rank, offset_of(caller),
            milliseconds);
    fflush(index_);
    pthread_mutex_unlock(&mutex_);
  }

 private:
  static unsigned long offset_of(const void* caller) {
    return reinterpret_cast<uintptr_t>(caller) - program_base() - 1;  // inside of the call
  }

  FILE* index_ = nullptr;
  FILE* data_ = nullptr;
  size_t at_ = 0;
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

Log& log_file() {
  static Log* log = new Log;  // never destroyed: callbacks may come late
  return *log;
}

bool reads_back(const void* to, const void* from, int kind) {
  if (kind != kDefault) return kind == kDeviceToHost;
  return has_type(from, {kDevice}) && has_type(to, {kHost, kUnregistered});
}

// The host does not wait for such a copy.
bool between_devices(const void* to, const void* from, int kind) {
  if (kind != kDefault) return kind == kDeviceToDevice;
  return has_type(from, {kDevice}) && has_type(to, {kDevice});
}

struct Pending {
  Place place;
  int rank;
  const void* caller;
  const void* to;
  size_t bytes;
};

// Runs on the stream after the copy.
void arrived(void* data) {
  auto* pending = static_cast<Pending*>(data);
  log_file().copy(pending->place, pending->rank, pending->caller, pending->to, pending->bytes);
  delete pending;
}

// A callback in a captured stream would become a node of the program's graph: it is left as it is.
bool capturing(void* stream) {
  static auto* ask = next<int(void*, int*)>("cudaStreamIsCapturing");
  int status = 0;
  return ask(stream, &status) != 0 || status != 0;
}

void note_later(void* stream, const void* caller, const void* to, size_t bytes) {
  if (capturing(stream)) return;
  static auto* callback = next<int(void*, void (*)(void*), void*)>("cudaLaunchHostFunc");
  auto* pending = new Pending{here(), rank_of(stream), caller, to, bytes};
  callback(stream, arrived, pending);
}

}  // namespace

extern "C" {

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*),
                   void* argument) {
  static auto* real =
      next<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create");
  const int number = __atomic_add_fetch(&g_threads_made, 1, __ATOMIC_RELAXED);
  auto* start = new Start{function, argument, number};
  const int status = real(thread, attributes, begin_thread, start);
  if (status != 0) delete start;
  return status;
}

int cudaMemcpy(void* to, const void* from, size_t bytes, int kind) {
  static auto* real = next<int(void*, const void*, size_t, int)>("cudaMemcpy");
  if (!between_devices(to, from, kind)) wait_for_default_stream();
  int status = real(to, from, bytes, kind);
  if (status == 0 && reads_back(to, from, kind)) {
    log_file().copy(here(), rank_of(nullptr), __builtin_return_address(0), to, bytes);
  }
  return status;
}

int cudaMemcpyAsync(void* to, const void* from, size_t bytes, int kind, void* stream) {
  static auto* real = next<int(void*, const void*, size_t, int, void*)>("cudaMemcpyAsync");
  const bool back = reads_back(to, from, kind);
  if (back) wait_before_copy(to, stream);
  const int status = real(to, from, bytes, kind, stream);
  if (status == 0 && back) {
    note_later(stream, __builtin_return_address(0), to, bytes);
  }
  return status;
}

// Each row counts as a copy of its own, as in the emulator.
int cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                 size_t height, int kind) {
  static auto* real =
      next<int(void*, size_t, const void*, size_t, size_t, size_t, int)>("cudaMemcpy2D");
  if (!between_devices(to, from, kind)) wait_for_default_stream();
  int status = real(to, to_pitch, from, from_pitch, width, height, kind);
  if (status == 0 && reads_back(to, from, kind)) {
    for (size_t row = 0; row < height; ++row) {
      log_file().copy(here(), rank_of(nullptr), __builtin_return_address(0),
                      static_cast<char*>(to) + row * to_pitch, width);
    }
  }
  return status;
}

int cudaMemcpyFromSymbol(void* to, const void* symbol, size_t bytes, size_t offset, int kind) {
  static auto* real = next<int(void*, const void*, size_t, size_t, int)>("cudaMemcpyFromSymbol");
  wait_for_default_stream();
  int status = real(to, symbol, bytes, offset, kind);
  if (status == 0 && kind == kDeviceToHost) {
    log_file().copy(here(), rank_of(nullptr), __builtin_return_address(0), to, bytes);
  }
  return status;
}

int cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t bytes, size_t offset, int kind,
                              void* stream) {
  static auto* real =
      next<int(void*, const void*, size_t, size_t, int, void*)>("cudaMemcpyFromSymbolAsync");
  if (kind != kDeviceToDevice) wait_before_copy(to, stream);
  const int status = real(to, symbol, bytes, offset, kind, stream);
  if (status == 0 && kind == kDeviceToHost) {
    note_later(stream, __builtin_return_address(0), to, bytes);
  }
  return status;
}

int cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                      size_t height, int kind, void* stream) {
  static auto* real = next<int(void*, size_t, const void*, size_t, size_t, size_t, int, void*)>(
      "cudaMemcpy2DAsync");
  const bool back = reads_back(to, from, kind);
  if (back) wait_before_copy(to, stream);
  const int status = real(to, to_pitch, from, from_pitch, width, height, kind, stream);
  if (status == 0 && back) {
    for (size_t row = 0; row < height; ++row) {
      note_later(stream, __builtin_return_address(0), static_cast<char*>(to) + row * to_pitch,
                 width);
    }
  }
  return status;
}

int cudaEventElapsedTime(float* milliseconds, void* begin, void* end) {
  static auto* real = next<int(float*, void*, void*)>("cudaEventElapsedTime");
  int status = real(milliseconds, begin, end);
  if (status == 0) log_file().interval(__builtin_return_address(0), *milliseconds);
  return status;
}

// Under this name in programs that were built with CUDA 12.8 and 12.9.
int cudaEventElapsedTime_v2(float* milliseconds, void* begin, void* end) {
  static auto* real = next<int(float*, void*, void*)>("cudaEventElapsedTime_v2");
  int status = real(milliseconds, begin, end);
  if (status == 0) log_file().interval(__builtin_return_address(0), *milliseconds);
  return status;
}

// Programs read this clock twice around what they time: calls count in pairs, thread by thread.
double MPI_Wtime() {
  static auto* real = next<double()>("MPI_Wtime");
  thread_local double begin = 0;
  thread_local bool open = false;
  double now = real();
  if (open) log_file().interval(__builtin_return_address(0), (now - begin) * 1e3);
  begin = now;
  open = !open;
  return now;
}
}
