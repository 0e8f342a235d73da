"""Records that cross layers. All are frozen, and turn into JSON with `to_json`."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TypeAlias, cast

from warploom.core.roots import Roots

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


class Severity(StrEnum):
    """How much a finding matters: an `error` makes the verdict `defect`."""

    ERROR = "error"
    WARNING = "warning"


class Timing(StrEnum):
    """How the emulated network behaves.

    `eager` moves everything at once, `lazy` as late as the rules allow, `random` in any allowed
    order, chosen by the seed. `modelled` moves it at the times of a modelled machine, which the
    program's clocks show: what a program that looks at clocks does on hardware, it does there.
    """

    EAGER = "eager"
    LAZY = "lazy"
    RANDOM = "random"
    MODELLED = "modelled"


class Verdict(StrEnum):
    """What was concluded about a program."""

    OK = "ok"
    DEFECT = "defect"
    FAILED = "failed"
    DEADLOCK = "deadlock"
    UNSUPPORTED = "unsupported"


class Api(StrEnum):
    """Which part of the NCCL device API moves the data."""

    GIN = "gin"
    LSA = "lsa"


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """A place in a user's file; `line` counts from 1."""

    file: str
    line: int
    function: str = ""


@dataclass(frozen=True, slots=True)
class TraceEvent:
    """Something that a rank did before a finding; `seq` counts the events of a run.

    `kernel`, `block` and `thread` are None for host code, and the last two for what a stream or
    the network did.
    """

    seq: int
    rank: int
    text: str
    kernel: str | None = None
    block: tuple[int, int, int] | None = None
    thread: tuple[int, int, int] | None = None
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One defect seen by a check.

    `block` and `thread` are (x, y, z) indices; all of `rank`, `kernel`, `block` and `thread` are
    None where they do not apply (a host finding has no kernel). `seed` and `timing` say which run
    showed it. `other` is the second place of a race or mismatch; `cause` is that of the finding
    which this one comes of. `trace` is what the ranks involved
    did before it, oldest first; only runs that record a trace have one.
    """

    kind: str
    severity: Severity
    message: str
    hint: str = ""
    file: str | None = None
    line: int | None = None
    rank: int | None = None
    kernel: str | None = None
    block: tuple[int, int, int] | None = None
    thread: tuple[int, int, int] | None = None
    other: SourceLocation | None = None
    seed: int | None = None
    timing: Timing | None = None
    trace: tuple[TraceEvent, ...] = ()
    cause: SourceLocation | None = None


@dataclass(frozen=True, slots=True)
class RunSpec:
    """One emulated run: which seed drives the schedule and how the network behaves."""

    seed: int
    timing: Timing


@dataclass(frozen=True, slots=True)
class Interval:
    """A time that a program took, with events or MPI_Wtime, in milliseconds.

    `seq` grows within a rank; `line`, from 1, is where the program asked for it.
    """

    rank: int
    seq: int
    milliseconds: float
    file: str | None
    line: int | None


@dataclass(frozen=True, slots=True)
class Limits:
    """What a candidate may use: seconds of wall time, MiB of memory, MiB of output."""

    seconds: float = 60.0
    memory_mb: int = 8192
    output_mb: int = 16


OLDEST_NCCL, NEWEST_NCCL = (2, 28), (2, 32)
"""The first and the last NCCL whose rules the emulator knows: 2.28 brought the device API. What is
new in a version stands in the emulator's headers (`WARPLOOM_NCCL_VERSION`)."""


@dataclass(frozen=True, slots=True)
class BuildSpec:
    """How to build a program: everything that the content of a build depends on.

    `program` and `sources` are `.cu`, `.cpp` or `.c` files; `defines` maps macro names to values
    (an empty value is `-DNAME`); `nccl` is the NCCL version whose rules hold, such as "2.30.7".
    `timed`: device code also counts its arithmetic, for modelled time; `unread`: some of it stands
    in text that cannot be counted, so that its instructions have their full price. `filled`: what
    variables hold that nobody sets, "pattern" or "zero"; "" is a pattern where the compiler can
    fill these without harm. `root` is the folder of the workload: files below it may be included,
    as those beside the sources and in `include_dirs`.
    """

    program: Path
    sources: tuple[Path, ...] = ()
    include_dirs: tuple[Path, ...] = ()
    defines: Mapping[str, str] = field(default_factory=dict[str, str])
    nccl: str = "2.32.3"
    timed: bool = False
    unread: bool = False
    filled: str = ""
    root: Path | None = None

    @property
    def roots(self) -> Roots:
        """The folders below which everything lies that the program may include."""
        named = (path.absolute().parent for path in (self.program, *self.sources))
        return Roots([*named, *self.include_dirs, *([self.root] if self.root else [])])


def to_json(value: object) -> Json:
    """Turn records, enums, paths, mappings and sequences into plain JSON values."""
    if isinstance(value, StrEnum | Path):
        return str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_json(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        mapping = cast("Mapping[object, object]", value)
        return {str(key): to_json(item) for key, item in mapping.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [to_json(item) for item in cast("list[object]", value)]
    raise TypeError(f"no JSON form for {type(value).__name__}")
