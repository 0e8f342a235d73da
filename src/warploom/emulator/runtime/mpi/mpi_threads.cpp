// Which threads of a process may call MPI, and when (MPI 3.1, 12.4.3).
#include "machine/world.h"
#include "mpi/mpi_objects.h"
#include "order/one_thread.h"

namespace warploom::mpi {

namespace {

// What a process has asked for, and its calls.
struct Threads {
  int level = MPI_THREAD_SINGLE;
  const HostThread* first = nullptr;  // that started MPI
  OneThread calls;
};
std::map<const Process*, Threads> g_threads;

const char* level_name(int level) {
  if (level == MPI_THREAD_FUNNELED) return "MPI_THREAD_FUNNELED";
  return level == MPI_THREAD_SERIALIZED ? "MPI_THREAD_SERIALIZED" : "MPI_THREAD_SINGLE";
}

constexpr const char* kHint =
    "ask MPI_Init_thread for MPI_THREAD_MULTIPLE, or let one thread make all calls";

}  // namespace

void start_threads(int level) {
  g_threads[&current_process()] = {.level = level, .first = &current_host(), .calls = {}};
}

int thread_level() { return g_threads[&current_process()].level; }

void check_thread(const char* what) {
  Threads& threads = g_threads[&current_process()];
  if (threads.level == MPI_THREAD_MULTIPLE || !g_config.race) return;
  if (threads.level == MPI_THREAD_FUNNELED && &current_host() != threads.first) {
    fail(kinds::mpi_mismatch,
         format("%s is called by another thread than the one that started MPI, with %s", what,
                level_name(threads.level)),
         kHint);
  }
  if (const auto other = threads.calls.use(capture_frames())) {
    fail(kinds::mpi_mismatch,
         format("%s is called while another thread may be in a call of MPI: %s", what,
                level_name(threads.level)),
         kHint, *other);
  }
}

}  // namespace warploom::mpi
