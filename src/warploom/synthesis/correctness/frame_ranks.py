"""The program around a candidate that communicates: `frame.py`'s, as one of several ranks.

The harness makes the communicator and the window, once for all cases: no rank waits for another
between two calls but in the candidate. What a window holds before a call is nobody's.
"""

WINDOW_GUARD = 64
"""Bytes behind a window that must stay."""
HEADER = "nccl_device.h"
"""What a candidate finds included in place of math.h, which cuda_runtime.h brings."""
STRUCT = (
    "struct KernelRanks { int rank, ranks, barriers; long long window_bytes; ncclWindow_t window; "
    "ncclDevComm comm; };"
)
"""What a call is told of the other ranks.

`window` is memory of each rank that all reach by `ncclGetLsaPointer`: `window_bytes` from offset 0.
`comm` has `barriers` LSA barriers, from index 0.
"""
EMPTY_BODY = """static __global__ void kernel_empty(ncclDevComm comm, ncclWindow_t window) {
  ncclLsaBarrierSession<ncclCoopCta> barrier(ncclCoopCta(), comm, ncclTeamTagLsa(), blockIdx.x);
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
  *static_cast<char*>(ncclGetLocalPointer(window, 0)) =
      *static_cast<const char*>(ncclGetLsaPointer(window, 1, comm.rank));
}
extern "C" int warploom_forward(void* const* inputs, void* const* outputs, const long long* sizes,
                                const KernelRanks* peers, void* stream_handle) {
  cudaStream_t stream = static_cast<cudaStream_t>(stream_handle);
  void* scratch = nullptr;
  if (cudaMallocAsync(&scratch, 16, stream) != cudaSuccess) return 1;
  cudaFreeAsync(scratch, stream);
  kernel_empty<<<1, 32, 0, stream>>>(peers->comm, peers->window);
  return inputs == nullptr || outputs == nullptr || sizes == nullptr;
}
"""
"""What stands in the region of the trusted program."""

