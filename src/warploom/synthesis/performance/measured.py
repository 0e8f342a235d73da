"""What a GPU says of a kernel: whether it is right there too, and how long it takes.

The candidate runs in a process of its own, confined, around it the program that the emulator runs
too. Its events are read by a library before the CUDA runtime, its results are compared here. It
takes turns with the reference in eager mode and in each of torch.compile's, and with a copy of as
many bytes, in the reference's process: other values and new buffers for each timed call, a GPU that
is busy until the call is queued and a cache that something else has filled, and the outputs of
every timed call compared.
"""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from warploom.core.records import BuildSpec, Finding, Limits, Severity
from warploom.hardware import (
    TOOLS,
    HardwareOptions,
    HardwareRun,
    Setup,
    build_executable,
    find_setup,
    run_hardware,
)
from warploom.synthesis.correctness.cases import CasePlan
from warploom.synthesis.correctness.compare import compare
from warploom.synthesis.correctness.expectations import PreparedCase, request_of
from warploom.synthesis.correctness.frame import program_text
from warploom.synthesis.correctness.running import LaidCase, lay_out, results_of, write_cases
from warploom.synthesis.nvcc_flags import NVCC_FLAGS
from warploom.synthesis.records import KernelSpec, PerformanceReport
from warploom.synthesis.reference.client import COPY, Baseline, ReferenceProcess

FLUSH_BYTES = 256 << 20
"""More than any cache of the second level: it is written before each timed call."""
ROUNDS = 5
_SLACK_MS = 0.2  # between the kernel's end and the host's knowledge of it
_SLACK = 1.2
_IMPOSSIBLE = 0.75  # of the time that copying as many bytes takes; reading alone takes less

Launch = Callable[[Path, str], HardwareRun]
"""Runs a built candidate on the cases of a folder, under a tool of compute-sanitizer or none."""
Turn = Callable[[int], Sequence[Baseline]]
"""Times the reference in all its modes, and copies, in the round of that number."""


def require_gpu() -> Setup:
    """Return what a run on this machine's GPU needs.

    Raises:
        MissingToolError: there is no GPU, or nvcc or NCCL's library is missing.
    """
    return find_setup(1, "single", uses_mpi=False, nccl=None)


def launcher(body: str, setup: Setup, folder: Path, seconds: float) -> Launch:
    """Build a candidate for the GPU, in `folder`; returns what runs it.

    Raises:
        SourceError: nvcc rejects it.
    """
    source = folder / "gpu" / "kernel.cu"
    source.parent.mkdir(exist_ok=True)
    source.write_text(program_text(body), encoding="utf-8", errors="surrogateescape")
    build = build_executable(BuildSpec(source), setup.arch, setup.nccl, None, NVCC_FLAGS)
    limits = Limits(seconds=seconds, memory_mb=8192, output_mb=4)

    def launch(cases: Path, tool: str) -> HardwareRun:
        return run_hardware(build, setup, HardwareOptions((), limits, tool, cases))

    return launch


def judge_on_gpu(
    launch: Launch,
    spec: KernelSpec,
    cases: Sequence[PreparedCase],
    folder: Path,
    tools: Sequence[str] = TOOLS,
) -> list[Finding]:
    """Run a trial on the GPU twice, and under compute-sanitizer; returns what is wrong."""
    laid = _written(spec, cases, folder, flush=0)
    found: list[Finding] = []
    outputs: list[tuple[tuple[bytes, ...], ...]] = []
    right: set[tuple[str, int, bytes]] = set()
    for _ in range(2):
        one = launch(folder, "")
        problem = _problem(one, spec, laid, right)
        if problem:
            return [*found, *one.findings, _wrong(problem)]
        outputs.append(tuple(r.outputs for r in results_of(one, laid) or ()))
    if outputs[0] != outputs[1]:
        found.append(_wrong("two runs give other bits"))
    for tool in tools:
        report = launch(folder, tool).sanitizer
        found += report.findings if report is not None else ()
    return [finding for finding in found if finding.severity is Severity.ERROR]


@dataclass(frozen=True, slots=True)
class Times:
    """Times of calls in milliseconds: their median, and where it lies 19 times of 20."""

    median: float
    low: float
    high: float
    count: int


def times_of(values: Sequence[float]) -> Times:
    """Return the median of times with its confidence interval, by their order alone."""
    ordered = sorted(values)
    reach = int((len(ordered) - 1.96 * math.sqrt(len(ordered))) / 2)
    low = max(reach, 0)
    return Times(
        statistics.median(ordered), ordered[low], ordered[len(ordered) - 1 - low], len(ordered)
    )


@dataclass(frozen=True, slots=True)
class Taken:
    """Runs of a candidate whose calls were timed, and the times of its reference between them."""

    runs: tuple[HardwareRun, ...]
    baselines: Mapping[str, Sequence[float]]


def write_timed(spec: KernelSpec, cases: Sequence[PreparedCase], folder: Path) -> list[LaidCase]:
    """Write the cases of calls that are to be timed."""
    return _written(spec, cases, folder, flush=FLUSH_BYTES)


def take_times(launch: Launch, turn: Turn, folder: Path, rounds: int = ROUNDS) -> Taken:
    """Run a candidate and its reference by turns; judge what came back by `report_of`."""
    runs: list[HardwareRun] = []
    others: dict[str, list[float]] = {}
    for number in range(rounds):
        runs.append(launch(folder, ""))
        if not runs[-1].ok:
            break
        for baseline in turn(number):
            others.setdefault(baseline.mode, []).extend(baseline.milliseconds)
    return Taken(tuple(runs), others)


