"""C++ tokens by byte offset: enough of the language to find launches and declarations.

Tokens, not a syntax tree, because a macro's body is text to every parser, and launches live there.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

from warploom.source.token_patterns import CHAR, COMMENT, NUMBER, RAW, SPLICE, STRING

_TOKEN = re.compile(
    rf"""
    (?P<space>(?:[ \t\r\f\v]|{SPLICE})+|\n)
  | (?P<comment>{COMMENT})
  | (?P<string>{RAW}|{STRING})
  | (?P<char>{CHAR})
  | (?P<number>{NUMBER})
  | (?P<name>[A-Za-z_$\x80-\xff][A-Za-z0-9_$\x80-\xff]*)
  | (?P<punct>::|->|\.\.\.|.)
    """.encode("latin-1"),
    re.VERBOSE | re.DOTALL,
)
_OPEN = {b"(": b")", b"[": b"]", b"{": b"}"}
_CLOSE = {close: open_ for open_, close in _OPEN.items()}


class Kind(Enum):
    """What a token is."""

    NAME = auto()
    NUMBER = auto()
    STRING = auto()
    CHAR = auto()
    PUNCT = auto()


_KINDS = {kind.name.lower(): kind for kind in Kind}


@dataclass(frozen=True, slots=True)
class Token:
    """One token; `directive` is the index of the preprocessor line that holds it, or -1."""

    kind: Kind
    text: bytes
    start: int
    directive: int

    @property
    def end(self) -> int:
        """The offset after the last byte."""
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True)
class Directive:
    """One preprocessor line with its continuations: `#include`, `#define` and so on.

    `tokens` is the range of its tokens after the keyword.
    """

    keyword: bytes
    start: int
    end: int
    tokens: range


@dataclass(frozen=True, slots=True)
class TokenStream:
    """The tokens of a text, without blanks and comments, and its preprocessor lines."""

    text: bytes
    tokens: tuple[Token, ...]
    directives: tuple[Directive, ...]

    def __len__(self) -> int:
        return len(self.tokens)

    def is_at(self, index: int, text: bytes) -> bool:
        """Whether the token at `index` exists and reads `text`."""
        return 0 <= index < len(self.tokens) and self.tokens[index].text == text

    def kind_at(self, index: int) -> Kind | None:
        """Return the kind of the token at `index`, None when there is none."""
        return self.tokens[index].kind if 0 <= index < len(self.tokens) else None

    def is_run(self, index: int, mark: bytes) -> bool:
        """Whether three adjacent tokens `mark` start at `index`, as in `<<<`."""
        return all(self.is_at(index + at, mark) for at in range(3)) and (
            self.tokens[index + 2].end - self.tokens[index].start == 3
        )

    def closing(self, index: int) -> int | None:
        """Return the index of the bracket that closes the one at `index`."""
        return self._match(index, 1, _OPEN, _CLOSE)

    def opening(self, index: int) -> int | None:
        """Return the index of the bracket that opens the one at `index`."""
        return self._match(index, -1, _CLOSE, _OPEN)

    def _match(
        self, index: int, step: int, ours: dict[bytes, bytes], theirs: dict[bytes, bytes]
    ) -> int | None:
        pending: list[bytes] = []
        place = self.tokens[index].directive
        at = index
        while 0 <= at < len(self.tokens):
            token = self.tokens[at]
            if token.directive == place and token.kind is Kind.PUNCT:
                if token.text in ours:
                    pending.append(ours[token.text])
                elif token.text in theirs:
                    if token.text != pending.pop():
                        return None
                    if not pending:
                        return at
            elif place >= 0 and token.directive != place:
                return None
            at += step
        return None

    def angle_opening(self, index: int) -> int | None:
        """Return the index of the `<` of the template arguments that end with `>` at `index`."""
        depth = 0
        at = index
        while at >= 0:
            text = self.tokens[at].text
            if text == b">":
                depth += 1
            elif text == b"<":
                depth -= 1
                if depth == 0:
                    return at
            elif text in _CLOSE and text != b"}":
                opener = self.opening(at)
                if opener is None:
                    return None
                at = opener
            elif text in (b";", b"{", b"}"):
                return None
            at -= 1
        return None

    def macro_parameters(self, index: int) -> frozenset[bytes]:
        """Return the parameters of the function-like macro whose body holds token `index`."""
        number = self.tokens[index].directive
        if number < 0 or self.directives[number].keyword != b"define":
            return frozenset()
        first = self.directives[number].tokens.start
        if not self.is_at(first + 1, b"("):
            return frozenset()
        if self.tokens[first].end != self.tokens[first + 1].start:
            return frozenset()
        closer = self.closing(first + 1)
        names = self.tokens[first + 2 : closer] if closer is not None else ()
        return frozenset(token.text for token in names if token.kind is Kind.NAME)

    def between(self, start: int, end: int) -> range:
        """Return the indices of the tokens that start in the byte range."""
        low = bisect_right(self.tokens, start - 1, key=lambda token: token.start)
        high = bisect_right(self.tokens, end - 1, key=lambda token: token.start)
        return range(low, high)

    def source(self, first: int, last: int) -> bytes:
        """Return the text from token `first` to token `last`, both included."""
        return self.text[self.tokens[first].start : self.tokens[last].end]


def newlines(text: bytes) -> bytes:
    """Return the line breaks of `text`, so that an edit can keep the line structure."""
    return b"".join(match.group(0) for match in re.finditer(rb"\\?\r?\n", text))


def _scan(text: bytes) -> Iterator[tuple[str, bytes, int]]:
    for match in _TOKEN.finditer(text):
        yield match.lastgroup or "punct", match.group(0), match.start()


def tokenize(text: bytes) -> TokenStream:
    """Split `text` into tokens; never fails: an odd byte is a token of its own."""
    tokens: list[Token] = []
    directives: list[Directive] = []
    begun: tuple[int, int] | None = None  # start offset and first token of the open directive
    at_line_start = True

    def close(end: int) -> None:
        nonlocal begun
        if begun is None:
            return
        start, first = begun
        begun = None
        keyword = tokens[first + 1].text if len(tokens) > first + 1 else b""
        directives.append(Directive(keyword, start, end, range(first + 2, len(tokens))))

    for group, piece, start in _scan(text):
        if group == "space":
            if piece == b"\n":
                close(start)
                at_line_start = True
        elif group != "comment":
            if piece == b"#" and at_line_start:
                begun = (start, len(tokens))
            number = len(directives) if begun is not None else -1
            kind = _KINDS["string" if group == "tag" else group]
            tokens.append(Token(kind, piece, start, number))
            at_line_start = False
    close(len(text))
    return TokenStream(text, tuple(tokens), tuple(directives))
