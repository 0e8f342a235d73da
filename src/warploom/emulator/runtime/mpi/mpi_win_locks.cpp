// Passive targets: locks of windows, and flushes.
#include <algorithm>
#include <utility>

#include "base/polling.h"
#include "mpi/mpi_windows.h"
#include "timing/timing.h"

namespace warploom::mpi {

namespace {

bool is_free(const WindowPart& target, int type) {
  return target.exclusive < 0 && (type == MPI_LOCK_SHARED || target.shared.empty());
}

std::string holders(const WindowPart& target) {
  if (target.exclusive >= 0) return format("rank %d holds it exclusively", target.exclusive);
  std::string ranks;
  for (const int rank : target.shared) ranks += (ranks.empty() ? "" : ", ") + std::to_string(rank);
  return format("rank %s holds it with others allowed", ranks.c_str());
}

void take_lock(const WindowPlace& place, int type, int rank, const char* what) {
  WindowPart& target = place.window->part(rank);
  place.window->changed.wait_until([&] { return is_free(target, type); },
                                   {what, [&target, rank] {
                                      return format("the window of rank %d, and %s", rank,
                                                    holders(target).c_str());
                                    }});
  if (type == MPI_LOCK_EXCLUSIVE) {
    target.exclusive = place.rank();
    acquire_clock(target.by_shared);
  } else {
    target.shared.push_back(place.rank());
  }
  acquire_clock(target.by_exclusive);
}

void give_lock(const WindowPlace& place, int rank) {
  WindowPart& target = place.window->part(rank);
  if (target.exclusive == place.rank()) {
    target.exclusive = -1;
    target.by_exclusive.join(release_clock());
  } else {
    std::erase(target.shared, place.rank());
    target.by_shared.join(release_clock());
  }
}

void check_target(const WindowPlace& place, int rank, const char* what) {
  require(rank >= 0 && rank < place.window->comm->size(), what,
          "the target is not a rank of the window");
}

void check_no_epoch(const WindowPlace& place, const char* what) {
  require(!place.mine().starts, what,
          "the epoch of MPI_Win_start is open: call MPI_Win_complete first");
  require(!first_of(*place.window, {place.rank(), -1, Epoch::Fence}), what,
          "one-sided calls before it still wait for their MPI_Win_fence");
}

void check_locked(const WindowPlace& place, int rank, const char* what) {
  require(place.mine().all_locked || place.mine().locks.contains(rank), what,
          "the caller does not hold the target's lock: call MPI_Win_lock or MPI_Win_lock_all "
          "first");
}

// The origin may use its buffers again; what it puts may still be on its way.
void complete_locally(const WindowPlace& place, int rank) {
  const Chosen chosen{place.rank(), rank, Epoch::Locked};
  read_sources(*place.window, chosen);
  land(*place.window, chosen, g_config.timing != NetTiming::Eager);
  return_buffers(*place.window, chosen, Side::Origin);
}

void flush(const WindowPlace& place, int rank) {
  const Chosen chosen{place.rank(), rank, Epoch::Locked};
  read_sources(*place.window, chosen);
  if (g_config.timing == NetTiming::Lazy && !g_timed && land_last(*place.window, chosen)) {
    poll_current();  // who waits for that one may look for the others
  }
  complete_calls(*place.window, chosen);
}

using Completion = void (*)(const WindowPlace& place, int rank);

int flush_one(int rank, MPI_Win win, const char* name, Completion complete) {
  const WindowPlace place = enter_window(win, name);
  if (rank == MPI_PROC_NULL) return MPI_SUCCESS;
  check_target(place, rank, name);
  check_locked(place, rank, name);
  complete(place, rank);
  return MPI_SUCCESS;
}

int flush_all(MPI_Win win, const char* name, Completion complete) {
  const WindowPlace place = enter_window(win, name);
  require(place.mine().all_locked || !place.mine().locks.empty(), name,
          "the caller holds no lock of the window");
  complete(place, -1);
  return MPI_SUCCESS;
}

}  // namespace

}  // namespace warploom::mpi

using namespace warploom;
using namespace warploom::mpi;

extern "C" {

int MPI_Win_lock(int lock_type, int rank, int, MPI_Win win) {
  constexpr const char* kName = "MPI_Win_lock";
  const WindowPlace place = enter_window(win, kName);
  require(lock_type == MPI_LOCK_EXCLUSIVE || lock_type == MPI_LOCK_SHARED, kName,
          "the lock is neither MPI_LOCK_EXCLUSIVE nor MPI_LOCK_SHARED");
  if (rank == MPI_PROC_NULL) return MPI_SUCCESS;
  check_target(place, rank, kName);
  check_no_epoch(place, kName);
  require(!place.mine().all_locked && !place.mine().locks.contains(rank), kName,
          "the caller holds the target's lock already");
  take_lock(place, lock_type, rank, kName);
  place.mine().locks[rank] = lock_type;
  return MPI_SUCCESS;
}

int MPI_Win_unlock(int rank, MPI_Win win) {
  constexpr const char* kName = "MPI_Win_unlock";
  const WindowPlace place = enter_window(win, kName);
  if (rank == MPI_PROC_NULL) return MPI_SUCCESS;
  check_target(place, rank, kName);
  require(place.mine().locks.contains(rank), kName, "the caller does not hold the target's lock");
  flush(place, rank);
  place.mine().locks.erase(rank);
  give_lock(place, rank);
  place.window->changed.notify_all();
  return MPI_SUCCESS;
}

int MPI_Win_lock_all(int, MPI_Win win) {
  constexpr const char* kName = "MPI_Win_lock_all";
  const WindowPlace place = enter_window(win, kName);
  check_no_epoch(place, kName);
  require(!place.mine().all_locked && place.mine().locks.empty(), kName,
          "the caller holds a lock of the window already");
  for (int rank = 0; rank < place.window->comm->size(); rank++) {
    take_lock(place, MPI_LOCK_SHARED, rank, kName);
  }
  place.mine().all_locked = true;
  return MPI_SUCCESS;
}

int MPI_Win_unlock_all(MPI_Win win) {
  constexpr const char* kName = "MPI_Win_unlock_all";
  const WindowPlace place = enter_window(win, kName);
  require(place.mine().all_locked, kName, "the caller has not called MPI_Win_lock_all");
  flush(place, -1);
  place.mine().all_locked = false;
  for (int rank = 0; rank < place.window->comm->size(); rank++) give_lock(place, rank);
  place.window->changed.notify_all();
  return MPI_SUCCESS;
}

int MPI_Win_flush(int rank, MPI_Win win) { return flush_one(rank, win, "MPI_Win_flush", flush); }

int MPI_Win_flush_all(MPI_Win win) { return flush_all(win, "MPI_Win_flush_all", flush); }

int MPI_Win_flush_local(int rank, MPI_Win win) {
  return flush_one(rank, win, "MPI_Win_flush_local", complete_locally);
}

int MPI_Win_flush_local_all(MPI_Win win) {
  return flush_all(win, "MPI_Win_flush_local_all", complete_locally);
}

// The memory of a window is one here, public and private. A loop that looks whether others have
// changed it lets them run; who calls it once must not rely on that. Ranks that share memory order
// their own accesses so, by whatever tells one that the other has come so far.
int MPI_Win_sync(MPI_Win win) {
  const WindowPlace place = enter_window(win, kSync.data());
  if (place.window->memory == Memory::Shared) {
    place.window->synced.join(release_clock());
    acquire_clock(place.window->synced);
  }
  if (std::exchange(place.mine().synced, true)) poll_current();
  return MPI_SUCCESS;
}

}  // extern "C"
