// Messages between two ranks, and requests.
#include <algorithm>

#include "base/polling.h"
#include "mpi/mpi_objects.h"
#include "timing/timing.h"
#include "timing/transport_time.h"

namespace warploom::mpi {

namespace {

// Up to this size a send is buffered, as MPI libraries do; above it waits for its receive.
constexpr std::size_t kBuffered = 4096;

bool fits(const Receive& receive, const Message& message) {
  return (receive.source == MPI_ANY_SOURCE || receive.source == message.source) &&
         (receive.tag == MPI_ANY_TAG || receive.tag == message.tag);
}

// Only a buffer of the library lets such a send return: "a program is safe if no message buffering
// is required for it to complete" (MPI 3.1, 3.5).
void warn_of_unsafe(const Receive& receive, const Message& message) {
  report_finding({.kind = kinds::mpi_unpromised,
                  .message = format("%s to rank %d (tag %d) must be over before its receive "
                                    "can be posted: it hangs where MPI does not buffer the message",
                                    message.call, message.destination, message.tag),
                  .hint = "let one side receive first, or use MPI_Sendrecv, or MPI_Isend whose "
                          "MPI_Wait comes after the receive",
                  .warning = true,
                  .where = message.where,
                  .other = receive.where,
                  .rank = message.left_by,
                  .host = true});
}

// "MPI requires that the value of MPI_TAG_UB be at least 32767" (MPI 3.1, 8.1.2): what is more is
// the affair of the library that is there.
void check_tag(int tag, const char* what) {
  if (tag <= kTagMost) return;
  report_finding({.kind = kinds::mpi_unpromised,
                  .message = format("%s: the tag %d is more than the %d that each MPI has", what,
                                    tag, kTagMost),
                  .hint = "take tags up to 32767, or ask for MPI_TAG_UB",
                  .warning = true,
                  .host = true});
}

void match(Receive& receive, const std::shared_ptr<Message>& message) {
  if (message->left_by) warn_of_unsafe(receive, *message);
  receive.message = message;
  message->matched = true;
  receive.changed.notify_all();
  message->changed.notify_all();
}

// Which message a receive gets: of one sender the first, and of several senders any (MPI 3.1, 3.5).
// In the lazy schedule a receive gets the last sender's, and a probe tells of the first.
auto choose(const std::deque<std::shared_ptr<Message>>& arrived, const Receive& receive,
            bool probes = false) {
  std::vector<decltype(arrived.begin())> firsts;
  for (auto it = arrived.begin(); it != arrived.end(); ++it) {
    const auto same = [&](const auto& other) { return (*other)->source == (*it)->source; };
    if (fits(receive, **it) && std::ranges::none_of(firsts, same)) firsts.push_back(it);
  }
  if (firsts.empty()) return arrived.end();
  if (g_timed) return firsts.front();
  if (random_schedule()) return firsts[random_below(firsts.size())];
  const bool last = comes_late() && !probes;
  return last ? firsts.back() : firsts.front();
}

// In the lazy schedule a receive of anybody's message that is posted ahead takes one when somebody
// waits for it or looks: "if there are several, any" (see choose()).
bool defers(const Receive& receive) {
  return receive.source == MPI_ANY_SOURCE && !receive.waited && comes_late() && !g_timed;
}

}  // namespace

void match_late(Comm& comm, int rank) {
  auto& posted = comm.posted[static_cast<std::size_t>(rank)];
  auto& arrived = comm.arrived[static_cast<std::size_t>(rank)];
  for (auto it = posted.begin(); it != posted.end() && !arrived.empty();) {
    const auto found = choose(arrived, **it);
    if (found == arrived.end()) {
      ++it;
      continue;
    }
    const auto receive = *it;
    const auto message = *found;
    arrived.erase(found);
    it = posted.erase(it);
    match(*receive, message);
  }
}

namespace {

std::shared_ptr<Message> post_send(const Place& place, Bytes data, int destination, int tag) {
  check_tag(tag, "a send");
  Comm& comm = *place.comm;
  auto message = std::make_shared<Message>();
  message->source = place.rank;
  message->destination = destination;
  message->tag = tag;
  if (destination != place.rank) leave_rank(place, data);
  message->data = std::move(data);
  message->elements = elements_of(place.type);
  message->clock = release_clock();
  if (g_timed) {
    const auto world_rank = [&](int rank) { return comm.world[static_cast<std::size_t>(rank)]; };
    message->sent = time_now();
    message->arrives =
        mpi_arrival(world_rank(place.rank), world_rank(destination), message->data.size());
  }
  message->where = capture_frames();
  auto& posted = comm.posted[static_cast<std::size_t>(destination)];
  for (auto it = posted.begin(); it != posted.end(); ++it) {
    if (!fits(**it, *message)) continue;
    if (defers(**it)) break;
    const auto receive = *it;
    posted.erase(it);
    match(*receive, message);
    return message;
  }
  comm.arrived[static_cast<std::size_t>(destination)].push_back(message);
  // One that is posted ahead of what somebody waits for comes first.
  if (std::ranges::any_of(posted, [](const auto& one) { return one->waited; })) {
    match_late(comm, destination);
  }
  comm.probes.notify_all();
  return message;
}

std::shared_ptr<Receive> post_receive(const Place& place, std::size_t capacity, int source,
                                      int tag) {
  Comm& comm = *place.comm;
  auto receive = std::make_shared<Receive>();
  receive->source = source;
  receive->tag = tag;
  receive->capacity = capacity;
  receive->elements = elements_of(place.type);
  receive->where = capture_frames();
  auto& arrived = comm.arrived[static_cast<std::size_t>(place.rank)];
  match_late(comm, place.rank);
  if (const auto it = choose(arrived, *receive); it != arrived.end()) {
    const auto message = *it;
    arrived.erase(it);
    match(*receive, message);
    return receive;
  }
  comm.posted[static_cast<std::size_t>(place.rank)].push_back(receive);
  return receive;
}

std::string peer_text(int peer, int tag) {
  std::string text = peer == MPI_ANY_SOURCE ? "any rank" : format("rank %d", peer);
  return text + (tag == MPI_ANY_TAG ? ", any tag" : format(", tag %d", tag));
}

// In the lazy schedule, until all have come that can.
void linger(Comm& comm, const char* what) {
  comm.probes.wait_or_expire([] { return false; },
                             {what, [] { return std::string("for any rank"); }}, 1);
}

// Does a receive of anybody's message wait there for somebody to look?
bool is_deferred(const Comm& comm, int rank) {
  return std::ranges::any_of(comm.posted[static_cast<std::size_t>(rank)],
                             [](const auto& one) { return defers(*one); });
}

}  // namespace

void wait_for_match(Comm& comm, Message& message, const char* what) {
  if (!message.matched && is_deferred(comm, message.destination)) {
    linger(comm, what);
    match_late(comm, message.destination);
  }
  message.changed.wait_until([&] { return message.matched; },
                             {what, [&message] {
                                return "to " + peer_text(message.destination, message.tag) +
                                       ", which has posted no receive for it";
                              }});
}

namespace {

// MPI may let a small send wait for its receive, too. It does in the lazy schedule, until nobody
// else can go on.
void wait_lazily(Comm& comm, Message& message, const char* what) {
  if (!comes_late()) return;
  constexpr uint64_t kLast = uint64_t{1} << 62;  // no other limited wait is longer
  const bool matched = message.changed.wait_or_expire(
      [&] { return message.matched; },
      {what, [&message] { return "to " + peer_text(message.destination, message.tag); }}, kLast);
  if (!matched) match_late(comm, message.destination);
  if (!message.matched) message.left_by = current_rank();
}

// Who would take anybody's message in the lazy schedule does so when all have come that can.
void linger_for(Comm& comm, int source, const char* what) {
  if (source == MPI_ANY_SOURCE && comes_late()) linger(comm, what);
}

void wait_for_message(const Place& place, Receive& receive, const char* what) {
  if (!receive.message && is_deferred(*place.comm, place.rank)) {
    if (defers(receive)) linger(*place.comm, what);
    match_late(*place.comm, place.rank);
  }
  receive.waited = true;
  receive.changed.wait_until([&] { return receive.message != nullptr; },
                             {what, [&receive] {
                                return "from " + peer_text(receive.source, receive.tag) +
                                       ", which has sent nothing that fits";
                              }});
}

void take(Place place, Receive& receive, void* buffer, MPI_Status* status, const char* what) {
  Message& message = *receive.message;
  reach(message.arrives, message.sent);
  acquire_clock(message.clock);
  message.taken = true;
  if (message.freed) learn_of_end(*message.freed);
  if (message.data.size() > receive.capacity) {
    fail(kinds::mpi_truncation,
         format("%s: a message of %zu bytes from rank %d (tag %d), and room for %zu", what,
                message.data.size(), message.source, message.tag, receive.capacity),
         "make the receive count at least as large as what is sent", message.where);
  }
  if (!message.data.empty() && !message.elements.empty() && !receive.elements.empty() &&
      message.elements != receive.elements) {
    fail(kinds::mpi_mismatch,
         format("%s: rank %d sends %s (tag %d), and the receive is for %s", what, message.source,
                message.elements.c_str(), message.tag, receive.elements.c_str()),
         "name the same data type on both sides", message.where);
  }
  // Messages of several ranks come in any order: whose it is tells it from the others.
  if (receive.source == MPI_ANY_SOURCE) place.call.source = message.source;
  scatter_elements(place, buffer, message.data, what);
  fill_status(status, message.source, message.tag, message.data.size());
}

enum class Mode { Standard, Synchronous, Ready };

// "The send may be started only if the matching receive is already posted" (MPI 3.1, 3.4).
void require_receive(const Place& place, int destination, int tag) {
  Message message;
  message.source = place.rank;
  message.tag = tag;
  const auto& posted = place.comm->posted[static_cast<std::size_t>(destination)];
  if (std::ranges::any_of(posted, [&](const auto& receive) { return fits(*receive, message); })) {
    return;
  }
  fail(kinds::mpi_mismatch,
       format("MPI_Rsend: rank %d has posted no receive that fits (tag %d)", destination, tag),
       "post the receive first, and let a message or barrier tell; or call MPI_Send");
}

int send(const void* buffer, int count, MPI_Datatype type, int destination, int tag, MPI_Comm comm,
         Mode mode, const char* what) {
  const Place place = enter(comm, what, type);
  check_peer(place, destination, false, what);
  if (destination == MPI_PROC_NULL) return MPI_SUCCESS;
  if (mode == Mode::Ready) require_receive(place, destination, tag);
  const std::size_t bytes = packed(count, type, what);
  note_moving(buffer, what);
  auto message = post_send(place, gather_elements(buffer, count, type, what), destination, tag);
  if (mode == Mode::Synchronous || bytes > kBuffered) {
    wait_for_match(*place.comm, *message, what);
  } else {
    wait_lazily(*place.comm, *message, what);
  }
  return MPI_SUCCESS;
}

Message* find_message(const Place& place, int source, int tag) {
  Receive wanted;
  wanted.source = source;
  wanted.tag = tag;
  const auto& arrived = place.comm->arrived[static_cast<std::size_t>(place.rank)];
  match_late(*place.comm, place.rank);
  const auto found = choose(arrived, wanted, true);
  return found == arrived.end() ? nullptr : found->get();
}

}  // namespace

void check_peer(const Place& place, int peer, bool any, const char* what) {
  const bool valid = (peer >= 0 && peer < place.comm->size()) || peer == MPI_PROC_NULL ||
                     (any && peer == MPI_ANY_SOURCE);
  require(valid, what, "the peer is not a rank of the communicator");
}

void fill_status(MPI_Status* status, int source, int tag, std::size_t bytes) {
  if (!status) return;
  status->MPI_SOURCE = source;
  status->MPI_TAG = tag;
  status->MPI_ERROR = MPI_SUCCESS;
  status->warploom_bytes = bytes;
}

warploom_mpi_request* start_send(const Place& place, const void* buffer, int count, int destination,
                                 int tag, Started how) {
  auto* request = new warploom_mpi_request;
  request->what = how.what;
  note_moving(buffer, request->what);
  const std::size_t bytes = packed(count, place.type, request->what);
  auto message =
      post_send(place, gather_elements(buffer, count, place.type, request->what), destination, tag);
  const bool buffered = bytes <= kBuffered && !how.synchronous;
  message->call = request->what;
  request->message = message;
  request->ready = [=, comm = place.comm] {
    if (!buffered && !message->matched) match_late(*comm, message->destination);
    return buffered || message->matched;
  };
  request->block = [=, comm = place.comm] {
    wait_for_match(*comm, *message, "MPI_Wait of a send");
  };
  request->linger = [=, comm = place.comm] {
    if (buffered) wait_lazily(*comm, *message, "MPI_Wait of a send");
  };
  request->finish = [](MPI_Status* status) { fill_status(status, MPI_ANY_SOURCE, 0, 0); };
  lend(*request, request->what, {{buffer, count, place.type, false}});
  return request;
}

warploom_mpi_request* start_receive(const Place& place, void* buffer, int count, int source,
                                    int tag, const char* what) {
  auto* request = new warploom_mpi_request;
  request->what = what;
  request->receives = true;
  note_moving(buffer, what);
  auto receive = post_receive(place, packed(count, place.type, what), source, tag);
  request->ready = [=] {
    if (!receive->message) match_late(*place.comm, place.rank);
    return receive->message != nullptr;
  };
  request->block = [=] { wait_for_message(place, *receive, "MPI_Wait of a receive"); };
  request->finish = [=](MPI_Status* status) { take(place, *receive, buffer, status, what); };
  lend(*request, request->what, {{buffer, count, place.type, true}});
  return request;
}

warploom_mpi_request* finished_request() {
  auto* request = new warploom_mpi_request;
  request->ready = [] { return true; };
  request->late.end();
  request->block = [] {};
  request->finish = [](MPI_Status* status) { fill_status(status, MPI_PROC_NULL, MPI_ANY_TAG, 0); };
  return request;
}

namespace {

int begin_send(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
               MPI_Request* request, Started how) {
  const Place place = enter(comm, how.what, type);
  check_peer(place, dest, false, how.what);
  *request = g_request_handles.give(dest == MPI_PROC_NULL
                                        ? finished_request()
                                        : start_send(place, buffer, count, dest, tag, how));
  return MPI_SUCCESS;
}

}  // namespace

}  // namespace warploom::mpi

