// CUDA graphs: what a capture or explicit calls built, and how it runs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "../../include/cuda_runtime.h"
#include "cuda/stream.h"
#include "cuda/user_objects.h"
#include "host/handles.h"

namespace warploom {

using StartFunction = std::function<void(StreamOp&)>;

// What a node does. `prepare` is called by the host at each launch and gives the start of that
// launch's operation: a kernel or collective keeps state while it runs.
struct NodeWork {
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  OpKind kind = OpKind::Copy;
  const char* name = "a graph node";
  Frames where;
  int rank = 0;
  int device = 0;
  std::function<StartFunction(const std::shared_ptr<StreamOp>&)> prepare;
};

struct Graph;

// Its handle is known as long as it lives.
struct GraphNode {
  GraphNode() = default;
  GraphNode(const GraphNode&) = delete;
  GraphNode& operator=(const GraphNode&) = delete;
  ~GraphNode();
  Graph* graph = nullptr;
  NodeWork work;
  std::vector<GraphNode*> dependencies;  // earlier nodes of the same graph
  GraphNode* cloned_from = nullptr;
};

struct Graph {
  std::vector<std::unique_ptr<GraphNode>> nodes;  // each after those it depends on
  std::map<UserObject*, unsigned> objects;
  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph();
  GraphNode* add(NodeWork work, std::vector<GraphNode*> dependencies);
  std::unique_ptr<Graph> clone() const;
  // After dependencies were added by hand. False, with nothing changed: there is a cycle.
  bool sort();
};

extern HandleTable<Graph, cudaGraph_t> g_graph_handles;
extern HandleTable<GraphNode, cudaGraphNode_t> g_node_handles;
// The graph of a handle; nullptr, with the error set and the reason reported, if there is none.
Graph* graph_of(cudaGraph_t handle);

// The streams that are being captured into one graph.
struct Capture {
  std::unique_ptr<Graph> graph;
  Stream* origin = nullptr;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  const HostThread* thread = nullptr;
  bool invalid = false;
  uint64_t id = 0;
  struct Branch {
    std::vector<GraphNode*> last;  // the next node of the stream depends on these
    bool joined = true;            // the origin has waited for its newest node
  };
  std::map<Stream*, Branch> streams;
};

// Adds an operation to the graph that `stream` is being captured into; the same of several streams,
// which all are.
GraphNode* capture_node(Stream* stream, NodeWork work);
GraphNode* capture_node(const std::vector<Stream*>& streams, NodeWork work);
// A stream is being captured into this graph.
bool is_in_capture(const Graph& graph);
// Calls that wait for `stream` or ask for its state, or wait for a device: they make captures
// invalid that forbid them, and fail.
cudaError_t forbidden_in_capture(Stream* stream);
bool forbidden_in_capture(int device);
// Calls such as cudaMalloc that a capture of this host thread forbids.
bool unsafe_during_capture();
// A call on the default stream while a stream that it would wait for is captured.
bool implicit_in_capture(Stream* stream);

// Records an event, or lets a stream wait for one, where a capture is concerned. True, or
// `captured`: that was all.
bool capture_record(Event& event, Stream* stream);
cudaError_t capture_wait(Stream* stream, Event& event, bool& captured);

// Runs a graph as one operation of `stream`.
struct GraphExec {
  std::unique_ptr<Graph> graph;
  std::map<const GraphNode*, GraphNode*> originals;  // node of the source graph to ours
  std::vector<int> chain_of;                         // node to its stream in `chains`
  std::vector<Stream*> chains;
  int running = 0;
  bool destroyed = false;
};
std::unique_ptr<GraphExec> instantiate(const Graph& graph);
void launch_graph(GraphExec& exec, Stream* stream);
void release_chains(GraphExec& exec);
// A whole graph as the work of one node.
NodeWork child_graph_work(const Graph& child);

// Adds `work` behind the nodes in `before`.
cudaError_t add_node(cudaGraphNode_t* out, cudaGraph_t handle, const cudaGraphNode_t* before,
                     std::size_t count, NodeWork work);
NodeWork empty_work();  // of the running host thread's device and rank

// Work of the single operations, where an explicit node asks for it.
cudaError_t kernel_work(const cudaKernelNodeParams& params, NodeWork& work);
cudaError_t copy_work(const cudaMemcpy3DParms& params, NodeWork& work);
cudaError_t copy_work(void* dst, const void* src, std::size_t bytes, cudaMemcpyKind kind,
                      NodeWork& work);
cudaError_t memset_work(const cudaMemsetParams& params, NodeWork& work);
NodeWork host_work(cudaHostFn_t function, void* data);
// A graph's own memory: live from its allocation node to its free node, at each launch.
StartFunction allocation_start(void* pointer);
StartFunction free_start(void* pointer);

}  // namespace warploom
