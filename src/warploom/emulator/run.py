"""Runs a build under the runtime and turns its report into records."""

import os
import secrets
import signal
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Literal

from warploom.core.errors import BadInputError
from warploom.core.process import ProcessResult, Stop
from warploom.core.records import Finding, Limits, RunSpec, Severity, Timing, Verdict
from warploom.emulator.build import EmulatorBuild, version_code
from warploom.emulator.locate import locate_finding, stacks_of
from warploom.emulator.report import Report, parse_report
from warploom.emulator.runtime_build import jobs, noted_library_folder
from warploom.emulator.symbolize import Symbolizer
from warploom.emulator.timeline import Timeline, timeline_of
from warploom.emulator.topology import Topology, check_fit
from warploom.toolchain.sandbox import SandboxedResult, SandboxKind, run_sandboxed

MAX_RANKS = 512
MAX_TRACE = 1 << 20
FAILURE_KINDS = frozenset(
    ("timeout", "output_limit", "memory_limit", "process_limit", "crash", "exit_code")
)
"""Kinds of finding that mean that the program failed, not that it communicates wrongly."""

_CONFIG, _REPORT, _READBACKS = 3, 4, 5
State = Literal[
    "finished", "deadlock", "stopped", "crashed", "timeout", "output_limit", "memory_limit",
    "process_limit", "cancelled",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class RunOptions:
    """One emulated job.

    `lsa_size` is how many consecutive ranks reach each other's memory (None: all). `processes`:
    one process per rank, as under mpirun, a single one that drives `ranks` devices, or a number of
    them that share the devices out evenly. `race`
    switches the happens-before check, `readbacks` the recording of what the program reads back,
    `sync_launches` synchronises after every launch. `environment` is all that the program sees of
    an environment; `device_memory_mb` is the memory of one device. `trace` is how many events of
    each rank are kept for the findings to show (0: none); it changes nothing else. Files of
    `folder` can be read as if the program had been started there. With a `machine` the run models
    time on it: its schedule follows that time instead of the timing.
    """

    run: RunSpec = field(default_factory=lambda: RunSpec(0, Timing.EAGER))
    ranks: int = 4
    lsa_size: int | None = None
    args: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    race: bool = True
    readbacks: bool = True
    sync_launches: bool = False
    processes: Literal["per_rank", "single"] | int = "per_rank"
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    device_memory_mb: int = 4096
    max_findings: int = 100
    trace: int = 0
    folder: Path | None = None
    machine: Topology | None = None

    @property
    def process_count(self) -> int:
        """How many processes the job has; each prints, exits and has its own MPI rank."""
        if isinstance(self.processes, int):
            return self.processes
        return self.ranks if self.processes == "per_rank" else 1


@dataclass(frozen=True, slots=True)
class Readback:
    """One device-to-host copy of a rank, in the order `seq`; `device_offset` says where from."""

    rank: int
    seq: int
    data: bytes
    device_offset: int
    file: str | None
    line: int | None


@dataclass(frozen=True, slots=True)
class UnsupportedUse:
    """An API or argument that the run met and that is not emulated."""

    name: str
    message: str
    file: str | None
    line: int | None


@dataclass(frozen=True, slots=True)
class EmulatorRun:
    """What became of one run.

    `state` is the runtime's word (finished, deadlock, stopped) or why there is none. `exit_codes`
    holds the ranks that ended. `sandbox` says how the program was confined.
    """

    state: State
    options: RunOptions
    findings: tuple[Finding, ...]
    exit_codes: Mapping[int, int]
    stdout: str
    stderr: str
    readbacks: tuple[Readback, ...]
    unsupported: tuple[UnsupportedUse, ...]
    stats: Mapping[str, float]
    seconds: float
    memory_mb: int
    sandbox: SandboxKind
    timeline: Timeline | None = None

    @property
    def verdict(self) -> Verdict:
        """The most telling of: unsupported, deadlock, defect, failed, ok."""
        if self.unsupported:
            return Verdict.UNSUPPORTED
        if self.state == "deadlock":
            return Verdict.DEADLOCK
        errors = [f.kind for f in self.findings if f.severity is Severity.ERROR]
        if any(kind not in FAILURE_KINDS for kind in errors):
            return Verdict.DEFECT
        if errors or self.state != "finished" or any(self.exit_codes.values()):
            return Verdict.FAILED
        return Verdict.OK


def check_options(options: RunOptions) -> None:
    """Raise BadInputError unless every option is in its range."""
    if not 1 <= options.ranks <= MAX_RANKS:
        raise BadInputError(f"ranks must be 1 to {MAX_RANKS}, got {options.ranks}")
    if options.lsa_size is not None and not 1 <= options.lsa_size <= options.ranks:
        raise BadInputError(
            f"the LSA team's size must be 1 to the number of ranks ({options.ranks}), "
            f"got {options.lsa_size}"
        )
    count = options.process_count
    if not 1 <= count <= options.ranks or options.ranks % count:
        raise BadInputError(
            f"the number of processes must divide the number of devices ({options.ranks}), "
            f"got {count}",
            hint="--ranks counts devices: 4 processes with 2 devices each are --ranks 8 "
            "--processes 4",
        )
    if not 0 <= options.run.seed < 1 << 63:
        raise BadInputError(f"a seed must be 0 or more and below 2^63, got {options.run.seed}")
    if options.machine is not None:
        check_fit(options.machine, options.ranks, options.lsa_size)
    if not 0 <= options.trace <= MAX_TRACE:
        raise BadInputError(f"trace must be 0 to {MAX_TRACE} events, got {options.trace}")
    if options.limits.seconds <= 0 or options.limits.memory_mb <= 0:
        raise BadInputError(f"limits must be positive, got {options.limits}")
    if any("\0" in word for word in options.args):
        raise BadInputError("an argument of the program must not hold a zero byte")


def _configuration(build: EmulatorBuild, options: RunOptions, nonce: str) -> bytes:
    values = {
        "nonce": nonce,
        "ranks": options.ranks,
        "lsa_size": options.lsa_size or options.ranks,
        "processes": 0 if options.processes == "per_rank" else options.process_count,
        "seed": options.run.seed,
        "timing": options.run.timing,
        "race": int(options.race),
        "readbacks": int(options.readbacks),
        "nccl_version": version_code(build.spec.nccl),
        "device_memory_mb": options.device_memory_mb,
        "max_findings": options.max_findings,
        "sync_launches": int(options.sync_launches),
        "trace": options.trace,
        "time_limit": f"{options.limits.seconds:g}",
    }
    if options.machine is not None:
        values["timed"] = 1
        values |= {f"machine.{name}": f"{v!r}" for name, v in options.machine.values.items()}
    return "".join(f"{key}={value}\n" for key, value in values.items()).encode()


def _configuration_pipe(text: bytes) -> int:
    """Return a descriptor to read `text` from, once: the program cannot read it again."""
    reader, writer = os.pipe()
    try:
        os.write(writer, text)
    finally:
        os.close(writer)
    return reader


def _surroundings(build: EmulatorBuild, options: RunOptions) -> tuple[list[Path], dict[str, str]]:
    """Return what the run may read although it may lie in the user's home, and its environment."""
    readable = [build.runtime.parent, build.library.parent]
    own = noted_library_folder(build.runtime)
    if own is None:
        return readable, dict(options.environment)
    return [*readable, own], {"LD_LIBRARY_PATH": str(own), **options.environment}


def _failure(process: ProcessResult, options: RunOptions, report: Report) -> tuple[State, str]:
    """Return the state of a run that has no believable end, and the words for it."""
    limits = options.limits
    if process.stopped is Stop.TIMEOUT:
        return "timeout", f"the program must end within {limits.seconds:g} s, but did not"
    if process.stopped is Stop.OUTPUT:
        return "output_limit", f"the program must print at most {limits.output_mb} MiB"
    if process.stopped is Stop.MEMORY:
        return "memory_limit", (
            f"the program must use at most {process.memory_limit_mb} MiB of memory, "
            f"but held {process.memory_mb} MiB"
        )
    if process.stopped is Stop.PROCESSES:
        return "process_limit", "the program started too many processes"
    if process.stopped is Stop.CANCELLED:
        return "cancelled", "the run was cancelled"
    if process.signal is not None:
        how = f"signal {signal.Signals(process.signal).name}"
    else:
        how = f"exit code {process.exit_code}"
    return "crashed", f"the run ended with {how}, and its report is not valid: {report.problem}"


def _failure_findings(
    process: ProcessResult, options: RunOptions, report: Report
) -> tuple[State, list[Finding]]:
    """Return the run's state, and findings for each way in which the program failed."""

    def finding(kind: str, message: str, hint: str = "", rank: int | None = None) -> Finding:
        run = options.run
        return Finding(
            kind, Severity.ERROR, message, hint, rank=rank, seed=run.seed, timing=run.timing
        )

    if report.state is None or process.stopped is not None:
        state, message = _failure(process, options, report)
        kind = "crash" if state == "crashed" else state
        last = process.stderr.decode(errors="replace").strip().splitlines()[-3:]
        return state, [finding(kind, message, " | ".join(last))]
    found = [
        finding("exit_code", f"rank {rank} ended with exit code {code}", rank=rank)
        for rank, code in sorted(report.exit_codes.items())
        if code != 0
    ]
    expected = range(options.process_count)
    if report.state == "finished":
        found += [
            finding("crash", f"rank {rank} never ended", rank=rank)
            for rank in expected
            if rank not in report.exit_codes
        ]
        return "finished", found
    if report.state == "timeout":
        return "timeout", found
    return ("deadlock" if report.state == "deadlock" else "stopped"), found


def _readbacks(report: Report, symbols: Symbolizer, data: BinaryIO) -> tuple[Readback, ...]:
    found: list[Readback] = []
    for raw in report.readbacks:
        place = symbols.locate(raw.frames)
        content = os.pread(data.fileno(), raw.size, raw.offset) if raw.size else b""
        if len(content) != raw.size:
            report.state = None
            report.problem = f"rank {raw.rank} announced a read-back whose bytes are missing"
            break
        file, line = (place.file, place.line) if place else (None, None)
        found.append(Readback(raw.rank, raw.seq, content, raw.device_offset, file, line))
    return tuple(found)


def _execute(
    build: EmulatorBuild,
    options: RunOptions,
    nonce: str,
    data: BinaryIO,
    cancel: threading.Event | None,
) -> SandboxedResult:
    """Run the program with the descriptors of the contract; read-backs go to the file `data`."""
    readable, environment = _surroundings(build, options)
    reader = _configuration_pipe(_configuration(build, options, nonce))
    try:
        return run_sandboxed(
            [build.runtime, build.library, *options.args],
            limits=options.limits,
            readable=readable,
            beside=options.folder,
            environment=environment,
            channels=[_REPORT],
            descriptors={_CONFIG: reader, _READBACKS: data.fileno()},
            cancel=cancel,
        )
    finally:
        os.close(reader)


def run(
    build: EmulatorBuild, options: RunOptions, *, cancel: threading.Event | None = None
) -> EmulatorRun:
    """Run `build` once, confined, and judge the run.

    Args:
        build: what to run.
        options: how to run it.
        cancel: when set from another thread, the run ends with the state `cancelled`.

    Raises:
        BadInputError: an option is out of its range.
        MissingToolError: a finding needs a source line and nothing reads debug information.
    """
    check_options(options)
    nonce = secrets.token_hex(16)
    with tempfile.TemporaryFile(prefix="warploom-") as data:
        result = _execute(build, options, nonce, data, cancel)
        process = result.process
        report = parse_report(process.channels[_REPORT], nonce)
        symbols = Symbolizer(build)
        symbols.prepare(
            stack
            for item in (
                *report.findings,
                *report.readbacks,
                *report.unsupported,
                *report.intervals,
            )
            for stack in stacks_of(item)
        )
        readbacks = _readbacks(report, symbols, data)
    state, failures = _failure_findings(process, options, report)
    findings = [locate_finding(raw, symbols, options.run) for raw in report.findings]
    unsupported = tuple(
        UnsupportedUse(
            raw.name, raw.message, place.file if place else None, place.line if place else None
        )
        for raw in report.unsupported
        for place in [symbols.locate(raw.frames)]
    )
    return EmulatorRun(
        state=state,
        options=options,
        findings=(*findings, *failures),
        exit_codes=report.exit_codes,
        stdout=process.stdout.decode(errors="replace"),
        stderr=process.stderr.decode(errors="replace"),
        readbacks=readbacks,
        unsupported=unsupported,
        stats=report.stats,
        seconds=process.seconds,
        memory_mb=process.memory_mb,
        sandbox=result.kind,
        timeline=timeline_of(report, symbols) if options.machine is not None else None,
    )


def run_many(
    build: EmulatorBuild,
    options: Sequence[RunOptions],
    *,
    workers: int | None = None,
    on_done: Callable[[EmulatorRun], bool | None] | None = None,
) -> tuple[EmulatorRun | None, ...]:
    """Run `build` with each of `options`, several at a time; results keep the order.

    Args:
        build: what to run.
        options: one run each.
        workers: runs at a time; one per processor when None. The memory limits of the runs
            together should fit the machine.
        on_done: called with each run as it ends, one at a time; when it returns true, the runs
            that have not ended are dropped (their place in the result is None).

    Raises:
        BadInputError: an option of any run is out of its range; nothing was run.
    """
    for item in options:
        check_options(item)
    cancel = threading.Event()
    lock = threading.Lock()

    def one(item: RunOptions) -> EmulatorRun | None:
        if cancel.is_set():
            return None
        done = run(build, item, cancel=cancel)
        with lock:
            if done.state == "cancelled" or cancel.is_set():
                return None
            if on_done is not None and on_done(done):
                cancel.set()
        return done

    with ThreadPoolExecutor(max(1, workers or jobs())) as pool:
        waiting = [pool.submit(one, item) for item in options]
        try:
            return tuple(future.result() for future in waiting)
        finally:
            # On Ctrl-C and on errors too: nothing goes on behind our back.
            cancel.set()
