"""Finds where a hunk belongs: whole lines, exactly first, then whatever their indentation."""

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from warploom.source.patch_text import Hunk

_SHOWN = 6  # lines of the nearest match that an error shows
_CLOSE = 0.6  # least likeness of a line to be called near
_TRIED = 50  # lines that are compared letter by letter
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a hunk matches: its first line as an index from 0, and whether indentation differs."""

    index: int
    exact: bool = True


class LineIndex:
    """The lines of a program, by content: looked up once for each hunk."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.stripped = [line.strip() for line in lines]
        self.places: dict[str, list[int]] = {}
        for at, text in enumerate(self.stripped):
            self.places.setdefault(text, []).append(at)

    def find(self, search: Sequence[str]) -> list[Place]:
        """Return every place at which all lines of `search` follow each other.

        Places that match exactly (but for blanks at the ends of lines) come alone where there are
        any: others are then not what was meant.
        """
        wanted = [line.strip() for line in search]
        if not wanted or len(wanted) > len(self.lines):
            return []
        # The rarest line decides where to look at all.
        rare = min(range(len(wanted)), key=lambda at: len(self.places.get(wanted[at], ())))
        starts = [at - rare for at in self.places.get(wanted[rare], ())]
        loose = [at for at in starts if at >= 0 and self.stripped[at : at + len(wanted)] == wanted]
        tails = [line.rstrip() for line in search]
        exact = [at for at in loose if self._same_indent(at, tails)]
        return [Place(at) for at in exact] or [Place(at, exact=False) for at in loose]

    def _same_indent(self, at: int, tails: Sequence[str]) -> bool:
        return all(self.lines[at + n].rstrip() == tail for n, tail in enumerate(tails))

    def nearest(self, search: Sequence[str]) -> str:
        """Return the lines of the program that are most like `search`, numbered, or ""."""
        wanted = [line.strip() for line in search]
        votes: dict[int, int] = {}
        for offset, text in enumerate(wanted):
            places = self.places.get(text, ()) if len(text) > 3 else ()
            for at in places if len(places) <= 50 else ():
                votes[at - offset] = votes.get(at - offset, 0) + 1
        if votes:
            start = max(votes, key=lambda at: (votes[at], -at))
        else:
            longest = max(range(len(wanted)), key=lambda at: len(wanted[at]), default=0)
            like = self._most_like(wanted[longest]) if wanted else None
            if like is None:
                return ""
            start = self.places[like][0] - longest
        return self._shown(max(0, start), wanted)

    def _most_like(self, text: str) -> str | None:
        """Return the line most like `text`: of those that share its words, or else of all."""
        words = set(_WORD.findall(text))
        shared = sorted(
            ((len(words & set(_WORD.findall(line))), line) for line in self.places), reverse=True
        )
        some = [line for count, line in shared[:_TRIED] if count] or list(self.places)[:_TRIED]
        like = difflib.get_close_matches(text, some, n=1, cutoff=_CLOSE)
        return like[0] if like else None

    def _shown(self, start: int, wanted: Sequence[str]) -> str:
        shown: list[str] = []
        differ = [
            n
            for n, text in enumerate(wanted)
            if start + n >= len(self.stripped) or self.stripped[start + n] != text
        ]
        first = max(0, (differ[0] if differ else 0) - _SHOWN // 2)
        for at in range(start + first, min(start + first + _SHOWN, len(self.lines))):
            text = wanted[at - start] if at - start < len(wanted) else None
            mark = "|" if text is None or self.stripped[at] == text else "!"
            shown.append(f"  {at + 1:>5} {mark} {self.lines[at]}")
        return "\n".join(shown)


def changed_range(search: Sequence[object], replace: Sequence[object]) -> tuple[int, int, int]:
    """Return which lines really change: the first, the end in `search`, the end in `replace`."""
    first = 0
    while first < min(len(search), len(replace)) and search[first] == replace[first]:
        first += 1
    old, new = len(search), len(replace)
    while old > first and new > first and search[old - 1] == replace[new - 1]:
        old, new = old - 1, new - 1
    return first, old, new


def reindented(hunk: Hunk, program: Sequence[str]) -> list[str]:
    """Return the replacement moved to the indentation that the program has.

    `program` are the lines that the hunk's SEARCH matched. Each new line follows the old line
    with the same indentation; others follow the first line.
    """
    shifts: dict[str, str] = {}
    for item, line in zip(hunk.search, program, strict=True):
        if item.text.strip():
            shifts.setdefault(_indent(item.text), _indent(line))
    had, has = next(iter(shifts.items()), ("", ""))
    moved: list[str] = []
    for item in hunk.replace:
        indent, body = _indent(item.text), item.text.lstrip(" \t")
        if not body:
            moved.append(item.text)
        elif indent in shifts:
            moved.append(shifts[indent] + body)
        elif indent.startswith(had):
            moved.append(has + indent[len(had) :] + body)
        else:
            short = len(had) - len(indent)
            moved.append((has[:-short] if 0 < short <= len(has) else "") + body)
    return moved


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]
