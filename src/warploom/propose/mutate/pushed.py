"""The lever that lets short all-reduces go in one step, with flags in place of barriers."""

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_LAUNCH = "\ninline ncclResult_t launchReduceKernel(Wire& wire, const Reduction& r, int ranks,"
_SWITCH = re.compile(
    r"  switch \(r\.type\) \{\n(?P<cases>(?:    case \w+:\n      reducePeers<\w+>"
    r"\(wire, r, from, to\);\n      break;\n)+)    default:"
)
_CASE = re.compile(r"    case (\w+):\n      reducePeers<(\w+)>\(wire, r, from, to\);\n      break;")
_BYTES = re.compile(r"^constexpr size_t kPushBytes = \d+;", re.MULTILINE)
_EDITS = (
    (
        "  int turn;                     // counts the kernels that use mailboxes\n",
        "  size_t pushed;                // offset in the control window: of short all-reduces\n"
        "  uint32_t pushes;              // counts these\n",
    ),
    (
        "                                       cudaStream_t stream) {\n  ++wire.turn;\n"
        "  size_t shared = ",
        "  if (isPushed(r)) return launchPushKernel(wire, r, stream);\n",
    ),
    (
        "  s.wire.staging = roundUp(s.wire.list + s.ranks * listBytes(), 128);\n",
        "  s.wire.pushed = s.wire.staging;\n  s.wire.staging += s.ranks * kPushed;\n",
    ),
)
"""Texts of the layer, and what comes in beside them."""


@cache
def _template() -> str:
    path = files("warploom.propose.mutate") / "templates" / "pushed.cuh"
    return path.read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class PushLever:
    """How an all-reduce of few bytes goes (LSA): in two steps between barriers, or in one.

    In two steps each rank adds up a slice and hands it to the others. In one step each rank pushes
    all that it has to all others, and every block waits for nothing but the same block of theirs.
    """

    name: str = "reduce"

    def current(self, source: str) -> str | None:
        """Return `slices` or `pushed`; None where no all-reduce can be pushed."""
        fragment = _fragment(source)
        if fragment is None or "::launchAllReduce(" not in source:
            return None
        if fragment in source:
            return "pushed"
        return "slices" if all(source.count(old) == 1 for old, _ in _EDITS) else None

    def others(self, source: str) -> tuple[str, ...]:
        """Return the other value."""
        return ("slices",) if self.current(source) == "pushed" else ("pushed",)

    def describe(self, value: str) -> str:
        """Return what the value does."""
        if value == "pushed":
            return "In short all-reduces each rank pushes all that it has to all others."
        return "Each rank adds up a slice of an all-reduce, between barriers."

    def set(self, source: str, value: str) -> str:
        """Return the program with or without the kernel of short all-reduces."""
        fragment = _fragment(source)
        assert fragment is not None, "the caller has looked at `current`"
        if value == "slices":
            source = source.replace(fragment, "", 1)
            for _, new in _EDITS:
                source = source.replace(new, "", 1)
            return source
        source = source.replace(_LAUNCH, fragment + _LAUNCH, 1)
        for old, new in _EDITS:
            at = _place(old)
            source = source.replace(old, old[:at] + new + old[at:], 1)
        return source


def _place(old: str) -> int:
    """Return where in a text of the layer the addition comes: behind it, or behind its `{`."""
    opened = old.find("{\n")
    return opened + 2 if opened >= 0 else len(old)


def _fragment(source: str) -> str | None:
    """Return the kernel for the data types of a program; None where it reduces otherwise."""
    found = _SWITCH.search(source)
    if found is None or source.count(_LAUNCH) != 1:
        return None
    cases = [
        f"    case {name}:\n      reducePushed<{element}>(wire, r);\n      break;"
        for name, element in _CASE.findall(found["cases"])
    ]
    if not cases:
        return None
    text = _template().replace("@CASES@", "\n".join(cases))
    chosen = _BYTES.search(source)  # the lever `push_bytes`
    return _BYTES.sub(chosen[0], text, count=1) if chosen else text
