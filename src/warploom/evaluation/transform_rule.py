"""What holds for a transform: its ranks exchange data from the device, and no longer by the host.

Equal results do not show that: a candidate could compute everything on every rank, or move the data
through the host. So level 0 looks at the text, and level 2 at the bytes that the runtime counted.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from warploom.core.records import Api, Finding, Severity
from warploom.emulator import EmulatorRun
from warploom.evaluation.legality.check import refusals
from warploom.evaluation.legality.expanded_rules import Given
from warploom.evaluation.legality.refusals import words
from warploom.evaluation.legality.tokens import scan
from warploom.evaluation.runs.emulated import ended
from warploom.source import AnalysisReport
from warploom.source.regions import END, START, Program, strip_markers

LEAST_SHARE = 1 / 16
"""Bytes that kernels must move, as a share of what the host's calls delivered: a candidate may send
less than padded host buffers held, and none needs to send next to nothing."""

_SLACK = 1024  # bytes for each rank: addresses, handles and counts of set-up
_TABLE = 128  # bytes for each call that was replaced: where its messages lie, told to the kernel

_DEVICE_NAMES = {
    Api.GIN: words("ncclGin ncclGin_C"),
    Api.LSA: words(
        "ncclGetLsaPointer ncclGetPeerPointer ncclGetLsaMultimemPointer ncclGetMultimemPointer "
        "lsaPtr peerPtr lsaMultimemPtr"
    ),
}
_HOST_MOVES = words(
    "ncclPutSignal ncclSignal ncclWaitSignal cudaMemcpyPeer cudaMemcpyPeerAsync cudaMemcpy3DPeer "
    "cudaMemcpy3DPeerAsync cudaDeviceEnablePeerAccess cudaIpcGetMemHandle cudaIpcOpenMemHandle "
    "cuMemcpyPeer cuMemcpyPeerAsync"
)
_HEADERS = words(  # none of them touches files or processes
    """
    <nccl_device.h> <nccl.h> <cuda_runtime.h> <cuda_runtime_api.h> <mpi.h> <algorithm> <array>
    <atomic> <bit> <bitset> <cassert> <cctype> <cfloat> <climits> <cmath> <complex>
    <condition_variable> <cstddef> <cstdint> <cstdio> <cstdlib> <cstring> <deque> <functional>
    <initializer_list> <iomanip> <iostream> <iterator> <limits> <list> <map> <memory> <mutex>
    <new> <numeric> <optional> <ostream> <queue> <random> <set> <sstream> <stack> <stdexcept>
    <string> <string_view> <thread> <tuple> <type_traits> <unordered_map> <unordered_set>
    <utility> <variant> <vector> <assert.h> <float.h> <limits.h> <math.h> <stdbool.h> <stddef.h>
    <stdint.h> <stdio.h> <stdlib.h> <string.h> <cooperative_groups.h>
    <cooperative_groups/reduce.h> <cuda_bf16.h> <cuda_fp16.h> <cuda/atomic> <cuda/barrier>
    <cuda/std/atomic> <cuda/std/functional> <cuda/functional> <cublas_v2.h>
    <curand_kernel.h> <cub/cub.cuh>
    <cub/block/block_reduce.cuh> <cub/block/block_scan.cuh> <cub/block/block_load.cuh>
    <cub/block/block_store.cuh> <cub/block/block_radix_sort.cuh> <cub/warp/warp_reduce.cuh>
    <cub/warp/warp_scan.cuh> <cub/device/device_reduce.cuh> <cub/device/device_scan.cuh>
    <cub/device/device_select.cuh> <cub/device/device_radix_sort.cuh> <thrust/copy.h>
    <thrust/device_ptr.h> <thrust/device_vector.h> <thrust/execution_policy.h> <thrust/fill.h>
    <thrust/functional.h> <thrust/host_vector.h> <thrust/reduce.h> <thrust/scan.h>
    <thrust/sequence.h> <thrust/sort.h> <thrust/transform.h> <thrust/transform_reduce.h>
    <thrust/iterator/counting_iterator.h>
    """
)


@dataclass(frozen=True, slots=True)
class TransformRule:
    """What is asked of a candidate that rewrites a whole host-driven program.

    `api` is how its ranks must exchange data; None where the host's calls may stay (stage A).
    `untrusted` says that nobody vouches for its text: all of it is then judged as a mutable
    region is, and only what the trusted program has itself is allowed beyond. `check` is the text
    whose own check the candidate must have: the trusted program's with launch shapes of which the
    caller knows that they do the same work; "": the trusted program's as it is.
    """

    api: Api | None
    untrusted: bool = False
    check: str = ""


@dataclass(frozen=True, slots=True)
class Traffic:
    """How data went from rank to rank in one run, in bytes unless said otherwise.

    `put` and `peer` count what kernels moved, by puts and gets, and by loads and stores in another
    rank's memory. `host_calls` counts collectives, sends and receives that the host made; `host` is
    what ranks got by these from others, at least. `copied` went between devices by copies that the
    host asked for, `staged` between host and device, `mpi` into the program's buffers by MPI.
    """

    put: int = 0
    peer: int = 0
    host_calls: int = 0
    host: int = 0
    copied: int = 0
    staged: int = 0
    mpi: int = 0

    @classmethod
    def of(cls, stats: Mapping[str, float]) -> "Traffic":
        """Return the traffic in the counters of a run's report."""
        names = ("put_bytes", "peer_bytes", "host_calls", "host_bytes", "copied_bytes")
        values = [int(stats.get(name, 0)) for name in (*names, "staged_bytes", "mpi_bytes")]
        return cls(*values)


