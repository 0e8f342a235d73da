#include "timing/timeline.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "cuda/stream.h"
#include "machine/world.h"
#include "report/report.h"
#include "timing/timing.h"

namespace warploom {

namespace {

constexpr std::size_t kMaxSpans = 20000;
std::vector<Span> g_spans;
unsigned long long g_dropped = 0;
std::vector<std::string> g_intervals;

const char* kind_name(SpanKind kind) {
  static const char* const kNames[] = {"kernel", "copy", "collective", "host"};
  return kNames[static_cast<int>(kind)];
}

// 0: the host; 1: the default stream; then streams in the order of their making.
long lane_of(const Span& span) {
  if (!span.stream) return 0;
  const auto& streams = g_devices[static_cast<std::size_t>(span.stream->device)]->streams;
  return std::ranges::find(streams, span.stream) - streams.begin() + 1;
}

// JSON has no word for a time that is not finite; the driver refuses this one.
double written(double time) { return std::isfinite(time) ? time : 1e300; }

}  // namespace

void add_span(const Span& span) {
  if (!g_timed) return;
  if (g_spans.size() < kMaxSpans) {
    g_spans.push_back(span);
  } else {
    g_dropped++;
  }
}

Span host_wait(const char* name, double start, double end) {
  return {SpanKind::Host, current_rank(), nullptr, name, start, end, end - start, 0};
}

void add_interval(double start, double end) {
  if (!g_timed || g_intervals.size() >= kMaxSpans) return;
  g_intervals.push_back(format(
      "{\"ev\":\"interval\",\"rank\":%d,\"start\":%.3f,\"ns\":%.3f,\"frames\":%s}", current_rank(),
      written(start), written(std::max(0.0, end - start)), frames_json(capture_frames()).c_str()));
}

void report_timeline() {
  if (!g_timed) return;
  for (const Span& s : g_spans) {
    send_line(
        format("{\"ev\":\"span\",\"kind\":\"%s\",\"rank\":%d,\"lane\":%ld,\"name\":%s,"
               "\"start\":%.3f,\"end\":%.3f,\"waited\":%.3f,\"communicated\":%.3f}",
               kind_name(s.kind), s.rank, lane_of(s), quote(s.name).c_str(), written(s.start),
               written(s.end), written(s.waited), written(s.communicated)));
  }
  for (const std::string& interval : g_intervals) send_line(interval);
  for (const auto& process : g_processes) {
    double end = 0;
    for (const auto& thread : process->threads) end = std::max(end, thread->fiber->time);
    send_line(format("{\"ev\":\"clock\",\"rank\":%d,\"ns\":%.3f}", process->rank, written(end)));
  }
  if (g_dropped) send_line(format("{\"ev\":\"dropped\",\"spans\":%llu}", g_dropped));
}

}  // namespace warploom
