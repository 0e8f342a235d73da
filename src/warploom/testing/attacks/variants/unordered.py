"""Defects in what the suite did not use before: graphs, pools, managed memory, textures, IPC.

Each program has a defect with `-D BUG=1` and is right without. They were written from CUDA's and
NCCL's documentation, without a look at how the judge finds such things.
"""

from warploom.testing.attacks.record import Attack, Expected
from warploom.testing.attacks.variants.base import CHECK, made, whole

_KIND, _LIMITS = "queued work that nothing orders", "a GPU's own limits"
_HEAD = """\
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace cg = cooperative_groups;
#define OK(call) \\
  do { \\
    if ((call) != 0) { \\
      std::printf("%s failed\\n", #call); \\
      std::exit(3); \\
    } \\
  } while (0)
#ifdef BUG
#define CHOOSE(bad, good) bad
#else
#define CHOOSE(bad, good) good
#endif
constexpr int N = 256;
constexpr size_t BYTES = N * sizeof(int);
__global__ void fill(int* p, int v) { p[threadIdx.x] = v; }
__global__ void add(const int* from, int* to) { to[threadIdx.x] += from[threadIdx.x]; }
static cudaStream_t a, b;
static int *d, *e;
static void after(cudaStream_t first, cudaStream_t second) {
  cudaEvent_t done;
  OK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  OK(cudaEventRecord(done, first));
  OK(cudaStreamWaitEvent(second, done, 0));
  OK(cudaEventDestroy(done));
}
static void set_up() {
  OK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
  OK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
  OK(cudaMalloc(&d, BYTES));
  OK(cudaMalloc(&e, BYTES));
  OK(cudaMemset(d, 0, BYTES));
  OK(cudaMemset(e, 0, BYTES));
  OK(cudaDeviceSynchronize());
}
"""
_PINNED = "int* h; OK(cudaMallocHost(&h, BYTES)); memset(h, 0, BYTES);"
_MANAGED = "int* m; OK(cudaMallocManaged(&m, BYTES)); memset(m, 0, BYTES);"
_TEXTURE = (
    "cudaResourceDesc what{}; what.resType = cudaResourceTypeLinear; what.res.linear.devPtr = d;"
    " what.res.linear.desc = cudaCreateChannelDesc<int>(); what.res.linear.sizeInBytes = BYTES;"
    " cudaTextureDesc how{}; how.readMode = cudaReadModeElementType; cudaTextureObject_t t = 0;"
    " OK(cudaCreateTextureObject(&t, &what, &how, nullptr));"
)
_ARRAY = (
    "cudaChannelFormatDesc form = cudaCreateChannelDesc<int>(); cudaArray_t array;"
    " OK(cudaMallocArray(&array, &form, 16, 16, cudaArraySurfaceLoadStore));"
    " cudaResourceDesc what{}; what.resType = cudaResourceTypeArray; what.res.array.array = array;"
    " cudaTextureDesc how{}; how.readMode = cudaReadModeElementType; cudaTextureObject_t t = 0;"
    " OK(cudaCreateTextureObject(&t, &what, &how, nullptr));"
    " cudaSurfaceObject_t s = 0; OK(cudaCreateSurfaceObject(&s, &what));"
)
_FROM_TEXTURE = (
    "__global__ void look(cudaTextureObject_t t, int* to) {"
    " to[threadIdx.x] = tex1Dfetch<int>(t, threadIdx.x); }"
)
_FROM_2D = (
    "__global__ void look(cudaTextureObject_t t, int* to) {"
    " int i = threadIdx.x; to[i] = tex2D<int>(t, i % 16 + 0.5f, i / 16 + 0.5f); }\n"
    "__global__ void mark(cudaSurfaceObject_t s) {"
    " int i = threadIdx.x; surf2Dwrite(i, s, (i % 16) * 4, i / 16); }"
)
_NODES = (
    "void* first_args[] = {&d, &v}; void* second_args[] = {&d, &e};"
    " cudaKernelNodeParams first{}, second{}; first.func = (void*)fill; second.func = (void*)add;"
    " first.gridDim = second.gridDim = dim3(1); first.blockDim = second.blockDim = dim3(N);"
    " first.kernelParams = first_args; second.kernelParams = second_args;"
    " cudaGraph_t graph; cudaGraphExec_t exec; cudaGraphNode_t one, two;"
    " OK(cudaGraphCreate(&graph, 0));"
)
_RUN_GRAPH = "OK(cudaGraphInstantiateWithFlags(&exec, graph, 0)); OK(cudaGraphLaunch(exec, a));"

