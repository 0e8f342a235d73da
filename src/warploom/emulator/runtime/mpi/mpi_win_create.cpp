// Windows: how they come, what memory they have, and how they go.
#include <sys/mman.h>

#include <cstring>

#include "cuda/stream.h"
#include "host/own_memory.h"
#include "host/process_heap.h"
#include "memory/memory.h"
#include "memory/sides.h"
#include "mpi/mpi_windows.h"

namespace warploom::mpi {

namespace {

std::vector<std::unique_ptr<Window>> g_windows_of_mpi;  // by the number of their handle, less one

struct Brought {
  void* base;
  MPI_Aint bytes;
  int unit;
};

// Each rank brings its part; the last to come makes the window.
Window* make_window(MPI_Comm comm, const char* what, Memory memory, const Brought& mine) {
  const Place place = enter(comm, what);
  require(mine.bytes >= 0, what, "the size must not be negative");
  require(mine.unit > 0, what, "the displacement unit must be positive");
  Bytes data(sizeof mine);
  std::memcpy(data.data(), &mine, sizeof mine);
  auto meeting = post(place, what, "", std::move(data));
  if (meeting->arrived == place.comm->size()) {
    auto window = std::make_unique<Window>();
    window->memory = memory;
    window->comm = new_comm(place.comm->world);
    for (const Bytes& part : meeting->data) {
      Brought brought;
      std::memcpy(&brought, part.data(), sizeof brought);
      WindowPart made;
      made.base = static_cast<char*>(brought.base);
      made.bytes = static_cast<std::size_t>(brought.bytes);
      made.unit = brought.unit;
      window->parts.push_back(std::move(made));
    }
    make_histories(*window);
    g_windows_of_mpi.push_back(std::move(window));
    g_windows_of_mpi.back()->handle = kWindows + static_cast<int>(g_windows_of_mpi.size());
    meeting->numbers = {g_windows_of_mpi.back()->handle};
  }
  await(place, *meeting);
  return named_by(meeting->numbers[0], kWindows, g_windows_of_mpi)->get();
}

// One piece of memory for all ranks, each part right behind the one before it.
void make_segment(Window& window, const char* what) {
  if (window.segment) return;
  constexpr std::size_t kPage = 4096;
  std::size_t bytes = 0;
  for (const WindowPart& part : window.parts) bytes += part.bytes;
  window.segment_bytes = std::max((bytes + kPage - 1) / kPage * kPage, kPage);
  void* made = ::mmap(nullptr, window.segment_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  require(made != MAP_FAILED, what, "there is not as much memory");
  window.segment = static_cast<char*>(made);
  std::size_t start = 0;
  for (WindowPart& part : window.parts) {
    part.base = window.segment + start;
    start += part.bytes;
  }
}

void check_closed(const WindowPlace& place, const char* what) {
  const WindowPart& mine = place.mine();
  require(mine.locks.empty() && !mine.all_locked, what,
          "the caller still holds a lock of the window: unlock it first");
  require(!mine.starts, what, "the epoch of MPI_Win_start is open: call MPI_Win_complete first");
  require(!mine.posts, what, "the epoch of MPI_Win_post is open: call MPI_Win_wait first");
  for (const auto& call : place.window->calls) {
    if (call->origin != place.rank() || call->returned) continue;
    fail(kinds::mpi_mismatch,
         format("%s: no synchronization has completed the %s to rank %d that was called before",
                what, call->what, call->target),
         "close its epoch first: call MPI_Win_fence again before MPI_Win_free", call->where);
  }
}

void free_memory(const WindowPlace& place) {
  Window& window = *place.window;
  if (window.memory == Memory::Allocated && place.mine().base) {
    free_for_program(place.mine().base);
  }
  if (window.memory != Memory::Shared) return;
  forget_mapping(window.segment, window.segment_bytes);
  if (window.left == window.comm->size()) ::munmap(window.segment, window.segment_bytes);
}

}  // namespace

Path& Window::path(int origin, int target) {
  Path& found = paths[{origin, target}];
  if (!found.issuer) {
    found.updates.agent = new_agent();
    found.reads.agent = new_agent();
    found.issuer = new_agent();
  }
  return found;
}

WindowPlace enter_window(MPI_Win handle, const char* what, MPI_Datatype type) {
  const auto* known = named_by(handle, kWindows, g_windows_of_mpi);
  require(known, what, "the window is MPI_WIN_NULL or does not exist");
  Window* window = known->get();
  const WindowPlace place{window, enter(window->comm->handle, what, type)};
  require(!place.mine().freed, what, "the window was freed");
  place.mine().device = current_host().device;
  if (what != kSync) place.mine().synced = false;
  return place;
}

}  // namespace warploom::mpi

using namespace warploom;
using namespace warploom::mpi;

extern "C" {

int MPI_Win_create(void* base, MPI_Aint size, int disp_unit, MPI_Info, MPI_Comm comm,
                   MPI_Win* win) {
  constexpr const char* kName = "MPI_Win_create";
  require(win != nullptr, kName, "the result's address must not be NULL");
  require(base != nullptr || size == 0, kName, "the memory is NULL");
  const auto bytes = static_cast<std::size_t>(std::max<MPI_Aint>(size, 0));
  if (emulated(base)) {
    check_range(base, bytes, kName, capture_frames());
  } else if (bytes) {
    check_host_memory(base, bytes, true, kName);
  }
  *win = make_window(comm, kName, Memory::OfProgram, {base, size, disp_unit})->handle;
  return MPI_SUCCESS;
}

int MPI_Win_allocate(MPI_Aint size, int disp_unit, MPI_Info, MPI_Comm comm, void* baseptr,
                     MPI_Win* win) {
  constexpr const char* kName = "MPI_Win_allocate";
  require(win != nullptr && baseptr != nullptr, kName, "the results' addresses must not be NULL");
  require(size >= 0, kName, "the size must not be negative");
  void* base = size ? program_memory(static_cast<std::size_t>(size), 64) : nullptr;
  require(base || !size, kName, "there is not as much memory");
  *win = make_window(comm, kName, Memory::Allocated, {base, size, disp_unit})->handle;
  *static_cast<void**>(baseptr) = base;
  return MPI_SUCCESS;
}

int MPI_Win_allocate_shared(MPI_Aint size, int disp_unit, MPI_Info, MPI_Comm comm, void* baseptr,
                            MPI_Win* win) {
  constexpr const char* kName = "MPI_Win_allocate_shared";
  require(win != nullptr && baseptr != nullptr, kName, "the results' addresses must not be NULL");
  Window* window = make_window(comm, kName, Memory::Shared, {nullptr, size, disp_unit});
  int machine = -1;
  for (const int rank : window->comm->world) {
    const int found = machine_of(*g_processes[static_cast<std::size_t>(rank)]);
    require(machine < 0 || machine == found, kName,
            "the ranks are on several machines: split them by MPI_COMM_TYPE_SHARED first");
    machine = found;
  }
  make_segment(*window, kName);
  note_mapping(window->segment, window->segment_bytes);
  *win = window->handle;
  *static_cast<void**>(baseptr) = window->part(rank_in(comm)).base;
  return MPI_SUCCESS;
}

int MPI_Win_shared_query(MPI_Win win, int rank, MPI_Aint* size, int* disp_unit, void* baseptr) {
  constexpr const char* kName = "MPI_Win_shared_query";
  const WindowPlace place = enter_window(win, kName);
  require(place.window->memory == Memory::Shared, kName,
          "the window is none of MPI_Win_allocate_shared");
  require(size && disp_unit && baseptr, kName, "the results' addresses must not be NULL");
  if (rank == MPI_PROC_NULL) {  // the first one that has any memory
    rank = 0;
    while (rank + 1 < place.window->comm->size() && !place.window->part(rank).bytes) rank++;
  }
  require(rank >= 0 && rank < place.window->comm->size(), kName, "the rank is not in the window");
  const WindowPart& part = place.window->part(rank);
  *size = static_cast<MPI_Aint>(part.bytes);
  *disp_unit = static_cast<int>(part.unit);
  *static_cast<void**>(baseptr) = part.base;
  return MPI_SUCCESS;
}

int MPI_Win_free(MPI_Win* win) {
  constexpr const char* kName = "MPI_Win_free";
  const WindowPlace place = enter_window(*win, kName, MPI_BYTE);
  check_closed(place, kName);
  await(place.place, *post(place.place, kName, "", {}));
  tell_arrived(place, true);
  drop_history(place);
  place.mine().freed = true;
  place.window->left++;
  free_memory(place);
  *win = MPI_WIN_NULL;
  return MPI_SUCCESS;
}

int MPI_Alloc_mem(MPI_Aint size, MPI_Info, void* baseptr) {
  constexpr const char* kName = "MPI_Alloc_mem";
  require(size >= 0, kName, "the size must not be negative");
  require(baseptr != nullptr, kName, "the result's address must not be NULL");
  void* base = program_memory(static_cast<std::size_t>(std::max<MPI_Aint>(size, 1)), 64);
  require(base != nullptr, kName, "there is not as much memory");
  *static_cast<void**>(baseptr) = base;
  return MPI_SUCCESS;
}

int MPI_Free_mem(void* base) {
  free_for_program(base);
  return MPI_SUCCESS;
}

}  // extern "C"
