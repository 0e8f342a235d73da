"""Statements for several elements of a thread: all that is loaded is under way before it is used.

A compiler leaves a load where it stands if a call lies before it (divisions of 64 bits, and those
of real numbers, have one) or a condition around it. So what loads need comes first, for each turn,
and the rest in a second loop.
"""

import re
from collections.abc import Sequence

from warploom.synthesis.codegen.text import indented

_DEFINED = re.compile(r"const (.+?) (\w+) = (.*;)")
_LOAD = re.compile(r"\bgroup_(?:at|once)<|\b\w+\[")
_WORD = re.compile(r"\b[A-Za-z_]\w*")


def in_turns(
    turns: int, begin: Sequence[str], head: Sequence[str], tail: Sequence[str], guard: str = ""
) -> list[str]:
    """Return the statements of `head` and then of `tail`, for so many turns each.

    `begin` are statements that either needs; they know the number of the `turn`. With a `guard`,
    which knows what they define, nothing else is done where it does not hold. Where `head` defines
    something in a way that is not known here, both are one loop.
    """
    found = [_DEFINED.fullmatch(line) for line in head]
    loads = {at for at, line in enumerate(head) if _LOAD.search(line)}
    if not loads or any(one is None for one in found):
        return turn_loop(turns, begin, [*head, *tail], guard)
    defined = {one[2]: at for at, one in enumerate(found) if one is not None}
    early = _closure(loads, head, defined)
    late = [line for at, line in enumerate(head) if at not in early]
    used = set(_WORD.findall("\n".join([*late, *tail])))
    kept = {name: one[1] for one in found if one is not None and (name := one[2]) in used}
    kept = {name: kind for name, kind in kept.items() if defined[name] in early}
    first: list[str] = []
    for at in sorted(early):
        one = found[at]
        assert one is not None
        first.append(f"{one[2]} = {one[3]}" if one[2] in kept else head[at])
    return [
        *(f"{kind} {name}[{turns}];" for name, kind in kept.items()),
        *turn_loop(turns, begin, _of_turn(kept, first), guard),
        *turn_loop(turns, begin, _of_turn(kept, [*late, *tail]), guard),
    ]


def _closure(loads: set[int], head: Sequence[str], defined: dict[str, int]) -> set[int]:
    """Return the numbers of the statements that load, and of all that they need."""
    found = set(loads)
    todo = list(loads)
    while todo:
        words = _WORD.findall(head[todo.pop()])
        more = {defined[word] for word in words if word in defined} - found
        found |= more
        todo += more
    return found


def _of_turn(kept: dict[str, str], lines: Sequence[str]) -> list[str]:
    return [
        _WORD.sub(lambda word: f"{word[0]}[turn]" if word[0] in kept else word[0], line)
        for line in lines
    ]


def turn_loop(turns: int, begin: Sequence[str], body: list[str], guard: str = "") -> list[str]:
    """Return the loop over turns, of which each does `body` after `begin` where `guard` holds."""
    if guard:
        body = [f"if ({guard}) {{", *indented(body), "}"]
    return [
        "#pragma unroll", f"for (int turn = 0; turn < {turns}; ++turn) {{",
        *indented([*begin, *body]), "}",
    ]  # fmt: skip