_SINGLE: dict[str, tuple[str, str]] = {
    # name: (declarations, statements); one process
    "pool_other_stream": ("", "int* p; OK(cudaMallocAsync(&p, BYTES, a)); CHOOSE(, after(a, b));"
                          " fill<<<1, N, 0, b>>>(p, 1); after(b, a); OK(cudaFreeAsync(p, a));"),
    "pool_freed_early": ("", "int* p; OK(cudaMallocAsync(&p, BYTES, a)); after(a, b);"
                         " fill<<<1, N, 0, b>>>(p, 1); CHOOSE(, after(b, a)); OK(cudaFreeAsync(p, a));"),
    "pool_used_after": ("", "int* p; OK(cudaMallocAsync(&p, BYTES, a)); fill<<<1, N, 0, a>>>(p, 1);"
                        " CHOOSE(OK(cudaFreeAsync(p, a)),); add<<<1, N, 0, a>>>(p, e);"
                        " CHOOSE(, OK(cudaFreeAsync(p, a)));"),
    "pool_in_graph": ("", "int* p; cudaGraph_t graph; cudaGraphExec_t exec;"
                      " OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeRelaxed));"
                      " OK(cudaMallocAsync(&p, BYTES, a)); fill<<<1, N, 0, a>>>(p, 1);"
                      " add<<<1, N, 0, a>>>(p, e); OK(cudaFreeAsync(p, a));"
                      " OK(cudaStreamEndCapture(a, &graph)); OK(cudaGraphInstantiateWithFlags(&exec, graph, 0));"
                      " OK(cudaGraphLaunch(exec, a)); CHOOSE((add<<<1, N, 0, a>>>(p, d)),);"),
    "managed_read": ("", f"{_MANAGED} fill<<<1, N, 0, a>>>(m, 1); CHOOSE(, OK(cudaStreamSynchronize(a)));"
                     " std::printf(\"%d\\n\", m[5] >= 0);"),
    "managed_read_nobody_waits": ("", f"{_MANAGED} fill<<<1, N, 0, a>>>(m, 1);"
                                  " CHOOSE(, OK(cudaStreamSynchronize(a)));"
                                  " std::printf(\"%d\\n\", m[5] >= 0); return 0;"),
    "managed_write": ("", f"{_MANAGED} add<<<1, N, 0, a>>>(m, d); CHOOSE(, OK(cudaStreamSynchronize(a)));"
                      " m[3] = 7;"),
    "managed_prefetch": ("", f"{_MANAGED} fill<<<1, N, 0, a>>>(m, 1);"
                         " CHOOSE(, OK(cudaStreamSynchronize(a))); OK(cudaMemcpyAsync(d, e, BYTES,"
                         " cudaMemcpyDeviceToDevice, b)); OK(cudaStreamSynchronize(b));"
                         " std::printf(\"%d\\n\", m[5] >= 0);"),
    "managed_copied_to": ("", f"{_MANAGED} OK(cudaMemcpyAsync(m, d, BYTES, cudaMemcpyDefault, a));"
                          " CHOOSE(, OK(cudaStreamSynchronize(a))); std::printf(\"%d\\n\", m[7]);"),
    "pinned_wrong_event": ("", f"{_PINNED} cudaEvent_t x; OK(cudaEventCreate(&x));"
                           " CHOOSE(OK(cudaEventRecord(x, a)),); fill<<<1, N, 0, a>>>(h, 3);"
                           " CHOOSE(, OK(cudaEventRecord(x, a))); OK(cudaEventSynchronize(x));"
                           " std::printf(\"%d\\n\", h[9] >= 0);"),
    "pinned_alias": ("", f"{_PINNED} int* alias; OK(cudaHostGetDevicePointer(&alias, h, 0));"
                     " fill<<<1, N, 0, a>>>(alias, 3); CHOOSE(, OK(cudaStreamSynchronize(a)));"
                     " std::printf(\"%d\\n\", h[9] >= 0);"),
    "graph_no_edge": ("", f"int v = 2; {_NODES} OK(cudaGraphAddKernelNode(&one, graph, nullptr, 0, &first));"
                      " OK(cudaGraphAddKernelNode(&two, graph, CHOOSE(nullptr, &one), CHOOSE(0, 1), &second));"
                      f" {_RUN_GRAPH}"),
    "graph_empty_between": ("", f"int v = 2; {_NODES} cudaGraphNode_t gap;"
                            " OK(cudaGraphAddKernelNode(&one, graph, nullptr, 0, &first));"
                            " OK(cudaGraphAddEmptyNode(&gap, graph, CHOOSE(nullptr, &one), CHOOSE(0, 1)));"
                            " OK(cudaGraphAddKernelNode(&two, graph, &gap, 1, &second));"
                            f" {_RUN_GRAPH}"),
    "graph_branches": ("", "cudaGraph_t graph; cudaGraphExec_t exec;"
                       " OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeRelaxed)); after(a, b);"
                       " fill<<<1, N, 0, a>>>(d, 1); fill<<<1, N, 0, b>>>(CHOOSE(d, e), 2); after(b, a);"
                       f" OK(cudaStreamEndCapture(a, &graph)); {_RUN_GRAPH}"),
    "graph_beside_stream": ("", "cudaGraph_t graph; cudaGraphExec_t exec;"
                            " OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeRelaxed));"
                            f" fill<<<1, N, 0, a>>>(d, 1); OK(cudaStreamEndCapture(a, &graph)); {_RUN_GRAPH}"
                            " CHOOSE(, after(a, b)); add<<<1, N, 0, b>>>(d, e);"),
    "graph_parameters_late": ("", f"int v = 2; {_NODES} OK(cudaGraphAddKernelNode(&one, graph, nullptr, 0, &first));"
                              " OK(cudaGraphInstantiateWithFlags(&exec, graph, 0));"
                              " CHOOSE(OK(cudaGraphLaunch(exec, a)),); v = 9;"
                              " OK(cudaGraphExecKernelNodeSetParams(exec, one, &first));"
                              " CHOOSE(, OK(cudaGraphLaunch(exec, a))); OK(cudaStreamSynchronize(a));"
                              " std::vector<int> got(N); OK(cudaMemcpy(got.data(), d, BYTES, cudaMemcpyDeviceToHost));"
                              " if (got[4] != 9) return 1;"),
    "launch_arguments_late": ("", "int v = 2; void* args[] = {&d, &v}; CHOOSE(, v = 9);"
                              " OK(cudaLaunchKernel((const void*)fill, dim3(1), dim3(N), args, 0, a)); v = 9;"
                              " OK(cudaStreamSynchronize(a)); std::vector<int> got(N);"
                              " OK(cudaMemcpy(got.data(), d, BYTES, cudaMemcpyDeviceToHost));"
                              " if (got[4] != 9) return 1;"),
    "graph_host_node": ("static void note(void* h) { static_cast<int*>(h)[2] = 5; }",
                        f"{_PINNED} int v = 2; {_NODES} second_args[0] = &h; cudaHostNodeParams host{{note, h}};"
                        " OK(cudaGraphAddHostNode(&one, graph, nullptr, 0, &host));"
                        " OK(cudaGraphAddKernelNode(&two, graph, CHOOSE(nullptr, &one), CHOOSE(0, 1), &second));"
                        f" (void)first; {_RUN_GRAPH}"),
    "graph_source_changed": ("", f"{_PINNED} cudaGraph_t graph; cudaGraphExec_t exec; cudaGraphNode_t one;"
                             " OK(cudaGraphCreate(&graph, 0)); OK(cudaGraphAddMemcpyNode1D(&one, graph, nullptr, 0,"
                             f" d, h, BYTES, cudaMemcpyHostToDevice)); {_RUN_GRAPH}"
                             " CHOOSE(, OK(cudaStreamSynchronize(a))); h[3] = 4;"),
    "texture_other_stream": (_FROM_TEXTURE, f"{_TEXTURE} fill<<<1, N, 0, a>>>(d, 1); CHOOSE(, after(a, b));"
                             " look<<<1, N, 0, b>>>(t, e);"),
    "texture_own_write": ("__global__ void look(cudaTextureObject_t t, int* p, int* to) { int i = threadIdx.x;"
                          " CHOOSE(p[i], to[i]) = i; __syncthreads(); to[i] = tex1Dfetch<int>(t, (i + 1) % N); }",
                          f"{_TEXTURE} look<<<1, N, 0, a>>>(t, d, e);"),
    "texture_beyond": (_FROM_TEXTURE, "int* few = d; d += CHOOSE(N / 2, 0); (void)few;"
                       f" {_TEXTURE} look<<<1, N, 0, a>>>(t, e); d = few;"),
    "surface_other_stream": (_FROM_2D, f"{_ARRAY} mark<<<1, N, 0, a>>>(s); CHOOSE(, after(a, b));"
                             " look<<<1, N, 0, b>>>(t, e);"),
    "array_copy": (_FROM_2D, f"{_ARRAY} OK(cudaMemcpy2DToArrayAsync(array, 0, 0, d, 64, 64, 16,"
                   " cudaMemcpyDeviceToDevice, a)); CHOOSE(, after(a, b)); look<<<1, N, 0, b>>>(t, e); (void)s;"),
    "groups_tile_sync": ("__global__ void turn(int* to) { __shared__ int s[N]; auto block = cg::this_thread_block();"
                         " auto tile = cg::tiled_partition<32>(block); int i = threadIdx.x; s[i] = i;"
                         " CHOOSE(tile, block).sync(); to[i] = s[(i + 32) % N]; }",
                         "turn<<<1, N, 0, a>>>(d);"),
    "groups_coalesced": ("__global__ void turn(int* to) { __shared__ int s[N]; int i = threadIdx.x; s[i] = i;"
                         " CHOOSE(cg::coalesced_threads(), cg::this_thread_block()).sync();"
                         " to[i] = s[(i + 64) % N]; }", "turn<<<1, N, 0, a>>>(d);"),
    "groups_grid_plain": ("__global__ void turn(int* p, int* to) { auto grid = cg::this_grid(); int i = grid.thread_rank();"
                          " p[i] = i; grid.sync(); to[i] = p[(i + 64) % N]; }",
                          "void* args[] = {&d, &e}; CHOOSE((turn<<<4, 64, 0, a>>>(d, e)),"
                          " OK(cudaLaunchCooperativeKernel((const void*)turn, dim3(4), dim3(64), args, 0, a)));"
                          " (void)args;"),
    "groups_half_tile": ("__global__ void turn(int* to) { __shared__ int s[32];"
                         " auto tile = cg::tiled_partition<CHOOSE(16, 32)>(cg::this_thread_block());"
                         " int i = threadIdx.x; s[i] = i; tile.sync(); to[i] = s[(i + 16) % 32]; }",
                         "turn<<<1, 32, 0, a>>>(d);"),
    "groups_copy_no_wait": ("__global__ void turn(const int* from, int* to) { __shared__ int s[N];"
                            " auto block = cg::this_thread_block(); cg::memcpy_async(block, s, from, BYTES);"
                            " CHOOSE(, cg::wait(block)); to[threadIdx.x] = s[threadIdx.x]; CHOOSE(cg::wait(block),); }",
                            "turn<<<1, N, 0, a>>>(d, e);"),
    "not_drained": ("", "fill<<<1, N, 0, CHOOSE(a, 0)>>>(d, 1); std::vector<int> got(N);"
                    " OK(cudaMemcpy(got.data(), d, BYTES, cudaMemcpyDeviceToHost));"
                    " std::printf(\"%d\\n\", got[4] >= 0);"),
    "stream_destroyed": ("", "fill<<<1, N, 0, a>>>(d, 1); CHOOSE(, OK(cudaStreamSynchronize(a)));"
                         " OK(cudaStreamDestroy(a)); std::vector<int> got(N);"
                         " OK(cudaMemcpy(got.data(), d, BYTES, cudaMemcpyDeviceToHost));"
                         " std::printf(\"%d\\n\", got[4] >= 0);"),
    "wait_before_record": ("", "cudaEvent_t x; OK(cudaEventCreate(&x)); CHOOSE(OK(cudaStreamWaitEvent(b, x, 0)),);"
                           " fill<<<1, N, 0, a>>>(d, 1); OK(cudaEventRecord(x, a));"
                           " CHOOSE(, OK(cudaStreamWaitEvent(b, x, 0))); add<<<1, N, 0, b>>>(d, e);"),
    "record_moved": ("", "cudaEvent_t x; OK(cudaEventCreate(&x)); fill<<<1, N, 0, a>>>(d, 1);"
                     " OK(cudaEventRecord(x, a)); CHOOSE(OK(cudaEventRecord(x, b)),);"
                     " OK(cudaStreamWaitEvent(b, x, 0)); add<<<1, N, 0, b>>>(d, e);"),
    "host_function": ("static void note(void* h) { static_cast<int*>(h)[2] = 5; }",
                      f"{_PINNED} OK(cudaLaunchHostFunc(a, note, h)); CHOOSE(, after(a, b));"
                      " add<<<1, N, 0, b>>>(h, d);"),
    "symbol_copy": ("__device__ int table[N];\n__global__ void take(int* to) { to[threadIdx.x] = table[threadIdx.x]; }",
                    f"{_PINNED} OK(cudaMemcpyToSymbolAsync(table, h, BYTES, 0, cudaMemcpyHostToDevice, a));"
                    " CHOOSE(, after(a, b)); take<<<1, N, 0, b>>>(d);"),
    "copy_3d": ("", "cudaMemcpy3DParms p{}; p.srcPtr = make_cudaPitchedPtr(d, 64, 16, 16);"
                " p.dstPtr = make_cudaPitchedPtr(e, 64, 16, 16); p.extent = make_cudaExtent(64, 16, 1);"
                " p.kind = cudaMemcpyDeviceToDevice; OK(cudaMemcpy3DAsync(&p, a)); CHOOSE(, after(a, b));"
                " fill<<<1, N, 0, b>>>(d, 1);"),
    "two_threads": ("", "auto go = [](cudaStream_t on, int* to) { fill<<<1, N, 0, on>>>(to, 1);"
                    " OK(cudaStreamSynchronize(on)); }; std::thread x(go, a, d), y(go, b, CHOOSE(d, e));"
                    " x.join(); y.join();"),
    "legacy_memset": ("", "OK(cudaMemsetAsync(d, 1, BYTES, 0)); CHOOSE(, OK(cudaStreamSynchronize(0)));"
                      " add<<<1, N, 0, a>>>(d, e);"),
    "shuffle_not_named": ("__global__ void turn(int* to) { int i = threadIdx.x;"
                          " to[i] = __shfl_sync(CHOOSE(0xffffu, 0xffffffffu), i, (i + 1) % 32); }",
                          "turn<<<1, 32, 0, a>>>(d);"),
    "limit_local": ("__global__ void big(int* to, int at) { int room[CHOOSE(160 * 1024, 64)]; room[at] = 1;"
                    " room[at + 1] = to[at]; to[at] = room[at] + room[at + 1]; }", "big<<<1, 1, 0, a>>>(d, 3);"),
    "limit_recursion": ("__device__ __noinline__ int deep(int n, int* to) { int room[64]; room[n % 64] = n;"
                        " if (n == 0) return to[0]; int below = deep(n - 1, to); return below + room[n % 64]; }\n"
                        "__global__ void down(int* to, int n) { to[1] = deep(n, to); }",
                        "down<<<1, 1, 0, a>>>(d, CHOOSE(400, 1));"),
    "limit_constants": ("__constant__ int table[CHOOSE(16 * 1024 + 1, 16 * 1024)];\n"
                        "__global__ void take(int* to) { to[0] = table[threadIdx.x]; }", "take<<<1, 1, 0, a>>>(d);"),
    "limit_arguments": ("struct Big { int of[CHOOSE(8192, 1000)]; };\n"
                        "__global__ void take(Big x, int* to) { to[0] = x.of[5]; }",
                        "static Big x{}; take<<<1, 1, 0, a>>>(x, d);"),
    "limit_shared": ("__global__ void take(int* to) { __shared__ int room[CHOOSE(12 * 1024 + 1, 12 * 1024)];"
                     " room[threadIdx.x] = 1; to[0] = room[0]; }", "take<<<1, 1, 0, a>>>(d);"),
}  # fmt: skip

