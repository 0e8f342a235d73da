// Streams, events and host callbacks.
#include "../../include/cuda_runtime.h"
#include "base/polling.h"
#include "behavior/iterations.h"
#include "cuda/cuda_error.h"
#include "cuda/graph.h"
#include "cuda/host_functions.h"
#include "cuda/stream.h"
#include "host/call_targets.h"
#include "machine/into_program.h"
#include "machine/virtual_time.h"
#include "machine/world_setup.h"
#include "report/report.h"
#include "timing/stream_time.h"
#include "timing/timeline.h"
#include "timing/timing.h"

using namespace warploom;

namespace {

Stream* make_stream(unsigned flags, int priority) {
  Stream* stream = add_stream(current_host().device);
  stream->non_blocking = flags & cudaStreamNonBlocking;
  stream->priority = priority;
  return stream;
}

Event* event_of(cudaEvent_t handle) {
  Event* event = g_event_handles.find(handle);
  const bool ended = event && event->imported && event->state->ended;
  return report_destroyed(ended, "an event of another process") ? nullptr : event;
}

// The stream behind a handle, or nullptr after a report.
Stream* usable(cudaStream_t handle) {
  Stream* stream = resolve_stream(handle);
  return stream->destroyed ? nullptr : stream;
}

StartFunction callback(const char* name, std::function<void()> function) {
  Process* process = current_host().process;
  return [process, name, function = std::move(function)](StreamOp& op) {
    StreamOp* self = &op;
    HostThread& thread = add_host_thread(*process, op.stream->device, [self, name, function] {
      current_host().working = true;
      current_host().runs_for = name;
      reach(self->begins);
      function();
      current_host().runs_for = nullptr;
      price_host_work(true);  // the stream waits for it
      self->clock.join(release_clock());
      complete(*self);
    });
    thread.clock = op.clock;
  };
}

// `data` is what the function gets.
void push_callback(Stream* stream, const char* name, const void* data,
                   std::function<void()> function) {
  if (stream->capture) {
    const Frames where = capture_frames();
    const int rank = current_rank();
    push_op(stream, OpKind::Copy, name, callback(name, [=, function = std::move(function)] {
              check_argument_lives(data, where, rank);
              function();
            }));
    return;
  }
  const int watch = watch_argument(data, name, capture_frames());
  push_op(stream, OpKind::Copy, name, callback(name, [watch, function = std::move(function)] {
            end_argument(watch);
            function();
          }));
}

}  // namespace

NodeWork warploom::host_work(cudaHostFn_t function, void* data) {
  check_call_target(function);
  NodeWork work;
  work.type = cudaGraphNodeTypeHost;
  work.name = "a host function";
  work.where = capture_frames();
  work.device = current_host().device;
  work.rank = current_rank();
  const auto run = [function, data, where = work.where, rank = work.rank] {
    check_argument_lives(data, where, rank);
    into_program(WARPLOOM_FRAME, function, data);
  };
  work.prepare = [start = callback("a graph", run)](const auto&) { return start; };
  return work;
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0);
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  if (!stream || flags > cudaStreamNonBlocking) return cuda_fail(cudaErrorInvalidValue);
  *stream = g_stream_handles.give(make_stream(flags, priority));
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  Stream* stream = usable(handle);
  if (!stream || stream->legacy || stream->per_thread) {
    return cuda_fail(cudaErrorInvalidResourceHandle);
  }
  // What is queued still runs; only the handle goes.
  stream->destroyed = true;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  Stream* stream = usable(handle);
  if (!stream) return cuda_fail(cudaErrorInvalidResourceHandle);
  if (const cudaError_t error = forbidden_in_capture(stream)) return error;
  synchronize(stream, "cudaStreamSynchronize");
  return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  Stream* stream = usable(handle);
  if (!stream) return cuda_fail(cudaErrorInvalidResourceHandle);
  if (const cudaError_t error = forbidden_in_capture(stream)) return error;
  require_issued(*stream, "cudaStreamQuery");
  let_finish([stream] { return stream->queue.empty(); });
  if (!stream->queue.empty()) {
    poll_unready(stream->queue.front().get());
    return cudaErrorNotReady;
  }
  if (!done_by_now(stream->free_at)) return cudaErrorNotReady;
  acquire_clock(stream->clock);
  return cudaSuccess;
}

cudaError_t cudaStreamGetPriority(cudaStream_t handle, int* priority) {
  *priority = resolve_stream(handle)->priority;
  return cudaSuccess;
}
cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned* flags) {
  *flags = resolve_stream(handle)->non_blocking ? cudaStreamNonBlocking : cudaStreamDefault;
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event_handle, unsigned) {
  Stream* stream = usable(handle);
  Event* event = event_of(event_handle);
  if (!stream || !event) return cuda_fail(cudaErrorInvalidResourceHandle);
  if (implicit_in_capture(stream)) return cudaErrorStreamCaptureImplicit;
  bool captured = false;
  const cudaError_t capturing = capture_wait(stream, *event, captured);
  if (captured) return capturing;
  // An event that was never recorded is no wait.
  if (!event->state->last) return cudaSuccess;
  await_record(push_op(stream, OpKind::Copy, "cudaStreamWaitEvent", {}), event->state->last);
  return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void* data) {
  Stream* stream = usable(handle);
  if (!stream) return cuda_fail(cudaErrorInvalidResourceHandle);
  if (implicit_in_capture(stream)) return cudaErrorStreamCaptureImplicit;
  check_call_target(function);
  push_callback(stream, "cudaLaunchHostFunc", data,
                [=] { into_program(WARPLOOM_FRAME, function, data); });
  return cudaSuccess;
}

