"""C++ tokens of untrusted text, with every trick of the early translation phases made visible.

A scanner that looked at the text alone could be fooled by a name split over two lines or spelt in
escapes. Here line splices are removed first, as a compiler does, and reported; so are trigraphs,
digraphs, escapes in names and literals or comments that do not end inside the text.
"""

import functools
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from warploom.source.token_patterns import CHAR, NAME, NUMBER, RAW, RAW_OPENING, STRING

_SPLICE = re.compile(r"\\[ \t\v\f]*\r?\n")
_TRIGRAPH = re.compile(r"\?\?[=/'()!<>-]")
_TOKEN = re.compile(
    rf"""
    (?P<space>[ \t\v\f\r]+)
  | (?P<newline>\n)
  | (?P<comment>//[^\n]*|/\*.*?\*/)
  | (?P<open_comment>/\*)
  | (?P<raw>{RAW})
  | (?P<open_raw>{RAW_OPENING})
  | (?P<string>{STRING})
  | (?P<char>{CHAR})
  | (?P<number>{NUMBER})
  | (?P<name>{NAME})
  | (?P<digraph><%|%>|%:|:>|<:(?!:[^:>]))
  | (?P<punct><<<|>>>|::|->\*?|\.\.\.|\#\#|<=>|[-+*/%&|^<>=!]=|&&|\|\||\+\+|--
      |[][{{}}().,;:?~!%^&*+=|<>/#-])
  | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_PLAIN = frozenset({"name", "punct", "number", "string", "char", "raw"})


@dataclass(frozen=True, slots=True)
class Token:
    """One token. `kind`: name, number, string, char, punct or directive.

    A directive token is the `#` that starts a preprocessor line; the tokens of that line follow
    with `directive` set to its name (such as "define"). `line` counts from 1 in the given text.
    `spaced` tells of blanks before it; `trusted` that the trusted program's frame spells it.
    """

    kind: str
    text: str
    line: int
    directive: str = ""
    spaced: bool = False
    trusted: bool = False


@dataclass(frozen=True, slots=True)
class Trick:
    """Something that hides text from a reader; `what` says what it is."""

    what: str
    line: int


@dataclass(frozen=True, slots=True)
class Scan:
    """The tokens of a text and the tricks found in it."""

    tokens: tuple[Token, ...]
    tricks: tuple[Trick, ...]


@functools.lru_cache(maxsize=64)
def scan(text: str, first_line: int = 1) -> Scan:
    """Tokenize `text`; lines are counted from `first_line`."""
    joined, starts, splices = _join(text, first_line)
    tricks = [
        Trick(f"trigraph {found[0]}", _line(starts, found.start()))
        for found in _TRIGRAPH.finditer(joined)
    ]
    tokens: list[Token] = []
    directive = ""
    fresh_line = spaced = True
    at, last = 0, len(starts) - 1  # the line that holds what is read
    for found in _TOKEN.finditer(joined):
        kind = found.lastgroup or "other"
        if kind == "tag":
            kind = "raw"
        start = found.start()
        while at < last and starts[at + 1][0] <= start:
            at += 1
        line = starts[at][1]
        if splices and kind != "space" and _has_splice(splices, found):
            tricks.append(Trick(f"line splice inside {_splice_place(kind)}", line))
        if kind == "newline":
            directive, fresh_line, spaced = "", True, True
            continue
        word = found[0]
        if kind in ("space", "comment"):
            spaced = True
            if "\r" in word and _breaks_line(joined, found):
                tricks.append(Trick("carriage return inside of a line", line))
            continue
        if kind not in _PLAIN and (trick := _trick(kind, word)):
            tricks.append(Trick(trick, line))
        if kind in ("open_comment", "open_raw"):
            break  # it holds all that follows; and each more of them would be looked for to the end
        if word == "#" and fresh_line:
            directive = _directive_name(joined, found.end())
            tokens.append(Token("directive", directive, line, directive, spaced))
        else:
            shown = "string" if kind == "raw" else kind
            tokens.append(Token(shown, word, line, directive, spaced))
        fresh_line = spaced = False
    return Scan(tuple(_with_launches(tokens)), tuple(tricks))


def _with_launches(tokens: list[Token]) -> list[Token]:
    """Return the tokens with each `<<<` and `>>>` of a launch as one, also where a blank parts it.

    nvcc takes two adjacent chevrons and then a third one.
    """
    whole: list[Token] = []
    launches: list[int] = []  # how many brackets are open inside of each
    for token in tokens:
        text = token.text if token.kind == "punct" else ""
        if text == "<" and _pair(whole, "<") and [t.text for t in whole[-3:-2]] != ["operator"]:
            whole[-2:] = [replace(whole[-2], text="<<<")]
            launches.append(0)
            continue
        if text == ">" and launches[-1:] == [0] and _pair(whole, ">"):
            whole[-2:] = [replace(whole[-2], text=">>>")]
            launches.pop()
            continue
        if text == "<<<":
            launches.append(0)
        elif launches:
            launches[-1] += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(text, 0)
            if launches[-1] < 0 or text == ">>>" or (text == ";" and launches[-1] == 0):
                launches.pop()
        whole.append(token)
    return whole


def _pair(tokens: list[Token], mark: str) -> bool:
    """Whether `tokens` end with two adjacent `mark`."""
    last = tokens[-2:]
    return [(t.kind, t.text) for t in last] == [("punct", mark)] * 2 and not last[1].spaced


def _has_splice(splices: list[int], found: re.Match[str]) -> bool:
    return bisect_right(splices, found.start()) < bisect_left(splices, found.end())


def _breaks_line(text: str, found: re.Match[str]) -> bool:
    """Whether a blank or comment holds a carriage return that does not end a line."""
    return re.search(r"\r(?!\n|\Z)", text[found.start() : found.end() + 1]) is not None


def _join(text: str, first_line: int) -> tuple[str, list[tuple[int, int]], list[int]]:
    """Remove line splices; return the text, (offset, line) of each line start, splice offsets."""
    pieces: list[str] = []
    splices: list[int] = []
    starts = [(0, first_line)]
    length, line, at = 0, first_line, 0

    def add(piece: str) -> None:
        nonlocal length, line
        for found in re.finditer("\n", piece):
            line += 1
            starts.append((length + found.end(), line))
        pieces.append(piece)
        length += len(piece)

    for found in _SPLICE.finditer(text):
        add(text[at : found.start()])
        splices.append(length)
        line += 1
        starts.append((length, line))
        at = found.end()
    add(text[at:])
    return "".join(pieces), starts, splices


def _line(starts: list[tuple[int, int]], offset: int) -> int:
    """Return the line of `offset`: that of the last start which is not after it."""
    return starts[bisect_right(starts, offset, key=lambda start: start[0]) - 1][1]


def _splice_place(kind: str) -> str:
    return "a comment" if kind == "comment" else f"a {'literal' if kind != 'name' else 'name'}"


def _trick(kind: str, word: str) -> str:
    if kind == "open_comment":
        return "comment that does not end here"
    if kind == "open_raw":
        return "raw string that does not end here"
    if kind == "digraph":
        return f"digraph {word}"
    if kind == "other":
        return "quote that does not end here" if word in "\"'" else f"character {word!r} in code"
    return ""


def _directive_name(text: str, at: int) -> str:
    found = re.compile(r"(?:[ \t]|/\*.*?\*/)*([A-Za-z_]\w*|\d+|)", re.DOTALL).match(text, at)
    return found[1] if found else ""


def arguments_of(tokens: Sequence[Token], opening: int) -> list[list[Token]]:
    """Return the arguments of a call whose `(` is at `opening`: one, without tokens, of `f()`."""
    found: list[list[Token]] = [[]]
    depth = 0
    for at in range(opening + 1, len(tokens)):
        token = tokens[at]
        depth += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}"))
        if depth < 0:
            break
        if token.text == "," and depth == 0:
            found.append([])
        else:
            found[-1].append(token)
    return found


def joined(tokens: Iterable[Token]) -> str:
    """Return the text of tokens, with one blank between them."""
    return " ".join(token.text for token in tokens)