_NCCL = (
    "MPI_Init(nullptr, nullptr); int rank; MPI_Comm_rank(MPI_COMM_WORLD, &rank);"
    " OK(cudaSetDevice(rank)); set_up(); ncclUniqueId id; if (rank == 0) OK(ncclGetUniqueId(&id));"
    " MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD); ncclComm_t comm;"
    " OK(ncclCommInitRank(&comm, 2, id, rank));"
)
_IPC = (
    "MPI_Init(nullptr, nullptr); int rank; MPI_Comm_rank(MPI_COMM_WORLD, &rank);"
    " OK(cudaSetDevice(rank)); set_up(); cudaIpcMemHandle_t handle;"
    " if (rank == 0) OK(cudaIpcGetMemHandle(&handle, d));"
    " MPI_Bcast(&handle, sizeof handle, MPI_BYTE, 0, MPI_COMM_WORLD); void* far = nullptr;"
    " if (rank == 1) OK(cudaIpcOpenMemHandle(&far, handle, cudaIpcMemLazyEnablePeerAccess));"
)
_BARRIER = "MPI_Barrier(MPI_COMM_WORLD);"
_PAIRS: dict[str, tuple[str, str]] = {
    "ipc_no_order": ("", f"{_IPC} if (rank == 1) {{ fill<<<1, N, 0, a>>>((int*)far, 4);"
                     f" OK(cudaStreamSynchronize(a)); }} CHOOSE(, {_BARRIER}) if (rank == 0)"
                     f" {{ add<<<1, N, 0, a>>>(d, e); OK(cudaStreamSynchronize(a)); }} {_BARRIER}"),
    "ipc_not_drained": ("", f"{_IPC} if (rank == 1) {{ fill<<<1, N, 0, a>>>((int*)far, 4);"
                        f" CHOOSE(, OK(cudaStreamSynchronize(a))); }} {_BARRIER} if (rank == 0)"
                        f" {{ add<<<1, N, 0, a>>>(d, e); OK(cudaStreamSynchronize(a)); }}"
                        f" OK(cudaDeviceSynchronize()); {_BARRIER}"),
    "ipc_closed": ("", f"{_IPC} if (rank == 1) {{ CHOOSE(OK(cudaIpcCloseMemHandle(far)),);"
                   " fill<<<1, N, 0, a>>>((int*)far, 4); cudaStreamSynchronize(a);"
                   f" CHOOSE(, OK(cudaIpcCloseMemHandle(far))); }} {_BARRIER}"),
    "ipc_freed": ("", f"{_IPC} if (rank == 0) {{ CHOOSE(OK(cudaFree(d)),); }} {_BARRIER} if (rank == 1)"
                  f" {{ fill<<<1, N, 0, a>>>((int*)far, 4); cudaStreamSynchronize(a); }} {_BARRIER}"),
    "ipc_event": ("", f"{_IPC} cudaEvent_t x; cudaIpcEventHandle_t over; if (rank == 1) {{"
                  " OK(cudaEventCreateWithFlags(&x, cudaEventDisableTiming | cudaEventInterprocess));"
                  " fill<<<1, N, 0, a>>>((int*)far, 4); OK(cudaEventRecord(x, a));"
                  " OK(cudaIpcGetEventHandle(&over, x)); }"
                  " MPI_Bcast(&over, sizeof over, MPI_BYTE, 1, MPI_COMM_WORLD); if (rank == 0) {"
                  " OK(cudaIpcOpenEventHandle(&x, over)); CHOOSE(, OK(cudaStreamWaitEvent(a, x, 0)));"
                  f" add<<<1, N, 0, a>>>(d, e); }} OK(cudaDeviceSynchronize()); {_BARRIER}"),
    "premul_scalar_late": ("__global__ void set(float* p) { *p = 2.0f; }",
                           f"{_NCCL} float* s; OK(cudaMalloc(&s, 4)); OK(cudaMemset(s, 0, 4));"
                           " OK(cudaDeviceSynchronize()); ncclRedOp_t op; OK(ncclRedOpCreatePreMulSum(&op, s,"
                           " ncclFloat, ncclScalarDevice, comm)); set<<<1, 1, 0, b>>>(s); CHOOSE(, after(b, a));"
                           " OK(ncclAllReduce(d, e, N, ncclFloat, op, comm, a)); OK(cudaDeviceSynchronize());"
                           " OK(ncclRedOpDestroy(op, comm));"),
    "premul_scalar_after": ("__global__ void set(float* p) { *p = 2.0f; }",
                            f"{_NCCL} float* s; OK(cudaMalloc(&s, 4)); OK(cudaMemset(s, 0, 4));"
                            " OK(cudaDeviceSynchronize()); ncclRedOp_t op; OK(ncclRedOpCreatePreMulSum(&op, s,"
                            " ncclFloat, ncclScalarDevice, comm));"
                            " OK(ncclAllReduce(d, e, N, ncclFloat, op, comm, a)); CHOOSE(, after(a, b));"
                            " set<<<1, 1, 0, b>>>(s); OK(cudaDeviceSynchronize());"
                            " OK(ncclRedOpDestroy(op, comm));"),
    "premul_destroyed": ("", f"{_NCCL} float s = 2.0f; ncclRedOp_t op; OK(ncclRedOpCreatePreMulSum(&op, &s,"
                         " ncclFloat, ncclScalarHostImmediate, comm)); CHOOSE(OK(ncclRedOpDestroy(op, comm)),);"
                         " (void)ncclAllReduce(d, e, N, ncclFloat, op, comm, a); OK(cudaDeviceSynchronize());"
                         " CHOOSE(, OK(ncclRedOpDestroy(op, comm)));"),
    "send_overwritten": ("", f"{_NCCL} if (rank == 0) OK(ncclSend(d, N, ncclInt, 1, comm, a));"
                         " else OK(ncclRecv(d, N, ncclInt, 0, comm, a)); CHOOSE(, after(a, b));"
                         " fill<<<1, N, 0, b>>>(d, 7); OK(cudaDeviceSynchronize());"),
    "collective_freed": ("", f"{_NCCL} int* p; OK(cudaMallocAsync(&p, BYTES, a)); fill<<<1, N, 0, a>>>(p, 1);"
                         " OK(ncclAllReduce(p, e, N, ncclInt, ncclSum, comm, a)); CHOOSE(, after(a, b));"
                         " OK(cudaFreeAsync(p, b)); OK(cudaDeviceSynchronize());"),
    "mpi_from_device": ("", f"{_NCCL} fill<<<1, N, 0, a>>>(d, rank); CHOOSE(, OK(cudaStreamSynchronize(a)));"
                        " MPI_Sendrecv(d, N, MPI_INT, 1 - rank, 0, e, N, MPI_INT, 1 - rank, 0,"
                        " MPI_COMM_WORLD, MPI_STATUS_IGNORE); OK(cudaDeviceSynchronize());"),
}  # fmt: skip


def program(name: str) -> str:
    """Return the program of that name."""
    if name in _PAIRS:
        declarations, body = _PAIRS[name]
        end = "OK(cudaDeviceSynchronize()); MPI_Finalize(); return 0;"
    else:
        declarations, body = _SINGLE[name]
        body, end = f"set_up(); {body}", "OK(cudaDeviceSynchronize()); return 0;"
    body = body.replace("; ", ";\n  ")
    return f"{_HEAD}{declarations}\nint main() {{\n  {body}\n  {end}\n}}\n"


_NOT_HELD = ("limit_recursion",)
"""What docs/security.md says is not held: played with the defect alone."""


def _made(name: str) -> Attack:
    is_open = name in _NOT_HELD
    return made(
        f"queued_{name}", _LIMITS if name.startswith("limit_") else _KIND, whole(program(name)),
        (CHECK,), Expected.OPEN if is_open else Expected.FOUND,
        ranks=2 if name in _PAIRS else 1, defines={"BUG": "1"} if is_open else None,
    )  # fmt: skip


VARIANTS: tuple[Attack, ...] = tuple(_made(name) for name in (*_SINGLE, *_PAIRS))