def text_findings(
    candidate: Program,
    trusted: Program,
    rule: TransformRule,
    name: str,
    given: Given | None = None,
) -> list[Finding]:
    """Return what the text of an untrusted candidate holds that no transform needs (level 0)."""
    if not rule.untrusted:
        return []
    found = [
        Finding(item.kind, item.severity, item.message, item.hint, name, max(1, item.line - 1))
        for item in refusals(
            _as_region(candidate),
            _as_region(trusted, _HEADERS),
            free=True,
            given=given,
        )
    ]
    if rule.api is None:
        return found
    known = {token.text for token in scan(trusted.text).tokens}
    tokens = scan(candidate.text).tokens
    for token in tokens:
        if token.kind == "name" and token.text in _HOST_MOVES - known:
            message = f"{token.text} moves data from rank to rank by the host"
            hint = "let a kernel do it, through the device API"
            found.append(Finding("host_communication", Severity.ERROR, message, hint, name,
                                 token.line))  # fmt: skip
    if not _DEVICE_NAMES[rule.api] & {token.text for token in tokens}:
        found.append(_silent(rule.api, name, "no device code of it mentions it"))
    return found


def call_findings(
    reports: Sequence[AnalysisReport], rule: TransformRule, name: str
) -> list[Finding]:
    """Return the host calls that a transform should have replaced (level 0)."""
    if rule.api is None:
        return []
    return [
        Finding(
            kind="host_collective",
            severity=Severity.ERROR,
            message=f"{item.name} is still called by the host",
            hint=f"replace it by a kernel that communicates by {str(rule.api).upper()}",
            file=item.file or name,
            line=item.line,
        )
        for report in reports
        for item in report.collectives
    ]


def traffic_findings(
    outcomes: Sequence[EmulatorRun], reference: Mapping[int, Traffic], rule: TransformRule
) -> list[tuple[Finding, ...]]:
    """Return what the counters say against each run that ended by itself (level 2)."""
    api = rule.api
    if api is None:
        return []
    return [
        tuple(_against(Traffic.of(run.stats), reference[run.options.run.seed], api, run))
        for run in outcomes
        if ended(run) and run.state == "finished"
    ]


def _against(got: Traffic, before: Traffic, api: Api, run: EmulatorRun) -> Iterator[Finding]:
    spec = run.options.run
    slack = max(_SLACK * run.options.ranks, before.host // 4) + _TABLE * before.host_calls

    def finding(kind: str, message: str, hint: str) -> Finding:
        return Finding(kind, Severity.ERROR, message, hint, seed=spec.seed, timing=spec.timing)

    if got.host_calls:
        yield finding(
            "host_collective",
            f"the host made {got.host_calls} NCCL calls that move data",
            f"every one is to be replaced by kernels that communicate by {api.upper()}",
        )
    moved = got.put + got.peer
    ours = got.put if api is Api.GIN else got.peer
    if before.host and (not ours or moved < before.host * LEAST_SHARE):
        yield finding(
            "no_device_communication",
            f"kernels moved {moved} bytes between ranks ({got.put} by GIN, {got.peer} by loads "
            f"and stores), but the host's calls delivered {before.host} before",
            f"what the host's calls moved must be moved by kernels, by {api.upper()}",
        )
    for what, now, then in (
        ("copies between devices", got.copied, before.copied),
        ("copies between host and device", got.staged, 2 * before.staged),
        ("MPI", got.mpi, before.mpi),
    ):
        if now > then + (slack if what != "copies between devices" else 0):
            yield finding(
                "host_communication",
                f"the host moved {now} bytes by {what}, and {then} would be expected",
                "data that ranks exchange must not go through the host",
            )


def _silent(api: Api, name: str, why: str) -> Finding:
    return Finding(
        kind="no_device_communication",
        severity=Severity.ERROR,
        message=f"the program does not communicate by {api.upper()} from the device: {why}",
        hint=f"kernels must use {sorted(_DEVICE_NAMES[api])[0]}",
        file=name,
    )


def _as_region(program: Program, headers: Collection[str] = ()) -> Program:
    """Return the whole text as one region, after a frame that includes `headers`."""
    text = strip_markers(program)
    includes = "".join(f"#include {header}\n" for header in sorted(headers))
    closing = "" if text.endswith("\n") else "\n"
    return Program(f"{includes}// {START} program\n{text}{closing}// {END}\n", program.path)
