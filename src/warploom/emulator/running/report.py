"""The runtime's report: JSON lines that begin with a nonce, which only the runtime knows."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from warploom.core.records import Json
from warploom.toolchain.kernel_needs import LargestBlock

STATES = ("finished", "deadlock", "stopped", "timeout")
"""How the runtime may say that a run ended."""

Index = tuple[int, int, int]


class ForgedReportError(ValueError):
    """The report breaks a rule of the contract: the run has failed. Never leaves the driver."""


@dataclass(frozen=True, slots=True)
class RawEvent:
    """One event of a finding's trace."""

    seq: int
    rank: int
    text: str
    kernel: str | None
    block: Index | None
    thread: Index | None
    frames: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RawFinding:
    """A finding as the runtime wrote it: places are offsets into the program."""

    kind: str
    severity: str
    message: str
    hint: str
    rank: int | None
    kernel: str | None
    block: Index | None
    thread: Index | None
    frames: tuple[int, ...]
    other_frames: tuple[int, ...]
    trace: tuple[RawEvent, ...] = ()
    later_frames: tuple[int, ...] = ()
    site: int | None = None
    cause_frames: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class RawReadback:
    """One device-to-host copy; its bytes are `offset` to `offset + size` of descriptor 5.

    `place` is the thread that queued it, the order of that and the node of a graph: alike in all
    runs. `lost` says that not all of them could be written there; it ended the run. A `shared` one
    is what the host took of memory that devices stored results in (behavior/results.h): `place` is
    the thread that allocated it and the order of that, `frames` are of the allocation, and `name`
    is the variable's, where it is one; `takers` are the frames of the accesses by which the host
    took it, an empty one where there are more than are kept. One that a `call` of MPI brought has
    elements of the type `elements`, from the rank `source` where it could be of any. `number`
    counts all of a report.
    """

    rank: int
    place: tuple[int, int, int]
    offset: int
    size: int
    device_offset: int
    frames: tuple[int, ...]
    lost: bool = False
    shared: bool = False
    chunk: int = 0
    reading: int = 0
    name: str = ""
    number: int = 0
    takers: tuple[tuple[int, ...], ...] = ()
    call: str = ""
    elements: str = ""
    source: int | None = None
    at: tuple[int, ...] = ()
    """No read-back, but what lay there at these earlier moments (behavior/versions.h)."""


@dataclass(frozen=True, slots=True)
class RawUnsupported:
    """An API or argument that is not emulated."""

    name: str
    message: str
    frames: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RawSpan:
    """Something that took modelled time: nanoseconds, on lane 0 (the host) or that of a stream."""

    kind: str
    rank: int
    lane: int
    name: str
    start: float
    end: float
    waited: float
    communicated: float


@dataclass(frozen=True, slots=True)
class RawInterval:
    """What `cudaEventElapsedTime` gave a rank, in nanoseconds of modelled time, and since when."""

    rank: int
    start: float
    nanoseconds: float
    frames: tuple[int, ...]


@dataclass(slots=True)
class Report:
    """Everything that a report says. `problem` is why it cannot be believed, empty if it can."""

    findings: list[RawFinding] = field(default_factory=list[RawFinding])
    readbacks: list[RawReadback] = field(default_factory=list[RawReadback])
    unread: set[int] = field(default_factory=set[int])
    """Numbers of read-backs that were overwritten before anybody read them."""
    unsupported: list[RawUnsupported] = field(default_factory=list[RawUnsupported])
    exit_codes: dict[int, int] = field(default_factory=dict[int, int])
    state: str | None = None
    stats: Mapping[str, float] = field(default_factory=dict[str, float])
    problem: str = ""
    events: list[RawEvent] = field(default_factory=list[RawEvent])
    """Of the finding whose line comes next."""
    spans: list[RawSpan] = field(default_factory=list[RawSpan])
    intervals: list[RawInterval] = field(default_factory=list[RawInterval])
    clocks: dict[int, float] = field(default_factory=dict[int, float])
    """When each process ended, in nanoseconds of modelled time."""
    spans_dropped: int = 0
    inputs: list[str] = field(default_factory=list[str])
    """Words of uploads that were altered, in hexadecimal (behavior/inputs.h, turned_inputs.h)."""
    ways: list[str] = field(default_factory=list[str])
    """Which ways conditions took, as behavior/ways.cpp writes it."""
    largest_blocks: dict[str, LargestBlock] = field(default_factory=dict[str, LargestBlock])
    """What launches of each kernel asked for, for a block."""
    read_back_digest: str = ""
    """Of all bytes that were read back, by the key that the runtime was given."""


