// Buffered sends: MPI_Bsend returns at once, and the message waits in the buffer that its process
// has attached (MPI 3.1, 3.6).
#include <map>
#include <memory>
#include <vector>

#include "mpi/mpi_objects.h"

namespace warploom::mpi {

namespace {

// A message takes its room until it has gone: until its receive is there, and in the lazy schedule
// until that is over.
struct Waiting {
  Comm* comm;
  std::shared_ptr<Message> message;
  std::size_t room;
  bool gone() const { return comes_late() ? message->taken : message->matched; }
};

struct Attached {
  void* start = nullptr;
  int size = 0;
  warploom_mpi_request use;  // nobody else may touch the memory
  std::vector<Waiting> waiting;
  std::size_t free_room() {
    std::erase_if(waiting, [](const Waiting& one) { return one.gone(); });
    auto room = static_cast<std::size_t>(size);
    for (const Waiting& one : waiting) room -= one.room;
    return room;
  }
};

std::map<const Process*, std::unique_ptr<Attached>> g_attached;

// Takes the buffer away once all that waits in it has a receive.
std::unique_ptr<Attached> detach() {
  auto attached = std::move(g_attached[&current_process()]);
  for (const Waiting& one : attached->waiting) {
    if (!one.message->matched) wait_for_match(*one.comm, *one.message, "MPI_Buffer_detach");
  }
  give_back(attached->use);
  return attached;
}

void buffer_message(const Place& place, const void* buffer, int count, int dest, int tag) {
  constexpr const char* kName = "MPI_Bsend";
  Attached* attached = g_attached[&current_process()].get();
  require(attached != nullptr, kName, "no buffer is attached: call MPI_Buffer_attach first");
  const std::size_t room = packed(count, place.type, kName) + MPI_BSEND_OVERHEAD;
  const std::size_t free = attached->free_room();
  if (room > free) {
    fail(kinds::mpi_mismatch,
         format("MPI_Bsend: the message needs %zu bytes of the attached buffer "
                "(MPI_BSEND_OVERHEAD, %d, included), and %zu of its %d may be free",
                room, MPI_BSEND_OVERHEAD, free, attached->size),
         "attach room for all messages that can be on their way at once, MPI_BSEND_OVERHEAD for "
         "each");
  }
  // What is sent is in the attached buffer when the call returns.
  const std::unique_ptr<warploom_mpi_request> started(
      start_send(place, buffer, count, dest, tag, {kName}));
  give_back(*started);
  attached->waiting.push_back({place.comm, started->message, room});
}

}  // namespace

void forget_buffer() {
  const auto found = g_attached.find(&current_process());
  if (found == g_attached.end()) return;
  if (found->second) give_back(found->second->use);
  g_attached.erase(found);
}

}  // namespace warploom::mpi

using namespace warploom;
using namespace warploom::mpi;

extern "C" {

int MPI_Buffer_attach(void* buffer, int size) {
  constexpr const char* kName = "MPI_Buffer_attach";
  enter(MPI_COMM_WORLD, kName);
  require(size >= 0, kName, "the size is negative");
  require(buffer != nullptr || size == 0, kName, "the buffer is a null pointer");
  auto& attached = g_attached[&current_process()];
  require(!attached, kName, "a buffer is attached already, and a process has one");
  attached = std::make_unique<Attached>();
  attached->start = buffer;
  attached->size = size;
  lend(attached->use, kName, {{buffer, size, MPI_BYTE, true}});
  return MPI_SUCCESS;
}

// The argument is where to write the buffer's address.
int MPI_Buffer_detach(void* buffer, int* size) {
  constexpr const char* kName = "MPI_Buffer_detach";
  enter(MPI_COMM_WORLD, kName);
  require(g_attached[&current_process()] != nullptr, kName, "no buffer is attached");
  const std::unique_ptr<Attached> attached = detach();
  *static_cast<void**>(buffer) = attached->start;
  *size = attached->size;
  return MPI_SUCCESS;
}

int MPI_Bsend(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  const Place place = enter(comm, "MPI_Bsend", type);
  check_peer(place, dest, false, "MPI_Bsend");
  if (dest != MPI_PROC_NULL) buffer_message(place, buffer, count, dest, tag);
  return MPI_SUCCESS;
}

}  // extern "C"
