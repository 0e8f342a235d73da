"""Preprocessor conditionals as line ranges: which lines are dead, and which a parser cannot join.

A parser that sees all branches of an `#if` at once fails where a branch holds half a statement.
Such branches are blanked, all but one, so that byte offsets stay those of the file.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from warploom.source.masking import mask

_DIRECTIVE = re.compile(rb"[ \t]*#[ \t]*(ifdef|ifndef|if|elif|elifdef|elifndef|else|endif)\b(.*)")
_COMMENT = re.compile(rb"//.*|/\*.*?\*/")


@dataclass(frozen=True, slots=True)
class Branch:
    """One arm: the line of its directive, and its own lines `first..last` (may be empty).

    Lines count from 0. `live` is True, False, or None where it cannot be told.
    """

    directive: int
    first: int
    last: int
    condition: str
    live: bool | None


@dataclass(frozen=True, slots=True)
class Conditional:
    """One `#if ... #endif`, its arms in order; `start` and `end` are directive lines."""

    start: int
    end: int
    branches: tuple[Branch, ...]

    def chosen(self) -> Branch:
        """Return the arm that is compiled, or the best guess: live, else undecided."""
        for wanted in (True, None):
            for branch in self.branches:
                if branch.live is wanted:
                    return branch
        return self.branches[-1]


def _value(condition: bytes, keyword: bytes, defines: Mapping[str, str]) -> bool | None:
    text = _COMMENT.sub(b"", condition).strip().decode("latin-1")
    if keyword in (b"ifdef", b"ifndef", b"elifdef", b"elifndef"):
        if text not in defines:
            return None
        return keyword in (b"ifdef", b"elifdef")
    match = re.fullmatch(r"\(?\s*(\d+)\s*\)?", text)
    if match:
        return int(match[1]) != 0
    match = re.fullmatch(r"(!?)\s*defined\s*\(?\s*(\w+)\s*\)?", text)
    if match and match[2] in defines:
        return not match[1]
    if text in defines and re.fullmatch(r"\d*", defines[text]):
        return defines[text] not in ("", "0")
    return None


class _Open:
    """A conditional whose `#endif` is not reached yet."""

    def __init__(self, line: int) -> None:
        self.start = line
        self.arms: list[tuple[int, str, bool | None]] = []
        self.decided = False

    def add(self, line: int, condition: str, value: bool | None) -> None:
        self.arms.append((line, condition, False if self.decided else value))
        self.decided = self.decided or value is True

    def close(self, end: int) -> Conditional:
        ends = [arm[0] for arm in self.arms[1:]] + [end]
        branches = tuple(
            Branch(line, line + 1, stop - 1, condition, live)
            for (line, condition, live), stop in zip(self.arms, ends, strict=True)
        )
        return Conditional(self.start, end, branches)


def find_conditionals(text: bytes, defines: Mapping[str, str]) -> tuple[Conditional, ...]:
    """Return every complete `#if ... #endif` of `text`, inner ones before outer ones."""
    open_ones: list[_Open] = []
    found: list[Conditional] = []
    for number, line in enumerate(text.split(b"\n")):
        match = _DIRECTIVE.match(line)
        if not match:
            continue
        keyword, rest = match[1], match[2]
        condition = f"{keyword.decode()} {rest.strip().decode('latin-1')}".strip()
        if keyword in (b"if", b"ifdef", b"ifndef"):
            open_ones.append(_Open(number))
            open_ones[-1].add(number, condition, _value(rest, keyword, defines))
        elif keyword == b"endif":
            if open_ones:
                found.append(open_ones.pop().close(number))
        elif open_ones:
            # `#else` holds exactly when no earlier arm does: unknown if one of them is unknown.
            known = all(arm[2] is False for arm in open_ones[-1].arms)
            value = (
                (True if known else None) if keyword == b"else" else _value(rest, keyword, defines)
            )
            open_ones[-1].add(number, condition, value)
    return tuple(found)


def is_balanced(text: bytes) -> bool:
    """Tell whether braces and parentheses of `text` close each other."""
    plain = mask(text)
    pairs = {ord(")"): ord("("), ord("}"): ord("{"), ord("]"): ord("[")}
    stack: list[int] = []
    for char in plain:
        if char in b"({[":
            stack.append(char)
        elif char in pairs and (not stack or stack.pop() != pairs[char]):
            return False
    return not stack