class _Line:
    """One line of the report, read with checks."""

    def __init__(self, text: bytes, number: int) -> None:
        self.number = number
        try:
            # A program's own words are among it, such as those of an assertion: in any encoding.
            value = cast("Json", json.loads(text.decode(errors="replace")))
        except ValueError:
            raise ForgedReportError(f"line {number} is not JSON") from None
        if not isinstance(value, dict):
            raise ForgedReportError(f"line {number} is not an object")
        self.values = value

    def _wrong(self, name: str) -> ForgedReportError:
        return ForgedReportError(f"line {self.number} has a wrong or no {name}")

    def text(self, name: str, default: str | None = None) -> str:
        value = self.values.get(name, default)
        if not isinstance(value, str):
            raise self._wrong(name)
        return value

    def number_or_none(self, name: str) -> int | None:
        value = self.values.get(name)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
            raise self._wrong(name)
        return value

    def count(self, name: str) -> int:
        value = self.number_or_none(name)
        if value is None or value < 0:
            raise self._wrong(name)
        return value

    def real(self, name: str) -> float:
        value = self.values.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
            raise self._wrong(name)
        return float(value)

    def numbers(self, name: str) -> tuple[int, ...]:
        value = self.values.get(name, [])
        if not isinstance(value, list):
            raise self._wrong(name)
        found = tuple(item for item in value if isinstance(item, int))
        if len(found) != len(value) or any(item < 0 for item in found):
            raise self._wrong(name)
        return found

    def number_lists(self, name: str) -> tuple[tuple[int, ...], ...]:
        value = self.values.get(name, [])
        if not isinstance(value, list):
            raise self._wrong(name)
        found: list[tuple[int, ...]] = []
        for item in value:
            if not isinstance(item, list) or not all(isinstance(one, int) for one in item):
                raise self._wrong(name)
            found.append(tuple(one for one in item if isinstance(one, int)))
        return tuple(found)

    def texts(self, name: str) -> list[str]:
        value = self.values.get(name)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self._wrong(name)
        return [str(item) for item in value]

    def index(self, name: str) -> Index | None:
        if self.values.get(name) is None:
            return None
        found = self.numbers(name)
        if len(found) != 3:
            raise self._wrong(name)
        return found[0], found[1], found[2]

    def stats(self) -> dict[str, float]:
        value = self.values.get("stats", {})
        if not isinstance(value, dict):
            raise self._wrong("stats")
        return {name: float(v) for name, v in value.items() if isinstance(v, int | float)}


def _event(line: _Line) -> RawEvent:
    return RawEvent(
        seq=line.count("seq"),
        rank=line.count("rank"),
        text=line.text("text"),
        kernel=line.text("kernel", "") or None,
        block=line.index("block"),
        thread=line.index("thread"),
        frames=line.numbers("frames"),
    )


def _take_time(line: _Line, event: str, report: Report) -> bool:
    """Enter a line of a timed run; false if it is another."""
    if event == "span":
        report.spans.append(
            RawSpan(
                kind=line.text("kind"),
                rank=line.count("rank"),
                lane=line.count("lane"),
                name=line.text("name"),
                start=line.real("start"),
                end=line.real("end"),
                waited=line.real("waited"),
                communicated=line.real("communicated"),
            )
        )
    elif event == "interval":
        report.intervals.append(
            RawInterval(
                line.count("rank"), line.real("start"), line.real("ns"), line.numbers("frames")
            )
        )
    elif event == "clock":
        report.clocks[line.count("rank")] = line.real("ns")
    elif event == "dropped":
        report.spans_dropped = line.count("spans")
    else:
        return False
    return True