def report_of(
    taken: Taken, spec: KernelSpec, laid: Sequence[LaidCase], gpu: str
) -> PerformanceReport | Finding:
    """Return what was measured; a finding says why there is no time."""
    own: list[float] = []
    right: set[tuple[str, int, bytes]] = set()
    for one in taken.runs:
        problem = _problem(one, spec, laid, right) or _clock_problem(one, len(laid))
        if problem:
            return _wrong(f"a timed call: {problem}")
        times = [interval.milliseconds for interval in one.intervals[::2]]
        own += times[1:] or times  # the first call of a process loads the kernel
    first = laid[0].case
    moved = bytes_moved(first)
    mine = times_of(own)
    modes = {mode: times_of(values) for mode, values in taken.baselines.items()}
    floor = modes.pop(COPY).median
    best = min(modes, key=lambda mode: modes[mode].median)
    if moved > FLUSH_BYTES and mine.median < _IMPOSSIBLE * floor:
        return _wrong(f"{mine.median:.4f} ms is less than copying {moved} bytes takes")
    symbols = {s.name: v for s, v in zip(spec.symbols, first.sizes, strict=True)}
    return PerformanceReport(
        time_source="measured", machine=gpu, sizes=symbols, time_ms=mine.median, floor_ms=floor,
        baseline_ms=modes[best].median, bytes_moved=moved, kernels=0,
        bottleneck="memory bandwidth" if floor > mine.median / 2 else "latency or arithmetic",
        note=_note(mine, modes, moved / (floor * 1e6)),
    )  # fmt: skip


def measure(
    launch: Launch,
    turn: Turn,
    spec: KernelSpec,
    cases: Sequence[PreparedCase],
    folder: Path,
    gpu: str,
    rounds: int = ROUNDS,
) -> PerformanceReport | Finding:
    """Time a candidate and its reference by turns; a finding says why there is no time."""
    laid = write_timed(spec, cases, folder)
    return report_of(take_times(launch, turn, folder, rounds), spec, laid, gpu)


def bytes_moved(case: PreparedCase) -> int:
    """Return how many bytes a kernel must move: its inputs once, its outputs once."""
    outputs = sum(len(expected.native) for expected in case.outputs)
    return sum(len(data) for data in case.inputs) + outputs


def time_reference(
    reference: ReferenceProcess, spec: KernelSpec, plans: Sequence[CasePlan], moved: int,
    lock: Path | None = None,
) -> tuple[Baseline, ...]:  # fmt: skip
    """Take the reference's times in all modes, and those of copies that move `moved` bytes.

    Each has a call for each plan, all of one plan's sizes. Who uses the GPU meanwhile must hold the
    same `lock`, a file.
    """
    return reference.times({
        **request_of(spec, plans[0]), "kind": "normal", "distinct": False, "subnormals": True,
        "values": [], "seeds": [plan.seed for plan in plans],
        "flush": FLUSH_BYTES, "moved": moved, "lock": str(lock or ""),
    })  # fmt: skip


def _note(mine: Times, modes: dict[str, Times], copy_gbs: float) -> str:
    words = [f"{mode} {t.median * 1e3:.2f} us" for mode, t in sorted(modes.items())]
    return (
        f"{mine.low * 1e3:.2f} to {mine.high * 1e3:.2f} us, 19 times of 20, of {mine.count} calls; "
        f"PyTorch: {', '.join(words)}; copies of as many bytes run at {copy_gbs:.0f} GB/s"
    )


def _written(
    spec: KernelSpec, cases: Sequence[PreparedCase], folder: Path, flush: int
) -> list[LaidCase]:
    types = [tensor.dtype for tensor in spec.inputs]
    laid = [lay_out(case, types, case.plan.seed, flush) for case in cases]
    write_cases(laid, folder)
    return laid


def _problem(
    one: HardwareRun, spec: KernelSpec, laid: Sequence[LaidCase], right: set[tuple[str, int, bytes]]
) -> str:
    """Return what is wrong with a run: how it ended, or a result.

    `right` are outputs that were found right before, by case and place: each bit is the same again.
    """
    if not one.ok:
        return f"it ended as {one.state}, exit code {one.exit_code}"
    results = results_of(one, laid)
    if results is None:
        return "what came back is not what the harness reads back"
    for result in results:
        pairs = zip(result.outputs, result.case.outputs, spec.tolerances, strict=True)
        for at, (got, expected, rule) in enumerate(pairs):
            if (result.case.plan.name, at, got) in right:
                continue
            answer = compare(got, expected, rule)
            if not answer.passed:
                name = spec.outputs[at].name
                return f"case {result.case.plan.name}: {name}: {answer.describe(expected.shape)}"
            right.add((result.case.plan.name, at, got))
        if result.changed_inputs or result.changed_around:
            return f"case {result.case.plan.name}: memory that is not its own was changed"
    return ""


def _clock_problem(one: HardwareRun, count: int) -> str:
    """Return why the clocks of a run are not to be trusted.

    Each call has two times: until the stream's end event, and until the whole device was idle. In
    most calls both must agree.
    """
    times = [interval.milliseconds for interval in one.intervals]
    if len(times) != 2 * count:
        return f"{len(times)} times came back where {2 * count} are taken"
    if any(stream <= 0 for stream in times[::2]):
        return "its stream was done before the call began"
    late = [
        (device - stream * _SLACK - _SLACK_MS, stream, device)
        for stream, device in zip(times[::2], times[1::2], strict=True)
    ]
    over, stream, device = statistics.median_low(late)  # a busy host is late now and then
    if over > 0:
        return f"its stream was done after {stream:.4f} ms, the device after {device:.4f} ms"
    return "" if sum(times[1::2]) <= one.seconds * 1e3 else "the wall clock shows less time"


def _wrong(message: str) -> Finding:
    return Finding("wrong_on_gpu", Severity.ERROR, f"on the GPU: {message}")
