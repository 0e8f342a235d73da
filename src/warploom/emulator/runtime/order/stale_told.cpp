#include "order/stale_told.h"

#include <string>
#include <unordered_set>

#include "kernels/kernel.h"
#include "order/stale_fences.h"
#include "report/report.h"

namespace warploom::stale {

namespace {

constexpr std::size_t kMostTold = 128;  // places of one run

const char* fence_name(Scope scope) {
  switch (scope) {
    case Scope::Block:
      return "__threadfence_block()";
    case Scope::Device:
      return "__threadfence()";
    default:
      return "__threadfence_system()";
  }
}

std::string advice(const StrongStore& data, const StrongStore& later, Scope scope) {
  const char* fence = fence_name(scope);
  const auto fenced = [&](Scope reach) {
    const uint64_t last = last_fence(data.record, reach);
    return last > data.number && last < later.number;
  };
  const bool releases = later.order != Order::Relaxed && later.order != Order::Acquire;
  if (fenced(scope) || (releases && later.scope >= scope)) {
    return format(
        "the writes are in order, the reads are not: %s between the read of the later "
        "write and this one, or load the later one with acquire",
        fence);
  }
  if (fenced(Scope::Block) || releases) {
    return format(
        "the scope does not reach the reader: %s between the two writes, or a release "
        "as wide",
        fence);
  }
  return format(
      "put the writes in order: %s between the two, or store the later one with "
      "release; and the reads: the same fence between them, or acquire",
      fence);
}

std::string hint_of(const StrongStore& data, const Missed& missed, Scope scope) {
  switch (missed.why) {
    case Why::Own:
      return format(
          "put %s between the write of each thread and its read of the other's: release "
          "and acquire let a read come before an earlier write",
          fence_name(scope));
    case Why::Relayed:
      return format(
          "each thread that passes on what it has seen needs %s between its read and its "
          "write, or acquire and release",
          fence_name(scope));
    case Why::Early:
      return "call cudaGridDependencySynchronize() before what the kernel ahead has written is "
             "used";
    default:
      return advice(data, *missed.other, scope);
  }
}

const char* reason_of(Why why) {
  switch (why) {
    case Why::Own:
      return ", although it comes behind a write of its own thread";
    case Why::Relayed:
      return ", although a write of a thread that knew of it has been seen";
    case Why::Early:
      return ", as the kernel has not waited for the one ahead of it";
    default:
      return ", although a later write has been seen";
  }
}

}  // namespace

int device_here() {
  const GpuThread* thread = current_thread();
  return thread ? thread->block->kernel->device : -1;
}

Scope between(const StrongStore& store, const Record& reader) {
  if (store.record.who == reader.who) return Scope::Block;
  return store.device >= 0 && store.device == device_here() ? Scope::Device : Scope::System;
}

uint32_t hash_of(const Frames& where) {
  uint32_t hash = 2166136261;  // FNV-1a
  for (const uint32_t pc : where.pc) hash = (hash ^ pc) * 16777619;
  return hash;
}

uint32_t tell(const StrongStore& data, const Missed& missed, const Record& self) {
  static std::unordered_set<uint32_t> told;
  const Frames where = capture_frames();
  const uint32_t site = hash_of(where);
  if (told.size() >= kMostTold || !told.insert(site).second) return site;
  const Scope scope = between(data, self);
  FindingInfo info{.kind = kinds::stale_read,
                   .message = "",
                   .hint = hint_of(data, missed, scope),
                   .suspicion = true,
                   .where = where};
  info.site = site;
  info.other = data.where();
  info.later = missed.other->where();
  const Op& op = op_of(data.record.op());
  info.other_rank = op.rank;
  info.message = (missed.stores ? "the write may come before the write by "
                                : "the read may miss the write by ") +
                 describe(op, data.record.block(), data.record.thread()) + reason_of(missed.why);
  report_finding(std::move(info));
  return site;
}

}  // namespace warploom::stale
