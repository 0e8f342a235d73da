// The graph API: nodes made by hand, clones, instantiation, updates.
#include <algorithm>

#include "cuda_error.h"
#include "graph.h"
#include "report.h"

namespace warploom {

GraphNode* Graph::add(NodeWork work, std::vector<GraphNode*> dependencies) {
  nodes.push_back(std::make_unique<GraphNode>());
  GraphNode* node = nodes.back().get();
  node->graph = this;
  node->work = std::move(work);
  node->dependencies = std::move(dependencies);
  return node;
}

std::unique_ptr<Graph> Graph::clone() const {
  auto copy = std::make_unique<Graph>();
  std::map<const GraphNode*, GraphNode*> made;
  for (const auto& node : nodes) {
    std::vector<GraphNode*> dependencies;
    for (const GraphNode* before : node->dependencies) dependencies.push_back(made.at(before));
    GraphNode* twin = copy->add(node->work, std::move(dependencies));
    twin->cloned_from = node.get();
    made[node.get()] = twin;
  }
  return copy;
}

void Graph::sort() {
  std::vector<std::unique_ptr<GraphNode>> sorted;
  std::map<const GraphNode*, bool> placed;
  bool moved = true;
  while (moved) {
    moved = false;
    for (auto& node : nodes) {
      if (!node) continue;
      const auto& before = node->dependencies;
      if (!std::all_of(before.begin(), before.end(), [&](auto* d) { return placed[d]; })) continue;
      placed[node.get()] = true;
      sorted.push_back(std::move(node));
      moved = true;
    }
  }
  nodes = std::move(sorted);
}

}  // namespace warploom

using namespace warploom;

namespace {

Graph* graph_of(cudaGraph_t handle) {
  auto* graph = reinterpret_cast<Graph*>(handle);
  if (!graph) cuda_fail(cudaErrorInvalidValue);
  if (graph && graph->destroyed) {
    report_finding({.kind = "use_after_destroy",
                    .message = "a graph is used after it was destroyed",
                    .hint = "destroy it after its last use"});
    return nullptr;
  }
  return graph;
}

GraphExec* exec_of(cudaGraphExec_t handle) {
  auto* exec = reinterpret_cast<GraphExec*>(handle);
  if (!exec) cuda_fail(cudaErrorInvalidValue);
  return exec;
}

GraphNode* node_of(cudaGraphNode_t handle) { return reinterpret_cast<GraphNode*>(handle); }

cudaError_t copy_handles(const std::vector<GraphNode*>& found, cudaGraphNode_t* nodes,
                         size_t* count) {
  if (!count) return cuda_fail(cudaErrorInvalidValue);
  if (nodes) {
    for (std::size_t i = 0; i < *count; i++) {
      nodes[i] = i < found.size() ? reinterpret_cast<cudaGraphNode_t>(found[i]) : nullptr;
    }
  }
  *count = nodes ? std::min(*count, found.size()) : found.size();
  return cudaSuccess;
}

// Same nodes in the same order with the same dependencies?
cudaGraphExecUpdateResult compare(const Graph& a, const Graph& b) {
  if (a.nodes.size() != b.nodes.size()) return cudaGraphExecUpdateErrorTopologyChanged;
  std::map<const GraphNode*, std::size_t> in_a, in_b;
  for (std::size_t i = 0; i < a.nodes.size(); i++) {
    const GraphNode &x = *a.nodes[i], &y = *b.nodes[i];
    in_a[&x] = in_b[&y] = i;
    if (x.work.type != y.work.type) return cudaGraphExecUpdateErrorNodeTypeChanged;
    if (x.dependencies.size() != y.dependencies.size()) {
      return cudaGraphExecUpdateErrorTopologyChanged;
    }
    for (std::size_t d = 0; d < x.dependencies.size(); d++) {
      if (in_a[x.dependencies[d]] != in_b[y.dependencies[d]]) {
        return cudaGraphExecUpdateErrorTopologyChanged;
      }
    }
  }
  return cudaGraphExecUpdateSuccess;
}

}  // namespace

