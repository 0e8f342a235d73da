// Whose memory a started call's buffers are: until it is completed, MPI reads or writes them at any
// time. Ordinary host memory is watched; memory with a history gets an access of an agent of its
// own, which is ordered before whoever completes the call.
#include <map>

#include "cuda/stream.h"
#include "memory/memory.h"
#include "mpi/mpi_objects.h"
#include "order/host_copies.h"

namespace warploom::mpi {

HandleTable<warploom_mpi_request> g_request_handles("a request");

namespace {

// Agents whose calls are complete, and their times: each has one call after the other.
struct Agent {
  AgentId id = 0;
  uint32_t time = 0;
};
std::map<const Process*, std::vector<Agent>> g_idle_agents;

Agent take_agent() {
  auto& idle = g_idle_agents[&current_process()];
  if (idle.empty()) return {new_agent(), 1};
  const Agent agent = idle.back();
  idle.pop_back();
  return {agent.id, agent.time + 1};
}

// Names outlive the run.
const char* lasting(const char* what) {
  static std::map<std::string, std::string> names;
  return names.try_emplace(what, what).first->second.c_str();
}

class Lender {
 public:
  Lender(warploom_mpi_request& request, const char* what)
      : request_(request), what_(lasting(what)), where_(capture_frames()) {}

  void lend(const Lent& buffer) {
    std::vector<HostPart> watched;
    for (const Piece& piece : pieces_of(buffer.count, buffer.type, what_)) {
      const char* start = at(buffer.start, piece.offset);
      if (piece.bytes == 0) continue;
      if (in_arena(start)) {
        enter(start, piece.bytes, buffer.written);
      } else {
        watched.push_back({start, piece.bytes});
        check_windows(
            {.start = start, .bytes = piece.bytes, .write = buffer.written, .who = what_});
      }
    }
    if (watched.empty()) return;
    request_.watches.push_back(watch_mpi_buffer(std::move(watched), buffer.written, what_, where_));
  }

 private:
  void enter(const char* start, std::size_t bytes, bool written) {
    if (!g_config.race || !check_range(start, bytes, what_, where_)) return;
    if (!op_) begin();
    const Actor actor{.op = op_, .clock = &clock_};
    written ? access_write(actor, start, bytes) : access_read(actor, start, bytes);
  }

  void begin() {
    const Agent agent = take_agent();
    request_.agent = agent.id;
    request_.time = agent.time;
    op_ = new_op({.kind = OpKind::Copy,
                  .agent = agent.id,
                  .time = agent.time,
                  .rank = current_rank(),
                  .name = what_,
                  .frames = where_,
                  .issued = next_in_issue()});
    clock_ = release_clock();
  }

  warploom_mpi_request& request_;
  const char* what_;
  Frames where_;
  OpId op_ = 0;
  Clock clock_;
};

}  // namespace

void lend(warploom_mpi_request& request, const char* what, const std::vector<Lent>& buffers) {
  Lender lender(request, what);
  for (const Lent& buffer : buffers) {
    if (buffer.start && buffer.start != MPI_IN_PLACE) lender.lend(buffer);
  }
}

void learn_of_end(warploom_mpi_request& request) {
  for (const int watch : request.watches) end_watch(watch);
  request.watches.clear();
  if (!request.agent) return;
  Clock clock;
  clock.advance(request.agent, request.time);
  acquire_clock(clock);
}

void give_back(warploom_mpi_request& request) {
  learn_of_end(request);
  if (!request.agent) return;
  g_idle_agents[&current_process()].push_back({request.agent, request.time});
  request.agent = 0;
}

}  // namespace warploom::mpi
