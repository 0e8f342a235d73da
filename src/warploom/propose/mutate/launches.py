"""Kernel launches and kernels of a program, as text: just what the levers need to know of them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from warploom.propose.mutate.tuning_constants import find_layer
from warploom.source.masking import mask

_LAUNCH = re.compile(r"\b([A-Za-z_]\w*)\s*(?:<[\w\s,:]*>)?\s*<<<")
_KERNEL = re.compile(r"__global__\s+void\s+(?:__launch_bounds__\([^)]*\)\s*)?([A-Za-z_]\w*)\s*\(")
_CLOSE = {"(": ")", "[": "]", "{": "}"}
_ROOT = re.compile(r"[A-Za-z_][\w.]*(?:->[\w.]+)*")
GATED_WORK = re.compile(r"__device__ inline void ([A-Za-z_]\w*)_work\(")
"""The head of the function that holds the work of a kernel with a gate."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of the text: [start, end)."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Launch:
    """One `kernel<<<grid, block, ...>>>(arguments)` in the program's own code."""

    kernel: str
    start: int
    end: int
    shape: tuple[Piece, ...]
    arguments: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Kernel:
    """A `__global__` function of the program's own code; `start` is that of `__global__`.

    Of a kernel with a gate it is the function that holds its work, under the kernel's name.
    """

    name: str
    start: int
    parameters: tuple[Piece, ...]
    body: Piece


@lru_cache(maxsize=32)
def masked(source: str) -> str:
    """Return the text with comments and literals blanked, and the communication layer too."""
    raw = source.encode("utf-8", "surrogateescape")
    text = mask(raw).decode("utf-8", "surrogateescape")
    if len(text) != len(source):  # something outside of ASCII in a comment or a literal
        text = mask(source.encode("latin-1", "replace")).decode("latin-1")
    layer = find_layer(source)
    if layer is None:
        return text
    blank = re.sub(r"[^\n]", " ", text[slice(*layer)])
    return text[: layer[0]] + blank + text[layer[1] :]


def closing(text: str, at: int) -> int:
    """Return the offset of the bracket that closes the one at `at`; -1 where none does."""
    stack: list[str] = []
    for i in range(at, len(text)):
        char = text[i]
        if char in _CLOSE:
            stack.append(_CLOSE[char])
        elif stack and char == stack[-1]:
            stack.pop()
            if not stack:
                return i
    return -1


def split_list(text: str, start: int, end: int) -> tuple[Piece, ...]:
    """Return what the commas of [start, end) divide, outside of brackets, without blanks."""
    pieces: list[Piece] = []
    depth, first = 0, start
    for i in range(start, end + 1):
        if i == end or (text[i] == "," and depth == 0):
            piece = text[first:i]
            left = first + len(piece) - len(piece.lstrip())
            right = first + len(piece.rstrip())
            if left < right:
                pieces.append(Piece(text[left:right], left, right))
            first = i + 1
        elif text[i] in "([{":
            depth += 1
        elif text[i] in ")]}":
            depth -= 1
    return tuple(pieces)


@lru_cache(maxsize=32)
def launches(text: str) -> tuple[Launch, ...]:
    """Return the launches of a masked text, in order."""
    return tuple(_launches(text))


def _launches(text: str) -> Iterator[Launch]:
    for match in _LAUNCH.finditer(text):
        shape_end = text.find(">>>", match.end())
        opened = text.find("(", shape_end)
        if shape_end < 0 or opened < 0 or text[shape_end + 3 : opened].strip():
            continue
        closed = closing(text, opened)
        if closed < 0:
            continue
        yield Launch(
            match[1],
            match.start(),
            closed + 1,
            split_list(text, match.end(), shape_end),
            split_list(text, opened + 1, closed),
        )


def root_of(expression: str) -> str:
    """Return the name that an expression of a place begins with, such as `layer.recv`."""
    match = _ROOT.match(expression)
    return match[0] if match else ""


def kernels(text: str) -> Iterator[Kernel]:
    """Go through the kernels that a masked text defines."""
    works = {match[1]: match for match in GATED_WORK.finditer(text)}
    for found in _KERNEL.finditer(text):
        match = works.get(found[1], found)
        closed = closing(text, match.end() - 1)
        opened = text.find("{", closed)
        if closed < 0 or opened < 0 or text[closed + 1 : opened].strip():
            continue  # a declaration
        end = closing(text, opened)
        if end < 0:
            continue
        body = Piece(text[opened : end + 1], opened, end + 1)
        yield Kernel(match[1], match.start(), split_list(text, match.end(), closed), body)


def edited(source: str, edits: dict[tuple[int, int], str]) -> str:
    """Return the text with each [start, end) replaced; they must not overlap."""
    for start, end in sorted(edits, reverse=True):
        source = source[:start] + edits[start, end] + source[end:]
    return source
