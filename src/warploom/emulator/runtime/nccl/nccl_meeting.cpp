// Host calls that all ranks of a communicator make together.
#include "nccl/nccl_objects.h"
#include "timing/transport_time.h"

namespace warploom::nccl {

std::shared_ptr<HostMeeting> post_meeting(ncclComm* comm, const char* what, std::string details,
                                          void* argument) {
  trace([&] {
    return details.empty() ? std::string(what) : format("%s of %s", what, details.c_str());
  });
  Clique& clique = *comm->clique;
  const uint64_t number = comm->meetings++;
  auto& slot = clique.meetings[number];
  if (!slot) {
    slot = std::make_shared<HostMeeting>();
    slot->what = what;
    slot->details = details;
    slot->where = capture_frames();
    slot->first_rank = comm->rank;
    slot->argument.resize(static_cast<std::size_t>(clique.size));
    slot->present.resize(static_cast<std::size_t>(clique.size));
  }
  std::shared_ptr<HostMeeting> meeting = slot;
  if (std::string(meeting->what) != what || meeting->details != details) {
    const auto text = [](const char* call, const std::string& with) {
      return with.empty() ? std::string(call) : std::string(call) + " with " + with;
    };
    const bool window =
        std::string(what) == "ncclCommWindowRegister" && meeting->what == std::string(what);
    fail({.kind = window ? kinds::window_order_mismatch : kinds::collective_mismatch,
          .message = format("rank %d calls %s where rank %d calls %s", comm->rank,
                            text(what, details).c_str(), meeting->first_rank,
                            text(meeting->what, meeting->details).c_str()),
          .hint = "all ranks of a communicator make these calls in the same order, with the same "
                  "sizes",
          .other = meeting->where});
  }
  meeting->argument[static_cast<std::size_t>(comm->rank)] = argument;
  meeting->present[static_cast<std::size_t>(comm->rank)] = true;
  meeting->clock.join(release_clock());
  if (++meeting->arrived == clique.size) {
    clique.meetings.erase(number);
    meeting->clock.settle();
    // Those who wait run only after the caller blocks, so after what it does for all of them.
    meeting->done.notify_all();
  }
  return meeting;
}

void await_meeting(ncclComm* comm, HostMeeting& meeting) {
  Clique* clique = comm->clique;
  meeting.done.wait_until([&] { return meeting.arrived == clique->size; },
                          {meeting.what, [&meeting, clique] {
                             return format("rank %s has not called it",
                                           clique->missing(meeting.present).c_str());
                           }});
  acquire_clock(meeting.clock);
}

// Has the rank given a window back, or registered the same memory twice? Who sets up does neither.
static bool registers_again(const ncclComm* comm) {
  const void* newest = nullptr;
  const auto& all = all_windows();
  for (auto at = all.rbegin(); at != all.rend(); ++at) {
    if ((*at)->comm != comm) continue;
    if (!(*at)->live || (*at)->base == newest) return true;
    if (!newest) newest = (*at)->base;
  }
  return false;
}

void await_priced_meeting(ncclComm* comm, HostMeeting& meeting) {
  await_meeting(comm, meeting);
  if (!g_timed || !current_host().working || !registers_again(comm)) return;
  host_call(g_machine.host_nccl_ns + mpi_meeting_ns(comm->clique->size, 0));
}

}  // namespace warploom::nccl
