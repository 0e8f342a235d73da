"""What a run is asked to do and what became of it, as frozen records."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from warploom.core.errors import BadInputError
from warploom.core.records import (
    Finding,
    Limits,
    RunSpec,
    Severity,
    SourceLocation,
    Timing,
    Verdict,
)
from warploom.emulator.running.spoil import Spoil
from warploom.emulator.running.timeline import Timeline
from warploom.emulator.running.topology import Topology, check_fit
from warploom.toolchain.kernel_needs import LargestBlock
from warploom.toolchain.sandbox import SandboxKind

MAX_RANKS = 512
MAX_TRACE = 1 << 20
FAILURE_KINDS = frozenset(
    ("timeout", "output_limit", "memory_limit", "process_limit", "disk_limit", "crash", "exit_code")
)
"""Kinds of finding that mean that the program failed, not that it communicates wrongly."""

UNINITIALIZED = "uninitialized_read"
"""The kind of finding for memory that is read although nobody has written it."""

STALE = "stale_read"
"""The kind of finding for a volatile or relaxed read that may give an older value."""

STRONG_LOADS = (
    "__tsan_volatile_read", "__tsan_unaligned_volatile_read", "atomic_load_access",
    "__tsan_atomic8_load", "__tsan_atomic16_load", "__tsan_atomic32_load", "__tsan_atomic64_load",
    "atomic_taken",
)  # fmt: skip
"""Parts of names: what a program that reads by volatile or atomic loads takes from the runtime.

Exchanges and updates of bits read as well: they can take away what others have put there."""

UPDATES = ("atomic_access", "__tsan_atomic")
"""The same of a program with atomic accesses. One that has none of both has no stale reads."""

State = Literal[
    "finished", "deadlock", "stopped", "crashed", "timeout", "output_limit", "memory_limit",
    "process_limit", "disk_limit", "cancelled",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class RunOptions:
    """One emulated job.

    `lsa_size` is how many consecutive ranks reach each other's memory (None: all). `processes`:
    one process per rank, as under mpirun, a single one that drives `ranks` devices, or a number of
    them that share the devices out evenly. `node_size` is how many consecutive devices one machine
    has (None: one machine has all): a process sees those of its own, numbered from 0. `race`
    switches the happens-before check, `readbacks` the recording of what the program reads back,
    `sync_launches` synchronizes after every launch. `environment` is all that the program sees of
    an environment, and `stdin` what its first process reads from standard input (None: nothing, as
    the others); `device_memory_mb` is the memory that a device says it has, and
    `device_most_mb` what it gives to a program that asks for more. Of the access history,
    `whole_history_mb` are kept as is quickest, the rest as is smallest; nothing else depends on it.
    `trace` is how many events of each rank are kept for the findings to show (0: none); it changes
    nothing else. Files of
    `folder` can be read as if the program had been started there. With a `machine` the run models
    time on it: its schedule follows that time instead of the timing. `fresh` is the word that fills
    memory which nobody has written; by default it depends on the seed. Reads of such memory at
    `fresh_sites` (`FreshRead.site`) get the word `fresh_other` instead. Reads at `stale_sites`
    (`StaleRead.site`) get the value before the newest one, where a GPU may give that: all of them,
    or each `stale_every`-th. With a `spoil` the run alters what that says.
    `vary` gives numbers other values on their way to the device, in any run (behavior/inputs.h).
    With `looks` the run finds out which read-backs nobody looks at (`Readback.unread`).
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
    node_size: int | None = None
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    stdin: Path | None = None
    device_memory_mb: int = 4096
    device_most_mb: int = 0
    whole_history_mb: int = 1024
    max_findings: int = 100
    trace: int = 0
    folder: Path | None = None
    machine: Topology | None = None
    fresh: int | None = None
    fresh_sites: tuple[int, ...] = ()
    fresh_other: int = 0
    stale_sites: tuple[int, ...] = ()
    stale_every: int = 1
    spoil: Spoil | None = None
    vary: str = ""
    looks: bool = False

    @property
    def fresh_word(self) -> int:
        """What each aligned four bytes of memory hold until somebody writes them.

        Not a number in every floating-point type, and no plausible index.
        """
        if self.fresh is not None:
            return self.fresh
        return 0xFFF7FFF7 ^ (self.run.seed * 0x00050003 & 0x00070007)

    @property
    def process_count(self) -> int:
        """How many processes the job has; each prints, exits and has its own MPI rank."""
        if isinstance(self.processes, int):
            return self.processes
        return self.ranks if self.processes == "per_rank" else 1


@dataclass(frozen=True, slots=True)
class Taken:
    """Which part of the memory that both sides see a host took results from.

    `allocation` is the thread that allocated it and the order of that; `name` is the variable's
    where it is none, else `places` are the file and line of the allocation, of the call of the
    function around it, and so on. `chunk` counts MiB from its start; `reading` says the
    how-manieth value of each byte it is, from 0.
    """

    name: str
    places: tuple[tuple[str, int], ...]
    allocation: tuple[int, int]
    chunk: int
    reading: int


