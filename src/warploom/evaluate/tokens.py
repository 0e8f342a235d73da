"""C++ tokens of untrusted text, with every trick of the early translation phases made visible.

A scanner that looked at the text alone could be fooled by a name split over two lines or spelt in
escapes. Here line splices are removed first, as a compiler does, and reported; so are trigraphs,
digraphs, escapes in names and literals or comments that do not end inside the text.
"""

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass

_SPLICE = re.compile(r"\\[ \t\v\f]*\r?\n")
_TRIGRAPH = re.compile(r"\?\?[=/'()!<>-]")
_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\v\f\r]+)
  | (?P<newline>\n)
  | (?P<comment>//[^\n]*|/\*.*?\*/)
  | (?P<open_comment>/\*)
  | (?P<raw>(?:u8|[uUL])?R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)")
  | (?P<open_raw>(?:u8|[uUL])?R"[^()\\\s]{0,16}\()
  | (?P<string>(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*")
  | (?P<char>(?:u8|[uUL])?'(?:[^'\\\n]|\\.)*')
  | (?P<number>\.?\d(?:[eEpP][+-]|'[0-9A-Za-z_]|[\w.])*)
  | (?P<name>[A-Za-z_$][A-Za-z0-9_$]*)
  | (?P<digraph><%|%>|%:|:>|<:(?!:[^:>]))
  | (?P<punct><<<|>>>|::|->\*?|\.\.\.|\#\#|<=>|[-+*/%&|^<>=!]=|&&|\|\||\+\+|--
      |[][{}().,;:?~!%^&*+=|<>/#-])
  | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Token:
    """One token. `kind`: name, number, string, char, punct or directive.

    A directive token is the `#` that starts a preprocessor line; the tokens of that line follow
    with `directive` set to its name (such as "define"). `line` counts from 1 in the given text.
    """

    kind: str
    text: str
    line: int
    directive: str = ""


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


def scan(text: str, first_line: int = 1) -> Scan:
    """Tokenize `text`; lines are counted from `first_line`."""
    joined, starts, splices = _join(text, first_line)
    tricks = [
        Trick(f"trigraph {found[0]}", _line(starts, found.start()))
        for found in _TRIGRAPH.finditer(joined)
    ]
    tokens: list[Token] = []
    directive = ""
    fresh_line = True
    for found in _TOKEN.finditer(joined):
        kind, word = found.lastgroup or "other", found[0]
        if kind == "tag":
            kind = "raw"
        line = _line(starts, found.start())
        next_splice = bisect_right(splices, found.start())
        if kind != "space" and next_splice < bisect_left(splices, found.end()):
            tricks.append(Trick(f"line splice inside {_splice_place(kind)}", line))
        if kind == "newline":
            directive, fresh_line = "", True
            continue
        if kind in ("space", "comment"):
            continue
        trick = _trick(kind, word)
        if trick:
            tricks.append(Trick(trick, line))
        if word == "#" and fresh_line:
            directive = _directive_name(joined, found.end())
            tokens.append(Token("directive", directive, line, directive))
        else:
            shown = "string" if kind == "raw" else kind
            tokens.append(Token(shown, word, line, directive))
        fresh_line = False
    return Scan(tuple(tokens), tuple(tricks))


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
