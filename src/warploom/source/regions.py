"""Programs as a frame with mutable regions between `EVOLVE-BLOCK` markers.

A candidate contributes its regions only; the frame (all else, the markers included) is the
trusted program's.
"""

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from warploom.core.errors import BadInputError
from warploom.source.lexical import find_leak

START, END = "EVOLVE-BLOCK-START", "EVOLVE-BLOCK-END"
_MARKER = re.compile(
    r"^[ \t]*//[ \t]*EVOLVE-BLOCK-(START|END)(?:[ \t]+([\w.-]+))?[ \t]*\r?$", re.MULTILINE
)
_MENTION = re.compile(r"EVOLVE-BLOCK-(?:START|END)")


@dataclass(frozen=True, slots=True)
class Region:
    """One mutable region.

    `start` and `end` are character offsets of the body, without its marker lines. `first_line` and
    `last_line` are the lines of the markers, from 1.
    """

    name: str
    start: int
    end: int
    first_line: int
    last_line: int


@dataclass(frozen=True)
class Program:
    """CUDA text with its mutable regions. `path` is what messages call it."""

    text: str
    path: Path = Path("program.cu")

    @cached_property
    def regions(self) -> tuple[Region, ...]:
        """The mutable regions in order.

        Raises:
            BadInputError: markers do not pair up, nest, share a name, hold nothing, or a line
                mentions a marker without being one.
        """
        return _parse(self)

    @cached_property
    def frame(self) -> tuple[str, ...]:
        """The text around the regions: one piece more than there are regions."""
        pieces: list[str] = []
        at = 0
        for region in self.regions:
            pieces.append(self.text[at : region.start])
            at = region.end
        return (*pieces, self.text[at:])

    def body(self, region: Region) -> str:
        """Return the text of one region, without its markers."""
        return self.text[region.start : region.end]

    def with_bodies(self, bodies: Sequence[str]) -> "Program":
        """Return this program with other region bodies, in order; the frame stays.

        Raises:
            BadInputError: there are more or fewer bodies than regions.
        """
        if len(bodies) != len(self.regions):
            raise BadInputError(
                f"a program with {len(self.regions)} regions needs as many bodies, "
                f"got {len(bodies)}",
                file=str(self.path),
            )
        parts = [self.frame[0]]
        for body, piece in zip(bodies, self.frame[1:], strict=True):
            parts += [_closed(body), piece]
        return Program("".join(parts), self.path)


def _closed(body: str) -> str:
    """Return a body that ends with a newline: the end marker needs a line of its own."""
    return body if not body or body.endswith("\n") else f"{body}\n"


def _refuse(program: Program, line: int, message: str, hint: str = "") -> BadInputError:
    return BadInputError(message, file=str(program.path), line=line, hint=hint)


def _parse(program: Program) -> tuple[Region, ...]:
    text = program.text
    found: list[Region] = []
    marked: set[int] = set()
    opened: tuple[str, int, int] | None = None
    for match in _MARKER.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        marked.add(line)
        if text[: match.start()].rstrip("\r\n").endswith("\\") and match.start():
            raise _refuse(program, line, "a marker must not continue a line that ends in '\\'")
        after = min(match.end() + 1, len(text))
        if match[1] == "START":
            if opened is not None:
                raise _refuse(
                    program, line, f"regions must not nest, got a {START} inside of the one of "
                    f"line {opened[2]}",
                )  # fmt: skip
            opened = (match[2] or f"region{len(found) + 1}", after, line)
            continue
        if opened is None:
            raise _refuse(program, line, f"{END} must follow a {START}, got one without")
        found.append(_region(program, opened, match, line))
        opened = None
    if opened is not None:
        raise _refuse(program, opened[2], f"{START} must be closed by {END}, got the end of file")
    _check_names(program, found)
    for mention in _MENTION.finditer(text):
        line = text.count("\n", 0, mention.start()) + 1
        if line not in marked:
            raise _refuse(
                program, line, "a marker must be a // comment on a line of its own, got other text",
                f"write // {START} name",
            )  # fmt: skip
    return tuple(found)


