// The table of operations, and the numbers of agents.
#include "order/race.h"

namespace warploom {

std::vector<std::unique_ptr<Op[]>> g_ops;

namespace {

OpId g_last = 0;  // 0 is "none"
AgentId g_agents = 0;

}  // namespace

OpId new_op(const Op& op) {
  const OpId id = ++g_last;
  if (id / kOpsInChunk >= g_ops.size()) g_ops.push_back(std::make_unique<Op[]>(kOpsInChunk));
  g_ops[id / kOpsInChunk][id % kOpsInChunk] = op;
  return id;
}
AgentId new_agent() { return g_agents++; }
AgentId agents_made() { return g_agents; }

}  // namespace warploom
