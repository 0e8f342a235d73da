"""Runs a build under the runtime and turns its report into records."""

import contextlib
import os
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from warploom.core.records import Finding, Severity
from warploom.emulator.building.build_records import EmulatorBuild
from warploom.emulator.building.runtime_build import jobs, noted_library_folder
from warploom.emulator.running.locate import locate_finding, stacks_of
from warploom.emulator.running.report import RawFinding, Report, parse_report
from warploom.emulator.running.run_configuration import Secrets, configuration_pipe, new_secrets
from warploom.emulator.running.run_failures import failure_findings, room_mb
from warploom.emulator.running.run_readbacks import check_digest, readbacks_of
from warploom.emulator.running.run_records import (
    STALE,
    UNINITIALIZED,
    EmulatorRun,
    FreshRead,
    RunOptions,
    StaleRead,
    UnsupportedUse,
    check_options,
    way_taken,
)
from warploom.emulator.running.symbolize import Symbolizer
from warploom.emulator.running.timeline import timeline_of
from warploom.toolchain.sandbox import SandboxedResult, run_sandboxed
from warploom.toolchain.seccomp import Profile

_CONFIG, _REPORT, _READBACKS = 3, 4, 5
_RUNTIME, _LIBRARY = "runtime/warploom-emu", "program.so"
# More ranks than these use their memory in no order that caches foresee: large pages pay then.
_FEW_RANKS = 16


def _surroundings(build: EmulatorBuild, options: RunOptions) -> tuple[list[Path], dict[str, str]]:
    """Return the folders that the run may read beside the system's, and its environment."""
    environment = dict(options.environment)
    if options.ranks > _FEW_RANKS:
        environment.setdefault("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")
    own = noted_library_folder(build.runtime)
    if own is None:
        return [], environment
    return [own], {"LD_LIBRARY_PATH": str(own), **environment}


def _execute(
    build: EmulatorBuild,
    options: RunOptions,
    known: Secrets,
    data: BinaryIO,
    cancel: threading.Event | None,
) -> SandboxedResult:
    """Run the program with the descriptors of the contract; read-backs go to the file `data`."""
    readable, environment = _surroundings(build, options)
    reader = configuration_pipe(build, options, known)
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
            file_mb=room_mb(options),
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
    known = new_secrets()
    with tempfile.TemporaryFile(prefix="warploom-") as data:
        result = _execute(build, options, known, data, cancel)
        process = result.process
        report = parse_report(process.channels[_REPORT], known.nonce)
        check_digest(report, data, known.key)
        symbols = Symbolizer(build)
        told = (*report.findings, *report.readbacks, *report.unsupported, *report.intervals)
        symbols.prepare(stack for item in told for stack in stacks_of(item))
        readbacks = readbacks_of(report, symbols, data)
    state, failures = failure_findings(process, options, report)
    located = [(raw, locate_finding(raw, symbols, options.run)) for raw in report.findings]
    return EmulatorRun(
        state=state,
        options=options,
        findings=(*_certain(located), *failures),
        suspicions=_suspicions(located),
        fresh_reads=_fresh_reads(located),
        stale_reads=_stale_reads(located, symbols),
        exit_codes=report.exit_codes,
        stdout=process.stdout.decode(errors="replace"),
        stderr=process.stderr.decode(errors="replace"),
        readbacks=readbacks,
        unsupported=_unsupported(report, symbols),
        stats=report.stats,
        inputs=tuple(report.inputs),
        ways=tuple(map(way_taken, report.ways)),
        largest_blocks=report.largest_blocks,
        seconds=process.seconds,
        memory_mb=process.memory_mb,
        sandbox=result.kind,
        timeline=timeline_of(report, symbols) if options.machine is not None else None,
    )


_Located = Sequence[tuple[RawFinding, Finding]]


def _certain(located: _Located) -> Iterator[Finding]:
    for raw, found in located:
        if raw.kind not in (UNINITIALIZED, STALE) and raw.severity != "suspicion":
            yield found


def _suspicions(located: _Located) -> tuple[Finding, ...]:
    return tuple(
        replace(found, severity=Severity.ERROR)
        for raw, found in located
        if raw.kind not in (UNINITIALIZED, STALE) and raw.severity == "suspicion"
    )


def _fresh_reads(located: _Located) -> tuple[FreshRead, ...]:
    return tuple(
        FreshRead(found, raw.frames[0] if raw.frames else 0, raw.severity == "suspicion")
        for raw, found in located
        if raw.kind == UNINITIALIZED
    )


def _stale_reads(located: _Located, symbols: Symbolizer) -> tuple[StaleRead, ...]:
    return tuple(
        StaleRead(found, raw.site or 0, symbols.locate(raw.later_frames))
        for raw, found in located
        if raw.kind == STALE
    )


def _unsupported(report: Report, symbols: Symbolizer) -> tuple[UnsupportedUse, ...]:
    places = [symbols.locate(raw.frames) for raw in report.unsupported]
    return tuple(
        UnsupportedUse(
            raw.name, raw.message, place.file if place else None, place.line if place else None
        )
        for raw, place in zip(report.unsupported, places, strict=True)
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
