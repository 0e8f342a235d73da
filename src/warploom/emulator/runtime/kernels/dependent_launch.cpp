// Programmatic dependent launch: kernels that may begin before the one ahead of them has ended.
//
// They run one after the other here, as they may on a device; what is looked at is order. A launch
// of that sort knows what its primary knew when it began, and what the host had ordered. Of what
// the primary itself did it knows nothing before its grid-dependency wait.
#include <algorithm>

#include "cuda/stream.h"
#include "kernels/kernel.h"

namespace warploom {

namespace {

constexpr std::size_t kEarlyAgents = 64;

// Operations of one agent follow each other: who knows of one knows of those before it. So an early
// launch gets an agent whose operations it knows of already.
AgentId early_agent(Stream& stream, StreamOp& op) {
  auto& agents = stream.early_agents;
  auto found = std::ranges::find_if(
      agents, [&](const auto& agent) { return op.clock.agent_time(agent.first) >= agent.second; });
  if (found == agents.end()) {
    if (agents.size() < kEarlyAgents) agents.emplace_back(new_agent(), 0);
    // Beyond that the oldest one is used again: some order is taken for granted that is not there.
    else
      std::ranges::rotate(agents, agents.begin() + 1);
    found = agents.end() - 1;
  }
  op.time = ++found->second;
  return found->first;
}

}  // namespace

void begin_early(Stream& stream, StreamOp& op) {
  const Stream::Primary& primary = *stream.primary;
  op.overlaps = true;
  op.primary = primary.end;
  op.primary_agent = primary.agent;
  op.primary_time = primary.time;
  op.agent = early_agent(stream, op);
}

void become_primary(Stream& stream, const StreamOp& op, const Clock& end) {
  // What NCCL launches is a kernel as well.
  if (op.kind == OpKind::Kernel || op.kind == OpKind::Collective) {
    Clock begin = op.begin;
    // Its dependents begin once each of its blocks has let them, or has ended.
    if (op.waited && !op.triggered_early) begin.join(op.primary);
    stream.primary = {std::move(begin), end, op.agent, op.time};
  } else if (!op.is_record) {
    stream.primary.reset();
  }
}

void await_primary() {
  const GpuThread* thread = current_thread();
  if (!thread) return;
  StreamOp& op = *thread->block->kernel->op;
  if (!op.overlaps) return;
  op.waited = true;
  acquire_clock(op.primary);
}

void trigger_dependents() {
  const GpuThread* thread = current_thread();
  if (!thread) return;
  StreamOp& op = *thread->block->kernel->op;
  if (!op.overlaps) return;
  op.triggered_early |= effective_clock(*thread).agent_time(op.primary_agent) < op.primary_time;
}

}  // namespace warploom
