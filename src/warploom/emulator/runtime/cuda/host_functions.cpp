#include "cuda/host_functions.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <string>
#include <vector>

#include "host/process_heap.h"
#include "machine/world.h"
#include "report/report.h"

namespace warploom {

namespace {

struct Argument {
  int watch;
  const Process* process;
  const char* start;
  const char* call;
  Frames where;
};
std::vector<Argument> g_arguments;
int g_next_argument = 1;

// They ask the device for nothing.
bool is_mere_text(std::string_view call) {
  const std::initializer_list<std::string_view> texts = {
      "cudaGetErrorName",     "cudaGetErrorString",    "cudaGetLastError", "cudaPeekAtLastError",
      "cudaDriverGetVersion", "cudaRuntimeGetVersion", "cuGetErrorName",   "cuGetErrorString",
      "cuDriverGetVersion",   "ncclGetErrorString",    "ncclGetLastError", "ncclGetVersion"};
  return std::ranges::find(texts, call) != texts.end();
}

bool needs_device(std::string_view call) {
  const bool of_driver = call.starts_with("cu") && call.size() > 2 && std::isupper(call[2]);
  return (call.starts_with("cuda") || call.starts_with("nccl") || of_driver) && !is_mere_text(call);
}

}  // namespace

bool refused_in_host_function(const char* call) {
  const HostThread* host = g_current ? g_current->host : nullptr;
  if (!host || !host->runs_for || !needs_device(call)) return false;
  report_finding({.kind = kinds::call_in_host_function,
                  .message = format("%s is called in a function that a stream runs for %s", call,
                                    host->runs_for),
                  .hint = "such functions must not call CUDA: queue the call on the stream behind "
                          "them, or let them wake a thread of the host that makes it"});
  return true;
}

int watch_argument(const void* argument, const char* call, const Frames& where) {
  if (!in_heaps(argument)) return 0;
  g_arguments.push_back(
      {g_next_argument, &current_process(), static_cast<const char*>(argument), call, where});
  return g_next_argument++;
}

void end_argument(int watch) {
  std::erase_if(g_arguments, [&](const Argument& known) { return known.watch == watch; });
}

void check_argument_lives(const void* argument, const Frames& where, int rank) {
  if (!in_heaps(argument) || heap_holds(argument)) return;
  report_finding({.kind = kinds::use_after_free,
                  .message = "a host function gets memory of the host that was freed",
                  .hint = "keep its argument until the last launch of the graph has ended",
                  .where = where,
                  .rank = rank,
                  .host = true});
}

bool arguments_pending() { return !g_arguments.empty(); }

void check_arguments_in(const void* block, std::size_t bytes) {
  const char* start = static_cast<const char*>(block);
  for (const Argument& known : g_arguments) {
    const bool inside = known.start >= start && known.start < start + bytes;
    if (known.process != &current_process() || !inside) continue;
    report_finding({.kind = kinds::use_after_free,
                    .message = format("the host frees what the function of %s gets, which has not "
                                      "begun",
                                      known.call),
                    .hint = "free it in the function itself, or once the stream is synchronized",
                    .other = known.where});
  }
}

}  // namespace warploom
