// When nothing can move: who waits for what.
#include <algorithm>
#include <map>
#include <string>

#include "kernels/kernel.h"
#include "machine/world.h"
#include "report/report.h"

namespace warploom {

namespace {

// Waiters at one place with one reason are one line.
struct WaitGroup {
  std::string text;
  Frames where;
  const Fiber* example = nullptr;
  int count = 0;
  bool on_device = false;
};
using WaitGroups = std::map<std::string, WaitGroup>;

// What `fiber` waits for; nullptr: nothing.
const WaitReason* wait_of(const Fiber& fiber) {
  if (fiber.state == FiberState::Blocked) return fiber.reason;
  if (fiber.state == FiberState::AtBarrier) return &fiber.block->barrier.reason;
  if (fiber.state != FiberState::InWarp) return nullptr;
  const auto has_it = [&](const auto& warp) {
    return std::ranges::find(warp->waiting, &fiber) != warp->waiting.end();
  };
  const auto found = std::ranges::find_if(fiber.block->warps, has_it);
  return found == fiber.block->warps.end() ? nullptr : &(*found)->reason;
}

std::string reason_of(const Fiber& fiber) {
  const WaitReason* wait = wait_of(fiber);
  if (!wait) return "code that is ready to run";
  const WaitReason& reason = *wait;
  std::string text = reason.what;
  if (reason.detail) text += " (" + reason.detail() + ")";
  return text;
}

void add(WaitGroups& groups, const Fiber& fiber, const std::string& who) {
  const std::string text = who + " waits in " + reason_of(fiber);
  WaitGroup& group = groups[text];
  group.text = text;
  group.where = frames_of(fiber);
  group.example = &fiber;
  group.on_device = fiber.gpu != nullptr;
  group.count++;
}

void add_hosts(WaitGroups& groups) {
  for (const auto& process : g_processes) {
    for (const auto& thread : process->threads) {
      if (thread->fiber->state == FiberState::Done) continue;
      add(groups, *thread->fiber, format("rank %d: the host", process->rank));
    }
  }
}

void add_threads(WaitGroups& groups) {
  for (const Kernel* kernel : running_kernels()) {
    for (const auto& block : kernel->resident) {
      for (const GpuThread& thread : block->threads) {
        if (!thread.fiber || thread.finished) continue;
        add(groups, *thread.fiber,
            format("rank %d: kernel %s, block %u", kernel->rank, kernel->name, block->number));
      }
    }
  }
}

void add_streams(WaitGroups& groups) {
  for (const auto& device : g_devices) {
    for (const Stream* stream : device->streams) {
      if (stream->queue.empty()) continue;
      const StreamOp& op = *stream->queue.front();
      if (op.kind == OpKind::Kernel && op.started) continue;
      const std::string text =
          format("rank %d: a stream waits ", op.rank) + describe_stream(*stream);
      WaitGroup& group = groups[text];
      group.text = text;
      group.where = op.where;
      group.count++;
    }
  }
}

// Does it wait for threads of its own block only?
bool waits_within_block(const Fiber& fiber) {
  if (fiber.state == FiberState::AtBarrier || fiber.state == FiberState::InWarp) return true;
  const auto is_reason = [&](const auto& named) { return fiber.reason == &named.second.reason; };
  return std::ranges::any_of(fiber.block->named_barriers, is_reason);
}

bool waits_for_blocks(const Kernel& kernel) {
  for (const auto& block : kernel.resident) {
    for (const GpuThread& thread : block->threads) {
      if (thread.fiber && !thread.finished && !waits_within_block(*thread.fiber)) return true;
    }
  }
  return false;
}

// Blocks that wait for blocks which cannot start.
void report_residency() {
  for (const Kernel* kernel : running_kernels()) {
    if (kernel->next_block >= kernel->total_blocks || !waits_for_blocks(*kernel)) continue;
    report_finding(
        {.kind = kinds::not_resident,
         .message = format("kernel %s has %llu blocks, of which only %u fit on the "
                           "device at once; those wait for blocks that cannot start",
                           kernel->name, static_cast<unsigned long long>(kernel->total_blocks),
                           kernel->residency),
         .hint = "launch no more blocks than can be resident",
         .where = kernel->op->where,
         .rank = kernel->rank,
         .kernel = kernel->name});
  }
}

std::string summary(const WaitGroups& groups) {
  constexpr int kLines = 16;
  std::string text = "nothing can go on:";
  int line = 0;
  for (const auto& [key, group] : groups) {
    if (line++ == kLines) return text + "\n  ...";
    text += "\n  " + group.text;
    if (group.count > 1) text += format(" [%d threads]", group.count);
  }
  return text;
}

}  // namespace

void report_deadlock() {
  WaitGroups groups;
  add_hosts(groups);
  add_threads(groups);
  add_streams(groups);
  report_residency();
  // Device code and queued operations tell more than a host that waits for them.
  bool any_device = false;
  for (const auto& [key, group] : groups) any_device |= group.example == nullptr || group.on_device;
  const std::string all = summary(groups);
  for (const auto& [key, group] : groups) {
    if (any_device && group.example && !group.on_device) continue;
    Fiber* shown = group.on_device ? const_cast<Fiber*>(group.example) : nullptr;
    g_current = shown;
    report_finding({.kind = kinds::deadlock,
                    .message = group.text + "; " + all,
                    .hint = "find the operation that should have let it go on: a signal, a "
                            "barrier arrival, a matching collective on another rank",
                    .where = group.where,
                    .rank = shown ? std::optional<int>{} : std::optional<int>{0},
                    .everyone = true});
    g_current = nullptr;
  }
  finish_run("deadlock");
}

}  // namespace warploom
