// Memory that belongs to a graph: made by its nodes or captured, live at each launch.
#include "expect.h"

constexpr int n = 256;

__global__ void fill(int* p, int value) { p[threadIdx.x] = value; }
__global__ void add(int* out, const int* p) {
  out[threadIdx.x] += p[threadIdx.x];  // EXPECT(USE_BEFORE_NODE): data_race
}

static cudaKernelNodeParams call(void* kernel, void** arguments) {
  cudaKernelNodeParams params = {};
  params.func = kernel;
  params.gridDim = dim3(1);
  params.blockDim = dim3(n);
  params.kernelParams = arguments;
  return params;
}

static void by_nodes(int* out, cudaStream_t s) {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaGraphNode_t alloc, filled, added, freed;
  CUDA(cudaGraphCreate(&graph, 0));
  cudaMemAllocNodeParams wanted = {};
  wanted.bytesize = n * sizeof(int);
  wanted.poolProps.allocType = cudaMemAllocationTypePinned;
  wanted.poolProps.location.type = cudaMemLocationTypeDevice;
  wanted.poolProps.location.id = 0;
  CUDA(cudaGraphAddMemAllocNode(&alloc, graph, nullptr, 0, &wanted));
  EXPECT(wanted.dptr != nullptr);
  int value = 3;
  void* fill_arguments[] = {&wanted.dptr, &value};
  void* add_arguments[] = {&out, &wanted.dptr};
  cudaKernelNodeParams params = call(reinterpret_cast<void*>(fill), fill_arguments);
  CUDA(cudaGraphAddKernelNode(&filled, graph, &alloc, 1, &params));
  params = call(reinterpret_cast<void*>(add), add_arguments);
#ifdef USE_BEFORE_NODE
  CUDA(cudaGraphAddKernelNode(&added, graph, &alloc, 1, &params));
  cudaGraphNode_t both[] = {filled, added};
  CUDA(cudaGraphAddMemFreeNode(&freed, graph, both, 2, wanted.dptr));
#else
  CUDA(cudaGraphAddKernelNode(&added, graph, &filled, 1, &params));
  CUDA(cudaGraphAddMemFreeNode(&freed, graph, &added, 1, wanted.dptr));
#endif
  EXPECT(cudaGraphAddMemFreeNode(&freed, graph, &added, 1, out) == cudaErrorInvalidValue);
  CUDA(cudaGraphInstantiate(&exec, graph));
  for (int i = 0; i < 3; i++) CUDA(cudaGraphLaunch(exec, s));
  CUDA(cudaStreamSynchronize(s));
#ifdef USE_AFTER_FREE
  CUDA(cudaMemset(wanted.dptr, 0, 4));  // EXPECT(USE_AFTER_FREE): use_after_free
#endif
  CUDA(cudaGraphExecDestroy(exec));
  CUDA(cudaGraphDestroy(graph));
}

static void captured(int* out, cudaStream_t s) {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  int* p = nullptr;
  CUDA(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  CUDA(cudaMallocAsync(&p, n * sizeof(int), s));
  fill<<<1, n, 0, s>>>(p, 4);
  add<<<1, n, 0, s>>>(out, p);
  CUDA(cudaFreeAsync(p, s));
  CUDA(cudaStreamEndCapture(s, &graph));
  CUDA(cudaGraphInstantiate(&exec, graph));
  for (int i = 0; i < 2; i++) CUDA(cudaGraphLaunch(exec, s));
  CUDA(cudaStreamSynchronize(s));
  uint64_t used = 1, high = 0;
  CUDA(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &used));
  CUDA(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &high));
  EXPECT(used == 0);
  EXPECT(high == n * sizeof(int));
  CUDA(cudaDeviceGraphMemTrim(0));
  CUDA(cudaGraphExecDestroy(exec));
  CUDA(cudaGraphDestroy(graph));
}

// What a graph allocates may be freed by the stream that it was launched into, again and again.
static void freed_outside(int* out, cudaStream_t s) {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  int* p = nullptr;
  CUDA(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  CUDA(cudaMallocAsync(&p, n * sizeof(int), s));
  fill<<<1, n, 0, s>>>(p, 5);
  CUDA(cudaStreamEndCapture(s, &graph));
  CUDA(cudaGraphInstantiate(&exec, graph));
  for (int i = 0; i < 2; i++) {
    CUDA(cudaGraphLaunch(exec, s));
    add<<<1, n, 0, s>>>(out, p);
    CUDA(cudaFreeAsync(p, s));
    if (i == 0) CUDA(cudaStreamSynchronize(s));
  }
#ifdef FREED_TWICE
  CUDA(cudaFreeAsync(p, s));  // EXPECT(FREED_TWICE): double_free
#endif
  CUDA(cudaStreamSynchronize(s));
  CUDA(cudaGraphExecDestroy(exec));
  CUDA(cudaGraphDestroy(graph));
}

int main() {
  int *out, host[n];
  cudaStream_t s;
  CUDA(cudaMalloc(&out, sizeof host));
  CUDA(cudaMemset(out, 0, sizeof host));
  CUDA(cudaDeviceSynchronize());
  CUDA(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  by_nodes(out, s);
  captured(out, s);
  freed_outside(out, s);
  CUDA(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
#if !defined(USE_BEFORE_NODE) && !defined(USE_AFTER_FREE)
  for (int value : host) EXPECT(value == 3 * 3 + 2 * 4 + 2 * 5);
#endif
  CUDA(cudaFree(out));
  CUDA(cudaStreamDestroy(s));
  return failures;
}
