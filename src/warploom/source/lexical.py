"""A scan of C++ text that tells whether a piece of it stands alone.

What a candidate puts into a region must not reach out of it: an open comment, string, brace or
`#if` would swallow or re-bracket the text that follows, which is not the candidate's to change.
"""

import re
from dataclasses import dataclass

from warploom.source.token_patterns import (
    CHAR,
    LINE_COMMENT,
    NAME,
    NUMBER,
    RAW,
    RAW_OPENING,
    STRING,
)

_TOKEN = re.compile(
    rf"""
    (?P<line>{LINE_COMMENT})
  | (?P<block>/\*.*?\*/)
  | (?P<open_block>/\*)
  | (?P<raw>{RAW})
  | (?P<open_raw>{RAW_OPENING})
  | (?P<string>{STRING})
  | (?P<open_string>")
  | (?P<char>{CHAR})
  | (?P<number>{NUMBER})
  | (?P<name>{NAME})
  | (?P<open_char>')
  | (?P<directive>^[ \t]*\#[ \t]*(?P<keyword>\w+)(?:\\\n|/\*.*?\*/|[^\n])*)
  | (?P<digraph><%|%>|%:|\?\?/)
  | (?P<bracket>[()\[\]{{}}])
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_PAIRS = {")": "(", "]": "[", "}": "{"}
_OPENED = {
    "open_block": "a comment that is not closed",
    "open_raw": "a raw string that is not closed",
    "open_string": "a string that is not closed on its line",
    "open_char": "a character constant that is not closed",
    "digraph": "a digraph or trigraph, which hides brackets from readers",
}


@dataclass(frozen=True, slots=True)
class Leak:
    """Why a piece of text does not stand alone; `line` counts from 0 at its first line."""

    line: int
    message: str


class _Scan:
    """State of one scan: open brackets, and the bracket depth at each open `#if`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.brackets: list[tuple[str, int]] = []
        self.conditionals: list[tuple[int, int]] = []

    def run(self) -> Leak | None:
        """Return the first leak."""
        lines = self.text.split("\n")
        for number in (len(lines) - 1, len(lines) - 2):
            if number >= 0 and lines[number].rstrip().endswith("\\"):
                return Leak(number, "the last line must not end in a backslash")
        line = counted = 0
        for match in _TOKEN.finditer(self.text):
            line += self.text.count("\n", counted, match.start())
            counted = match.start()
            leak = self.token(match, line)
            if leak is not None:
                return leak
        if self.conditionals:
            return Leak(self.conditionals[-1][1], "an #if that is not closed by an #endif")
        if self.brackets:
            char, line = self.brackets[-1]
            return Leak(line, f"a '{char}' that is not closed")
        return None

    def token(self, match: re.Match[str], line: int) -> Leak | None:
        """Take one token into account."""
        kind = match.lastgroup or ""
        # `lastgroup` names the last group that took part: inner groups are mapped to their token.
        kind = {"tag": "raw", "keyword": "directive"}.get(kind, kind)
        if kind in _OPENED:
            return Leak(line, _OPENED[kind])
        if kind == "bracket":
            return self.bracket(match[0], line)
        if kind == "directive":
            return self.directive(match["keyword"], match, line)
        return None

    def bracket(self, char: str, line: int) -> Leak | None:
        """Open or close a bracket; an arm of an `#if` closes only what it opened."""
        if char not in _PAIRS:
            self.brackets.append((char, line))
            return None
        floor = self.conditionals[-1][0] if self.conditionals else 0
        if len(self.brackets) <= floor or self.brackets.pop()[0] != _PAIRS[char]:
            return Leak(line, f"a '{char}' that closes nothing in here")
        return None

    def directive(self, keyword: str, match: re.Match[str], line: int) -> Leak | None:
        """Follow `#if` nesting; any other directive must be balanced in itself."""
        depth = len(self.brackets)
        if keyword in ("if", "ifdef", "ifndef"):
            self.conditionals.append((depth, line))
        elif keyword in ("else", "elif", "elifdef", "elifndef", "endif"):
            if not self.conditionals:
                return Leak(line, f"an #{keyword} without its #if")
            if self.conditionals[-1][0] != depth:
                return Leak(line, "an arm of an #if with a bracket that is not closed")
            if keyword == "endif":
                self.conditionals.pop()
        rest = match[0].partition(keyword)[2]
        inner = _Scan(rest.replace("\\\n", "  ")).run() if rest.strip() else None
        return Leak(line, f"in #{keyword}: {inner.message}") if inner is not None else None


def find_leak(text: str) -> Leak | None:
    """Return why `text` reaches out of itself, None if it stands alone.

    Brackets, comments, strings and `#if` must all close within the text, in each arm of an `#if`
    separately, and directives must balance by themselves.
    """
    return _Scan(text.replace("\r\n", "\n")).run()