_INCLUDES = """
#include <mpi.h>
"""
_STATE = """
const int kBarriers = 32;

// What this rank shares with the others, made once.
struct HarnessRanks {
  KernelRanks given;
  ncclComm_t comm;
  char* window;
};

HarnessRanks harness_ranks;

"""
_JOIN = r"""
void harness_join(int* argc, char*** argv) {
  KernelRanks& given = harness_ranks.given;
  harness_need(MPI_Init(argc, argv) == MPI_SUCCESS, "no MPI");
  MPI_Comm_rank(MPI_COMM_WORLD, &given.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &given.ranks);
  int devices = 0;
  harness_need(cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0, "no device");
  cudaSetDevice(given.rank % devices);
  ncclUniqueId id;
  if (given.rank == 0) harness_need(ncclGetUniqueId(&id) == ncclSuccess, "no id");
  MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
  harness_need(ncclCommInitRank(&harness_ranks.comm, given.ranks, id, given.rank) == ncclSuccess,
               "no communicator");
}

// Makes the window, of as many bytes on each rank.
void harness_open(long long bytes) {
  KernelRanks& given = harness_ranks.given;
  const size_t size = (static_cast<size_t>(bytes) + 4095) / 4096 * 4096;
  harness_need(ncclMemAlloc(reinterpret_cast<void**>(&harness_ranks.window), size) == ncclSuccess,
               "no memory");
  harness_need(ncclCommWindowRegister(harness_ranks.comm, harness_ranks.window, size,
                                      &given.window, NCCL_WIN_COLL_SYMMETRIC) == ncclSuccess,
               "no window");
  ncclDevCommRequirements needs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
  needs.lsaBarrierCount = kBarriers;
  given.barriers = kBarriers;
  harness_need(ncclDevCommCreate(harness_ranks.comm, &needs, &given.comm) == ncclSuccess,
               "no device communicator");
}

void harness_leave() {
  MPI_Barrier(MPI_COMM_WORLD);
  ncclDevCommDestroy(harness_ranks.comm, &harness_ranks.given.comm);
  ncclCommWindowDeregister(harness_ranks.comm, harness_ranks.given.window);
  ncclMemFree(harness_ranks.window);
  ncclCommDestroy(harness_ranks.comm);
  MPI_Finalize();
}
"""
_FILL = """
  const long long window_bytes = harness_number(file);
  char* window_image = static_cast<char*>(std::malloc(window_bytes + kWindowGuard));
  harness_need(window_image != nullptr &&
                   std::fread(window_image, 1, window_bytes + kWindowGuard, file) ==
                       static_cast<size_t>(window_bytes + kWindowGuard),
               "the cases end too early");
  // Until a rank calls, its window is its own: words that nobody can guess.
  cudaMemcpyAsync(harness_ranks.window, window_image, window_bytes + kWindowGuard,
                  cudaMemcpyHostToDevice, stream);
  cudaStreamSynchronize(stream);
  harness_ranks.given.window_bytes = window_bytes;
  KernelRanks given_ranks;
  std::memcpy(&given_ranks, &harness_ranks.given, sizeof given_ranks);
"""
_READ_GUARD = """
  if (std::memcmp(&given_ranks, &harness_ranks.given, sizeof given_ranks) != 0) return 8;
  if (cudaMemcpy(window_image, harness_ranks.window + window_bytes, kWindowGuard,
                 cudaMemcpyDeviceToHost) != cudaSuccess)
    return 6;
  std::free(window_image);
  harness_release(all, count, flush > 0);
"""
_FORWARD = "const long long* sizes,\n                                void* stream_handle);"
_CHANGES = (
    ("cudaDeviceGetDefaultMemPool(&pool, 0);",
     "int device = 0;\n  cudaGetDevice(&device);\n  cudaDeviceGetDefaultMemPool(&pool, device);"),
    ("#include <cstring>\n", f"#include <cstring>\n{_INCLUDES}"),
    (_FORWARD, _FORWARD.replace("void* stream", "const KernelRanks* ranks, void* stream")),
    ("const int kMostSizes = 64;\n",
     f"const int kMostSizes = 64;\nconst int kWindowGuard = {WINDOW_GUARD};\n{_STATE}"),
    ("}  // namespace\n\nint main() {\n", f"{_JOIN}\n}}  // namespace\n\n"
     "int main(int argc, char** argv) {\n  harness_join(&argc, &argv);\n"),
    ('  std::FILE* file = std::fopen("cases.bin", "rb");\n',
     '  char name[32];\n'
     '  std::snprintf(name, sizeof name, "cases-%d.bin", harness_ranks.given.rank);\n'
     '  std::FILE* file = std::fopen(name, "rb");\n'),
    ("  const long long count = harness_number(file);\n  double",
     "  const long long count = harness_number(file);\n"
     "  harness_open(harness_number(file));\n  double"),
    ("  cudaEvent_t begin, end, idle;\n", f"{_FILL}  cudaEvent_t begin, end, idle;\n"),
    ("given_sizes,\n                                      stream);",
     "given_sizes,\n                                      &given_ranks, stream);"),
    ("  harness_release(all, count, flush > 0);\n  cudaEventDestroy",
     f"{_READ_GUARD}  cudaEventDestroy"),
    ("  cudaStreamDestroy(stream);\n  return 0;\n}\n",
     "  cudaStreamDestroy(stream);\n  harness_leave();\n  return 0;\n}\n"),
)  # fmt: skip


def of_ranks(main: str) -> str:
    """Return the program's text behind the region, for several ranks.

    Raises:
        ValueError: it is not the text that the changes are made for.
    """
    for old, new in _CHANGES:
        if main.count(old) != 1:
            raise ValueError(f"the frame must hold once: {old!r}")
        main = main.replace(old, new)
    return main
