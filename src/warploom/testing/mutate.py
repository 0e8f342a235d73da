"""Spoils CUDA programs: cuts, swaps, repeats, garbles. The same seed gives the same text."""

import random
import re
from collections.abc import Callable

_TOKEN = re.compile(rb"[A-Za-z_]\w*|\d[\w.]*|<<<|>>>|[^\s\w]")
_NUMBERS = (
    b"0", b"-1", b"1e308", b"2147483648", b"18446744073709551615", b"0x7fffffff", b"1u<<31",
)  # fmt: skip
_BITS_OF_CODE = (
    b"<<<", b">>>", b"}", b"{", b"(", b")", b";", b"/*", b'"', b"'", b'R"(', b"return;", b"\\\n",
    b"#if 1\n", b"#endif\n", b"#define int long\n", b'#include "x.h"\n', b"__syncthreads();",
    b"__shared__ int s[1 << 30];", b'asm("trap;");', b"template <class T> ", b"while (true);",
    b"goto nowhere;",
)  # fmt: skip

Mutation = Callable[[bytes, random.Random], bytes]


def mutate(text: bytes, seed: int) -> tuple[bytes, str]:
    """Return `text` spoiled by one to four mutations, and their names."""
    chance = random.Random(seed)  # noqa: S311 - repeatable on purpose
    names: list[str] = []
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        kind = chance.choice(MUTATIONS)
        text = kind(text, chance)
        names.append(kind.__name__.lstrip("_"))
    return text, "+".join(names)


def _truncate(text: bytes, chance: random.Random) -> bytes:
    return text[: chance.randrange(len(text) + 1)]


def _cut(text: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(text) + 1)
    return text[:at] + text[at + chance.choice((1, 3, 20, 200, 2000)) :]


def _repeat(text: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(text) + 1)
    piece = text[at : at + chance.choice((1, 10, 100, 1000))]
    return text[:at] + piece * chance.choice((2, 5)) + text[at + len(piece) :]


def _garble(text: bytes, chance: random.Random) -> bytes:
    data = bytearray(text)
    for _ in range(min(len(data), chance.choice((1, 4, 16)))):
        data[chance.randrange(len(data))] = chance.randrange(256)
    return bytes(data)


def _insert(text: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(text) + 1)
    return text[:at] + chance.choice(_BITS_OF_CODE) + text[at:]


def _swap_lines(text: bytes, chance: random.Random) -> bytes:
    lines = text.split(b"\n")
    first, second = chance.randrange(len(lines)), chance.randrange(len(lines))
    lines[first], lines[second] = lines[second], lines[first]
    return b"\n".join(lines)


def _drop_line(text: bytes, chance: random.Random) -> bytes:
    lines = text.split(b"\n")
    del lines[chance.randrange(len(lines))]
    return b"\n".join(lines)


def _swap_tokens(text: bytes, chance: random.Random) -> bytes:
    tokens = list(_TOKEN.finditer(text))
    if len(tokens) < 2:
        return text
    first, second = sorted(chance.sample(tokens, 2), key=lambda match: match.start())
    return (
        text[: first.start()] + second.group() + text[first.end() : second.start()]
        + first.group() + text[second.end() :]
    )  # fmt: skip


def _drop_token(text: bytes, chance: random.Random) -> bytes:
    tokens = list(_TOKEN.finditer(text))
    if not tokens:
        return text
    match = chance.choice(tokens)
    return text[: match.start()] + text[match.end() :]


def _change_number(text: bytes, chance: random.Random) -> bytes:
    numbers = list(re.finditer(rb"(?<![\w.])\d[\w.]*", text))
    if not numbers:
        return text
    match = chance.choice(numbers)
    return text[: match.start()] + chance.choice(_NUMBERS) + text[match.end() :]


MUTATIONS: tuple[Mutation, ...] = (
    _truncate, _cut, _repeat, _garble, _insert, _swap_lines, _drop_line, _swap_tokens, _drop_token,
    _change_number,
)  # fmt: skip
