// How an executable graph runs: chains of nodes on streams of its own, inside of one operation of
// the stream that it is launched on.
#include <algorithm>

#include "cuda/graph.h"
#include "report/report.h"
#include "timing/timing.h"

namespace warploom {

namespace {

std::map<int, std::vector<Stream*>> g_idle_chains;  // by device

Stream* take_chain(int device) {
  auto& idle = g_idle_chains[device];
  if (!idle.empty()) {
    Stream* stream = idle.back();
    idle.pop_back();
    return stream;
  }
  auto* stream = new Stream;
  stream->device = device;
  stream->non_blocking = true;
  stream->agent = new_agent();
  g_devices[static_cast<std::size_t>(device)]->streams.push_back(stream);
  return stream;
}

// One launch.
struct Run : std::enable_shared_from_this<Run> {
  struct Node {
    std::shared_ptr<StreamOp> op;
    StartFunction start;
    std::vector<std::size_t> dependents;
    std::size_t missing = 0;  // dependencies that have not ended
    bool reached = false;     // its stream has come to it
    Clock clock;              // what its dependencies made ordered
  };
  std::vector<Node> nodes;
  std::vector<Stream*> streams;
  std::size_t left = 0;
  std::shared_ptr<StreamOp> whole;
  GraphExec* exec = nullptr;

  void begin(Node& node) {
    node.op->begins = std::max(node.op->begins, time_now());
    node.op->clock.join(node.clock);
    // The node keeps what runs; the copy outlives the node if that was the last one.
    const StartFunction start = node.start;
    const std::shared_ptr<StreamOp> op = node.op;
    start(*op);
  }
  void reached(std::size_t index) {
    Node& node = nodes[index];
    node.reached = true;
    if (node.missing == 0) begin(node);
  }
  void ended(std::size_t index) {
    const std::shared_ptr<Run> keep = shared_from_this();
    Node& node = nodes[index];
    whole->clock.join(node.op->clock);
    for (std::size_t next : node.dependents) {
      Node& dependent = nodes[next];
      dependent.clock.join(node.op->clock);
      if (--dependent.missing == 0 && dependent.reached) begin(dependent);
    }
    if (--left > 0) return;
    end();
  }
  void end() {
    GraphExec* ran = exec;
    const std::shared_ptr<StreamOp> op = std::move(whole);
    nodes.clear();
    if (--ran->running == 0 && ran->destroyed) {
      release_chains(*ran);
      delete ran;
    }
    complete(*op);
  }
  void start() {
    if (nodes.empty()) return end();
    for (std::size_t i = 0; i < nodes.size(); i++) {
      nodes[i].op->issued = whole->clock;
      nodes[i].op->place = {whole->place.thread, whole->place.order, i};
      enqueue_op(streams[i], nodes[i].op);
    }
  }
  std::string waiting() const {
    for (const Node& node : nodes) {
      if (node.op->done || !node.op->started || node.missing > 0) continue;
      std::string text = format("its node %s has not ended", node.op->name);
      if (node.op->waiting_for) text += " (" + node.op->waiting_for() + ")";
      return text;
    }
    return "";
  }
};

}  // namespace

void release_chains(GraphExec& exec) {
  for (Stream* stream : exec.chains) g_idle_chains[stream->device].push_back(stream);
  exec.chains.clear();
}

std::unique_ptr<GraphExec> instantiate(const Graph& graph) {
  auto exec = std::make_unique<GraphExec>();
  exec->graph = graph.clone();
  std::map<const GraphNode*, int> chain;
  std::map<int, const GraphNode*> tail;
  for (const auto& node : exec->graph->nodes) {
    exec->originals[node->cloned_from] = node.get();
    int found = -1;
    for (const GraphNode* before : node->dependencies) {
      const int candidate = chain[before];
      if (tail[candidate] == before && before->work.device == node->work.device) found = candidate;
    }
    if (found < 0) {
      found = static_cast<int>(exec->chains.size());
      exec->chains.push_back(take_chain(node->work.device));
    }
    chain[node.get()] = found;
    tail[found] = node.get();
    exec->chain_of.push_back(found);
  }
  return exec;
}

namespace {

std::shared_ptr<Run> prepare_run(GraphExec& exec) {
  auto run = std::make_shared<Run>();
  run->exec = &exec;
  std::map<const GraphNode*, std::size_t> index;
  const auto& nodes = exec.graph->nodes;
  run->nodes.resize(nodes.size());
  run->left = nodes.size();
  for (std::size_t i = 0; i < nodes.size(); i++) {
    const NodeWork& work = nodes[i]->work;
    Run::Node& node = run->nodes[i];
    run->streams.push_back(exec.chains[static_cast<std::size_t>(exec.chain_of[i])]);
    index[nodes[i].get()] = i;
    node.op = std::make_shared<StreamOp>();
    node.op->kind = work.kind;
    node.op->name = work.name;
    node.op->where = work.where;
    node.op->rank = work.rank;
    node.op->stream = run->streams[i];
    node.start = work.prepare ? work.prepare(node.op) : StartFunction(complete);
    // The cycle is broken when the run ends and drops its nodes.
    node.op->start = [run, i](StreamOp&) { run->reached(i); };
    node.op->finished = [run, i] { run->ended(i); };
    node.missing = nodes[i]->dependencies.size();
    for (const GraphNode* before : nodes[i]->dependencies) {
      run->nodes[index[before]].dependents.push_back(i);
    }
  }
  exec.running++;
  return run;
}

}  // namespace

void launch_graph(GraphExec& exec, Stream* stream) {
  const std::shared_ptr<Run> run = prepare_run(exec);
  run->whole = push_op(stream, OpKind::Copy, "cudaGraphLaunch", [run](StreamOp&) { run->start(); });
  run->whole->waiting_for = [weak = std::weak_ptr<Run>(run)]() -> std::string {
    const auto alive = weak.lock();
    return alive ? alive->waiting() : std::string();
  };
}

NodeWork child_graph_work(const Graph& child) {
  NodeWork work;
  work.type = cudaGraphNodeTypeGraph;
  work.name = "a child graph";
  work.where = capture_frames();
  work.device = current_host().device;
  work.rank = current_rank();
  const std::shared_ptr<GraphExec> exec = instantiate(child);
  work.prepare = [exec](const std::shared_ptr<StreamOp>& op) -> StartFunction {
    const std::shared_ptr<Run> run = prepare_run(*exec);
    run->whole = op;
    return [run, exec](StreamOp&) { run->start(); };
  };
  return work;
}

}  // namespace warploom
