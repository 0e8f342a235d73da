#include "kernels/one_at_a_time.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/config.h"
#include "base/flags.h"
#include "base/mix_bits.h"
#include "cuda/stream.h"
#include "kernels/kernel.h"
#include "machine/world.h"
#include "report/report.h"

namespace warploom {

namespace {

// In all of the schedules that are always tried: a program may ask whether a stream is done, and
// launch in another order then.
bool runs_one_at_a_time() {
  if (g_timed) return false;
  return g_config.timing != NetTiming::Random || mix_bits(g_config.seed) % 2 == 0;
}

// What a library launches takes its turn as well, but holds up nobody: it is small. Copies within a
// device may be kernels; those to and from hosts, and between devices, are for the copy engines.
bool is_kernel_of_library(const StreamOp& op) {
  return op.kind == OpKind::Collective || op.within_device ||
         std::string_view(op.name).starts_with("cudaMemset");
}

// One of the same device and process that runs now, on another stream; nullptr: there is none.
const Kernel* running_beside(const Stream& stream, const StreamOp& op) {
  const auto& running = running_kernels();
  const auto found = std::ranges::find_if(running, [&](const Kernel* kernel) {
    return kernel->device == stream.device && kernel->op->rank == op.rank &&
           kernel->op->stream != &stream && kernel->finished_blocks < kernel->total_blocks;
  });
  return found == running.end() ? nullptr : *found;
}

// Is one ready to begin that was launched earlier? A device takes them in that order.
bool comes_first(const Stream& stream, const StreamOp& op) {
  const Device& device = *g_devices[static_cast<std::size_t>(stream.device)];
  return std::ranges::any_of(device.streams, [&](const Stream* other) {
    if (other == &stream || other->queue.empty()) return false;
    const StreamOp& first = *other->queue.front();
    return first.kind == OpKind::Kernel && !first.started && first.rank == op.rank &&
           first.sequence < op.sequence;
  });
}

void report_both(const Kernel& running, const StreamOp& waiting) {
  FindingInfo info{.kind = kinds::concurrent_kernels,
                   .message = format(
                       "kernel %s does not end before %s%s begins, which is on another "
                       "stream of the device: CUDA does not promise to run both at "
                       "once",
                       running.name, waiting.kind == OpKind::Kernel ? "kernel " : "", waiting.name),
                   .hint =
                       "launch on one stream, or after an event, what another kernel waits "
                       "for; or do both parts in one cooperative launch",
                   .warning = true,
                   .where = running.op->where,
                   .other = waiting.where,
                   .rank = running.rank,
                   .kernel = running.name};
  report_finding(std::move(info));
}

}  // namespace

bool waits_for_other_kernels(const Stream& stream, const StreamOp& op) {
  if (op.beside_others || !runs_one_at_a_time()) return false;
  if (op.kind == OpKind::Kernel) return running_beside(stream, op) || comes_first(stream, op);
  return is_kernel_of_library(op) && running_beside(stream, op);
}

bool start_beside_others() {
  std::vector<Stream*> waiting;
  for (const auto& device : g_devices) {
    for (Stream* stream : device->streams) {
      if (stream->queue.empty()) continue;
      const StreamOp& op = *stream->queue.front();
      if (!op.started && waits_for_other_kernels(*stream, op)) waiting.push_back(stream);
    }
  }
  if (waiting.empty()) return false;
  // In the order of their launches.
  Stream* first = *std::ranges::min_element(
      waiting, {}, [](const Stream* stream) { return stream->queue.front()->sequence; });
  StreamOp& op = *first->queue.front();
  if (const Kernel* running = running_beside(*first, op)) report_both(*running, op);
  op.beside_others = true;
  enqueue(first);
  return true;
}

}  // namespace warploom
