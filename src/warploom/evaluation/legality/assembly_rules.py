"""Inline assembly that nvcc may drop, repeat or move: here each statement runs where it stands.

"The compiler assumes that an asm() statement has no side effects except to change the output
operands": `volatile` keeps it, and the clobber "memory" keeps accesses of memory on their side of
it (Inline PTX Assembly in CUDA, "Incorrect Optimization").
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from warploom.evaluation.legality.region_rules import Refused
from warploom.evaluation.legality.tokens import Token
from warploom.source.literals import value_of_literal

ASM = ("asm", "__asm__", "__asm")
"""The words that begin a statement of inline assembly."""
_VOLATILE = ("volatile", "__volatile__")
# Each instruction behind labels, guards and openings of scopes.
_INSTRUCTION = re.compile(r"(?:^|[;{}])\s*(?:[\w$%]+:\s*)*(?:@!?%?[\w$]+\s+)?([a-z][\w.:]*)")
_ORDERS = re.compile(
    r"(?:st|atom|red|bar|barrier|fence|membar|mbarrier|cp|multimem|griddepcontrol)\.|"
    r"ld\.(?:[\w:]+\.)*?(?:acquire|relaxed|volatile)\b|(?:membar|fence)$"
)
_READS = re.compile(r"(?:ld|ldmatrix|ldu)\.(?!const\b|param\b)(?!.*\bnc\b)")


class Statement(NamedTuple):
    """A statement of inline assembly: its word, and the literals between its brackets."""

    word: Token
    volatile: bool
    strings: tuple[Token, ...]


def assembly_statements(tokens: Sequence[Token], match: Mapping[int, int]) -> Iterator[Statement]:
    """Yield the statements of `tokens`; `match` gives for each bracket the other one."""
    for at, token in enumerate(tokens):
        if token.text not in ASM:
            continue
        start = at + 1
        while start < len(tokens) and tokens[start].text in (*_VOLATILE, "inline", "goto"):
            start += 1
        group = tokens[start : match.get(start, start)]
        yield Statement(
            token,
            any(item.text in _VOLATILE for item in tokens[at + 1 : start]),
            tuple(item for item in group if item.kind == "string"),
        )


def loose_assembly(
    tokens: Sequence[Token], match: Mapping[int, int]
) -> Iterator[tuple[Token, str, str]]:
    """Yield each statement that is not held in place: its word, an instruction, what lacks."""
    for word, volatile, strings in assembly_statements(tokens, match):
        values = [value_of_literal(item.text) or "" for item in strings]
        clobbers = "memory" in values
        for name in _INSTRUCTION.findall("".join(values).replace("\n", ";")):
            lacks = _lacks(name, volatile=volatile, clobbers=clobbers)
            if lacks:
                yield word, name, lacks
                break


def assembly_refusals(tokens: Sequence[Token], match: Mapping[int, int]) -> Iterator[Refused]:
    """Refuse statements of untrusted text that nvcc may drop or move."""
    for token, name, lacks in loose_assembly(tokens, match):
        if not token.trusted:
            yield Refused(
                "inline_assembly",
                f"{name} in inline assembly without {lacks}: the compiler may drop or move it",
                token.line,
                hint='write asm volatile(...) with "memory" among the clobbers',
            )


def _lacks(name: str, *, volatile: bool, clobbers: bool) -> str:
    if _ORDERS.match(name):
        wanted = {"volatile": volatile, 'the clobber "memory"': clobbers}
        return " and ".join(word for word, there in wanted.items() if not there)
    return "" if volatile or clobbers or not _READS.match(name) else "volatile"
