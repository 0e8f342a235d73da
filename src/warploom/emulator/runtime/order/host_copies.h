// Ordinary host memory that an asynchronous copy still writes, or MPI still reads or writes:
// touching it early is a defect.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "order/race.h"
#include "schedule/fiber.h"

namespace warploom {

extern int g_host_copies;  // ranges that are watched

// Ordinary memory of the host that needs a look at each access of host code: the variables of
// devices, and everything while copies are pending.
struct HostRange {
  uintptr_t start = 0, bytes = 0;
  bool holds(uintptr_t address) const { return address - start < bytes; }
  bool meets(uintptr_t address, std::size_t size) const {
    return address - start < bytes || start - address < size;
  }
};
extern HostRange g_host_watched;
extern HostRange g_window_memory;  // of the running process: where its windows lie
inline bool host_copies_pending() { return g_host_copies != 0 || g_window_memory.bytes != 0; }
// Is the memory looked at?
inline bool host_watches(const void* p, std::size_t bytes) {
  const auto start = reinterpret_cast<uintptr_t>(p);
  return g_host_watched.meets(start, bytes) || g_window_memory.meets(start, bytes);
}
void update_host_watched();  // copies or variables have come or gone

struct HostPart {
  const char* start;
  std::size_t bytes;
};
// The copy `op` (known once it has started; 0 before) will write `bytes` at `target`.
int watch_host_copy(const void* target, std::size_t bytes, const Frames& where);
// The same for parts that the copy writes, or only reads: a node of a graph reads them when it
// runs.
int watch_host_copy(std::vector<HostPart> parts, bool written, const Frames& where);
void host_copy_started(int watch, OpId op);
// Ranges that the started call `what` reads until it has completed, or writes too.
int watch_mpi_buffer(std::vector<HostPart> parts, bool written, const char* what,
                     const Frames& where);
// What host code does to memory that may be of a window; `who`: a call, or nobody for code itself.
struct HostTouch {
  const char* start;
  std::size_t bytes;
  bool write;
  bool frees = false;
  const char* who = nullptr;
  uint32_t pc = 0;  // of the access in the program, where that is known
};
// The windows of MPI that a process has in its ordinary memory lie in this range, if it has any:
// `touched` hears of what its host code does there.
void watch_windows(const Process& owner, HostRange range, void (*touched)(const HostTouch&));
void view_windows(const Process& process);  // it runs now
void check_windows(const HostTouch& touch);
// A one-sided call of MPI, by its name.
bool is_one_sided(const char* call);
void end_watch(int watch);
// An access by the running host thread, at `pc` of the program if that is known.
void check_host_copies(const void* p, std::size_t bytes, bool write, uint32_t pc = 0);
// `call`, a copy of CUDA, touches host memory, which a started call of MPI may use.
void check_mpi_buffers(const void* p, std::size_t bytes, bool write, const char* call);
// The running host thread frees a block of its heap.
void check_host_free(const void* block, std::size_t bytes);

}  // namespace warploom
