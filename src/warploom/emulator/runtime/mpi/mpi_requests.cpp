// Requests: how started calls are completed, and those that are started again and again.
#include <algorithm>
#include <vector>

#include "base/polling.h"
#include "mpi/mpi_objects.h"
#include "schedule/scheduler.h"
#include "timing/timing.h"

namespace warploom::mpi {

namespace {

warploom_mpi_request* request_of(MPI_Request handle) {
  warploom_mpi_request* request = g_request_handles.find(handle);
  if (!request) stop_run();  // it is complete, and waited for again
  return request;
}

// None, or a persistent one that is not started: nothing to wait for.
bool is_idle(MPI_Request handle) {
  if (!handle) return true;
  const warploom_mpi_request* request = request_of(handle);
  return request->start && !request->started;
}

bool is_ready(MPI_Request handle) {
  if (is_idle(handle)) return true;
  const warploom_mpi_request* request = request_of(handle);
  return request->start ? request->started->ready() : request->ready();
}

// Is it to be found unready though it is not? "A call to MPI_TEST returns flag = true if the
// operation is complete", and nothing says how soon it is (MPI 3.1, 3.7.3): what others have sent
// or posted may be on its way.
bool is_late(MPI_Request handle) {
  if (is_idle(handle)) return false;
  warploom_mpi_request* request = request_of(handle);
  if (request->started) request = request->started.get();
  return request->late.hides();
}

// Who waits for this one may do so for as long as MPI likes.
void linger(MPI_Request handle) {
  if (is_idle(handle)) return;
  warploom_mpi_request* request = request_of(handle);
  if (request->started) request = request->started.get();
  if (request->linger) std::function<void()>(request->linger)();
}

void complete(std::unique_ptr<warploom_mpi_request> done, MPI_Status* status) {
  if (!done->ready()) done->block();
  give_back(*done);
  done->finish(status);
}

MPI_Status* nth(MPI_Status* statuses, int i) { return statuses ? statuses + i : nullptr; }

// A request that no call has started yet; `type` is of what it moves.
int make_persistent(MPI_Comm comm, MPI_Datatype type, const char* what,
                    std::function<warploom_mpi_request*(const Place&)> begin,
                    MPI_Request* request) {
  auto* made = new warploom_mpi_request;
  made->what = what;
  made->start = [=, begin = std::move(begin)] { return begin(enter(comm, "MPI_Start", type)); };
  *request = g_request_handles.give(made);
  return MPI_SUCCESS;
}

int send_init(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
              bool synchronous, const char* what, MPI_Request* request) {
  check_peer(enter(comm, what, type), dest, false, what);
  packed(count, type, what);
  return make_persistent(
      comm, type, what,
      [=](const Place& place) {
        if (dest == MPI_PROC_NULL) return finished_request();
        return start_send(place, buffer, count, dest, tag, {"MPI_Start", synchronous});
      },
      request);
}

void start_again(MPI_Request handle, const char* what) {
  require(handle != MPI_REQUEST_NULL, what, "the request is MPI_REQUEST_NULL");
  warploom_mpi_request* request = request_of(handle);
  require(static_cast<bool>(request->start), what,
          "the request is none that MPI_Send_init, MPI_Ssend_init or MPI_Recv_init has made");
  require(!request->started, what, "the request is started already: complete it first");
  request->started.reset(request->start());
}

// Which of the requests that have ended "comes first": MPI leaves it open (MPI 3.1, 3.7.5). The
// last one in the lazy schedule; -1 where none has ended.
int any_ready(int count, const MPI_Request* requests) {
  std::vector<int> ready;
  for (int i = 0; i < count; i++) {
    if (!is_idle(requests[i]) && is_ready(requests[i])) ready.push_back(i);
  }
  if (ready.empty()) return -1;
  if (random_schedule()) return ready[random_below(ready.size())];
  return comes_late() ? ready.back() : ready.front();
}

}  // namespace

void finish_request(MPI_Request* request, MPI_Status* status) {
  if (is_idle(*request)) {
    fill_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
    return;
  }
  warploom_mpi_request* done = request_of(*request);
  // First, as other threads run while this one waits: it is no request, or not started, any more.
  if (done->start) return complete(std::move(done->started), status);
  g_request_handles.end(done);
  complete(std::unique_ptr<warploom_mpi_request>(done), status);
  *request = MPI_REQUEST_NULL;
}

}  // namespace warploom::mpi

