"""Runs a build under the runtime and turns its report into records."""

import contextlib
import hashlib
import mmap
import os
import secrets
import signal
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from warploom.core.process import ProcessResult, Stop
from warploom.core.records import Finding, Severity
from warploom.emulator.build import EmulatorBuild
from warploom.emulator.locate import locate_finding, stacks_of
from warploom.emulator.report import RawReadback, Report, parse_report
from warploom.emulator.run_records import (
    STALE,
    STRONG_LOADS,
    UNINITIALIZED,
    Arrived,
    EmulatorRun,
    FreshRead,
    Readback,
    RunOptions,
    StaleRead,
    State,
    Taken,
    UnsupportedUse,
    Version,
    check_options,
)
from warploom.emulator.runtime_build import jobs, noted_library_folder
from warploom.emulator.symbolize import Symbolizer
from warploom.emulator.timeline import timeline_of
from warploom.emulator.unit_flags import version_code
from warploom.toolchain.sandbox import MAX_FILE_MB, SandboxedResult, run_sandboxed
from warploom.toolchain.seccomp import Profile

_CONFIG, _REPORT, _READBACKS = 3, 4, 5
_RUNTIME, _LIBRARY = "runtime/warploom-emu", "program.so"
# More ranks than these use their memory in no order that caches foresee: large pages pay then.
_FEW_RANKS = 16
_LARGE_PART = 16 << 20  # bytes of one read-back
_READ_BACK_MORE = 2  # bytes that a run may read back, by byte of memory that it may hold
_MORE_READ_BACK = (
    f"--memory GIB allows {_READ_BACK_MORE} times that; TMPDIR names the folder that keeps it"
)
_MORE_MEMORY = "--memory GIB allows more, or memory_mb in the [limits] of a workload.toml"


@dataclass(frozen=True, slots=True)
class _Secrets:
    """What the runtime and the driver know of a run, and its program does not."""

    nonce: str
    key: str


def _new_secrets() -> _Secrets:
    return _Secrets(secrets.token_hex(16), secrets.token_hex(16))


def _configuration(build: EmulatorBuild, options: RunOptions, known: _Secrets) -> bytes:
    values = {
        "nonce": known.nonce,
        "digest_key": known.key,
        "ranks": options.ranks,
        "lsa_size": options.lsa_size or options.node_size or options.ranks,
        "node_size": options.node_size or options.ranks,
        "processes": 0 if options.processes == "per_rank" else options.process_count,
        "seed": options.run.seed,
        "fresh_word": options.fresh_word,
        "fresh_other": options.fresh_other,
        "stale": int(any(part in name for name in build.imports for part in STRONG_LOADS)),
        "stale_every": options.stale_every,
        "library_objects": int(build.library_objects),
        "regions_in_turn": int(build.regions_in_turn),
        "timing": options.run.timing,
        "race": int(options.race),
        "readbacks": int(options.readbacks),
        "nccl_version": version_code(build.spec.nccl),
        "device_memory_mb": options.device_memory_mb,
        "device_most_mb": options.device_most_mb,
        "whole_history_mb": options.whole_history_mb,
        "max_findings": options.max_findings,
        "sync_launches": int(options.sync_launches),
        "trace": options.trace,
        "time_limit": f"{options.limits.seconds:g}",
        "input_to_first": int(options.stdin is not None),
    }
    if options.spoil:
        values |= {
            "spoil": options.spoil,
            "spoil_from": options.spoil_from,
            "poison": options.poison,
            "scramble": int(options.scramble),
            "only_counts": int(options.only_counts),
            "versions": options.versions,
        }
        if options.stops:
            values["stops"] = options.stops
        values |= {"meet": int(options.meet), "strict": int(options.strict)}
        if options.take_back:
            values["take_back"] = options.take_back
        if options.inputs:
            values["inputs"] = options.inputs
    if options.vary:
        values["vary"] = options.vary
    if options.looks:
        values["looks"] = 1
    if options.machine is not None:
        values["timed"] = 1
        values |= {f"machine.{name}": f"{v!r}" for name, v in options.machine.values.items()}
    lines = [
        *values.items(),
        *(
            ("points", f"{rank}:" + ",".join(map(str, numbers)))
            for rank, numbers in options.points.items()
            if options.spoil
        ),
        *(("fresh_site", site) for site in options.fresh_sites),
        *(("stale_site", site) for site in options.stale_sites),
        *(("denied_import", name) for name in sorted(build.denied)),
    ]
    return "".join(f"{key}={value}\n" for key, value in lines).encode()