def marker_faults(text: str) -> tuple[tuple[int, str], ...]:
    """Return each marker that pairs with none, or lies in another's region, with both lines."""
    found: list[tuple[int, str]] = []
    opened: int | None = None  # the line of the start that waits for its end
    closed: int | None = None  # the line of the last end
    for match in _MARKER.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if match[1] == "START":
            if opened is not None:
                message = f"{START} in line {line} lies in the region that line {opened} opens"
                found.append((line, f"{message}: regions must not nest, or its {END} is missing"))
            opened = line
        elif opened is None:
            after = "no region is open" if closed is None else f"line {closed} has closed the last"
            found.append((line, f"{END} in line {line} closes nothing: {after}"))
            closed = line
        else:
            opened, closed = None, line
    if opened is not None:
        last = len(text.splitlines())
        found.append(
            (opened, f"{START} in line {opened} is not closed up to line {last}, the last")
        )
    return tuple(found)


def _region(
    program: Program, opened: tuple[str, int, int], match: re.Match[str], line: int
) -> Region:
    name, start, first = opened
    if match[2] and match[2] != name:
        raise _refuse(program, line, f"{END} must name region '{name}' or none, got '{match[2]}'")
    if not program.text[start : match.start()].strip():
        raise _refuse(program, first, f"a region must hold code, got the empty region '{name}'")
    return Region(name, start, match.start(), first, line)


def _check_names(program: Program, found: list[Region]) -> None:
    seen: dict[str, int] = {}
    for region in found:
        if region.name in seen:
            raise _refuse(
                program, region.first_line, f"region names must differ, got '{region.name}' again "
                f"(first on line {seen[region.name]})",
            )  # fmt: skip
        seen[region.name] = region.first_line


def validate_regions(program: Program) -> None:
    """Check that a program's markers are sound and that each region stands alone.

    Raises:
        BadInputError: as `Program.regions`; or a region's brackets, comments, strings or `#if` do
            not close within it, so that it begins or ends inside of a statement.
    """
    for region in program.regions:
        leak = find_leak(program.body(region))
        if leak is not None:
            raise _refuse(
                program,
                region.first_line + 1 + leak.line,
                f"region '{region.name}' must hold whole statements, got {leak.message}",
            )


def splice(trusted: Program, candidate: Program) -> Program:
    """Return the trusted program's frame with the candidate's regions.

    Whatever the candidate has outside of its regions is dropped; see `frame_differences`.

    Raises:
        BadInputError: the candidate has other regions than the trusted program (by number, order
            or name), or one of its regions reaches out of itself.
    """
    wanted = [r.name for r in trusted.regions]
    got = [r.name for r in candidate.regions]
    if not wanted:
        raise BadInputError(
            "the trusted program must have regions, but it has no markers",
            file=str(trusted.path),
            hint="insert_evolve_markers, or the evolve_markers step of transform, puts them in",
        )
    if wanted != got:
        raise BadInputError(
            f"a candidate must keep the regions {', '.join(wanted)} in this order, "
            f"got {', '.join(got) or 'none'}",
            file=str(candidate.path),
        )
    validate_regions(candidate)
    bodies = [candidate.body(r) for r in candidate.regions]
    return Program(trusted.with_bodies(bodies).text, candidate.path)


@dataclass(frozen=True, slots=True)
class FrameDifference:
    """Text of the frame that a candidate changed; `line` is the candidate's, from 1."""

    line: int
    expected: str
    got: str


def _frame_lines(program: Program) -> list[tuple[int, str]]:
    inside = {line for r in program.regions for line in range(r.first_line + 1, r.last_line)}
    lines = program.text.split("\n")
    return [(n, text) for n, text in enumerate(lines, 1) if n not in inside]


def frame_differences(trusted: Program, candidate: Program) -> tuple[FrameDifference, ...]:
    """Return where a candidate's frame is not the trusted one's; empty when they are equal."""
    ours, theirs = _frame_lines(trusted), _frame_lines(candidate)
    matcher = difflib.SequenceMatcher(
        None, [t for _, t in ours], [t for _, t in theirs], autojunk=False
    )
    found: list[FrameDifference] = []
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag != "equal":
            at = theirs[min(c, len(theirs) - 1)][0]
            expected = "\n".join(t for _, t in ours[a:b])
            found.append(FrameDifference(at, expected, "\n".join(t for _, t in theirs[c:d])))
    return tuple(found)


def without_marker_lines(text: str) -> str:
    """Return a part of a program without the lines that are markers, paired or not."""
    return "".join(
        line for line in text.splitlines(keepends=True) if not _MARKER.match(line.rstrip("\n"))
    )


def strip_markers(program: Program) -> str:
    """Return the program's text without its marker lines."""
    edges = [edge for r in program.regions for edge in (r.first_line, r.last_line)]
    lines = program.text.splitlines(keepends=True)
    return "".join(text for n, text in enumerate(lines, 1) if n not in edges)
