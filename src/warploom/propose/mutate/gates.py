"""Gates: a producer tells its peers in its last block, a consumer waits in its first step.

They take the place of the kernel between the two. `gated` and `ungated` move a program between the
two forms, by what its exchanges are called (`fuse...`, `guard...`).
"""

import re
from dataclasses import dataclass

from warploom.propose.mutate.launches import (
    GATED_WORK,
    Kernel,
    Launch,
    closing,
    edited,
    kernels,
    launches,
    masked,
    root_of,
    split_list,
)
from warploom.propose.mutate.pipeline import FUSED_VERBS, Statement, exchange_statements
from warploom.propose.rules.prelude import NAMESPACE

_ROLES = {"kProduces": 1, "kConsumes": 2, "kGuarded": 4}
_PRODUCES, _CONSUMES, _GUARDED = 1, 2, 4
_NUMBERED = re.compile(rf"\b{NAMESPACE}::(?:fuse|guard)\w+(<\d+>)")
_PLAIN = re.compile(r"const\s+([\w:]+)\s*\*\s*(?:__restrict__\s+)?(\w+)")
_VIEW = re.compile(rf"const\s+{NAMESPACE}::(?:View|Peers)<([\w:]+)>\s+(\w+)")
_MAX_FUSED = 8
_WIDTH = 100


@dataclass(frozen=True, slots=True)
class Ends:
    """The launches at the two ends of an exchange."""

    producer: Launch
    consumers: tuple[Launch, ...]


@dataclass(slots=True)
class _Gate:
    """What a kernel gets: its role, and which of its parameters are views of which buffers."""

    role: int
    views: dict[int, int]


def ends_of(source: str, exchange: Statement) -> Ends | None:
    """Return the launches around an exchange; None where gates cannot join them.

    The producer is the last launch before the exchange on the stream of the last one that takes
    what is sent. All kernels must be the program's own, and no templates.
    """
    text = masked(source)
    every = launches(text)
    sent, received = (root_of(exchange.arguments[i].text) for i in (0, 1))
    before = [x for x in every if x.end <= exchange.start and _same_function(text, x, exchange)]
    writers = [x for x in before if sent in map(root_of, (a.text for a in x.arguments))]
    if not sent or not writers:
        return None
    stream = stream_of(writers[-1])
    producer = next(x for x in reversed(before) if stream_of(x) == stream)
    consumers = tuple(
        x for x in every if received in (root_of(bare_view(a.text)) for a in x.arguments)
    )
    taken = [bare_view(a.text) for x in consumers for a in x.arguments]
    if any(root_of(text) == received != text for text in taken):
        return None  # from somewhere inside of it
    own = {kernel.name: kernel for kernel in kernels(text)}
    touched = {producer.kernel, *(x.kernel for x in consumers)}
    if not consumers or any(not _can_have_gate(text, own.get(name)) for name in touched):
        return None
    return Ends(producer, consumers)


def stream_of(launch: Launch) -> str:
    """Return a launch's stream as it is written."""
    return launch.shape[3].text if len(launch.shape) > 3 else "0"


def bare_view(argument: str) -> str:
    """Return what a view is made of; any other argument as it is."""
    match = re.fullmatch(rf"{NAMESPACE}::viewOf<[\w:]+>\((.*)\)", argument, re.DOTALL)
    return match[1] if match else argument


def _same_function(text: str, launch: Launch, exchange: Statement) -> bool:
    """Tell whether no function ends between the two: a brace at the start of a line."""
    return re.search(r"^\}", text[launch.end : exchange.start], re.MULTILINE) is None


def _can_have_gate(text: str, kernel: Kernel | None) -> bool:
    return kernel is not None and not text[: kernel.start].rstrip().endswith(">")


def ungated(source: str) -> str:
    """Return the program with its kernels whole, and fused exchanges without numbers."""
    text = masked(source)
    edits: dict[tuple[int, int], str] = {m.span(1): "" for m in _NUMBERED.finditer(text)}
    for match in GATED_WORK.finditer(text):
        closed = closing(text, match.end() - 1)
        body_end = closing(text, text.index("{", closed)) + 1
        head = re.compile(rf"__global__\s[^(;{{}}]*(?:\([^)]*\)\s*)?\b{match[1]}\s*\(")
        kernel = head.search(text, body_end)
        assert kernel is not None, "`gated` writes both"
        end = closing(text, kernel.end() - 1)
        given = split_list(text, kernel.end(), end)
        for one, outer in zip(split_list(text, match.end(), closed), given, strict=True):
            view = _VIEW.fullmatch(one.text)
            if view and not _VIEW.fullmatch(outer.text):
                edits[one.start, one.end] = f"const {view[1]}* {view[2]}"
        edits[match.span()] = source[kernel.start() : kernel.end()]
        edits[body_end, closing(text, text.index("{", end)) + 1] = ""
    return edited(source, edits)


