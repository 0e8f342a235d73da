// Which threads of a process may call MPI, and when (MPI 3.1, 12.4.3).
#include "machine/world.h"
#include "mpi/mpi_objects.h"
#include "order/completions.h"
#include "order/race.h"

namespace warploom::mpi {

namespace {

// What a process has asked for, and the last call that it made.
struct Threads {
  int level = MPI_THREAD_SINGLE;
  const HostThread* first = nullptr;  // that started MPI
  const HostThread* last = nullptr;
  Moment moment;
  Frames where;
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
  g_threads[&current_process()] = {.level = level, .first = &current_host(), .where = {}};
}

int thread_level() { return g_threads[&current_process()].level; }

void check_thread(const char* what) {
  Threads& threads = g_threads[&current_process()];
  if (threads.level == MPI_THREAD_MULTIPLE || !g_config.race) return;
  const HostThread& self = current_host();
  const Frames where = capture_frames();
  if (threads.level == MPI_THREAD_FUNNELED && &self != threads.first) {
    fail(kinds::mpi_mismatch,
         format("%s is called by another thread than the one that started MPI, with %s", what,
                level_name(threads.level)),
         kHint);
  }
  if (threads.last && threads.last != &self && !covers(self.clock, threads.moment)) {
    fail(kinds::mpi_mismatch,
         format("%s is called while another thread may be in a call of MPI: %s", what,
                level_name(threads.level)),
         kHint, threads.where);
  }
  threads.last = &self;
  threads.moment = moment_of(current_actor(where.pc[0]));
  threads.where = where;
}

}  // namespace warploom::mpi
