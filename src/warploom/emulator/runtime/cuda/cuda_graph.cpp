// The graph API: nodes made by hand, clones, instantiation, updates.
#include <algorithm>

#include "cuda/cuda_error.h"
#include "cuda/graph.h"
#include "report/report.h"
#include "timing/timing.h"

namespace warploom {

HandleTable<Graph, cudaGraph_t> g_graph_handles("a graph");
HandleTable<GraphNode, cudaGraphNode_t> g_node_handles("a graph's node");

Graph::~Graph() { g_graph_handles.end(this); }
GraphNode::~GraphNode() { g_node_handles.end(this); }

Graph* graph_of(cudaGraph_t handle) {
  Graph* graph = g_graph_handles.find(handle);
  if (!graph) cuda_fail(cudaErrorInvalidValue);
  return graph;
}

GraphNode* Graph::add(NodeWork work, std::vector<GraphNode*> dependencies) {
  nodes.push_back(std::make_unique<GraphNode>());
  GraphNode* node = nodes.back().get();
  g_node_handles.give(node);
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

bool Graph::sort() {
  std::map<const GraphNode*, std::size_t> places;
  std::size_t placed = 0;
  do {
    placed = places.size();
    for (const auto& node : nodes) {
      const bool ready = std::ranges::all_of(node->dependencies,
                                             [&](auto* before) { return places.contains(before); });
      if (ready) places.try_emplace(node.get(), places.size());
    }
  } while (places.size() > placed);
  if (placed < nodes.size()) return false;
  std::ranges::sort(nodes, {}, [&](const auto& node) { return places.at(node.get()); });
  return true;
}

}  // namespace warploom

using namespace warploom;

namespace {

HandleTable<GraphExec, cudaGraphExec_t> g_exec_handles("an executable graph");

GraphExec* exec_of(cudaGraphExec_t handle) {
  GraphExec* exec = g_exec_handles.find(handle);
  if (!exec) cuda_fail(cudaErrorInvalidValue);
  return exec;
}

GraphNode* node_of(cudaGraphNode_t handle) { return g_node_handles.find(handle); }

// For comparisons: it may be the handle of a node that is gone.
const void* place_of(cudaGraphNode_t handle) { return handle; }

cudaError_t copy_handles(const std::vector<GraphNode*>& found, cudaGraphNode_t* nodes,
                         size_t* count) {
  if (!count) return cuda_fail(cudaErrorInvalidValue);
  const std::size_t room = *count;  // once: it may lie among the nodes
  if (nodes) {
    for (std::size_t i = 0; i < room; i++) {
      nodes[i] = i < found.size() ? g_node_handles.give(found[i]) : nullptr;
    }
  }
  *count = nodes ? std::min(room, found.size()) : found.size();
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
  host_call(g_machine.host_call_ns);
  *out = g_node_handles.give(graph->add(std::move(work), std::move(dependencies)));
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
  *graph = g_graph_handles.give(new Graph);
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t handle) {
  Graph* graph = graph_of(handle);
  if (!graph) return cudaErrorInvalidValue;
  if (is_in_capture(*graph)) return cuda_fail(cudaErrorInvalidValue);
  const auto objects = std::move(graph->objects);
  delete graph;  // first: what releases the objects is the program's, and may use the handle
  for (const auto& [object, count] : objects) release_object(object, count);
  return cudaSuccess;
}

cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t handle) {
  Graph* graph = graph_of(handle);
  if (!graph || !clone) return cuda_fail(cudaErrorInvalidValue);
  *clone = g_graph_handles.give(graph->clone().release());
  return cudaSuccess;
}

cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t* out, cudaGraphNode_t original,
                                     cudaGraph_t clone) {
  Graph* graph = graph_of(clone);
  if (!graph || !out) return cuda_fail(cudaErrorInvalidValue);
  for (const auto& node : graph->nodes) {
    if (!original || node->cloned_from != place_of(original)) continue;
    *out = g_node_handles.give(node.get());
    return cudaSuccess;
  }
  node_of(original);
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
  const GraphNode* found = node_of(node);
  if (!found || !type) return cuda_fail(cudaErrorInvalidValue);
  *type = found->work.type;
  return cudaSuccess;
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t handle, const cudaGraphNode_t* from,
                                     const cudaGraphNode_t* to, size_t count) {
  Graph* graph = graph_of(handle);
  if (!graph) return cudaErrorInvalidValue;
  std::vector<GraphNode*> before_all, after_all;
  for (std::size_t i = 0; i < count; i++) {
    GraphNode *before = node_of(from[i]), *after = node_of(to[i]);
    if (!before || !after || before->graph != graph || after->graph != graph) {
      return cuda_fail(cudaErrorInvalidValue);
    }
    before_all.push_back(before);
    after_all.push_back(after);
  }
  for (std::size_t i = 0; i < count; i++) after_all[i]->dependencies.push_back(before_all[i]);
  if (graph->sort()) return cudaSuccess;
  for (GraphNode* node : after_all) node->dependencies.pop_back();
  return cuda_fail(cudaErrorInvalidValue);
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
  GraphNode* found = node_of(node);
  if (!found || !params) return cuda_fail(cudaErrorInvalidValue);
  return cuda_fail(kernel_work(*params, found->work));
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
  // Assumed: to make a node ready costs the host no less than to launch it once.
  host_call(static_cast<double>(graph->nodes.size()) * g_machine.host_launch_ns);
  *exec = g_exec_handles.give(instantiate(*graph).release());
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
  g_exec_handles.end(exec);
  exec->destroyed = true;  // a launch that still runs ends first
  if (exec->running > 0) return cudaSuccess;
  release_chains(*exec);
  delete exec;
  return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) {
  resolve_stream(stream);
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
  const auto found = std::ranges::find_if(
      exec->originals, [&](const auto& pair) { return pair.first == place_of(node); });
  if (found == exec->originals.end()) {
    node_of(node);
    return cuda_fail(cudaErrorInvalidValue);
  }
  return cuda_fail(kernel_work(*params, found->second->work));
}

cudaError_t cudaGraphRetainUserObject(cudaGraph_t handle, cudaUserObject_t object, unsigned count,
                                      unsigned flags) {
  Graph* graph = graph_of(handle);
  UserObject* kept = user_object_of(object);
  if (!graph || !kept) return cuda_fail(cudaErrorInvalidValue);
  graph->objects[kept] += count;
  if (!(flags & cudaGraphUserObjectMove)) kept->references += count;
  return cudaSuccess;
}
cudaError_t cudaGraphReleaseUserObject(cudaGraph_t handle, cudaUserObject_t object,
                                       unsigned count) {
  Graph* graph = graph_of(handle);
  UserObject* kept = user_object_of(object);
  if (!graph || !kept) return cuda_fail(cudaErrorInvalidValue);
  graph->objects[kept] -= std::min(count, graph->objects[kept]);
  release_object(kept, count);
  return cudaSuccess;
}