def gated(source: str) -> str:
    """Return the program, which has no gates, with those that its exchanges ask for."""
    text = masked(source)
    fused = [one for one in exchange_statements(text) if one.verb in FUSED_VERBS]
    if not fused:
        return source
    roots = list(dict.fromkeys(root_of(one.arguments[1].text) for one in fused))
    gates: dict[str, _Gate] = {}
    edits: dict[tuple[int, int], str] = {}
    for one in fused:
        number = roots.index(root_of(one.arguments[1].text))
        at = text.index(f"::{one.verb}{one.name}", one.start) + len(f"::{one.verb}{one.name}")
        edits[at, at] = f"<{number}>"
        _add_roles(source, one, number, gates)
    for kernel in kernels(text):
        if kernel.name in gates:
            edits.update(_wrapped(source, kernel, gates[kernel.name]))
    return edited(source, edits)


def can_fuse(source: str, exchanges: tuple[Statement, ...]) -> bool:
    """Tell whether gates can join the two ends of each of these exchanges."""
    text = masked(source)
    fused = {
        root_of(one.arguments[1].text)
        for one in exchange_statements(text)
        if one.verb in FUSED_VERBS
    }
    fits = all(ends_of(source, one) for one in exchanges)
    return fits and len(fused | {root_of(exchanges[0].arguments[1].text)}) <= _MAX_FUSED


def _add_roles(source: str, exchange: Statement, number: int, gates: dict[str, _Gate]) -> None:
    ends = ends_of(source, exchange)
    assert ends is not None, "the lever has looked"
    guard = _GUARDED if exchange.verb == "guard" else 0
    parts = [(ends.producer, _PRODUCES), *((launch, _CONSUMES) for launch in ends.consumers)]
    received = root_of(exchange.arguments[1].text)
    for launch, role in parts:
        gate = gates.setdefault(launch.kernel, _Gate(0, {}))
        gate.role |= role | guard
        if role == _CONSUMES:
            for index, argument in enumerate(launch.arguments):
                if root_of(argument.text) == received:
                    gate.views[index] = number


def _wrapped(source: str, kernel: Kernel, gate: _Gate) -> dict[tuple[int, int], str]:
    """Return the edits that make a kernel's text a function, and a kernel around it."""
    opened = source.index("(", source.index(kernel.name, kernel.start))
    head = source[kernel.start : opened + 1]
    edits: dict[tuple[int, int], str] = {}
    arguments: list[str] = []
    for index, piece in enumerate(kernel.parameters):
        name = re.split(r"[\s*&]+", piece.text)[-1]
        number, plain = gate.views.get(index), _PLAIN.fullmatch(piece.text)
        if number is not None and plain is not None:
            edits[piece.start, piece.end] = f"const {NAMESPACE}::Peers<{plain[1]}> {name}"
            arguments.append(f"{NAMESPACE}::receivedBy({name}, {number})")
        else:
            arguments.append(name)
    newline = "\r\n" if "\r\n" in source else "\n"
    words = [f"{NAMESPACE}::{name}" for name, bit in _ROLES.items() if gate.role & bit]
    role = " | ".join(words)
    tells = gate.role & (_PRODUCES | _GUARDED)
    given = [" ".join(source[p.start : p.end].split()) for p in kernel.parameters]
    call = f"  {kernel.name}_work("
    lines = [
        "",
        "",
        f"{head}{_folded(given, len(head), newline)}) {{",
        f"  {NAMESPACE}::enter({role});",
        f"{call}{_folded(arguments, len(call), newline)});",
        *([f"  {NAMESPACE}::leave({role});"] if tells else []),
        "}",
    ]
    edits[kernel.start, opened + 1] = f"__device__ inline void {kernel.name}_work("
    edits[kernel.body.end, kernel.body.end] = newline.join(lines)
    return edits


def _folded(pieces: list[str], indent: int, newline: str) -> str:
    """Return a list, by commas, in lines of at most `_WIDTH` columns."""
    lines = [""]
    for piece in pieces:
        if len(lines[-1]) + len(piece) + indent + 4 > _WIDTH and lines[-1]:
            lines.append("")
        lines[-1] += f"{piece}, "
    return (newline + " " * indent).join(line.rstrip() for line in lines).rstrip(",")
