// Stream capture: what a stream gets while it is captured becomes nodes of a graph.
#include <algorithm>

#include "cuda/cuda_error.h"
#include "cuda/graph.h"
#include "report/report.h"

namespace warploom {

namespace {

uint64_t g_captures = 0;
std::vector<Capture*> g_active;
std::map<const HostThread*, cudaStreamCaptureMode> g_modes;

void finish(Capture* capture) {
  for (auto& [stream, branch] : capture->streams) stream->capture = nullptr;
  std::erase(g_active, capture);
}

}  // namespace

GraphNode* capture_node(Stream* stream, NodeWork work) {
  return capture_node(std::vector{stream}, std::move(work));
}

GraphNode* capture_node(const std::vector<Stream*>& streams, NodeWork work) {
  Capture& capture = *streams.front()->capture;
  std::vector<GraphNode*> before;
  for (Stream* stream : streams) {
    for (GraphNode* node : capture.streams[stream].last) {
      if (!std::ranges::count(before, node)) before.push_back(node);
    }
  }
  GraphNode* node = capture.graph->add(std::move(work), std::move(before));
  for (Stream* stream : streams) {
    Capture::Branch& branch = capture.streams[stream];
    branch.last = {node};
    branch.joined = stream == capture.origin;
  }
  return node;
}

bool is_in_capture(const Graph& graph) {
  return std::ranges::any_of(
      g_active, [&](const Capture* capture) { return capture->graph.get() == &graph; });
}

// Which calls a capture forbids was tried on an H200 with CUDA 13.0, beside what "Prohibited and
// Unhandled Operations" in the CUDA C++ Programming Guide says: in the modes global (other threads
// too) and thread-local, cudaMalloc and its like, and whatever asks for or waits for a stream or an
// event; in all modes, to wait for the device.
cudaError_t forbidden_in_capture(Stream* stream) {
  if (stream->capture) {
    stream->capture->invalid = true;
    return cuda_fail(cudaErrorStreamCaptureUnsupported);
  }
  if (implicit_in_capture(stream)) return cudaErrorStreamCaptureImplicit;
  return unsafe_during_capture() ? cudaErrorStreamCaptureUnsupported : cudaSuccess;
}

bool forbidden_in_capture(int device) {
  bool forbidden = false;
  for (Capture* capture : g_active) {
    if (capture->thread->process != current_host().process) continue;
    const bool there = std::ranges::any_of(
        capture->streams, [&](const auto& item) { return item.first->device == device; });
    if (there) capture->invalid = forbidden = true;
  }
  if (forbidden) cuda_fail(cudaErrorStreamCaptureUnsupported);
  return forbidden;
}

bool unsafe_during_capture() {
  const HostThread* self = &current_host();
  const auto mode = g_modes.find(self);
  if (mode != g_modes.end() && mode->second == cudaStreamCaptureModeRelaxed) return false;
  for (Capture* capture : g_active) {
    if (capture->mode == cudaStreamCaptureModeRelaxed) continue;
    if (capture->thread->process != self->process) continue;
    const bool mine = capture->thread == self;
    if (!mine && capture->mode == cudaStreamCaptureModeThreadLocal) continue;
    if (!mine && mode != g_modes.end() && mode->second == cudaStreamCaptureModeThreadLocal) {
      continue;
    }
    capture->invalid = true;
    cuda_fail(cudaErrorStreamCaptureUnsupported);
    return true;
  }
  return false;
}

bool implicit_in_capture(Stream* stream) {
  if (!stream->legacy) return false;
  for (Capture* capture : g_active) {
    for (const auto& [captured, branch] : capture->streams) {
      if (captured->device != stream->device || captured->non_blocking) continue;
      capture->invalid = true;
      cuda_fail(cudaErrorStreamCaptureImplicit);
      return true;
    }
  }
  return false;
}

bool capture_record(Event& event, Stream* stream) {
  if (!stream->capture) {
    event.capture_id = 0;
    return false;
  }
  event.capture_id = stream->capture->id;
  event.captured = stream->capture->streams[stream].last;
  event.captured_from = stream;
  return true;
}

cudaError_t capture_wait(Stream* stream, Event& event, bool& captured) {
  captured = event.capture_id != 0 || stream->capture;
  if (!captured) return cudaSuccess;
  Capture* capture = nullptr;
  for (Capture* active : g_active) {
    if (active->id == event.capture_id) capture = active;
  }
  if (!capture || (stream->capture && stream->capture != capture)) {
    if (stream->capture) stream->capture->invalid = true;
    if (!stream->capture && !capture) {
      captured = false;  // the capture has ended: the event says nothing any more
      return cudaSuccess;
    }
    return cuda_fail(cudaErrorStreamCaptureIsolation);
  }
  if (stream->legacy) return cuda_fail(cudaErrorStreamCaptureImplicit);
  const bool fresh = !stream->capture;
  stream->capture = capture;
  Capture::Branch& branch = capture->streams[stream];
  if (fresh) branch.joined = event.captured.empty();
  for (GraphNode* node : event.captured) {
    if (std::find(branch.last.begin(), branch.last.end(), node) == branch.last.end()) {
      branch.last.push_back(node);
    }
  }
  if (stream == capture->origin && event.captured_from) {
    Capture::Branch& from = capture->streams[event.captured_from];
    if (from.last == event.captured) from.joined = true;
  } else if (fresh) {
    branch.joined = false;
  }
  return cudaSuccess;
}

}  // namespace warploom

