"""Levers of the statements that launch and communicate."""

import re
from dataclasses import dataclass
from functools import lru_cache

from warploom.propose.mutate.launches import Piece, closing, edited, masked, split_list
from warploom.propose.rules.prelude import NAMESPACE

_EXCHANGES = ("AlltoAll", "AllGather", "Broadcast", "Bcast", "Gather", "Scatter")
_VERBS = "launch|share|fuse|guard"
_CALL = re.compile(rf"\b{NAMESPACE}::({_VERBS})({'|'.join(_EXCHANGES)})(?:<\d+>)?\s*\(")
FUSED_VERBS = ("fuse", "guard")
"""How exchanges begin that kernels with gates take part in: `fuseAlltoAll`, `guardAlltoAll`."""
_MAX_BATCH = 4


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement `WRAPPER(device_comm::launchNAME(arguments));`; `verb` is one of `_VERBS`."""

    verb: str
    name: str
    start: int
    end: int
    wrapper: str
    arguments: tuple[Piece, ...]

    @property
    def stream(self) -> str:
        """The stream as it is written."""
        return self.arguments[-1].text


@lru_cache(maxsize=32)
def exchange_statements(text: str) -> tuple[Statement, ...]:
    """Return the exchanges of a masked text that stand alone in a statement, in order."""
    found: list[Statement] = []
    for match in _CALL.finditer(text):
        start = max(text.rfind(char, 0, match.start()) for char in ";{}") + 1
        end = text.find(";", match.end())
        head = re.fullmatch(r"\s*(?:(\w+)\s*\(\s*)?", text[start : match.start()])
        closed = closing(text, match.end() - 1)
        if head is None or end < 0 or closed < 0:
            continue
        tail = re.sub(r"\s", "", text[closed + 1 : end])
        if tail == (")" if head[1] else ""):
            arguments = split_list(text, match.end(), closed)
            first = start + len(text[start:end]) - len(text[start:end].lstrip())
            found.append(Statement(match[1], match[2], first, end + 1, head[1] or "", arguments))
    return tuple(found)


def _runs(text: str) -> list[list[Statement]]:
    """Return the exchanges that follow each other with nothing between, on one stream."""
    runs: list[list[Statement]] = []
    for one in exchange_statements(text):
        last = runs[-1][-1] if runs else None
        joined = last is not None and not text[last.end : one.start].strip()
        if joined and last is not None and last.stream == one.stream:
            runs[-1].append(one)
        else:
            runs.append([one])
    return [run for run in runs if 1 < len(run) <= _MAX_BATCH]


def _call(statement: Statement, function: str) -> str:
    call = f"{NAMESPACE}::{function}()"
    return f"{statement.wrapper}({call});" if statement.wrapper else f"{call};"


_START, _END = f"{NAMESPACE}::groupStart()", f"{NAMESPACE}::groupEnd()"


@dataclass(frozen=True, slots=True)
class GroupLever:
    """Whether exchanges that follow each other on a stream are one kernel or one kernel each.

    None of them may send what an earlier one receives: NCCL's own rule for groups.
    """

    name: str = "group"

    def current(self, source: str) -> str | None:
        """Return `each` or `together`; None where no two exchanges stand together."""
        runs = [run for run in _runs(masked(source)) if _independent(run)]
        if not runs:
            return None
        inside = [_is_grouped(masked(source), run) for run in runs]
        return "together" if all(inside) else "each"

    def others(self, source: str) -> tuple[str, ...]:
        """Return the other value."""
        return ("each",) if self.current(source) == "together" else ("together",)

    def describe(self, value: str) -> str:
        """Return what the value does."""
        how = "one kernel" if value == "together" else "a kernel each"
        return f"Exchanges that follow each other on a stream are {how}."

    def set(self, source: str, value: str) -> str:
        """Return the program with or without a group around each run."""
        text = masked(source)
        edits: dict[tuple[int, int], str] = {}
        for run in _runs(text):
            if not _independent(run) or _is_grouped(text, run) == (value == "together"):
                continue
            first, last = run[0], run[-1]
            indent = re.search(r"[ \t]*\Z", source[: first.start])
            gap = "\n" + (indent[0] if indent else "")
            if value == "together":
                edits[first.start, first.start] = _call(first, "groupStart") + gap
                edits[last.end, last.end] = gap + _call(last, "groupEnd")
            else:
                before, after = _around(text, run)
                edits[before, first.start] = ""
                edits[last.end, after] = ""
        return edited(source, edits)


def _independent(run: list[Statement]) -> bool:
    received: set[str] = set()
    for one in run:
        if one.arguments[0].text in received:
            return False
        received.add(one.arguments[1].text)
    return True


def _around(text: str, run: list[Statement]) -> tuple[int, int]:
    """Return where the group around a run starts and ends; -1 for what is not there."""
    start, end = _call(run[0], "groupStart"), _call(run[-1], "groupEnd")
    before = text[: run[0].start].rstrip()
    after = text[run[-1].end :]
    begins = len(before) - len(start) if before.endswith(start) else -1
    blank = len(after) - len(after.lstrip())
    ends = run[-1].end + blank + len(end) if after.lstrip().startswith(end) else -1
    return begins, ends


def _is_grouped(text: str, run: list[Statement]) -> bool:
    return min(_around(text, run)) >= 0


_EXPECT = re.compile(
    rf"(?:(?<=\n)[ \t]*)?(?:\w+\(\s*)?{NAMESPACE}::expect\([^;]*\);[ \t]*(?:\r?\n)?"
)
_TWO_SIDED = ("AlltoAll", "AllGather")


@dataclass(frozen=True, slots=True)
class OfferLever:
    """When receivers tell senders where messages go (GIN): when asked, or one kernel ahead.

    Ahead, an exchange costs one trip through the network and not two. `ahead` looks from each
    exchange to the next one in the text, `around` also from the last to the first, for pipelines
    that run again and again. What is received must be used up by then: the judge sees to it.
    """

    name: str = "offer"

    def current(self, source: str) -> str | None:
        """Return the value; None without two exchanges, or with communication of other kinds."""
        text = masked(source)
        units = _units(text)
        if "ncclResult_t expect(" not in source or len(units) < 2:
            return None
        if len(re.findall(rf"\b{NAMESPACE}::(?:launch|share)\w+\(", text)) > sum(map(len, units)):
            return None
        if any(one.name not in _TWO_SIDED for unit in units for one in unit):
            return None
        expected = len(_EXPECT.findall(text))
        ahead = sum(map(len, units[1:]))
        names = {0: "asked", ahead: "ahead", ahead + len(units[0]): "around"}
        return names.get(expected)

    def others(self, source: str) -> tuple[str, ...]:
        """Return the other values."""
        now = self.current(source)
        return tuple(value for value in ("asked", "ahead", "around") if value != now)

    def describe(self, value: str) -> str:
        """Return what the value does."""
        when = {
            "asked": "when a message is about to go",
            "ahead": "one exchange before a message goes",
            "around": "one exchange before a message goes, from the last to the first too",
        }
        return f"Receivers say where messages go {when[value]}."

    def set(self, source: str, value: str) -> str:
        """Return the program with or without calls that expect the next exchange."""
        source = edited(source, {m.span(): "" for m in _EXPECT.finditer(masked(source))})
        if value == "asked":
            return source
        text = masked(source)
        units = _units(text)
        edits: dict[tuple[int, int], str] = {}
        for unit, after in zip(units, [*units[1:], units[0]], strict=True):
            if after is units[0] and value == "ahead":
                break
            before, _ = _around(text, unit)
            at = before if _is_grouped(text, unit) else unit[0].start
            indent = re.search(r"[ \t]*\Z", source[:at])
            gap = "\n" + (indent[0] if indent else "")
            edits[at, at] = "".join(_expect(one) + gap for one in after)
        return edited(source, edits)


def _expect(statement: Statement) -> str:
    _, recv, count, dtype = statement.arguments[:4]
    call = f"{NAMESPACE}::expect({recv.text}, {count.text}, {dtype.text})"
    return f"{statement.wrapper}({call});" if statement.wrapper else f"{call};"


def _units(text: str) -> list[list[Statement]]:
    """Return the exchanges as kernels do them: those of a group together, all others alone."""
    grouped = [run for run in _runs(text) if _is_grouped(text, run)]
    inside = {one.start: run for run in grouped for one in run}
    units: list[list[Statement]] = []
    for one in exchange_statements(text):
        run = inside.get(one.start)
        if run is None:
            units.append([one])
        elif one is run[0] or one.start == run[0].start:
            units.append(run)
    return units


PIPELINE = (GroupLever(), OfferLever())