using namespace warploom;
using namespace warploom::mpi;

extern "C" {

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  linger(*request);
  finish_request(request, status);
  return MPI_SUCCESS;
}

int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  for (int i = 0; i < count; i++) linger(requests[i]);
  for (int i = 0; i < count; i++) finish_request(&requests[i], nth(statuses, i));
  return MPI_SUCCESS;
}

int MPI_Waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
  *index = MPI_UNDEFINED;
  if (std::all_of(requests, requests + count, is_idle)) return MPI_SUCCESS;
  for (;;) {
    if (const int i = any_ready(count, requests); i >= 0) {
      finish_request(&requests[i], status);
      *index = i;
      return MPI_SUCCESS;
    }
    poll_current();
  }
}

int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  const bool ready = is_ready(*request);
  *flag = ready && !is_late(*request);
  if (*flag) {
    finish_request(request, status);
  } else if (!ready) {
    poll_unready(*request);
  }
  return MPI_SUCCESS;
}

int MPI_Testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  *flag = std::all_of(requests, requests + count, is_ready);
  if (!*flag) {
    poll_unready(requests);
    return MPI_SUCCESS;
  }
  *flag = std::count_if(requests, requests + count, is_late) == 0;
  return *flag ? MPI_Waitall(count, requests, statuses) : MPI_SUCCESS;
}

int MPI_Send_init(const void* buffer, int count, MPI_Datatype type, int dest, int tag,
                  MPI_Comm comm, MPI_Request* request) {
  return send_init(buffer, count, type, dest, tag, comm, false, "MPI_Send_init", request);
}
int MPI_Ssend_init(const void* buffer, int count, MPI_Datatype type, int dest, int tag,
                   MPI_Comm comm, MPI_Request* request) {
  return send_init(buffer, count, type, dest, tag, comm, true, "MPI_Ssend_init", request);
}

int MPI_Recv_init(void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                  MPI_Request* request) {
  constexpr const char* kName = "MPI_Recv_init";
  check_peer(enter(comm, kName, type), source, true, kName);
  packed(count, type, kName);
  return make_persistent(
      comm, type, kName,
      [=](const Place& place) {
        if (source == MPI_PROC_NULL) return finished_request();
        return start_receive(place, buffer, count, source, tag, "MPI_Start");
      },
      request);
}

int MPI_Start(MPI_Request* request) {
  start_again(*request, "MPI_Start");
  return MPI_SUCCESS;
}
int MPI_Startall(int count, MPI_Request* requests) {
  for (int i = 0; i < count; i++) start_again(requests[i], "MPI_Startall");
  return MPI_SUCCESS;
}

// What is started goes on by itself.
int MPI_Request_free(MPI_Request* handle) {
  require(*handle != MPI_REQUEST_NULL, "MPI_Request_free", "the request is MPI_REQUEST_NULL");
  warploom_mpi_request* request = request_of(*handle);
  const bool idle = is_idle(*handle);
  require(!request->collective, "MPI_Request_free",
          "the request is a collective's, which must be completed (MPI 3.1, 5.12)");
  if (!idle && (request->receives || (request->started && request->started->receives))) {
    stop_unsupported("MPI_Request_free", "of a receive that is started and not complete");
  }
  g_request_handles.end(request);
  std::unique_ptr<warploom_mpi_request> freed(request);
  if (freed->start) freed = std::unique_ptr<warploom_mpi_request>(std::move(freed->started));
  // Who has received the message has done with the buffer, and may say so to the sender.
  if (freed && freed->message && !freed->message->taken) {
    const auto message = freed->message;
    message->freed = std::move(freed);
    message->freed->message.reset();
  }
  *handle = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}

}  // extern "C"