namespace warploom {

cudaError_t add_node(cudaGraphNode_t* out, cudaGraph_t handle, const cudaGraphNode_t* before,
                     std::size_t count, NodeWork work) {
  Graph* graph = graph_of(handle);
  if (!graph || !out || (count && !before)) return cuda_fail(cudaErrorInvalidValue);
  std::vector<GraphNode*> dependencies;
  for (std::size_t i = 0; i < count; i++) {
    GraphNode* node = node_of(before[i]);
    if (!node || node->graph != graph) return cuda_fail(cudaErrorInvalidValue);
    dependencies.push_back(node);
  }
  *out = reinterpret_cast<cudaGraphNode_t>(graph->add(std::move(work), std::move(dependencies)));
  return cudaSuccess;
}

NodeWork empty_work() {
  NodeWork work;
  work.where = capture_frames();
  work.device = current_host().device;
  work.rank = current_rank();
  return work;
}

}  // namespace warploom

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned) {
  if (!graph) return cuda_fail(cudaErrorInvalidValue);
  *graph = reinterpret_cast<cudaGraph_t>(new Graph);
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t handle) {
  Graph* graph = graph_of(handle);
  if (!graph) return cudaErrorInvalidValue;
  for (const auto& [object, count] : graph->objects) release_object(object, count);
  graph->objects.clear();
  graph->nodes.clear();
  graph->destroyed = true;  // kept, so that a later use is told
  return cudaSuccess;
}

cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t handle) {
  Graph* graph = graph_of(handle);
  if (!graph || !clone) return cuda_fail(cudaErrorInvalidValue);
  *clone = reinterpret_cast<cudaGraph_t>(graph->clone().release());
  return cudaSuccess;
}

cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t* out, cudaGraphNode_t original,
                                     cudaGraph_t clone) {
  Graph* graph = graph_of(clone);
  if (!graph || !out) return cuda_fail(cudaErrorInvalidValue);
  for (const auto& node : graph->nodes) {
    if (node->cloned_from != node_of(original)) continue;
    *out = reinterpret_cast<cudaGraphNode_t>(node.get());
    return cudaSuccess;
  }
  return cuda_fail(cudaErrorInvalidValue);
}