def _configuration_pipe(text: bytes) -> int:
    """Return a descriptor to read `text` from, once: the program cannot read it again."""
    reader, writer = os.pipe()
    try:
        os.write(writer, text)
    finally:
        os.close(writer)
    return reader


def _surroundings(build: EmulatorBuild, options: RunOptions) -> tuple[list[Path], dict[str, str]]:
    """Return the folders that the run may read beside the system's, and its environment."""
    environment = dict(options.environment)
    if options.ranks > _FEW_RANKS:
        environment.setdefault("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")
    own = noted_library_folder(build.runtime)
    if own is None:
        return [], environment
    return [own], {"LD_LIBRARY_PATH": str(own), **environment}


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
    if process.stopped is Stop.DISK:
        return "disk_limit", "the program wrote too much to files"
    if process.stopped is Stop.CANCELLED:
        return "cancelled", "the run was cancelled"
    if unkept := _unkept(report, limits.memory_mb):
        return "output_limit", unkept
    if process.signal is not None:
        how = f"signal {signal.Signals(process.signal).name}"
    else:
        how = f"exit code {process.exit_code}"
    return "crashed", f"the run ended with {how}, and its report is not valid: {report.problem}"


def _file_limit_mb(memory_mb: int) -> int:
    """Return how much a run that may hold `memory_mb` may read back, MiB."""
    return max(MAX_FILE_MB, _READ_BACK_MORE * memory_mb)


def _room_mb(options: RunOptions) -> int:
    """Return how large the file with the read-backs may get, MiB."""
    return _file_limit_mb(options.limits.memory_mb) + options.versions


def _unkept(report: Report, memory_mb: int) -> str:
    """Return why the file with the read-backs lacks some of their bytes; empty if it should not."""
    read_back = sum(raw.size for raw in report.readbacks if not raw.at) >> 20
    most = _file_limit_mb(memory_mb)
    if read_back >= most:
        return (
            f"the program must read back less than {most} MiB from its devices in one run, "
            f"but read back {read_back} MiB"
        )
    if any(raw.lost for raw in report.readbacks):
        return (
            f"{tempfile.gettempdir()} must have room for what the program reads back, but is full "
            f"after {read_back} MiB"
        )
    return ""


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
        hint = " | ".join(last)
        if state == "output_limit" and process.stopped is None:
            hint = _MORE_READ_BACK
        if state == "memory_limit":
            short = process.memory_limit_mb < options.limits.memory_mb
            hint = "this machine has no more" if short else _MORE_MEMORY
        return state, [finding(kind, message, hint)]
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


