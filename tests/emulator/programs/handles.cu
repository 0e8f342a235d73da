// A handle that no call has given (argument: forged.TYPE), one that was destroyed (destroyed.TYPE),
// one of another process (foreign.TYPE), or handles as programs use them (good).
#include <mpi.h>
#include <nccl.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "expect.h"

alignas(64) static char made_up[512];
static int released = 0;
static ncclComm_t comm;
static void* device;

template <class Handle>
struct Uses {
  Handle (*make)();
  void (*use)(Handle);
  void (*destroy)(Handle);
};

static const Uses<cudaStream_t> streams{[] {
                                          cudaStream_t made = nullptr;
                                          CUDA(cudaStreamCreate(&made));
                                          return made;
                                        },
                                        [](cudaStream_t s) {
                                          int flags = 0;
                                          cudaStreamGetPriority(s, &flags);
                                        },
                                        [](cudaStream_t s) { CUDA(cudaStreamDestroy(s)); }};
static const Uses<cudaEvent_t> events{[] {
                                        cudaEvent_t made = nullptr;
                                        CUDA(cudaEventCreate(&made));
                                        return made;
                                      },
                                      [](cudaEvent_t e) { cudaEventQuery(e); },
                                      [](cudaEvent_t e) { CUDA(cudaEventDestroy(e)); }};
static const Uses<cudaMemPool_t> pools{[] {
                                         cudaMemPool_t made = nullptr;
                                         cudaMemPoolProps props{};
                                         props.allocType = cudaMemAllocationTypePinned;
                                         props.location = {cudaMemLocationTypeDevice, 0};
                                         CUDA(cudaMemPoolCreate(&made, &props));
                                         return made;
                                       },
                                       [](cudaMemPool_t p) {
                                         unsigned long long threshold = 5;
                                         cudaMemPoolSetAttribute(p, cudaMemPoolAttrReleaseThreshold,
                                                                 &threshold);
                                       },
                                       [](cudaMemPool_t p) { CUDA(cudaMemPoolDestroy(p)); }};
static const Uses<cudaGraph_t> graphs{[] {
                                        cudaGraph_t made = nullptr;
                                        CUDA(cudaGraphCreate(&made, 0));
                                        return made;
                                      },
                                      [](cudaGraph_t g) {
                                        size_t count = 0;
                                        cudaGraphGetNodes(g, nullptr, &count);
                                      },
                                      [](cudaGraph_t g) { CUDA(cudaGraphDestroy(g)); }};
static cudaGraph_t of_node = nullptr;
static const Uses<cudaGraphNode_t> nodes{[] {
                                           cudaGraphNode_t made = nullptr;
                                           of_node = graphs.make();
                                           CUDA(cudaGraphAddEmptyNode(&made, of_node, nullptr, 0));
                                           return made;
                                         },
                                         [](cudaGraphNode_t n) {
                                           cudaGraphNodeType type;
                                           cudaGraphNodeGetType(n, &type);
                                         },
                                         [](cudaGraphNode_t) { graphs.destroy(of_node); }};
static const Uses<cudaGraphExec_t> executables{
    [] {
      cudaGraphExec_t made = nullptr;
      nodes.make();
      CUDA(cudaGraphInstantiate(&made, of_node, 0));
      return made;
    },
    [](cudaGraphExec_t e) { cudaGraphLaunch(e, nullptr); },
    [](cudaGraphExec_t e) { CUDA(cudaGraphExecDestroy(e)); }};
static const Uses<cudaUserObject_t> objects{
    [] {
      cudaUserObject_t made = nullptr;
      CUDA(cudaUserObjectCreate(&made, &released, [](void* p) { ++*(int*)p; }, 1, 0));
      return made;
    },
    [](cudaUserObject_t o) { cudaUserObjectRetain(o); },
    [](cudaUserObject_t o) { CUDA(cudaUserObjectRelease(o)); }};
static const Uses<cudaArray_t> arrays{
    [] {
      cudaArray_t made = nullptr;
      const cudaChannelFormatDesc floats = cudaCreateChannelDesc<float>();
      CUDA(cudaMallocArray(&made, &floats, 8));
      return made;
    },
    [](cudaArray_t a) {
      cudaExtent extent;
      cudaArrayGetInfo(nullptr, &extent, nullptr, a);
    },
    [](cudaArray_t a) { CUDA(cudaFreeArray(a)); }};
static const Uses<MPI_Request> requests{[] {
                                          static int sent = 0;
                                          MPI_Request made = MPI_REQUEST_NULL;
                                          MPI_Isend(&sent, 1, MPI_INT, 0, 7, MPI_COMM_SELF, &made);
                                          return made;
                                        },
                                        [](MPI_Request r) {
                                          int flag = 0;
                                          MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
                                        },
                                        [](MPI_Request r) {
                                          MPI_Wait(&r, MPI_STATUS_IGNORE);
                                          int got;
                                          MPI_Recv(&got, 1, MPI_INT, 0, 7, MPI_COMM_SELF,
                                                   MPI_STATUS_IGNORE);
                                        }};