cudaError_t cudaGraphGetNodes(cudaGraph_t handle, cudaGraphNode_t* nodes, size_t* count) {
  Graph* graph = graph_of(handle);
  if (!graph) return cudaErrorInvalidValue;
  std::vector<GraphNode*> all;
  for (const auto& node : graph->nodes) all.push_back(node.get());
  return copy_handles(all, nodes, count);
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t handle, cudaGraphNode_t* nodes, size_t* count) {
  Graph* graph = graph_of(handle);
  if (!graph) return cudaErrorInvalidValue;
  std::vector<GraphNode*> roots;
  for (const auto& node : graph->nodes) {
    if (node->dependencies.empty()) roots.push_back(node.get());
  }
  return copy_handles(roots, nodes, count);
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  if (!node || !type) return cuda_fail(cudaErrorInvalidValue);
  *type = node_of(node)->work.type;
  return cudaSuccess;
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t handle, const cudaGraphNode_t* from,
                                     const cudaGraphNode_t* to, size_t count) {
  Graph* graph = graph_of(handle);
  if (!graph) return cudaErrorInvalidValue;
  for (std::size_t i = 0; i < count; i++) {
    GraphNode *before = node_of(from[i]), *after = node_of(to[i]);
    if (!before || !after || before->graph != graph || after->graph != graph) {
      return cuda_fail(cudaErrorInvalidValue);
    }
    after->dependencies.push_back(before);
  }
  const std::size_t nodes = graph->nodes.size();
  graph->sort();
  return graph->nodes.size() == nodes ? cudaSuccess : cuda_fail(cudaErrorInvalidValue);
}
cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                     const cudaGraphNode_t* to, const cudaGraphEdgeData*,
                                     size_t count) {
  return cudaGraphAddDependencies(graph, from, to, count);
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* before, size_t count,
                                   const cudaKernelNodeParams* params) {
  NodeWork work = empty_work();
  if (!params) return cuda_fail(cudaErrorInvalidValue);
  if (const cudaError_t error = kernel_work(*params, work)) return cuda_fail(error);
  return add_node(node, graph, before, count, std::move(work));
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* params) {
  if (!node || !params) return cuda_fail(cudaErrorInvalidValue);
  return cuda_fail(kernel_work(*params, node_of(node)->work));
}

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* before, size_t count,
                                   const cudaMemcpy3DParms* params) {
  NodeWork work = empty_work();
  if (!params) return cuda_fail(cudaErrorInvalidValue);
  if (const cudaError_t error = copy_work(*params, work)) return cuda_fail(error);
  return add_node(node, graph, before, count, std::move(work));
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph,
                                     const cudaGraphNode_t* before, size_t count, void* dst,
                                     const void* src, size_t bytes, cudaMemcpyKind kind) {
  NodeWork work = empty_work();
  if (const cudaError_t error = copy_work(dst, src, bytes, kind, work)) return cuda_fail(error);
  return add_node(node, graph, before, count, std::move(work));
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* before, size_t count,
                                   const cudaMemsetParams* params) {
  NodeWork work = empty_work();
  if (!params) return cuda_fail(cudaErrorInvalidValue);
  if (const cudaError_t error = memset_work(*params, work)) return cuda_fail(error);
  return add_node(node, graph, before, count, std::move(work));
}

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                 const cudaGraphNode_t* before, size_t count,
                                 const cudaHostNodeParams* params) {
  if (!params) return cuda_fail(cudaErrorInvalidValue);
  return add_node(node, graph, before, count, host_work(params->fn, params->userData));
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                  const cudaGraphNode_t* before, size_t count) {
  return add_node(node, graph, before, count, empty_work());
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                       const cudaGraphNode_t* before, size_t count,
                                       cudaGraph_t child) {
  const Graph* inner = graph_of(child);
  if (!inner) return cudaErrorInvalidValue;
  return add_node(node, graph, before, count, child_graph_work(*inner));
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t handle,
                                 unsigned long long flags) {
  Graph* graph = graph_of(handle);
  if (!graph || !exec) return cuda_fail(cudaErrorInvalidValue);
  if (flags & cudaGraphInstantiateFlagDeviceLaunch) {
    stop_unsupported("cudaGraphInstantiateFlagDeviceLaunch",
                     "graphs that device code launches are not emulated");
  }
  *exec = reinterpret_cast<cudaGraphExec_t>(instantiate(*graph).release());
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph,
                                 cudaGraphNode_t* error_node, char* log, size_t bytes) {
  if (error_node) *error_node = nullptr;
  if (log && bytes) *log = 0;
  return cudaGraphInstantiate(exec, graph, 0);
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph,
                                          unsigned long long flags) {
  return cudaGraphInstantiate(exec, graph, flags);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t handle) {
  GraphExec* exec = exec_of(handle);
  if (!exec) return cudaErrorInvalidValue;
  if (exec->destroyed) {
    report_finding({.kind = "use_after_destroy",
                    .message = "an executable graph is destroyed twice",
                    .hint = "destroy each executable graph once"});
    return cuda_fail(cudaErrorInvalidValue);
  }
  exec->destroyed = true;  // a launch that still runs ends first
  if (exec->running > 0) return cudaSuccess;
  release_chains(*exec);
  delete exec;
  return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t) {
  return exec_of(exec) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t handle, cudaStream_t stream_handle) {
  GraphExec* exec = exec_of(handle);
  if (!exec) return cudaErrorInvalidValue;
  Stream* stream = resolve_stream(stream_handle);
  if (stream->capture) {
    capture_node(stream, child_graph_work(*exec->graph));
    return cudaSuccess;
  }
  launch_graph(*exec, stream);
  return cudaSuccess;
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t handle, cudaGraph_t graph_handle,
                                cudaGraphNode_t* error_node, cudaGraphExecUpdateResult* result) {
  GraphExec* exec = exec_of(handle);
  Graph* graph = graph_of(graph_handle);
  if (!exec || !graph) return cudaErrorInvalidValue;
  const cudaGraphExecUpdateResult outcome = compare(*exec->graph, *graph);
  if (result) *result = outcome;
  if (error_node) *error_node = nullptr;
  if (outcome != cudaGraphExecUpdateSuccess) return cuda_fail(cudaErrorGraphExecUpdateFailure);
  exec->originals.clear();
  for (std::size_t i = 0; i < graph->nodes.size(); i++) {
    exec->graph->nodes[i]->work = graph->nodes[i]->work;
    exec->originals[graph->nodes[i].get()] = exec->graph->nodes[i].get();
  }
  return cudaSuccess;
}
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo* info) {
  cudaGraphExecUpdateResult result = cudaGraphExecUpdateError;
  const cudaError_t error = cudaGraphExecUpdate(exec, graph, nullptr, &result);
  if (info) *info = {result, nullptr, nullptr};
  return error;
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t handle, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* params) {
  GraphExec* exec = exec_of(handle);
  if (!exec || !params) return cuda_fail(cudaErrorInvalidValue);
  const auto found = exec->originals.find(node_of(node));
  if (found == exec->originals.end()) return cuda_fail(cudaErrorInvalidValue);
  return cuda_fail(kernel_work(*params, found->second->work));
}
