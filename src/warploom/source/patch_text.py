"""Reads edits out of text: SEARCH/REPLACE blocks and unified diffs, every hunk of them.

What looks like an edit and is not a whole one becomes a hunk with a `problem`, so that nothing is
ever dropped in silence.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_SEARCH = re.compile(r"[ \t]*<{5,9}[ \t]*SEARCH[ \t]*\Z")
_DIVIDER = re.compile(r"[ \t]*={5,9}[ \t]*\Z")
_REPLACE = re.compile(r"[ \t]*>{5,9}[ \t]*REPLACE[ \t]*\Z")
_HEADER = re.compile(
    r"@@(?:[ \t]*-(\d+)(?:,(\d+))?[ \t]+\+(\d+)(?:,(\d+))?)?[ \t]*(?:\.\.\.)?[ \t]*@@"
)
_FILE_LINE = re.compile(r"(?:--- |\+\+\+ |diff --git |index [0-9a-f]+\.\.)")
_NO_NEWLINE = "\\ No newline at end of file"


@dataclass(frozen=True, slots=True)
class PatchLine:
    """One line of a hunk without its newline; `ends_file`: marked to be the last, without one."""

    text: str
    ends_file: bool = False


@dataclass(frozen=True, slots=True)
class Hunk:
    """One edit: the lines to find and the lines that take their place.

    `number` counts from 1, `line` is where the hunk begins in the patch. `at` is the first line of
    the program that a diff's header names, None where there is none. `insertion` marks a diff hunk
    without any old line: it goes in after line `at`. `problem` says why this is no whole edit.
    """

    number: int
    line: int
    search: tuple[PatchLine, ...] = ()
    replace: tuple[PatchLine, ...] = ()
    at: int | None = None
    insertion: bool = False
    problem: str = ""


def read_hunks(patch: str) -> tuple[Hunk, ...]:
    """Return every hunk of `patch` in order; text around them is skipped.

    Where there is any mark of a SEARCH/REPLACE block, only such are read, else a unified diff.
    """
    lines = [line.removesuffix("\r") for line in patch.split("\n")]
    if any(_SEARCH.match(line) or _REPLACE.match(line) for line in lines):
        found = list(_blocks(lines))
    else:
        found = list(_diff_hunks(lines))
    return tuple(
        Hunk(n, h.line, h.search, h.replace, h.at, h.insertion, h.problem)
        for n, h in enumerate(found, 1)
    )


def _blocks(lines: Sequence[str]) -> Iterator[Hunk]:
    at = 0
    while at < len(lines):
        line, start = lines[at], at
        at += 1
        if _REPLACE.match(line):
            yield Hunk(0, start + 1, problem="this >>>>>>> REPLACE has no <<<<<<< SEARCH before it")
        if not _SEARCH.match(line):
            continue
        parts: list[list[PatchLine]] = [[]]
        problem = "the block does not end: there is no >>>>>>> REPLACE (is the reply truncated?)"
        while at < len(lines) and not _SEARCH.match(lines[at]):
            line = lines[at]
            at += 1
            if _REPLACE.match(line):
                problem = ""
                break
            if _DIVIDER.match(line):
                parts.append([])
            else:
                parts[-1].append(PatchLine(line))
        if not problem and len(parts) != 2:
            count = len(parts) - 1
            problem = f"a block must have one ======= line between its halves, got {count}"
        search = tuple(parts[0])
        if not problem and not any(item.text.strip() for item in search):
            problem = "SEARCH must hold at least one line that is not blank"
        yield Hunk(0, start + 1, search, tuple(parts[-1]) if len(parts) == 2 else (), None,
                   False, problem)  # fmt: skip


def _diff_hunks(lines: Sequence[str]) -> Iterator[Hunk]:
    at = 0
    while at < len(lines):
        header = _HEADER.match(lines[at])
        at += 1
        if header is not None:
            body, following = _body(lines, at, header)
            yield _diff_hunk(body, at, header, ends=following >= len(lines))
            at = following


def _announced(header: re.Match[str]) -> tuple[int, int] | None:
    if header[1] is None:
        return None
    return int(header[2] or 1), int(header[4] or 1)


def _body(lines: Sequence[str], at: int, header: re.Match[str]) -> tuple[list[str], int]:
    """Return the lines of a hunk and where the next thing begins.

    The announced counts tell a deleted `-- x` from a file line; people and models miscount, so
    that further lines which can only belong to the hunk are taken, too.
    """
    old, new = _announced(header) or (0, 0)
    body: list[str] = []
    while at < len(lines):
        line = lines[at]
        whole = old <= 0 and new <= 0
        if _HEADER.match(line) or line.startswith("```"):
            break
        foreign = _FILE_LINE.match(line) or not line.startswith((" ", "+", "-", "\\"))
        if whole and foreign and (line or not _continues(lines, at)):
            break
        old -= line[:1] in ("", " ", "-")
        new -= line[:1] in ("", " ", "+")
        body.append(line)
        at += 1
    return body, at


def _continues(lines: Sequence[str], at: int) -> bool:
    """Whether blank lines from `at` on are context whose only blank was lost."""
    while at < len(lines) and not lines[at]:
        at += 1
    return at < len(lines) and lines[at][:1] in (" ", "+", "-") and not _FILE_LINE.match(lines[at])


def _diff_hunk(body: Sequence[str], line: int, header: re.Match[str], *, ends: bool) -> Hunk:
    old: list[PatchLine] = []
    new: list[PatchLine] = []
    problem = ""
    last = ""
    for offset, text in enumerate(body):
        mark, rest = (text[:1] or " "), text[1:]
        if mark == "\\":
            for side in [s for s, marks in ((old, " -"), (new, " +")) if s and last in marks]:
                side[-1] = PatchLine(side[-1].text, ends_file=True)
            continue
        if mark not in " +-":
            problem = (
                f"line {line + 1 + offset} of the diff must begin with a blank, + or -, got "
                f"{text[:40]!r}"
            )
            break
        if mark in " -":
            old.append(PatchLine(rest))
        if mark in " +":
            new.append(PatchLine(rest))
        last = mark
    counts = _announced(header)
    if not problem and ends and counts and (len(old) < counts[0] or len(new) < counts[1]):
        problem = (
            f"the hunk ends early: its header announces {counts[0]} old and {counts[1]} new lines, "
            f"got {len(old)} and {len(new)} (is the reply truncated?)"
        )
    at = None if counts is None else int(header[1])
    inserts = counts is not None and counts[0] == 0 and not old
    if not problem and not inserts and not any(item.text.strip() for item in old) and at is None:
        problem = "a hunk must show at least one old line that is not blank"
    return Hunk(0, line, tuple(old), tuple(new), at, inserts, problem)