static const Uses<void*> registrations{
    [] {
      void* made = nullptr;
      EXPECT(ncclCommRegister(comm, device, 4096, &made) == ncclSuccess);
      return made;
    },
    [](void* r) { ncclCommDeregister(comm, r); },
    [](void* r) { EXPECT(ncclCommDeregister(comm, r) == ncclSuccess); }};
static const Uses<ncclComm_t> comms{[] { return comm; },
                                    [](ncclComm_t c) {
                                      int count = 0;
                                      EXPECT(ncclCommCount(c, &count) == ncclInvalidArgument);
                                    },
                                    [](ncclComm_t c) { ncclCommDestroy(c); }};
static const Uses<ncclWindow_t> windows{
    [] { return (ncclWindow_t) nullptr; },
    [](ncclWindow_t w) { EXPECT(ncclCommWindowDeregister(comm, w) == ncclInvalidArgument); },
    [](ncclWindow_t) {}};

template <class Handle>
static void misuse(const Uses<Handle>& uses, const std::string& how) {
  if (how == "forged") return uses.use((Handle)made_up);
  Handle handle = uses.make();
  if (how == "destroyed") {
    uses.destroy(handle);
    return uses.use(handle);
  }
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Bcast(&handle, sizeof handle, MPI_BYTE, 0, MPI_COMM_WORLD);
  if (rank == 1) uses.use(handle);
}

template <class Handle>
static void use_well(const Uses<Handle>& uses) {
  const Handle first = uses.make();
  uses.use(first);
  uses.destroy(first);
  const Handle second = uses.make();  // may have the same address
  uses.use(second);
  uses.destroy(second);
}

// What holds an object of the program's, and what ends in the midst of a capture.
static void graphs_in_use() {
  cudaStream_t stream = streams.make();
  cudaGraph_t graph = nullptr;
  cudaStreamCaptureStatus status;
  CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CUDA(cudaMemsetAsync(device, 0, 64, stream));
  CUDA(cudaStreamGetCaptureInfo(stream, &status, nullptr, &graph));
  EXPECT(cudaGraphDestroy(graph) == cudaErrorInvalidValue);
  CUDA(cudaMemsetAsync(device, 0, 64, stream));
  cudaGraphNode_t pair[2];
  size_t count = 2;
  CUDA(cudaGraphGetNodes(graph, pair, &count));
  EXPECT(count == 2 && cudaGraphAddDependencies(graph, &pair[1], &pair[0], 1) != cudaSuccess);
  CUDA(cudaMemsetAsync(device, 0, 64, stream));
  CUDA(cudaStreamEndCapture(stream, &graph));
  CUDA(cudaGraphGetNodes(graph, nullptr, &count));
  EXPECT(count == 3);
  cudaUserObject_t object = objects.make();
  CUDA(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
  const int before = released;
  CUDA(cudaGraphDestroy(graph));
  EXPECT(released == before + 1);
  streams.use(nullptr);
  streams.use(cudaStreamLegacy);
  streams.use(cudaStreamPerThread);
  cudaMemPool_t own = nullptr;
  CUDA(cudaDeviceGetDefaultMemPool(&own, 0));
  EXPECT(cudaMemPoolDestroy(own) == cudaErrorInvalidValue);
  pools.use(own);
  cudaGetLastError();
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CUDA(cudaSetDevice(rank));
  ncclUniqueId id;
  if (rank == 0) ncclGetUniqueId(&id);
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclCommInitRank(&comm, ranks, id, rank);
  CUDA(cudaMalloc(&device, 4096));
  const std::string argument = argc > 1 ? argv[1] : "good";
  const std::string how = argument.substr(0, argument.find('.'));
  const std::string what = argument.substr(argument.find('.') + 1);
  if (what == "CUstream_st") misuse(streams, how);
  if (what == "CUevent_st") misuse(events, how);
  if (what == "CUmemPoolHandle_st") misuse(pools, how);
  if (what == "CUgraph_st") misuse(graphs, how);
  if (what == "CUgraphNode_st") misuse(nodes, how);
  if (what == "CUgraphExec_st") misuse(executables, how);
  if (what == "CUuserObject_st") misuse(objects, how);
  if (what == "cudaArray") misuse(arrays, how);
  if (what == "warploom_mpi_request") misuse(requests, how);
  if (what == "registration") misuse(registrations, how);
  if (what == "ncclComm") misuse(comms, how);
  if (what == "ncclWindow_vidmem") misuse(windows, how);
  if (how == "good") {
    use_well(streams);
    use_well(events);
    use_well(pools);
    use_well(graphs);
    use_well(nodes);
    use_well(executables);
    use_well(arrays);
    objects.destroy(objects.make());
    requests.destroy(requests.make());
    registrations.destroy(registrations.make());
    graphs_in_use();
    CUDA(cudaFree(device));
    comms.destroy(comm);
  }
  printf("%s\n", argument.c_str());
  CUDA(cudaDeviceSynchronize());
  MPI_Finalize();
  return failures != 0;
}
