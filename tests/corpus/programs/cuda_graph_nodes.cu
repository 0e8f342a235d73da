// CORPUS run=1
// A graph built node by node: memset, two kernels, a copy and a host function; then the kernel's
// parameters are changed between two launches.
//
// DEFECT NO_MEMSET_EDGE data_race: the kernel may run before the memset
// DEFECT NO_COPY_EDGE data_race: the copy may run before the second kernel
// DEFECT NO_HOST_EDGE readback_before_sync: the host function may run before the copy
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

namespace {
int g_line = 0;
bool failed(cudaError_t e, int line) {
  if (e != cudaSuccess && g_line == 0) g_line = line;
  return e != cudaSuccess;
}
#define TRY(x) \
  if (failed((x), __LINE__)) return false

constexpr int kCount = 128;

// EXPECT NO_MEMSET_EDGE
__global__ void add(int* data, int amount) { atomicAdd(&data[threadIdx.x], amount); }

__global__ void weight(int* data) {
  // EXPECT NO_COPY_EDGE
  data[threadIdx.x] *= threadIdx.x + 1;
}

struct Check {
  int* pinned;
  int amount, bad;
};

void CUDART_CB inspect(void* p) {
  Check* c = static_cast<Check*>(p);
  for (int i = 0; i < kCount; ++i) {
    // EXPECT NO_HOST_EDGE
    c->bad += c->pinned[i] != c->amount * (i + 1);
  }
}

bool test(int* bad) {
  int* data;
  Check check{nullptr, 5, 0};
  TRY(cudaMalloc(&data, kCount * sizeof(int)));
  TRY(cudaMallocHost(&check.pinned, kCount * sizeof(int)));
  cudaGraph_t graph;
  TRY(cudaGraphCreate(&graph, 0));
  cudaGraphNode_t zero, first, second, copy, look;

  cudaMemsetParams set{};
  set.dst = data;
  set.elementSize = sizeof(int);
  set.width = kCount;
  set.height = 1;
  // EXPECT NO_MEMSET_EDGE
  TRY(cudaGraphAddMemsetNode(&zero, graph, nullptr, 0, &set));

  void* add_args[] = {&data, &check.amount};
  cudaKernelNodeParams kernel{};
  kernel.func = (void*)add;
  kernel.gridDim = dim3(1);
  kernel.blockDim = dim3(kCount);
  kernel.kernelParams = add_args;
#if defined(DEFECT_NO_MEMSET_EDGE)
  TRY(cudaGraphAddKernelNode(&first, graph, nullptr, 0, &kernel));
#else
  TRY(cudaGraphAddKernelNode(&first, graph, &zero, 1, &kernel));
#endif
  void* weight_args[] = {&data};
  cudaKernelNodeParams other = kernel;
  other.func = (void*)weight;
  other.kernelParams = weight_args;
  TRY(cudaGraphAddKernelNode(&second, graph, &first, 1, &other));
#if defined(DEFECT_NO_COPY_EDGE)
  const cudaGraphNode_t* before_copy = &first;
#else
  const cudaGraphNode_t* before_copy = &second;
#endif
  // EXPECT NO_COPY_EDGE NO_HOST_EDGE
  TRY(cudaGraphAddMemcpyNode1D(&copy, graph, before_copy, 1, check.pinned, data, kCount * sizeof(int), cudaMemcpyDeviceToHost));
  cudaHostNodeParams host{inspect, &check};
#if defined(DEFECT_NO_HOST_EDGE)
  TRY(cudaGraphAddHostNode(&look, graph, &second, 1, &host));
#else
  TRY(cudaGraphAddHostNode(&look, graph, &copy, 1, &host));
#endif

  cudaGraphExec_t exec;
  TRY(cudaGraphInstantiateWithFlags(&exec, graph, 0));
  cudaStream_t stream;
  TRY(cudaStreamCreate(&stream));
  TRY(cudaGraphLaunch(exec, stream));
  TRY(cudaStreamSynchronize(stream));
  check.amount = 9;
  TRY(cudaGraphExecKernelNodeSetParams(exec, first, &kernel));
  TRY(cudaGraphLaunch(exec, stream));
  TRY(cudaStreamSynchronize(stream));
  *bad = check.bad;
  TRY(cudaStreamDestroy(stream));
  TRY(cudaGraphExecDestroy(exec));
  TRY(cudaGraphDestroy(graph));
  TRY(cudaFreeHost(check.pinned));
  TRY(cudaFree(data));
  return true;
}
}  // namespace

int main() {
  int bad = 0;
  if (!test(&bad)) std::printf("CUDA error at line %d\n", g_line);
  std::printf("%d wrong\n", bad);
  return bad != 0 || g_line != 0;
}
