// Graphs: captured, built by hand, updated, and launched again and again.
#include <vector>

#include "expect.h"

__global__ void set(int* p, int value, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) p[i] = value;  // EXPECT(NO_STREAM_ORDER): data_race
}
__global__ void add(int* p, const int* q, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) p[i] += q[i];  // EXPECT(UNORDERED_BRANCHES): data_race
}
static void on_host(void* data) { ++*static_cast<int*>(data); }
static void on_release(void* data) { *static_cast<int*>(data) = 1; }

constexpr int n = 256;
int *a, *b, *pinned;
cudaStream_t s, t;

static void captured() {
  cudaEvent_t fork, join;
  CUDA(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
  CUDA(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
  int calls = 0;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamCaptureStatus status;
  CUDA(cudaMemset(a, 0, n * sizeof(int)));
  CUDA(cudaMemset(b, 0, n * sizeof(int)));
  CUDA(cudaDeviceSynchronize());
  CUDA(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  CUDA(cudaStreamIsCapturing(s, &status));
  EXPECT(status == cudaStreamCaptureStatusActive);
  // Two branches that meet again.
  CUDA(cudaEventRecord(fork, s));
  CUDA(cudaStreamWaitEvent(t, fork, 0));
  set<<<1, 64, 0, t>>>(b, 5, n);
  CUDA(cudaEventRecord(join, t));
#ifndef UNORDERED_BRANCHES
  CUDA(cudaStreamWaitEvent(s, join, 0));
#endif
  add<<<1, 64, 0, s>>>(a, b, n);
#ifdef UNORDERED_BRANCHES
  CUDA(cudaStreamWaitEvent(s, join, 0));
#endif
  CUDA(cudaMemcpyAsync(pinned, a, n * sizeof(int), cudaMemcpyDeviceToHost, s));
  CUDA(cudaLaunchHostFunc(s, on_host, &calls));
  CUDA(cudaStreamEndCapture(s, &graph));
  std::size_t count = 0;
  CUDA(cudaGraphGetNodes(graph, nullptr, &count));
  EXPECT(count == 4);
  std::vector<cudaGraphNode_t> nodes(count);
  CUDA(cudaGraphGetNodes(graph, nodes.data(), &count));
  cudaGraphNodeType type;
  CUDA(cudaGraphNodeGetType(nodes[0], &type));
  EXPECT(type == cudaGraphNodeTypeKernel);
  CUDA(cudaGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  CUDA(cudaGraphDestroy(graph));
  CUDA(cudaGraphUpload(exec, s));
  EXPECT(calls == 0);
  for (int i = 0; i < 3; i++) CUDA(cudaGraphLaunch(exec, s));
  CUDA(cudaStreamSynchronize(s));
  EXPECT(calls == 3 && pinned[0] == 15 && pinned[n - 1] == 15);
  // A launch is one operation: what follows on the stream comes after all of its branches.
  CUDA(cudaGraphLaunch(exec, s));
#ifndef NO_STREAM_ORDER
  set<<<1, 64, 0, s>>>(b, 7, n);
#else
  set<<<1, 64, 0, t>>>(b, 7, n);
#endif
  CUDA(cudaStreamSynchronize(s));
  CUDA(cudaStreamSynchronize(t));
  CUDA(cudaGraphExecDestroy(exec));
  CUDA(cudaEventDestroy(fork));
  CUDA(cudaEventDestroy(join));
}

static void misused() {
  cudaGraph_t graph = nullptr;
  CUDA(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  EXPECT(cudaStreamSynchronize(s) == cudaErrorStreamCaptureUnsupported);
  EXPECT(cudaStreamEndCapture(s, &graph) == cudaErrorStreamCaptureInvalidated);
  cudaEvent_t fork;
  CUDA(cudaEventCreate(&fork));
  CUDA(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
  CUDA(cudaEventRecord(fork, s));
  CUDA(cudaStreamWaitEvent(t, fork, 0));
  set<<<1, 64, 0, t>>>(b, 5, n);
  EXPECT(cudaStreamEndCapture(s, &graph) == cudaErrorStreamCaptureUnjoined);
  EXPECT(graph == nullptr);
  void* memory;
  CUDA(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
  EXPECT(cudaMalloc(&memory, 4) == cudaErrorStreamCaptureUnsupported);
  EXPECT(cudaStreamEndCapture(s, &graph) == cudaErrorStreamCaptureInvalidated);
  cudaGetLastError();
  CUDA(cudaEventDestroy(fork));
}

static void by_hand() {
  cudaGraph_t graph, clone;
  CUDA(cudaGraphCreate(&graph, 0));
  cudaGraphNode_t fill, kernel, copy, host;
  cudaMemsetParams zero = {};
  zero.dst = a;
  zero.value = 3;
  zero.elementSize = 4;
  zero.width = n;
  zero.height = 1;
  CUDA(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &zero));
  int value = 9, count = n, calls = 0, released = 0;
  void* set_args[] = {&b, &value, &count};
  cudaKernelNodeParams params = {};
  params.func = (void*)set;
  params.gridDim = dim3(1, 1, 1);
  params.blockDim = dim3(64, 1, 1);
  params.kernelParams = set_args;
  cudaGraphNode_t setter;
  CUDA(cudaGraphAddKernelNode(&setter, graph, nullptr, 0, &params));
  void* add_args[] = {&a, &b, &count};
  params.func = reinterpret_cast<void*>(add);
  params.kernelParams = add_args;
  const cudaGraphNode_t both[] = {fill, setter};
  CUDA(cudaGraphAddKernelNode(&kernel, graph, both, 2, &params));
  CUDA(cudaGraphAddMemcpyNode1D(&copy, graph, &kernel, 1, pinned, a, n * sizeof(int),
                                cudaMemcpyDeviceToHost));
  cudaHostNodeParams call = {on_host, &calls};
  CUDA(cudaGraphAddHostNode(&host, graph, &copy, 1, &call));
  cudaUserObject_t object;
  CUDA(cudaUserObjectCreate(&object, &released, on_release, 1, cudaUserObjectNoDestructorSync));
  CUDA(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
  CUDA(cudaGraphClone(&clone, graph));
  cudaGraphExec_t exec;
  CUDA(cudaGraphInstantiate(&exec, graph));
  CUDA(cudaGraphLaunch(exec, s));
  CUDA(cudaStreamSynchronize(s));
  EXPECT(pinned[0] == 12 && pinned[n - 1] == 12 && calls == 1);
  // New arguments for one node, then those of the clone again.
  value = 20;
  params.func = (void*)set;
  params.kernelParams = set_args;
  CUDA(cudaGraphExecKernelNodeSetParams(exec, setter, &params));
  CUDA(cudaGraphLaunch(exec, s));
  CUDA(cudaStreamSynchronize(s));
  EXPECT(pinned[0] == 23 && calls == 2);
  cudaGraphExecUpdateResultInfo info;
  CUDA(cudaGraphExecUpdate(exec, clone, &info));
  EXPECT(info.result == cudaGraphExecUpdateSuccess);
  CUDA(cudaGraphLaunch(exec, s));
  CUDA(cudaStreamSynchronize(s));
  EXPECT(pinned[0] == 12 && calls == 3);
  CUDA(cudaGraphDestroy(graph));
  EXPECT(released == 1);
  CUDA(cudaGraphDestroy(clone));
  CUDA(cudaGraphExecDestroy(exec));
}

int main() {
  CUDA(cudaMalloc(&a, n * sizeof(int)));
  CUDA(cudaMalloc(&b, n * sizeof(int)));
  CUDA(cudaMallocHost(&pinned, n * sizeof(int)));
  CUDA(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CUDA(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
  captured();
  misused();
  by_hand();
  CUDA(cudaStreamDestroy(s));
  CUDA(cudaStreamDestroy(t));
  CUDA(cudaFreeHost(pinned));
  CUDA(cudaFree(a));
  CUDA(cudaFree(b));
  return failures != 0;
}
