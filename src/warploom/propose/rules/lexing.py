"""Finds names in C++ text without being misled by comments, strings or macro bodies."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from warploom.source.masking import mask


@dataclass(frozen=True, slots=True)
class Mention:
    """A name in the code: its bytes, its line (from 1), and whether a `(` follows."""

    name: str
    start: int
    end: int
    line: int
    called: bool


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
