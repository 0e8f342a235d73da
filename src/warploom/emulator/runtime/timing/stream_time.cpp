#include "timing/stream_time.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "memory/memory.h"
#include "memory/variables.h"
#include "timing/timeline.h"
#include "timing/timing.h"

namespace warploom {

namespace {

// When each way in and out of a device is free: by device and direction.
enum class Way { ToDevice, ToHost, PeerOut, PeerIn, Memory };
std::map<std::pair<int, Way>, double> g_way_free;

bool on_device(const void* p) { return space_of(p) == Space::Device; }
// Whose memory it is, or that of a variable for the device that does the copy; -1: the host's.
int device_reached(const void* p, const StreamOp& op) {
  if (on_device(p)) return device_of(p);
  return !in_arena(p) && find_variable(p) ? op.stream->device : -1;
}

// Streams of one device wait for each other only through the default stream.
double blocked_until(const Stream& stream) {
  double until = stream.free_at;
  if (stream.non_blocking) return until;
  const Device& device = *g_devices[static_cast<std::size_t>(stream.device)];
  if (!stream.legacy) return std::max(until, device.legacy->free_at);
  for (const Stream* other : device.streams) {
    if (!other->non_blocking) until = std::max(until, other->free_at);
  }
  return until;
}

double start_of(const Stream& stream, const StreamOp& op) {
  const double arrives = op.issued_at + g_machine.launch_ns, free = blocked_until(stream);
  if (op.kind == OpKind::Kernel || op.kind == OpKind::Collective) {
    return std::max(arrives,
                    free + (op.in_graph ? g_machine.graph_gap_ns : g_machine.kernel_gap_ns));
  }
  return std::max(arrives, free);
}

void use(StreamOp& op, std::initializer_list<std::pair<int, Way>> ways, double latency,
         double duration) {
  double from = op.begins + latency;
  for (const auto& way : ways) from = std::max(from, g_way_free[way]);
  op.ends = from + duration;
  for (const auto& way : ways) g_way_free[way] = op.ends;
}

}  // namespace

double host_cost(OpKind kind, const char* name) {
  if (kind == OpKind::Kernel) return g_machine.host_launch_ns;
  if (kind == OpKind::Collective) return g_machine.host_nccl_ns;
  const std::string_view call = name;
  const bool copies = call.starts_with("cudaMemcpy") || call.starts_with("cudaMemset");
  return copies || call == "cudaGraphLaunch" ? g_machine.host_copy_ns : g_machine.host_call_ns;
}

double next_start(const Stream& stream) {
  if (stream.queue.empty()) return 0;
  const StreamOp& op = *stream.queue.front();
  return op.started ? 0 : start_of(stream, op);
}

void begin_operation(StreamOp& op) { op.begins = std::max(start_of(*op.stream, op), time_now()); }

double end_of(const StreamOp& op) { return std::max({op.begins, op.ends, time_now()}); }

void price_copy(StreamOp& op, const void* dst, const void* src, std::size_t bytes) {
  const Machine& m = g_machine;
  const auto size = static_cast<double>(bytes);
  const int from = device_reached(src, op), to = device_reached(dst, op);
  const bool from_device = from >= 0, to_device = to >= 0;
  double moving = 1;  // the part that is communication
  if (from_device && to_device && from != to) {
    use(op, {{from, Way::PeerOut}, {to, Way::PeerIn}}, m.copy_start_ns + m.nvlink_latency_ns,
        size / m.nvlink_copy_gbs);
  } else if (from_device && to_device) {
    // Read and written.
    moving = 0;
    use(op, {{to, Way::Memory}}, m.copy_start_ns, 2 * size / m.dram_gbs);
  } else {
    const Way way = to_device ? Way::ToDevice : Way::ToHost;
    const bool pageable = !in_arena(to_device ? src : dst);
    use(op, {{op.stream->device, way}},
        m.copy_start_ns + m.pcie_latency_ns + (pageable && !to_device ? m.pageable_ns : 0),
        size / (pageable ? m.pageable_gbs : m.pcie_gbs));
  }
  add_span({SpanKind::Copy, op.rank, op.stream, op.name, op.begins, op.ends, 0,
            moving * (op.ends - op.begins)});
}

double links_free(int device, bool out, bool in) {
  return std::max(out ? g_way_free[{device, Way::PeerOut}] : 0,
                  in ? g_way_free[{device, Way::PeerIn}] : 0);
}

void use_links(int device, bool out, bool in, double until) {
  for (const auto& [used, way] : {std::pair{out, Way::PeerOut}, std::pair{in, Way::PeerIn}}) {
    if (used) g_way_free[{device, way}] = std::max(g_way_free[{device, way}], until);
  }
}

void price_memset(StreamOp& op, const void* target, std::size_t bytes) {
  const Machine& m = g_machine;
  use(op, {{on_device(target) ? device_of(target) : op.stream->device, Way::Memory}},
      m.copy_start_ns, static_cast<double>(bytes) / m.dram_gbs);
  add_span({SpanKind::Copy, op.rank, op.stream, op.name, op.begins, op.ends, 0, 0});
}

void await_stream(const Stream& stream) {
  if (!g_timed || !g_current) return;
  const double from = time_now();
  reach(stream.free_at);
  if (time_now() > from) add_span(host_wait("waits for a stream", from, time_now()));
  advance(g_machine.host_sync_ns);
}

bool done_by_now(double time) {
  if (!g_timed || !g_current || time <= time_now()) return true;
  Fiber& self = *g_current;
  if (self.time - self.polling_until > 10 * g_machine.host_call_ns) self.polling_since = self.time;
  // A long wait is looked at more rarely: a fiftieth of it is close enough.
  reach(self.time + std::max(g_machine.host_call_ns, (self.time - self.polling_since) * 0.02));
  self.polling_until = self.time;
  take_turn();
  return time <= time_now();
}

}  // namespace warploom