cudaError_t cudaStreamAddCallback(cudaStream_t handle, cudaStreamCallback_t callback, void* data,
                                  unsigned) {
  Stream* stream = usable(handle);
  if (!stream) return cuda_fail(cudaErrorInvalidResourceHandle);
  if (implicit_in_capture(stream)) return cudaErrorStreamCaptureImplicit;
  check_call_target(callback);
  push_callback(stream, "cudaStreamAddCallback", data,
                [=] { into_program(WARPLOOM_FRAME, callback, handle, cudaSuccess, data); });
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}
cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned flags) {
  return cudaEventCreateWithFlags(event, flags);
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  if (!event) return cuda_fail(cudaErrorInvalidValue);
  const bool timing = !(flags & cudaEventDisableTiming), shared = flags & cudaEventInterprocess;
  if (timing && shared) return cuda_fail(cudaErrorInvalidValue);
  auto* made = new Event;
  made->device = current_host().device;
  made->timing = timing;
  made->interprocess = shared;
  *event = g_event_handles.give(made);
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t handle) {
  Event* event = g_event_handles.find(handle);
  if (!event) return cuda_fail(cudaErrorInvalidResourceHandle);
  g_event_handles.end(event);
  // Its address stays taken, so that a later use is known; nothing else of it does.
  if (!event->imported) {
    event->state->ended = true;
    event->state->last.reset();
  }
  event->state.reset();
  event->captured = {};
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t handle, cudaStream_t stream_handle) {
  Event* event = event_of(handle);
  Stream* stream = usable(stream_handle);
  if (!event || !stream) return cuda_fail(cudaErrorInvalidResourceHandle);
  // "Stream and Event Behavior" in the CUDA C++ Programming Guide. A wait may cross devices.
  if (event->device != stream->device) return cuda_fail(cudaErrorInvalidResourceHandle);
  if (implicit_in_capture(stream)) return cudaErrorStreamCaptureImplicit;
  if (capture_record(*event, stream)) return cudaSuccess;
  const auto record = std::make_shared<EventRecord>();
  record->stream = stream;
  if (event->timing) record->number = note_record();
  event->state->last = record;
  push_op(stream, OpKind::Copy, "cudaEventRecord", reach_record(record))->is_record = true;
  return cudaSuccess;
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned) {
  return cudaEventRecord(event, stream);
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  Event* event = event_of(handle);
  if (!event) return cuda_fail(cudaErrorInvalidResourceHandle);
  if (event->capture_id) return cuda_fail(cudaErrorCapturedEvent);
  if (unsafe_during_capture()) return cudaErrorStreamCaptureUnsupported;
  const std::shared_ptr<EventRecord> record = event->state->last;
  if (!record) return cudaSuccess;
  record->waiters.wait_until(
      [&] { return record->reached; },
      {"cudaEventSynchronize", [&] { return describe_stream(*record->stream); }});
  reach(record->time);
  advance(g_machine.host_sync_ns);
  acquire_clock(record->clock);
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t handle) {
  Event* event = event_of(handle);
  if (!event) return cuda_fail(cudaErrorInvalidResourceHandle);
  if (event->capture_id) return cuda_fail(cudaErrorCapturedEvent);
  if (unsafe_during_capture()) return cudaErrorStreamCaptureUnsupported;
  const std::shared_ptr<EventRecord> record = event->state->last;
  if (!record) return cudaSuccess;
  let_finish([&] { return record->reached; });
  if (!record->reached) {
    poll_unready(record.get());
    return cudaErrorNotReady;
  }
  if (!done_by_now(record->time)) return cudaErrorNotReady;
  acquire_clock(record->clock);
  return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  const Event *first = event_of(start), *last = event_of(end);
  if (!milliseconds || !first || !last || first->device != last->device) {
    return cuda_fail(cudaErrorInvalidResourceHandle);
  }
  const std::shared_ptr<EventRecord> from = first->state->last, to = last->state->last;
  if (!from || !to || !first->timing || !last->timing) {
    return cuda_fail(cudaErrorInvalidResourceHandle);
  }
  if (!from->reached || !to->reached) return cudaErrorNotReady;
  note_time_from(from->number);
  note_time_from(to->number);
  const double nanoseconds = to->time - from->time;
  *milliseconds = static_cast<float>(shown_interval(nanoseconds) * 1e-6);
  add_interval(from->time, to->time);
  return cudaSuccess;
}
