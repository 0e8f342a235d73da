"""Finds names in C++ text without being misled by comments, strings or macro bodies."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from warploom.source.token_patterns import CHAR, COMMENT, NAME, NUMBER, RAW, STRING

_PIECE = re.compile(
    rf"(?P<hidden>{COMMENT}|{RAW}|{STRING}|{CHAR})"
    # As much code at once as holds no quote: a call for each name takes three times as long.
    rf"|(?:(?>{NUMBER}|{NAME})(?![\"'])|[^0-9A-Za-z_$.'\"/])+|{NUMBER}|{NAME}".encode(),
    re.DOTALL,
)
_NOT_NEWLINE = re.compile(rb"[^\r\n]")


@dataclass(frozen=True, slots=True)
class Mention:
    """A name in the code: its bytes, its line (from 1), and whether a `(` follows."""

    name: str
    start: int
    end: int
    line: int
    called: bool


def mask(text: bytes) -> bytes:
    """Return `text` with comments and literals blanked; offsets and lines stay."""

    def shown(match: re.Match[bytes]) -> bytes:
        return _NOT_NEWLINE.sub(b" ", match[0]) if match["hidden"] else match[0]

    return _PIECE.sub(shown, text)


def find_mentions(text: bytes, names: Iterable[str]) -> tuple[Mention, ...]:
    """Return where the code says one of `names`, in order; macro bodies are searched too."""
    wanted = sorted(names, key=len, reverse=True)
    if not wanted:
        return ()
    pattern = re.compile(
        rb"(?<!\w)(" + b"|".join(re.escape(n.encode()) for n in wanted) + rb")\b(\s*\()?"
    )
    masked = mask(text)
    return tuple(
        Mention(
            name=match[1].decode(),
            start=match.start(1),
            end=match.end(1),
            line=masked.count(b"\n", 0, match.start()) + 1,
            called=match[2] is not None,
        )
        for match in pattern.finditer(masked)
    )


def is_mentioned(text: bytes, names: Iterable[str]) -> bool:
    """Whether the code calls one of `names`."""
    return any(mention.called for mention in find_mentions(text, names))
