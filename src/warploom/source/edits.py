"""Edits on source text by byte offset, and readable differences between two texts."""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

from warploom.core.errors import BadInputError


@dataclass(frozen=True, slots=True, order=True)
class TextEdit:
    """Replace the bytes from `start` up to (not including) `end` by `text`.

    `start == end` inserts. Offsets count bytes of the original text, from 0.
    """

    start: int
    end: int
    text: str


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def decode(data: bytes) -> str:
    """Return `data` as text; bytes that are not UTF-8 survive a round trip unchanged."""
    return data.decode("utf-8", "surrogateescape")


def apply_edits(text: str | bytes, edits: Iterable[TextEdit]) -> str:
    """Return `text` with all `edits` made; several insertions at one place keep their order.

    Raises:
        BadInputError: an edit lies outside of the text, or two edits overlap.
    """
    data = _encode(text) if isinstance(text, str) else text
    parts: list[bytes] = []
    at = 0
    for edit in sorted(edits, key=lambda e: (e.start, e.end)):
        if not 0 <= edit.start <= edit.end <= len(data):
            raise BadInputError(
                f"an edit must lie within the {len(data)} bytes of the text, "
                f"got {edit.start}..{edit.end}"
            )
        if edit.start < at:
            raise BadInputError(
                f"edits must not overlap, got one that starts at byte {edit.start} "
                f"inside of one that ends at byte {at}"
            )
        parts += [data[at : edit.start], _encode(edit.text)]
        at = edit.end
    parts.append(data[at:])
    return decode(b"".join(parts))


def split_lines(text: str) -> list[str]:
    """Return the lines of `text` with their newlines; only a newline ends a line.

    `str.splitlines` also splits at form feeds and other separators, which compilers do not.
    """
    lines = text.split("\n")
    last = lines.pop()
    return [*(f"{line}\n" for line in lines), *([last] if last else [])]


def unified_diff(
    before: str, after: str, *, name: str = "program.cu", context: int = 3, new: bool = False
) -> str:
    """Return the unified difference of two texts; an empty string when they are equal.

    With `new`, there was no file before.
    """
    lines = difflib.unified_diff(
        split_lines(before),
        split_lines(after),
        "/dev/null" if new else f"a/{name}",
        f"b/{name}",
        n=context,
    )
    # A last line without its newline would run into the next one of the diff.
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )
