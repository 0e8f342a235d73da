// Active synchronization: fences, and the epochs of MPI_Win_post, start, complete and wait.
#include <algorithm>

#include "base/polling.h"
#include "mpi/mpi_windows.h"
#include "timing/timing.h"

namespace warploom::mpi {

namespace {

constexpr int kFenceAsserts =
    MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED;

// Those that all ranks give, or none.
std::string shared_asserts(int asserts) {
  std::string text;
  if (asserts & MPI_MODE_NOPRECEDE) text = "MPI_MODE_NOPRECEDE";
  if (asserts & MPI_MODE_NOSUCCEED) text += text.empty() ? "MPI_MODE_NOSUCCEED" : " | NOSUCCEED";
  return text;
}

void check_fence(const WindowPlace& place, int asserts, const char* what) {
  const WindowPart& mine = place.mine();
  require((asserts & ~kFenceAsserts) == 0, what, "the assertions are none of a fence's");
  require(mine.locks.empty() && !mine.all_locked, what,
          "the caller holds a lock of the window: unlock it first");
  require(!mine.starts && !mine.posts, what,
          "an epoch of MPI_Win_start or MPI_Win_post is open: close it first");
  const RmaCall* open = first_of(*place.window, {place.rank(), -1, Epoch::Fence});
  if (!(asserts & MPI_MODE_NOPRECEDE) || !open) return;
  fail(kinds::mpi_mismatch,
       format("%s with MPI_MODE_NOPRECEDE on rank %d, whose %s it would have to complete", what,
              place.rank(), open->what),
       "leave the assertion out behind one-sided calls", open->where);
}

// Nobody leaves a fence before all have come to it. Who says that nothing precedes it learns
// nothing from the others: MPI promises no barrier then.
void meet(const WindowPlace& place, Meeting& meeting, bool precede) {
  if (precede) return await(place.place, meeting);
  Comm* comm = place.window->comm;
  meeting.changed.wait_until([&] { return is_complete(meeting, {}); },
                             {"MPI_Win_fence", [&meeting, comm] {
                                return format("rank %s has not called it",
                                              comm->missing(meeting.present).c_str());
                              }});
}

void fence(const WindowPlace& place, int asserts, const char* what) {
  Window& window = *place.window;
  const Chosen mine{place.rank(), -1, Epoch::Fence};
  check_fence(place, asserts, what);
  read_sources(window, mine);
  place.mine().next_no_put = asserts & MPI_MODE_NOPUT;
  auto meeting = post(place.place, what, shared_asserts(asserts), {});
  if (meeting->arrived == window.comm->size()) {
    const Chosen all{-1, -1, Epoch::Fence};
    land(window, all);
    window.landed = {};
    for (const auto& call : window.calls) {
      if (!all.holds(*call)) continue;
      window.landed.advance(call->agent, call->time);
    }
    for (const Clock& clock : meeting->clocks) window.exposed.join(clock);
    window.exposed.settle();
    for (WindowPart& part : window.parts) part.no_put = part.next_no_put;
  }
  meet(place, *meeting, !(asserts & MPI_MODE_NOPRECEDE));
  acquire_clock(window.landed);
  return_buffers(window, mine);
  place.mine().fenced = !(asserts & MPI_MODE_NOSUCCEED);
  tell_arrived(place, true);
}

// The ranks of a group, as the window numbers them.
std::vector<int> ranks_of(const WindowPlace& place, MPI_Group group, const char* what) {
  const std::vector<int>& world = place.window->comm->world;
  std::vector<int> ranks;
  for (const int member : members_of(group, what)) {
    const auto found = std::ranges::find(world, member);
    require(found != world.end(), what, "a rank of the group is not in the window");
    ranks.push_back(static_cast<int>(found - world.begin()));
  }
  return ranks;
}

std::string listed(const std::vector<int>& ranks) {
  std::string text;
  for (const int rank : ranks) text += (text.empty() ? "" : ", ") + std::to_string(rank);
  return text;
}

// Of the targets, those that have not posted what the caller's epoch needs.
std::vector<int> not_posted(const WindowPlace& place) {
  std::vector<int> missing;
  for (const int target : place.mine().started) {
    const Path& path = place.window->path(place.rank(), target);
    if (path.posted < path.started) missing.push_back(target);
  }
  return missing;
}

// Of the origins, those that have not completed the epoch that the caller has posted.
std::vector<int> not_completed(const WindowPlace& place) {
  std::vector<int> missing;
  for (const int origin : place.mine().posted) {
    const Path& path = place.window->path(origin, place.rank());
    if (path.completed < path.posted) missing.push_back(origin);
  }
  return missing;
}

void wait_for_posts(const WindowPlace& place, const char* what) {
  place.window->changed.wait_until([&] { return not_posted(place).empty(); },
                                   {what, [&] {
                                      return format("rank %s has not called MPI_Win_post",
                                                    listed(not_posted(place)).c_str());
                                    }});
}

void end_exposure(const WindowPlace& place) {
  Window& window = *place.window;
  for (const int origin : place.mine().posted) {
    Path& path = window.path(origin, place.rank());
    const Chosen chosen{origin, place.rank(), Epoch::Started};
    Clock landed;  // what is over for the origin already, too
    for (const Flow& flow : {path.updates, path.reads}) landed.advance(flow.agent, flow.done);
    for (const auto& call : window.calls) {
      if (chosen.holds(*call) && is_exposed(window, *call)) {
        landed.advance(call->agent, call->time);
      }
    }
    land(window, chosen);
    std::erase_if(window.calls, [](const auto& call) { return call->landed && call->returned; });
    acquire_clock(landed);
    acquire_clock(path.complete);
  }
  place.mine().posts = false;
  place.mine().posted.clear();
  tell_arrived(place, false);
}

}  // namespace

}  // namespace warploom::mpi

using namespace warploom;
using namespace warploom::mpi;

extern "C" {

int MPI_Win_fence(int asserts, MPI_Win win) {
  constexpr const char* kName = "MPI_Win_fence";
  fence(enter_window(win, kName, MPI_BYTE), asserts, kName);
  return MPI_SUCCESS;
}

int MPI_Win_post(MPI_Group group, int, MPI_Win win) {
  constexpr const char* kName = "MPI_Win_post";
  const WindowPlace place = enter_window(win, kName);
  require(!place.mine().posts, kName, "the epoch before is still open: call MPI_Win_wait first");
  place.mine().posted = ranks_of(place, group, kName);
  place.mine().posts = true;
  place.mine().late = {};
  place.mine().fenced = false;
  for (const int origin : place.mine().posted) {
    Path& path = place.window->path(origin, place.rank());
    path.posted++;
    path.post.join(release_clock());
    for (const auto& call : place.window->calls) {  // some have been waiting for it
      if (Chosen{origin, place.rank(), Epoch::Started}.holds(*call)) {
        begin_at_target(*place.window, call);
      }
    }
  }
  place.window->changed.notify_all();
  note_event();
  return MPI_SUCCESS;
}

// It may wait for the targets or not: it does where data moves early.
int MPI_Win_start(MPI_Group group, int, MPI_Win win) {
  constexpr const char* kName = "MPI_Win_start";
  const WindowPlace place = enter_window(win, kName);
  require(!place.mine().starts, kName,
          "the epoch before is still open: call MPI_Win_complete first");
  place.mine().started = ranks_of(place, group, kName);
  place.mine().starts = true;
  place.mine().fenced = false;
  for (const int target : place.mine().started) place.window->path(place.rank(), target).started++;
  if (g_config.timing == NetTiming::Eager) wait_for_posts(place, kName);
  return MPI_SUCCESS;
}

int MPI_Win_complete(MPI_Win win) {
  constexpr const char* kName = "MPI_Win_complete";
  const WindowPlace place = enter_window(win, kName);
  Window& window = *place.window;
  require(place.mine().starts, kName, "no epoch is open: call MPI_Win_start first");
  wait_for_posts(place, kName);
  const Chosen mine{place.rank(), -1, Epoch::Started};
  read_sources(window, mine);
  land(window, mine, g_config.timing == NetTiming::Lazy);
  return_buffers(window, mine);
  for (const int target : place.mine().started) {
    Path& path = window.path(place.rank(), target);
    path.completed++;
    path.complete.join(release_clock());
  }
  place.mine().starts = false;
  place.mine().started.clear();
  window.changed.notify_all();
  note_event();
  return MPI_SUCCESS;
}

int MPI_Win_wait(MPI_Win win) {
  constexpr const char* kName = "MPI_Win_wait";
  const WindowPlace place = enter_window(win, kName, MPI_BYTE);
  require(place.mine().posts, kName, "no epoch is open: call MPI_Win_post first");
  place.window->changed.wait_until([&] { return not_completed(place).empty(); },
                                   {kName, [&] {
                                      return format("rank %s has not called MPI_Win_complete",
                                                    listed(not_completed(place)).c_str());
                                    }});
  end_exposure(place);
  return MPI_SUCCESS;
}

int MPI_Win_test(MPI_Win win, int* flag) {
  constexpr const char* kName = "MPI_Win_test";
  const WindowPlace place = enter_window(win, kName, MPI_BYTE);
  require(place.mine().posts, kName, "no epoch is open: call MPI_Win_post first");
  require(flag != nullptr, kName, "the result's address must not be NULL");
  const bool completed = not_completed(place).empty();
  *flag = completed && !place.mine().late.hides();
  if (*flag) {
    end_exposure(place);
  } else if (!completed) {
    poll_unready(place.window);
  }
  return MPI_SUCCESS;
}

}  // extern "C"