using namespace warploom;

namespace {

// Has every branch been waited for, directly or through another one?
bool all_joined(const Capture& capture) {
  std::vector<const GraphNode*> pending;
  std::map<const GraphNode*, bool> reached;
  const auto it = capture.streams.find(capture.origin);
  for (const GraphNode* node : it->second.last) pending.push_back(node);
  while (!pending.empty()) {
    const GraphNode* node = pending.back();
    pending.pop_back();
    if (!reached.insert({node, true}).second) continue;
    for (const GraphNode* before : node->dependencies) pending.push_back(before);
  }
  for (const auto& [stream, branch] : capture.streams) {
    if (stream == capture.origin) continue;
    for (const GraphNode* node : branch.last) {
      if (!reached.contains(node)) return false;
    }
  }
  return true;
}

}  // namespace

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  Stream* stream = resolve_stream(handle);
  if (stream->legacy) return cuda_fail(cudaErrorStreamCaptureUnsupported);
  if (stream->capture) return cuda_fail(cudaErrorIllegalState);
  auto* capture = new Capture;
  capture->graph = std::make_unique<Graph>();
  capture->origin = stream;
  capture->mode = mode;
  capture->thread = &current_host();
  capture->id = ++g_captures;
  capture->streams[stream] = {};
  stream->capture = capture;
  g_active.push_back(capture);
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  Stream* stream = resolve_stream(handle);
  if (graph) *graph = nullptr;
  if (!stream->capture) return cuda_fail(cudaErrorIllegalState);
  require_issued(*stream, "cudaStreamEndCapture");
  const std::unique_ptr<Capture> capture(stream->capture);
  const bool origin = capture->origin == stream, joined = all_joined(*capture);
  finish(capture.get());
  if (!origin) return cuda_fail(cudaErrorStreamCaptureUnmatched);
  if (capture->invalid) return cuda_fail(cudaErrorStreamCaptureInvalidated);
  if (!joined) return cuda_fail(cudaErrorStreamCaptureUnjoined);
  if (graph) *graph = g_graph_handles.give(capture->graph.release());
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  const Stream* stream = resolve_stream(handle);
  if (!status) return cuda_fail(cudaErrorInvalidValue);
  *status = !stream->capture           ? cudaStreamCaptureStatusNone
            : stream->capture->invalid ? cudaStreamCaptureStatusInvalidated
                                       : cudaStreamCaptureStatusActive;
  return cudaSuccess;
}

cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t handle, cudaStreamCaptureStatus* status,
                                        unsigned long long* id, cudaGraph_t* graph,
                                        const cudaGraphNode_t** dependencies, size_t* count) {
  return cudaStreamGetCaptureInfo(handle, status, id, graph, dependencies, nullptr, count);
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** dependencies,
                                     const cudaGraphEdgeData** edges, size_t* count) {
  Stream* stream = resolve_stream(handle);
  const cudaError_t error = cudaStreamIsCapturing(handle, status);
  if (error != cudaSuccess || !stream->capture) return error;
  Capture& capture = *stream->capture;
  if (id) *id = capture.id;
  if (graph) *graph = g_graph_handles.give(capture.graph.get());
  const auto& last = capture.streams[stream].last;
  if (dependencies) *dependencies = reinterpret_cast<const cudaGraphNode_t*>(last.data());
  if (edges) *edges = nullptr;
  if (count) *count = last.size();
  return cudaSuccess;
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  if (!mode) return cuda_fail(cudaErrorInvalidValue);
  cudaStreamCaptureMode& own = g_modes[&current_host()];
  std::swap(own, *mode);
  return cudaSuccess;
}
