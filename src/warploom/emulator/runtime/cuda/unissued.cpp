// What NCCL issues in the background, for a communicator that does not block: "it is users'
// responsibility to make sure the state of the communicator changes into ncclSuccess before calling
// related CUDA calls" (NCCL's user guide, "Nonblocking Group Operation").
#include <algorithm>

#include "cuda/stream.h"

namespace warploom {

namespace {

struct Unissued {
  const Stream* stream;
  const void* issuer;
  Frames where;
  std::vector<Touched> memory;
};
std::vector<Unissued> g_unissued;
std::vector<std::vector<Touched>> g_touched;  // scopes within each other

bool meet(const std::vector<Touched>& ones, const std::vector<Touched>& others) {
  const auto at = [](const Touched& part) { return reinterpret_cast<uintptr_t>(part.start); };
  return std::ranges::any_of(ones, [&](const Touched& one) {
    return std::ranges::any_of(others, [&](const Touched& other) {
      return at(one) < at(other) + other.bytes && at(other) < at(one) + one.bytes;
    });
  });
}

}  // namespace

TouchesOnly::TouchesOnly(std::vector<Touched> memory) { g_touched.push_back(std::move(memory)); }
TouchesOnly::~TouchesOnly() { g_touched.pop_back(); }

void note_unissued(const Stream* stream, const void* issuer, std::vector<Touched> memory) {
  g_unissued.push_back({stream, issuer, capture_frames(), std::move(memory)});
}

void note_issued(const void* issuer) {
  std::erase_if(g_unissued, [&](const Unissued& one) { return one.issuer == issuer; });
}

void report_in_progress(std::string message, const Frames& since) {
  report_finding({.kind = kinds::comm_in_progress,
                  .message = std::move(message),
                  .hint = "call ncclCommGetAsyncError until it no longer says ncclInProgress: the "
                          "communicator was made with blocking = 0",
                  .other = since});
}

void require_issued(const Stream& stream, const char* what, const void* issuer) {
  for (const Unissued& one : g_unissued) {
    // The legacy stream and those that block wait for each other.
    const bool in_order = one.stream->device == stream.device &&
                          ((stream.legacy && !one.stream->non_blocking) ||
                           (one.stream->legacy && !stream.non_blocking)) &&
                          (g_touched.empty() || meet(g_touched.back(), one.memory));
    if (one.issuer == issuer || (one.stream != &stream && !in_order)) continue;
    return report_in_progress(format("%s: the stream may not have got the operation yet that a "
                                     "communicator issues in the background",
                                     what),
                              one.where);
  }
}

}  // namespace warploom
