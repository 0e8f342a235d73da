// How the ranks of a communicator meet in a collective call.
#include <algorithm>

#include "mpi/mpi_objects.h"
#include "timing/timing.h"
#include "timing/transport_time.h"

namespace warploom::mpi {

std::size_t extent(int count, MPI_Datatype type, const char* what) {
  require(count >= 0, what, "the count must not be negative");
  return static_cast<std::size_t>(count) * dense_bytes(type, what);
}

std::size_t packed(int count, MPI_Datatype type, const char* what) {
  require(count >= 0, what, "the count must not be negative");
  return static_cast<std::size_t>(count) * type_bytes(type, what);
}

void check_root(const Place& place, int root, const char* what) {
  require(root >= 0 && root < place.comm->size(), what, "the root is not a rank");
}

bool lie_apart(std::vector<Used> parts) {
  std::erase_if(parts, [](const Used& part) { return part.bytes == 0; });
  const auto start = [](const Used& part) { return reinterpret_cast<uintptr_t>(part.start); };
  std::ranges::sort(parts, {}, start);
  return std::ranges::adjacent_find(parts, [&](const Used& one, const Used& next) {
           return start(one) + one.bytes > start(next);
         }) == parts.end();
}

void check_aliasing(const std::vector<Used>& read, const std::vector<Used>& written,
                    const char* what) {
  const auto overlap = [](const Used& a, const Used& b) {
    if (!a.bytes || !b.bytes || a.start == MPI_IN_PLACE || b.start == MPI_IN_PLACE) return false;
    const auto *p = static_cast<const char*>(a.start), *q = static_cast<const char*>(b.start);
    return p && q && p < q + b.bytes && q < p + a.bytes;
  };
  for (const Used& out : read) {
    const auto in = std::ranges::find_if(written, [&](const Used& u) { return overlap(out, u); });
    if (in == written.end()) continue;
    report_finding({.kind = kinds::overlapping_buffers,
                    .message = format("%s on rank %d: the send buffer (%zu bytes) and the receive "
                                      "buffer (%zu bytes) overlap, which MPI forbids",
                                      what, current_rank(), out.bytes, in->bytes),
                    .hint = "give MPI_IN_PLACE for the one whose data lies in the other already, "
                            "or use two buffers"});
    return;
  }
}

std::string with_place(std::string details, const void* send) {
  if (send != MPI_IN_PLACE) return details;
  return details.empty() ? "in place" : details + ", in place";
}

void check_elements(const void* send, MPI_Datatype sent, MPI_Datatype received, const char* what) {
  if (send == MPI_IN_PLACE) return;
  const std::string out = elements_of(sent), in = elements_of(received);
  if (out.empty() || in.empty() || out == in) return;
  fail(kinds::mpi_mismatch,
       format("%s on rank %d: it sends %s and receives %s", what, current_rank(), out.c_str(),
              in.c_str()),
       "name one data type on both sides");
}

// All have come to what one of them had to leave before.
static void warn_of_left(const Meeting& meeting) {
  report_finding(
      {.kind = kinds::mpi_unpromised,
       .message = format("%s must be over before rank %s can call it: it hangs where MPI lets it "
                         "wait for all ranks",
                         meeting.what.c_str(), meeting.left->missing.c_str()),
       .hint = "let all ranks call it before one of them waits for what another does behind it",
       .warning = true,
       .where = meeting.left->where,
       .rank = meeting.left->rank,
       .host = true});
}

std::shared_ptr<Meeting> post(const Place& place, const char* what, std::string details,
                              Bytes data) {
  Comm& comm = *place.comm;
  const auto rank = static_cast<std::size_t>(place.rank);
  const uint64_t number = comm.calls[rank]++;
  auto& slot = comm.meetings[number];
  const auto size = static_cast<std::size_t>(comm.size());
  if (!slot) {
    slot = std::make_shared<Meeting>();
    slot->what = what;
    slot->details = details;
    slot->where = capture_frames();
    slot->first_rank = place.rank;
    slot->present.resize(size);
    slot->data.resize(size);
    slot->clocks.resize(size);
  }
  const std::shared_ptr<Meeting> meeting = slot;
  if (meeting->what != what || meeting->details != details) {
    const auto text = [](const std::string& call, const std::string& with) {
      return with.empty() ? call : call + " (" + with + ")";
    };
    fail(kinds::mpi_mismatch,
         format("rank %d calls %s where rank %d calls %s", place.rank, text(what, details).c_str(),
                meeting->first_rank, text(meeting->what, meeting->details).c_str()),
         "all ranks call the same collectives in the same order, with the same root, sizes and "
         "operation",
         meeting->where);
  }
  const std::string elements = elements_of(place.type);
  if (meeting->elements.empty()) meeting->elements = elements;
  if (!elements.empty() && meeting->elements != elements) {
    fail(kinds::mpi_mismatch,
         format("%s: rank %d moves %s, another one %s", what, place.rank, elements.c_str(),
                meeting->elements.c_str()),
         "name the same data type on every rank", meeting->where);
  }
  meeting->present[rank] = true;
  leave_rank(place, data);
  meeting->origin.join(data.origin);
  meeting->data[rank] = std::move(data);
  meeting->clocks[rank] = release_clock();
  const bool complete = ++meeting->arrived == comm.size();
  if (complete) comm.meetings.erase(number);
  if (complete && meeting->left) warn_of_left(*meeting);
  // Those who wait run only after the caller blocks or returns.
  note_event();
  if (complete || meeting->some_need_few) meeting->changed.notify_all();
  return meeting;
}

bool is_complete(const Meeting& meeting, const std::vector<int>& needs) {
  if (needs.empty()) return meeting.arrived == static_cast<int>(meeting.present.size());
  return std::all_of(needs.begin(), needs.end(),
                     [&](int rank) { return meeting.present[static_cast<std::size_t>(rank)]; });
}

void acquire_from(Meeting& meeting, const std::vector<int>& needs) {
  if (needs.empty()) {
    // One object for all, which later joins notice.
    for (; meeting.joined_ranks < meeting.clocks.size(); meeting.joined_ranks++) {
      meeting.joined.join(meeting.clocks[meeting.joined_ranks]);
    }
    meeting.joined.settle();
    acquire_clock(meeting.joined);
    return;
  }
  for (const int rank : needs) acquire_clock(meeting.clocks[static_cast<std::size_t>(rank)]);
}

// "A collective operation may, or may not, have the effect of synchronizing all" (MPI 3.1, 5.1). It
// has in the lazy schedule, until nobody else can go on.
void linger_for_all(const Comm& comm, Meeting& meeting) {
  if (!comes_late()) return;
  constexpr uint64_t kLast = uint64_t{1} << 63;  // what may wait besides goes first
  const bool all_came = meeting.changed.wait_or_expire(
      [&] { return is_complete(meeting, {}); },
      {meeting.what.c_str(),
       [&] { return format("rank %s has not called it", comm.missing(meeting.present).c_str()); }},
      kLast);
  if (all_came || meeting.left) return;
  meeting.left = {capture_frames(), current_rank(), comm.missing(meeting.present)};
}

void await(const Place& place, Meeting& meeting, const std::vector<int>& needs) {
  Comm* comm = place.comm;
  meeting.some_need_few |= !needs.empty();
  meeting.changed.wait_until([&] { return is_complete(meeting, needs); },
                             {meeting.what.c_str(), [&meeting, comm] {
                                return format("rank %s has not called it",
                                              comm->missing(meeting.present).c_str());
                              }});
  if (!needs.empty()) linger_for_all(*comm, meeting);
  const std::size_t first = meeting.data.empty() ? 0 : meeting.data.front().size();
  if (g_timed) advance_communicating(mpi_meeting_ns(comm->size(), first));
  acquire_from(meeting, needs);
}

}  // namespace warploom::mpi
