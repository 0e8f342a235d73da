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
};
std::vector<Unissued> g_unissued;

}  // namespace

void note_unissued(const Stream* stream, const void* issuer) {
  g_unissued.push_back({stream, issuer, capture_frames()});
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
    const bool in_order =
        one.stream->device == stream.device && ((stream.legacy && !one.stream->non_blocking) ||
                                                (one.stream->legacy && !stream.non_blocking));
    if (one.issuer == issuer || (one.stream != &stream && !in_order)) continue;
    return report_in_progress(format("%s: the stream may not have got the operation yet that a "
                                     "communicator issues in the background",
                                     what),
                              one.where);
  }
}

}  // namespace warploom
