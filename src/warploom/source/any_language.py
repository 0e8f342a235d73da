"""Edits of programs in any language: lines, and mutable regions by whatever comments mark them.

A line that holds EVOLVE-BLOCK-START or EVOLVE-BLOCK-END is a marker. What stands between such a
pair may change; the rest is the frame. Without markers every line may change.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from warploom.core.errors import BadInputError
from warploom.source.patch_text import Hunk, read_hunks

START, END = "EVOLVE-BLOCK-START", "EVOLVE-BLOCK-END"


@dataclass(frozen=True, slots=True)
class Edited:
    """A program after edits, or the `problem` that its author is told (`text` is "" then)."""

    text: str = ""
    problem: str = ""


def has_markers(text: str) -> bool:
    """Whether a program says which of its lines may change."""
    return START in text or END in text


def mutable_spans(text: str, name: str = "the program") -> tuple[tuple[int, int], ...]:
    """Return the lines (first, and the one after the last, from 0) of each mutable region.

    Raises:
        BadInputError: the markers do not pair up.
    """
    spans: list[tuple[int, int]] = []
    opened: int | None = None
    for at, line in enumerate(text.split("\n")):
        if START in line:
            if opened is not None:
                raise BadInputError(
                    f"{START} must not lie in another region", file=name, line=at + 1
                )
            opened = at + 1
        elif END in line:
            if opened is None:
                raise BadInputError(f"{END} must follow a {START}", file=name, line=at + 1)
            spans.append((opened, at))
            opened = None
    if opened is not None:
        raise BadInputError(f"{START} must be closed by {END}", file=name, line=opened)
    return tuple(spans)


def with_edits(text: str, reply: str) -> Edited:
    """Apply SEARCH/REPLACE blocks, or a unified diff, each of whose hunks fits at one place only.

    Blanks at the ends of lines do not count when a hunk is looked for.
    """
    hunks = read_hunks(reply)
    if not hunks:
        return Edited(
            problem="the reply holds no edit: write <<<<<<< SEARCH, the lines to replace, "
            "=======, the new lines, >>>>>>> REPLACE"
        )
    lines = text.split("\n")
    spans = mutable_spans(text) if has_markers(text) else ((0, len(lines)),)
    changes: list[tuple[int, int, list[str]]] = []
    for hunk in hunks:
        place = _place(hunk, lines, spans)
        if isinstance(place, str):
            return Edited(problem=f"edit {hunk.number}: {place}")
        changes.append((place, place + len(hunk.search), [line.text for line in hunk.replace]))
    changes.sort(key=lambda change: change[0])
    for one, other in pairwise(changes):
        if other[0] < one[1]:
            return Edited(problem="two edits change the same lines")
    for start, end, new in reversed(changes):
        lines[start:end] = new
    return _changed(text, "\n".join(lines))


def written_anew(text: str, code: str) -> Edited:
    """Return the frame of `text` with the regions of `code`; `code` where nothing is marked."""
    if not has_markers(text):
        return _changed(text, code)
    try:
        theirs = mutable_spans(code)
    except BadInputError as error:
        return Edited(problem=f"line {error.line}: {error.message}")
    ours = mutable_spans(text)
    if len(ours) != len(theirs):
        return Edited(
            problem=f"the program has {len(ours)} pairs of marker lines ({START}, {END}), and "
            f"yours {len(theirs)}: keep them as they are"
        )
    lines, new = text.split("\n"), code.split("\n")
    for (start, end), (first, last) in zip(reversed(ours), reversed(theirs), strict=True):
        lines[start:end] = new[first:last]
    return _changed(text, "\n".join(lines))


def _place(hunk: Hunk, lines: Sequence[str], spans: Sequence[tuple[int, int]]) -> int | str:
    """Return the line where a hunk fits, or why it fits nowhere."""
    if hunk.problem:
        return hunk.problem
    wanted = [line.text.rstrip() for line in hunk.search]
    if not wanted:
        return "it names no line to replace"
    if any(has_markers(line.text) for line in hunk.replace):
        return "marker lines stay as they are"
    count = len(wanted)
    found = [
        at
        for at in range(len(lines) - count + 1)
        if [line.rstrip() for line in lines[at : at + count]] == wanted
    ]
    inside = [at for at in found if any(s <= at and at + count <= e for s, e in spans)]
    if len(inside) == 1:
        return inside[0]
    if inside:
        return f"its lines are found {len(inside)} times: show more of them"
    return "its lines may not change: they are outside of the markers" if found else (
        "its lines are not in the program: copy them exactly"
    )  # fmt: skip


def _changed(before: str, after: str) -> Edited:
    if before.split() == after.split() and before.strip() == after.strip():
        return Edited(problem="the program is the one that you were given, unchanged")
    return Edited(after)