def _finding(line: _Line, report: Report) -> RawFinding:
    return RawFinding(
        kind=line.text("kind"),
        severity=line.text("severity", "error"),
        message=line.text("message"),
        hint=line.text("hint", ""),
        rank=line.number_or_none("rank"),
        kernel=line.text("kernel", "") or None,
        block=line.index("block"),
        thread=line.index("thread"),
        frames=line.numbers("frames"),
        other_frames=line.numbers("other_frames"),
        trace=tuple(report.events),
        later_frames=line.numbers("later_frames"),
        site=line.number_or_none("site"),
        cause_frames=line.numbers("cause_frames"),
    )


def _readback(line: _Line, number: int) -> RawReadback:
    return RawReadback(
        rank=line.count("rank"),
        place=(line.count("thread"), line.count("order"), line.count("node")),
        offset=line.count("offset"),
        size=line.count("bytes"),
        device_offset=line.count("device_offset"),
        frames=line.numbers("frames"),
        lost=bool(line.number_or_none("lost")),
        shared=bool(line.number_or_none("shared")),
        chunk=line.number_or_none("chunk") or 0,
        reading=line.number_or_none("reading") or 0,
        name=line.text("name", ""),
        number=number,
        takers=line.number_lists("takers"),
        call=line.text("call", ""),
        elements=line.text("elements", ""),
        source=line.number_or_none("source"),
        at=line.numbers("at"),
    )


def _take(line: _Line, report: Report) -> None:
    """Enter a line between the two marks."""
    event = line.text("ev")
    if _take_time(line, event, report):
        return
    if event == "trace":
        report.events.append(_event(line))
    elif event == "finding":
        report.findings.append(_finding(line, report))
        report.events.clear()
    elif event == "readback":
        report.readbacks.append(_readback(line, len(report.readbacks)))
    elif event == "unread":
        report.unread.add(line.count("number"))
    elif event == "inputs":
        report.inputs += line.texts("words")
    elif event == "ways":
        report.ways += line.texts("ways")
    elif event == "block":
        report.largest_blocks[line.text("kernel")] = LargestBlock(
            line.count("threads"), line.count("dynamic_shared"), line.count("allowed_shared")
        )
    elif event == "exit":
        code = line.number_or_none("code")
        report.exit_codes[line.count("rank")] = 0 if code is None else code
    elif event == "unsupported":
        report.unsupported.append(
            RawUnsupported(line.text("name"), line.text("message", ""), line.numbers("frames"))
        )
    else:
        raise ForgedReportError(f"line {line.number} has the unknown event {event!r}")


def _read(data: bytes, nonce: str, report: Report) -> None:
    if not data:
        raise ForgedReportError("it is empty")
    lines = data.split(b"\n")
    last = lines.pop()
    mark = f"{nonce} ".encode()
    for number, text in enumerate(lines, 1):
        if not text.startswith(mark):
            raise ForgedReportError(f"line {number} does not begin with the nonce")
        line = _Line(text[len(mark) :], number)
        event = line.text("ev")
        if report.state is not None:
            raise ForgedReportError(f"line {number} comes after the end mark")
        if (number == 1) != (event == "begin"):
            raise ForgedReportError("it must start with its begin mark, and have one only")
        if report.events and event not in ("trace", "finding"):
            raise ForgedReportError(f"line {number} comes between a trace and its finding")
        if event == "end":
            state = line.text("state")
            if state not in STATES:
                raise ForgedReportError(f"its end mark has the unknown state {state!r}")
            report.state = state
            report.stats = line.stats()
            report.read_back_digest = line.text("read_back_digest", "")
        elif event != "begin":
            _take(line, report)
    if last:
        raise ForgedReportError("its last line is cut off")
    if report.state is None:
        raise ForgedReportError("its end mark is missing")


def parse_report(data: bytes, nonce: str) -> Report:
    """Read a report; what comes before a broken rule is kept, and `problem` says which rule."""
    report = Report()
    try:
        _read(data, nonce, report)
    except ForgedReportError as error:
        report.state = None
        report.problem = str(error)
    return report