@dataclass(frozen=True, slots=True)
class Arrived:
    """By which MPI call a host got what was computed on a device, its own or another rank's.

    `elements` is the MPI data type; `source` is who sent it, within the communicator, where the
    call takes a message of any rank.
    """

    call: str
    elements: str
    source: int | None = None


CHUNK_BYTES = 1 << 20
"""Bytes of one chunk of `Taken` (behavior/results.cpp)."""


@dataclass(frozen=True, slots=True)
class Version:
    """What lay where a read-back came from at earlier moments, before anything was altered there.

    `moments` are numbered: 2 n is point n, 2 n + 1 is stop n (behavior/iterations.h). `data` and
    `stored`, a bit for each byte that was stored since the moment before, are None where they are
    the read-back's own, and all of it was stored.
    """

    moments: tuple[int, ...]
    data: bytes | memoryview | None = None
    stored: bytes | memoryview | None = None


@dataclass(frozen=True, slots=True)
class Readback:
    """One device-to-host copy of a rank; `device_offset` says where from.

    Where `taken` is given it is no copy: the host read what devices stored in memory that both see,
    allocated at `file` and `line`. Bytes that it did not read hold the fresh word. Where `arrived`
    is given, an MPI call brought it.

    `seq` numbers a rank's from 0, thread by thread in the order of their calls, whatever order the
    copies were made in.

    `readers` are the places that read it, each with those of its callers, innermost first: of the
    copy, or of each access by which the host took some of it. An `unread` one was overwritten
    before anybody read it, in a run that looks for that (`RunOptions.looks`).

    Large `data` are a view of a file that goes when the last one of its views does.
    """

    rank: int
    seq: int
    data: bytes | memoryview
    device_offset: int
    file: str | None
    line: int | None
    taken: Taken | None = None
    readers: tuple[tuple[tuple[str, int], ...], ...] = ()
    versions: tuple[Version, ...] = ()
    unread: bool = False
    arrived: Arrived | None = None


@dataclass(frozen=True, slots=True)
class FreshRead:
    """A place that reads memory which nobody has written.

    `site` is its offset in the program. A `suspected` one is no finding unless what the program
    returns depends on it: a copy to the host, a reduction, a read of shared memory.
    """

    finding: Finding
    site: int
    suspected: bool


@dataclass(frozen=True, slots=True)
class StaleRead:
    """A place that reads by volatile or relaxed access what nothing orders after its writer.

    `site` names it for `RunOptions.stale_sites`. `later` is where the same thread wrote later what
    the reader has seen before.
    """

    finding: Finding
    site: int
    later: SourceLocation | None


@dataclass(frozen=True, slots=True)
class UnsupportedUse:
    """An API or argument that the run met and that is not emulated."""

    name: str
    message: str
    file: str | None
    line: int | None


@dataclass(frozen=True, slots=True)
class WayTaken:
    """What a condition of a watched text did in a run (include/warploom/ways.h).

    `held` and `failed`: whether it did so at least once. `constant`: the compiler knew each time
    that it could do nothing else. `tight`: a comparison of whole numbers, which differ from thread
    to thread, that was one step from turning out otherwise in every case of the run. A bound
    (`min`, `max`) `held` where its first value decided, and `failed` where the second did. Of real
    numbers `other` is the nearest of those that did not decide, NaN where there is none, and
    `digest` tells those that did from others. `turned`: it is of a loop, and held twice in a row in
    one thread, or was less than a block's width from that in every case: a grid is rounded up.
    """

    number: int
    held: bool
    failed: bool
    constant: bool
    tight: bool
    other: float = math.nan
    digest: int = 0
    turned: bool = False


def way_taken(words: str) -> WayTaken:
    """Return what one entry of the report says: the fields of ways.cpp's report."""
    *counts, other, digest = words.split(":")
    number, held, failed, is_open, tight, turned = map(int, counts)
    return WayTaken(
        number, bool(held), bool(failed), not is_open, bool(tight), float(other), int(digest),
        bool(turned),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class EmulatorRun:
    """What became of one run.

    `state` is the runtime's word (finished, deadlock, stopped) or why there is none. `exit_codes`
    holds the ranks that ended. `sandbox` says how the program was confined. `fresh_reads` and
    `stale_reads` are not judged yet, and not among the findings (`evaluation/runs/fresh_memory.py`,
    `stale_reads.py`). `suspicions` are findings where nothing else explains a failure
    (`suspicions.py` there).
    `inputs` are the words of uploads that were altered, in hexadecimal (`RunOptions.inputs`).
    `ways` are the conditions that a watched text came to. `largest_blocks` are what launches of
    each kernel asked for, by its name in the text.
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
    fresh_reads: tuple[FreshRead, ...] = ()
    stale_reads: tuple[StaleRead, ...] = ()
    suspicions: tuple[Finding, ...] = ()
    inputs: tuple[str, ...] = ()
    ways: tuple[WayTaken, ...] = ()
    largest_blocks: Mapping[str, LargestBlock] = field(default_factory=dict[str, LargestBlock])

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