using namespace warploom;
using namespace warploom::mpi;

extern "C" {

int MPI_Send(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  return send(buffer, count, type, dest, tag, comm, Mode::Standard, "MPI_Send");
}
int MPI_Ssend(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  return send(buffer, count, type, dest, tag, comm, Mode::Synchronous, "MPI_Ssend");
}
int MPI_Rsend(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  return send(buffer, count, type, dest, tag, comm, Mode::Ready, "MPI_Rsend");
}

int MPI_Recv(void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
             MPI_Status* status) {
  constexpr const char* kName = "MPI_Recv";
  const Place place = enter(comm, kName, type);
  check_peer(place, source, true, kName);
  if (source == MPI_PROC_NULL) {
    fill_status(status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    return MPI_SUCCESS;
  }
  note_moving(buffer, kName);
  linger_for(*place.comm, source, kName);
  auto receive = post_receive(place, packed(count, type, kName), source, tag);
  wait_for_message(place, *receive, kName);
  take(place, *receive, buffer, status, kName);
  return MPI_SUCCESS;
}

int MPI_Isend(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
              MPI_Request* request) {
  return begin_send(buffer, count, type, dest, tag, comm, request, {"MPI_Isend"});
}
int MPI_Issend(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
               MPI_Request* request) {
  return begin_send(buffer, count, type, dest, tag, comm, request, {"MPI_Issend", true});
}

int MPI_Irecv(void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
              MPI_Request* request) {
  const Place place = enter(comm, "MPI_Irecv", type);
  check_peer(place, source, true, "MPI_Irecv");
  *request = g_request_handles.give(
      source == MPI_PROC_NULL ? finished_request()
                              : start_receive(place, buffer, count, source, tag, "MPI_Irecv"));
  return MPI_SUCCESS;
}

int MPI_Sendrecv(const void* send, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                 void* recv, int recvcount, MPI_Datatype recvtype, int source, int recvtag,
                 MPI_Comm comm, MPI_Status* status) {
  MPI_Request requests[2];
  MPI_Irecv(recv, recvcount, recvtype, source, recvtag, comm, &requests[0]);
  MPI_Isend(send, sendcount, sendtype, dest, sendtag, comm, &requests[1]);
  finish_request(&requests[0], status);
  finish_request(&requests[1], nullptr);
  return MPI_SUCCESS;
}

// Sends what the buffer holds, and then receives into it.
int MPI_Sendrecv_replace(void* buffer, int count, MPI_Datatype type, int dest, int sendtag,
                         int source, int recvtag, MPI_Comm comm, MPI_Status* status) {
  constexpr const char* kName = "MPI_Sendrecv_replace";
  const Place place = enter(comm, kName, type);
  check_peer(place, dest, false, kName);
  check_peer(place, source, true, kName);
  note_moving(buffer, kName);
  const std::size_t bytes = packed(count, type, kName);
  std::shared_ptr<Message> message;
  if (dest != MPI_PROC_NULL) {
    message = post_send(place, gather_elements(buffer, count, type, kName), dest, sendtag);
  }
  if (source == MPI_PROC_NULL) {
    fill_status(status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
  } else {
    const auto receive = post_receive(place, bytes, source, recvtag);
    wait_for_message(place, *receive, kName);
    take(place, *receive, buffer, status, kName);
  }
  if (message && bytes > kBuffered) wait_for_match(*place.comm, *message, kName);
  return MPI_SUCCESS;
}

int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status* status) {
  const Place place = enter(comm, "MPI_Probe");
  check_peer(place, source, true, "MPI_Probe");
  Message* message = nullptr;
  linger_for(*place.comm, source, "MPI_Probe");
  place.comm->probes.wait_until(
      [&] { return (message = find_message(place, source, tag)) != nullptr; },
      {"MPI_Probe", [=] { return "for a message from " + peer_text(source, tag); }});
  message->late.end();
  fill_status(status, message->source, message->tag, message->data.size());
  // Another thread may receive it before this one does.
  if (!g_timed && g_config.timing != NetTiming::Eager) yield_current();
  return MPI_SUCCESS;
}

int MPI_Iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  const Place place = enter(comm, "MPI_Iprobe");
  check_peer(place, source, true, "MPI_Iprobe");
  Message* message = find_message(place, source, tag);
  *flag = message && !message->late.hides();
  if (*flag) {
    message->late.end();
    fill_status(status, message->source, message->tag, message->data.size());
  } else if (!message) {
    poll_unready(place.comm);
  }
  return MPI_SUCCESS;
}

int MPI_Get_count(const MPI_Status* status, MPI_Datatype type, int* count) {
  const std::size_t size = type_bytes(type, "MPI_Get_count");
  *count = size && status->warploom_bytes % size == 0
               ? static_cast<int>(status->warploom_bytes / size)
               : MPI_UNDEFINED;
  return MPI_SUCCESS;
}

}  // extern "C"
