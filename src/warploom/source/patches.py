"""Applies edits to a program: whole lines, one place each, inside of its mutable regions only.

A patch is applied as a whole or not at all, and every hunk of it is accounted for.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from warploom.core.errors import BadInputError
from warploom.source.edits import split_lines
from warploom.source.patch_match import LineIndex, Place, changed_range, reindented
from warploom.source.patch_text import Hunk, PatchLine, read_hunks
from warploom.source.regions import Program, Region, frame_differences, splice

_MARKER = re.compile(r"EVOLVE-BLOCK-(?:START|END)")


@dataclass(frozen=True, slots=True)
class HunkResult:
    """What became of one hunk.

    `line` is the first line of the program that it changes, from 1, None where it matched nowhere
    or in several places. `reason` says why it was refused, and is "" where it fits.
    """

    number: int
    line: int | None
    reason: str = ""

    @property
    def fits(self) -> bool:
        """Whether the hunk could be applied."""
        return not self.reason


@dataclass(frozen=True, slots=True)
class PatchResult:
    """What became of a patch.

    `applied` says that every hunk was; otherwise `text` is the program as it was and `error` says
    why, in words that its author can act on. `notes` tell what was left out of a whole program
    that was given (changes of its frame).
    """

    text: str
    applied: bool
    hunks: tuple[HunkResult, ...] = ()
    error: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    ending: str


@dataclass(frozen=True, slots=True)
class _Change:
    """Lines `start` to `end` (indices from 0) give way to `lines`."""

    number: int
    start: int
    end: int
    lines: tuple[str, ...]
    ends_file: bool | None  # None: whatever the program does


def apply_diff_patch(program: Program | str, patch: str, *, free: bool = False) -> PatchResult:
    """Apply SEARCH/REPLACE blocks, or a unified diff, to a program.

    Every hunk is matched against the program as it is given, by whole lines: exactly, or else by
    lines that differ in indentation only, and then its replacement is indented as the program is.
    A hunk must match at exactly one place inside of a mutable region; a unified diff may name the
    line where there are several. Newlines stay as the program has them.

    Args:
        program: the program, with its mutable regions.
        patch: text that holds the edits; other text around them is skipped.
        free: whether a program without regions may be changed everywhere.

    Raises:
        BadInputError: the program's markers are wrong.
    """
    given = program if isinstance(program, Program) else Program(program)
    hunks = read_hunks(patch)
    if not hunks:
        return _refused(given, (), "the reply holds no edit: write <<<<<<< SEARCH, the lines to "
                        "replace, =======, the new lines, >>>>>>> REPLACE")  # fmt: skip
    lines = [_split(line) for line in split_lines(given.text)]
    finder = _Finder(given, lines, free=free)
    outcomes = [finder.find(hunk) for hunk in hunks]
    outcomes = _without_overlaps(outcomes)
    results = tuple(result for result, _ in outcomes)
    changes = [change for _, change in outcomes if change is not None]
    if not all(result.fits for result in results):
        return _refused(given, results, _account(results, hunks))
    text = _assemble(lines, changes)
    problem = _frame_problem(given, text)
    return _refused(given, results, problem) if problem else PatchResult(text, True, results)


def apply_full_patch(program: Program | str, code: str, *, free: bool = False) -> PatchResult:
    """Take the mutable regions of a whole program that was written anew.

    The frame stays the program's own; `notes` tell which changes of the frame were left out.
    Code without markers is taken where it holds the whole frame, or where `free` allows a program
    without regions to be replaced.

    Args:
        program: the program, with its mutable regions.
        code: the whole new program.
        free: whether a program without regions may be replaced.

    Raises:
        BadInputError: the program's markers are wrong.
    """
    given = program if isinstance(program, Program) else Program(program)
    if not code.strip():
        return _refused(given, (), "the new program is empty")
    code = _with_newlines_of(given.text, code)
    if not given.regions:
        if not free:
            return _refused(given, (), _NO_REGIONS)
        return PatchResult(code, True)
    try:
        new = Program(code, given.path)
        if not new.regions:
            new = _marked_like(given, code)
        spliced = splice(given, new)
        _ = spliced.regions
    except BadInputError as error:
        where = f"line {error.line}: " if error.line else ""
        return _refused(given, (), where + error.message)
    notes = tuple(
        f"a change of the frame at line {change.line} was left out"
        for change in frame_differences(given, new)
    )
    if spliced.text == given.text:
        return replace(_refused(given, (), "no mutable region was changed"), notes=notes)
    return PatchResult(spliced.text, True, notes=notes)


_NO_REGIONS = (
    "the program has no mutable region: no line of it may be changed (EVOLVE-BLOCK-START and "
    "EVOLVE-BLOCK-END mark one)"
)


def _refused(program: Program, hunks: tuple[HunkResult, ...], error: str) -> PatchResult:
    return PatchResult(program.text, False, hunks, error)


def _split(line: str) -> _Line:
    text = line.removesuffix("\n")
    if len(text) == len(line):
        return _Line(line, "")
    return _Line(text.removesuffix("\r"), "\r\n" if text.endswith("\r") else "\n")


def _with_newlines_of(text: str, code: str) -> str:
    """Return `code` with the newlines of `text`, if that has only one kind."""
    endings = {_split(line).ending for line in split_lines(text)} - {""}
    if len(endings) != 1:
        return code
    ending = endings.pop()
    return "".join(
        line.text + (ending if line.ending else "") for line in map(_split, split_lines(code))
    )


class _Finder:
    """Finds the one place of each hunk and says what is wrong where there is none."""

    def __init__(self, program: Program, lines: Sequence[_Line], *, free: bool) -> None:
        self.regions = program.regions
        self.free = free and not self.regions
        self.lines = lines
        self.index = LineIndex([line.text for line in lines])

    def find(self, hunk: Hunk) -> tuple[HunkResult, _Change | None]:
        """Return what becomes of a hunk, and the change that it makes."""
        if hunk.problem:
            return HunkResult(hunk.number, None, hunk.problem), None
        if hunk.search == hunk.replace:
            return HunkResult(hunk.number, None, "it changes nothing: both halves are equal"), None
        marker = next((i.text for i in _new_lines(hunk) if _MARKER.search(i.text)), None)
        if marker is not None:
            reason = f"it must not add or change a marker: {marker.strip()}"
            return HunkResult(hunk.number, None, reason), None
        places = self._places(hunk)
        mutable = [place for place in places if self._allowed(self._change(hunk, place))]
        if hunk.at is not None and len(mutable) > 1:
            mutable = [p for p in mutable if p.index == hunk.at - 1] or mutable
        if len(mutable) == 1:
            change = self._change(hunk, mutable[0])
            return HunkResult(hunk.number, change.start + 1), change
        return self._failure(hunk, places, mutable), None

    def _places(self, hunk: Hunk) -> list[Place]:
        if hunk.insertion:
            at = hunk.at or 0
            return [Place(at)] if at <= len(self.lines) else []
        return self.index.find([item.text for item in hunk.search])

    def _change(self, hunk: Hunk, place: Place) -> _Change:
        """Return what a hunk changes at a place, lines that stay the same left out."""
        first, old, new = changed_range(hunk.search, hunk.replace)
        at = place.index
        if place.exact:
            lines = [item.text for item in hunk.replace]
        else:
            matched = [line.text for line in self.lines[at : at + len(hunk.search)]]
            lines = reindented(hunk, matched)
        return _Change(hunk.number, at + first, at + old, tuple(lines[first:new]), _ends(hunk))

    def _allowed(self, change: _Change) -> bool:
        if self.free:
            return True
        return any(_first(r) <= change.start and change.end <= _end(r) for r in self.regions)

    def _failure(self, hunk: Hunk, places: list[Place], mutable: list[Place]) -> HunkResult:
        if len(mutable) > 1:
            lines = ", ".join(str(place.index + 1) for place in mutable[:8])
            reason = f"its lines are found {len(mutable)} times (at lines {lines}): add lines "
            reason += "around them until they are found once"
            return HunkResult(hunk.number, None, reason)
        if places:
            change = self._change(hunk, places[0])
            return HunkResult(hunk.number, change.start + 1, self._frame_reason(change))
        if hunk.insertion:
            reason = f"it inserts after line {hunk.at}, but the program has {len(self.lines)} lines"
            return HunkResult(hunk.number, None, reason)
        near = self.index.nearest([item.text for item in hunk.search])
        reason = "its lines are not in the program as it was given (they must match whole lines)"
        if near:
            reason += f"; nearest, with ! where a line differs:\n{near}"
        return HunkResult(hunk.number, None, reason)

    def _frame_reason(self, change: _Change) -> str:
        if not self.regions:
            return _NO_REGIONS
        regions = ", ".join(f"{r.name} (lines {_first(r) + 1}-{_end(r)})" for r in self.regions)
        last = max(change.end, change.start + 1)
        lines = f"{change.start + 1}-{last}" if last > change.start + 1 else f"{change.start + 1}"
        return f"it changes line {lines}, which is not in a mutable region; these are: {regions}"


def _new_lines(hunk: Hunk) -> Iterator[PatchLine]:
    """Yield the lines that a hunk really removes or adds."""
    first, old, new = changed_range(hunk.search, hunk.replace)
    yield from hunk.search[first:old]
    yield from hunk.replace[first:new]


def _first(region: Region) -> int:
    return region.first_line  # the index of the line after the start marker


def _end(region: Region) -> int:
    return region.last_line - 1  # the index of the end marker's line


def _ends(hunk: Hunk) -> bool | None:
    if not any(item.ends_file for item in (*hunk.search, *hunk.replace)):
        return None
    return bool(hunk.replace) and hunk.replace[-1].ends_file


def _without_overlaps(
    outcomes: list[tuple[HunkResult, _Change | None]],
) -> list[tuple[HunkResult, _Change | None]]:
    """Refuse each hunk that touches lines of another one before it."""
    kept: list[tuple[HunkResult, _Change | None]] = []
    taken: list[_Change] = []
    for result, change in outcomes:
        other = next((t for t in taken if change is not None and _overlap(t, change)), None)
        if change is None or other is None:
            kept.append((result, change))
            taken += [change] if change is not None else []
        else:
            reason = f"it changes lines that hunk {other.number} changes: make one of the two"
            kept.append((HunkResult(result.number, result.line, reason), None))
    return kept


def _overlap(one: _Change, other: _Change) -> bool:
    if one.start == one.end or other.start == other.end:  # an insertion lies between two lines
        point, span = (one, other) if one.start == one.end else (other, one)
        return point.start == span.start or span.start < point.start < span.end
    return one.start < other.end and other.start < one.end


def _account(results: Sequence[HunkResult], hunks: Sequence[Hunk]) -> str:
    """Say what became of each hunk, refused ones with their reason."""
    refused = [r for r in results if not r.fits]
    lines = [f"{len(refused)} of {len(results)} edits cannot be made, so that none was made:"]
    for result, hunk in zip(results, hunks, strict=True):
        shown = next((item.text.strip() for item in hunk.search if item.text.strip()), "")
        about = f" ({shown[:60]})" if shown else ""
        said = result.reason or f"fits at line {result.line}"
        lines.append(f"edit {result.number}{about}: {said}")
    return "\n".join(lines)


def _assemble(lines: Sequence[_Line], changes: Sequence[_Change]) -> str:
    endings = [line.ending for line in lines if line.ending]
    usual = endings[0] if endings else "\n"
    last_open = bool(lines) and not lines[-1].ending
    made: list[_Line] = []
    at = 0
    for change in sorted(changes, key=lambda c: (c.start, c.end)):
        made += lines[at : change.start]
        around = lines[change.start : change.end] or lines[max(0, change.start - 1) : change.start]
        ending = next((line.ending for line in around if line.ending), usual)
        made += [_Line(text, ending) for text in change.lines]
        at = change.end
        if change.ends_file is not None and change.end == len(lines):
            last_open = change.ends_file
    made += lines[at:]
    # Only the last line may lack its newline, and lacks it where the program's own did.
    parts = [line.text + (line.ending or usual) for line in made[:-1]]
    if made:
        parts.append(made[-1].text + ("" if last_open else made[-1].ending or usual))
    return "".join(parts)


def _frame_problem(before: Program, text: str) -> str:
    """Return why the patched text is not a program with the same frame, "" where it is."""
    if not before.regions:
        return ""
    try:
        after = Program(text, before.path)
        same = after.frame == before.frame
    except BadInputError as error:
        return f"with these edits the program is not whole: {error.message}"
    return "" if same else "these edits would change the frame"


def _marked_like(program: Program, code: str) -> Program:
    """Return `code`, which has no markers, with those of `program` where its frame is whole.

    Raises:
        BadInputError: the frame's text is not there, in order.
    """
    pieces = _bare_frame(program)
    at = 0
    bodies: list[str] = []
    for number, piece in enumerate(pieces):
        last = number == len(pieces) - 1
        found = code.rfind(piece, at) if last else code.find(piece, at)
        if found < 0 or (number == 0 and found != 0):
            names = ", ".join(region.name for region in program.regions)
            raise BadInputError(
                f"the new program must keep the markers of its regions ({names}), but has none, "
                "and the text around them was changed as well"
            )
        if number:
            bodies.append(code[at:found])
        at = found + len(piece)
    if code[at:].strip():
        raise BadInputError("the new program goes on after the end of the given one")
    if any(not body.strip() for body in bodies):
        raise BadInputError("the new program leaves a mutable region empty")
    return program.with_bodies(bodies)


def _bare_frame(program: Program) -> list[str]:
    """Return the pieces of the frame without their marker lines."""
    return [
        "".join(line for line in split_lines(piece) if not _MARKER.search(line))
        for piece in program.frame
    ]
