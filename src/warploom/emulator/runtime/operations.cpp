// The table of operations, and the numbers of agents.
#include <deque>

#include "race.h"

namespace warploom {

namespace {

// deque: `op_of` references stay valid.
std::deque<Op> g_ops(1);
AgentId g_agents = 0;

}  // namespace

OpId new_op(const Op& op) {
  g_ops.push_back(op);
  return static_cast<OpId>(g_ops.size() - 1);
}
const Op& op_of(OpId id) { return g_ops[id]; }
AgentId new_agent() { return g_agents++; }

}  // namespace warploom
