"""Inline assembly that nvcc may drop, repeat or move: here each statement runs where it stands.

"The compiler assumes that an asm() statement has no side effects except to change the output
operands": `volatile` keeps it, and the clobber "memory" keeps accesses of memory on their side of
it (Inline PTX Assembly in CUDA, "Incorrect Optimization").
"""

import re
from collections.abc import Iterator, Sequence

from warploom.evaluation.legality.region_rules import Refused
from warploom.evaluation.legality.tokens import Token
from warploom.source.literals import value_of_literal

_ASM = ("asm", "__asm__", "__asm")
_OPENING, _CLOSING = ("(", "[", "{"), (")", "]", "}")
# Each instruction behind labels, guards and openings of scopes.
_INSTRUCTION = re.compile(r"(?:^|[;{}])\s*(?:[\w$%]+:\s*)*(?:@!?%?[\w$]+\s+)?([a-z][\w.:]*)")
_ORDERS = re.compile(
    r"(?:st|atom|red|bar|barrier|fence|membar|mbarrier|cp|multimem|griddepcontrol)\.|"
    r"ld\.(?:[\w:]+\.)*?(?:acquire|relaxed|volatile)\b|(?:membar|fence)$"
)
_READS = re.compile(r"(?:ld|ldmatrix|ldu)\.(?!const\b|param\b)(?!.*\bnc\b)")


def loose_assembly(tokens: Sequence[Token]) -> Iterator[tuple[Token, str, str]]:
    """Yield each statement that is not held in place: its word, an instruction, what lacks."""
    for at, token in enumerate(tokens):
        if token.kind != "name" or token.text not in _ASM:
            continue
        start, volatile = at + 1, False
        while start < len(tokens) and tokens[start].text != "(":
            volatile = volatile or tokens[start].text in ("volatile", "__volatile__")
            start += 1
        strings = [item.text for item in _group(tokens, start) if item.kind == "string"]
        values = [value_of_literal(text) or "" for text in strings]
        clobbers = "memory" in values
        for name in _INSTRUCTION.findall("".join(values).replace("\n", ";")):
            lacks = _lacks(name, volatile=volatile, clobbers=clobbers)
            if lacks:
                yield token, name, lacks
                break


def assembly_refusals(tokens: Sequence[Token]) -> Iterator[Refused]:
    """Refuse statements of untrusted text that nvcc may drop or move."""
    for token, name, lacks in loose_assembly(tokens):
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


def _group(tokens: Sequence[Token], start: int) -> Sequence[Token]:
    depth = 0
    for at in range(start, len(tokens)):
        depth += (tokens[at].text in _OPENING) - (tokens[at].text in _CLOSING)
        if depth <= 0:
            return tokens[start:at]
    return tokens[start:]
