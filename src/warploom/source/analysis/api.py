"""What the CUDA, NCCL and MPI calls mean: names, argument positions, effects.

Positions and signatures are facts from `nccl.h` (2.28.9 to 2.32.3), `cuda_runtime_api.h` and the
MPI standard.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class CollectiveSignature:
    """Argument positions of one NCCL data call, from 0; None where the call has no such thing."""

    send: int | None = None
    recv: int | None = None
    count: int | None = None
    dtype: int | None = None
    op: int | None = None
    root: int | None = None
    peer: int | None = None
    comm: int | None = None
    stream: int | None = None
    window: int | None = None
    offset: int | None = None
    signal: int | None = None
    context: int | None = None


_S = CollectiveSignature
_REDUCE = _S(send=0, recv=1, count=2, dtype=3, op=4, comm=5, stream=6)
_SHARE = _S(send=0, recv=1, count=2, dtype=3, comm=4, stream=5)
_ROOTED = _S(send=0, recv=1, count=2, dtype=3, root=4, comm=5, stream=6)

_PLAIN: dict[str, CollectiveSignature] = {
    "ncclAllReduce": _REDUCE,
    "ncclReduceScatter": _REDUCE,
    "ncclReduce": _S(send=0, recv=1, count=2, dtype=3, op=4, root=5, comm=6, stream=7),
    "ncclAllGather": _SHARE,
    "ncclAlltoAll": _SHARE,
    "ncclBroadcast": _ROOTED,
    "ncclGather": _ROOTED,
    "ncclScatter": _ROOTED,
    "ncclBcast": _S(send=0, recv=0, count=1, dtype=2, root=3, comm=4, stream=5),
    "ncclSend": _S(send=0, count=1, dtype=2, peer=3, comm=4, stream=5),
    "ncclRecv": _S(recv=0, count=1, dtype=2, peer=3, comm=4, stream=5),
    "ncclPutSignal": _S(
        send=0, count=1, dtype=2, peer=3, window=4, offset=5, signal=6, context=7, comm=9, stream=10
    ),
    "ncclSignal": _S(peer=0, signal=1, context=2, comm=4, stream=5),
    "ncclWaitSignal": _S(count=0, comm=2, stream=3),
}
_WITH_CONFIG = (
    "AllReduce", "Broadcast", "Reduce", "AllGather", "ReduceScatter", "AlltoAll", "Gather",
    "Scatter",
)  # fmt: skip

COLLECTIVES: Mapping[str, CollectiveSignature] = MappingProxyType(
    _PLAIN
    | {f"nccl{name}Config": _PLAIN[f"nccl{name}"] for name in _WITH_CONFIG}
    | {f"p{name}": signature for name, signature in _PLAIN.items()}
)
"""Every NCCL data call: the collectives, Send/Recv, the one-sided calls, their variants."""

GROUP_START, GROUP_END = "ncclGroupStart", "ncclGroupEnd"
GROUP_CALLS = frozenset({GROUP_START, GROUP_END, "ncclGroupSimulateEnd"})


@dataclass(frozen=True, slots=True)
class AllocationSignature:
    """Positions of the pointer that is set and of the sizes; `kind` says where memory lives.

    `kind` is `device`, `pinned` (host), `managed`, `async` (stream ordered), `pitched`, `symmetric`
    (`ncclMemAlloc`: can become a window) or `mapped` (a device view of host memory).
    """

    kind: str
    pointer: int = 0
    sizes: tuple[int, ...] = (1,)


ALLOCATIONS: Mapping[str, AllocationSignature] = MappingProxyType(
    {
        "cudaMalloc": AllocationSignature("device"),
        "cudaMallocManaged": AllocationSignature("managed"),
        "cudaMallocHost": AllocationSignature("pinned"),
        "cudaHostAlloc": AllocationSignature("pinned"),
        "cudaMallocAsync": AllocationSignature("async"),
        "cudaMallocFromPoolAsync": AllocationSignature("async"),
        "cudaMallocPitch": AllocationSignature("pitched", sizes=(2, 3)),
        "cudaMalloc3D": AllocationSignature("pitched"),
        "cudaMallocArray": AllocationSignature("array", sizes=(2, 3)),
        "cudaMalloc3DArray": AllocationSignature("array", sizes=(2,)),
        "cudaHostGetDevicePointer": AllocationSignature("mapped", sizes=()),
        "cuMemAlloc": AllocationSignature("device"),
        "ncclMemAlloc": AllocationSignature("symmetric"),
    }
)

FREES = frozenset(
    {
        "cudaFree", "cudaFreeHost", "cudaFreeAsync", "cudaFreeArray", "cuMemFree", "ncclMemFree",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class CopySignature:
    """Argument positions of a copy or fill; `direction` where the name alone fixes it.

    `sizes` are multiplied. `value` is the fill value of a memset, `offset` of a symbol copy.
    """

    dst: int
    src: int | None
    sizes: tuple[int, ...]
    kind: int | None = None
    stream: int | None = None
    value: int | None = None
    direction: str = ""


COPIES: Mapping[str, CopySignature] = MappingProxyType(
    {
        "cudaMemcpy": CopySignature(0, 1, (2,), kind=3),
        "cudaMemcpyAsync": CopySignature(0, 1, (2,), kind=3, stream=4),
        "cudaMemcpy2D": CopySignature(0, 2, (4, 5), kind=6),
        "cudaMemcpy2DAsync": CopySignature(0, 2, (4, 5), kind=6, stream=7),
        "cudaMemcpyPeer": CopySignature(0, 2, (4,), direction="peer"),
        "cudaMemcpyPeerAsync": CopySignature(0, 2, (4,), stream=5, direction="peer"),
        "cudaMemcpyToSymbol": CopySignature(0, 1, (2,), kind=4),
        "cudaMemcpyToSymbolAsync": CopySignature(0, 1, (2,), kind=4, stream=5),
        "cudaMemcpyFromSymbol": CopySignature(0, 1, (2,), kind=4),
        "cudaMemcpyFromSymbolAsync": CopySignature(0, 1, (2,), kind=4, stream=5),
        "cuMemcpyHtoD": CopySignature(0, 1, (2,), direction="host_to_device"),
        "cuMemcpyDtoH": CopySignature(0, 1, (2,), direction="device_to_host"),
        "cudaMemset": CopySignature(0, None, (2,), value=1, direction="fill"),
        "cudaMemsetAsync": CopySignature(0, None, (2,), value=1, stream=3, direction="fill"),
        "cudaMemset2D": CopySignature(0, None, (3, 4), value=2, direction="fill"),
        "cudaMemset2DAsync": CopySignature(0, None, (3, 4), value=2, stream=5, direction="fill"),
    }
)
COPY_DIRECTIONS: Mapping[str, str] = MappingProxyType(
    {
        "cudaMemcpyHostToDevice": "host_to_device",
        "cudaMemcpyDeviceToHost": "device_to_host",
        "cudaMemcpyDeviceToDevice": "device_to_device",
        "cudaMemcpyHostToHost": "host_to_host",
        "cudaMemcpyDefault": "default",
    }
)


@dataclass(frozen=True, slots=True)
class LaunchSignature:
    """Argument positions of a launch by function call."""

    kernel: int
    grid: int | None = None
    block: int | None = None
    arguments: int | None = None
    shared: int | None = None
    stream: int | None = None
    config: int | None = None
    variadic: bool = False
    cooperative: bool = False


LAUNCHES: Mapping[str, LaunchSignature] = MappingProxyType(
    {
        "cudaLaunchKernel": LaunchSignature(0, 1, 2, 3, 4, 5),
        "cudaLaunchCooperativeKernel": LaunchSignature(0, 1, 2, 3, 4, 5, cooperative=True),
        "cudaLaunchKernelEx": LaunchSignature(1, config=0, arguments=2, variadic=True),
        "cudaLaunchKernelExC": LaunchSignature(1, config=0, arguments=2),
    }
)

STREAM_CREATES = frozenset(
    {"cudaStreamCreate", "cudaStreamCreateWithFlags", "cudaStreamCreateWithPriority"}
)
STREAM_DESTROYS = frozenset({"cudaStreamDestroy"})
EVENT_CREATES = frozenset({"cudaEventCreate", "cudaEventCreateWithFlags"})
EVENT_DESTROYS = frozenset({"cudaEventDestroy"})
EVENT_RECORDS = frozenset({"cudaEventRecord", "cudaEventRecordWithFlags"})
EVENT_ELAPSED = "cudaEventElapsedTime"

SYNCS: Mapping[str, str] = MappingProxyType(
    {
        "cudaDeviceSynchronize": "device",
        "cudaThreadSynchronize": "device",
        "cuCtxSynchronize": "device",
        "cudaStreamSynchronize": "stream",
        "cudaStreamQuery": "stream_query",
        "cudaStreamWaitEvent": "stream_wait_event",
        "cudaEventSynchronize": "event",
        "cudaEventQuery": "event_query",
        "MPI_Barrier": "mpi",
        "MPI_Wait": "mpi",
        "MPI_Waitall": "mpi",
        "pthread_barrier_wait": "threads",
        "pthread_join": "threads",
    }
)
"""Synchronization point by call name, and who waits."""

MPI_RECEIVES: Mapping[str, int] = MappingProxyType(
    {
        "MPI_Recv": 0,
        "MPI_Irecv": 0,
        "MPI_Recv_init": 0,
        "MPI_Sendrecv_replace": 0,
        "MPI_Bcast": 0,
        "MPI_Ibcast": 0,
        "MPI_Reduce": 1,
        "MPI_Allreduce": 1,
        "MPI_Iallreduce": 1,
        "MPI_Ireduce": 1,
        "MPI_Reduce_local": 1,
        "MPI_Reduce_scatter": 1,
        "MPI_Reduce_scatter_block": 1,
        "MPI_Scan": 1,
        "MPI_Exscan": 1,
        "MPI_Gather": 3,
        "MPI_Gatherv": 3,
        "MPI_Allgather": 3,
        "MPI_Iallgather": 3,
        "MPI_Iallgatherv": 3,
        "MPI_Allgatherv": 3,
        "MPI_Scatter": 3,
        "MPI_Alltoall": 3,
        "MPI_Scatterv": 4,
        "MPI_Alltoallv": 4,
        "MPI_Sendrecv": 5,
    }
)
"""Where MPI puts what it receives, by call name: the argument."""

HOST_WAITS_DEVICE = frozenset({"device", "stream", "event", "stream_query", "event_query"})

COMM_CREATES: Mapping[str, Mapping[str, int]] = MappingProxyType(
    {
        "ncclCommInitRank": {"comm": 0, "nranks": 1, "id": 2, "rank": 3},
        "ncclCommInitRankConfig": {"comm": 0, "nranks": 1, "id": 2, "rank": 3},
        "ncclCommInitRankScalable": {"comm": 0, "nranks": 1, "rank": 2, "id": 4},
        "ncclCommInitAll": {"comm": 0, "nranks": 1},
        "ncclCommSplit": {"comm": 3, "parent": 0},
        "ncclCommShrink": {"comm": 3, "parent": 0},
        "ncclCommGrow": {"comm": 4, "parent": 0, "nranks": 1, "id": 2, "rank": 3},
    }
)
COMM_DESTROYS = frozenset({"ncclCommDestroy", "ncclCommAbort", "ncclCommFinalize"})
WINDOW_REGISTER = "ncclCommWindowRegister"
DEVCOMM_CREATE = "ncclDevCommCreate"
UNIQUE_ID = "ncclGetUniqueId"

DEVICE_COMM_NAMES = frozenset(
    {
        "ncclGin", "ncclGin_C", "ncclLsaBarrierSession", "ncclGinBarrierSession",
        "ncclBarrierSession", "ncclGetLsaPointer", "ncclGetPeerPointer", "ncclGetLocalPointer",
        "ncclGetLsaMultimemPointer", "ncclGetMultimemPointer", "ncclLLA2ASession", "ncclSymPtr",
        "ncclCftBarrierSession",
    }
)  # fmt: skip
"""Names whose use in a kernel means that the device itself communicates."""

THREAD_STARTS: Mapping[str, tuple[int, int]] = MappingProxyType(
    {"pthread_create": (2, 3), "thread": (0, 1), "async": (0, 1), "jthread": (0, 1)}
)
"""Call that starts a host thread -> positions of the function and of its first argument."""

STATUS_PREFIXES = ("cuda", "nccl", "cu")
NO_STATUS = frozenset(
    {
        "cudaGetErrorString", "cudaGetErrorName", "ncclGetErrorString", "ncclGetLastError",
        "cudaGetLastError", "cudaPeekAtLastError", "cudaCreateChannelDesc", "ncclGroupStart",
    }
)  # fmt: skip
"""Calls of the CUDA and NCCL name spaces that report no status worth checking."""

TEARDOWN = re.compile(r"(?:cuda|nccl)\w*(?:Free|Destroy|Deregister|Unregister|Reset)\w*")
"""Calls that give something back: results that were read before cannot depend on their status."""