class _Contents:
    """The bytes of a file; large parts are views of it, which cost no memory."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file.fileno()
        self._size = os.fstat(self._file).st_size
        self._view: memoryview | None = None

    def part(self, offset: int, size: int) -> bytes | memoryview | None:
        """Return `size` bytes from `offset` on; None where the file has no such bytes."""
        if offset + size > self._size:
            return None
        if size < _LARGE_PART:
            return self._read(offset, size)
        if self._view is None:
            self._view = memoryview(mmap.mmap(self._file, 0, prot=mmap.PROT_READ))
        return self._view[offset : offset + size]

    def _read(self, offset: int, size: int) -> bytes | None:
        # One read may give less than was asked for: see read(2).
        parts: list[bytes] = []
        while size:
            part = os.pread(self._file, size, offset)
            if not part:
                return None
            parts.append(part)
            size -= len(part)
            offset += len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)


def _readbacks(report: Report, symbols: Symbolizer, data: BinaryIO) -> tuple[Readback, ...]:
    found: list[Readback] = []
    contents = _Contents(data)
    counts: Counter[int] = Counter()
    for raw in sorted(report.readbacks, key=_order_of):
        place = symbols.locate(raw.frames)
        content = contents.part(raw.offset, raw.size)
        if content is None:
            report.state = None
            report.problem = f"rank {raw.rank} announced a read-back whose bytes are missing"
            break
        if raw.at and found:
            _add_version(found, raw, content)
            continue
        file, line = (place.file, place.line) if place else (None, None)
        taken = None
        places = _places(raw.frames, symbols)
        readers = (places,)
        if raw.shared:
            taken = Taken(raw.name, places, raw.place[:2], raw.chunk, raw.reading)
            readers = tuple(_places(frames, symbols) for frames in raw.takers)
        found.append(
            Readback(
                raw.rank,
                counts[raw.rank],
                content,
                raw.device_offset,
                file,
                line,
                taken,
                readers,
                unread=raw.number in report.unread,
                arrived=Arrived(raw.call, raw.elements, raw.source) if raw.call else None,
            )
        )
        counts[raw.rank] += 1
    return tuple(found)


def _places(frames: Sequence[int], symbols: Symbolizer) -> tuple[tuple[str, int], ...]:
    return tuple((at.file, at.line) for at in symbols.places(frames))


def _add_version(found: list[Readback], raw: RawReadback, content: bytes | memoryview) -> None:
    """Enter what lay at earlier moments where the last of the read-backs came from."""
    size = len(found[-1].data)
    version = Version(raw.at, content[:size], content[size:]) if content else Version(raw.at)
    found[-1] = replace(found[-1], versions=(*found[-1].versions, version))


def _order_of(raw: RawReadback) -> tuple[object, ...]:
    return raw.rank, raw.shared, *raw.place, raw.name, raw.chunk, raw.reading


def _check_digest(report: Report, data: BinaryIO, key: str) -> None:
    """Refuse a report whose read-backs are not the bytes that the runtime wrote."""
    if report.state is None or any(raw.lost for raw in report.readbacks):
        return
    left = max((raw.offset + raw.size for raw in report.readbacks), default=0)
    digest = hashlib.blake2b(key=key.encode(), digest_size=32)
    data.seek(0)
    while left and (part := data.read(min(left, _LARGE_PART))):
        digest.update(part)
        left -= len(part)
    if not secrets.compare_digest(digest.hexdigest(), report.read_back_digest):
        report.state = None
        report.problem = "the bytes read back are not those that the runtime wrote"


def _execute(
    build: EmulatorBuild,
    options: RunOptions,
    known: _Secrets,
    data: BinaryIO,
    cancel: threading.Event | None,
) -> SandboxedResult:
    """Run the program with the descriptors of the contract; read-backs go to the file `data`."""
    readable, environment = _surroundings(build, options)
    reader = _configuration_pipe(_configuration(build, options, known))
    with contextlib.ExitStack() as stack:
        stack.callback(os.close, reader)
        descriptors = {_CONFIG: reader, _READBACKS: data.fileno()}
        if options.stdin is not None:
            descriptors[0] = stack.enter_context(options.stdin.open("rb")).fileno()
        return run_sandboxed(
            [build.runtime, build.library, *options.args],
            limits=options.limits,
            readable=readable,
            # The program shall not learn where the cache lies.
            bound={build.runtime: _RUNTIME, build.library: _LIBRARY},
            profile=Profile.PROGRAM,
            beside=options.folder,
            environment=environment,
            channels=[_REPORT],
            descriptors=descriptors,
            cancel=cancel,
            file_mb=_room_mb(options),
        )


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
    known = _new_secrets()
    with tempfile.TemporaryFile(prefix="warploom-") as data:
        result = _execute(build, options, known, data, cancel)
        process = result.process
        report = parse_report(process.channels[_REPORT], known.nonce)
        _check_digest(report, data, known.key)
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
    located = [(raw, locate_finding(raw, symbols, options.run)) for raw in report.findings]
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
        findings=(
            *(
                found
                for raw, found in located
                if raw.kind not in (UNINITIALIZED, STALE) and raw.severity != "suspicion"
            ),
            *failures,
        ),
        suspicions=tuple(
            replace(found, severity=Severity.ERROR)
            for raw, found in located
            if raw.kind not in (UNINITIALIZED, STALE) and raw.severity == "suspicion"
        ),
        fresh_reads=tuple(
            FreshRead(found, raw.frames[0] if raw.frames else 0, raw.severity == "suspicion")
            for raw, found in located
            if raw.kind == UNINITIALIZED
        ),
        stale_reads=tuple(
            StaleRead(found, raw.site or 0, symbols.locate(raw.later_frames))
            for raw, found in located
            if raw.kind == STALE
        ),
        exit_codes=report.exit_codes,
        stdout=process.stdout.decode(errors="replace"),
        stderr=process.stderr.decode(errors="replace"),
        readbacks=readbacks,
        unsupported=unsupported,
        stats=report.stats,
        inputs=tuple(report.inputs),
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
