"""Pieces of kernels' text."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

_TEMPLATE = "template <typename Index>\n"
_INDEX = re.compile(r"\bIndex\b")


NARROW = "narrow"
"""The condition on which kernels that narrow have indices of 32 bits."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel: what it is, its text, the statement that launches it, functions that it needs.

    `reads` are the nodes that it loads.
    """

    form: str
    root: str
    text: str
    launch: str
    helpers: Mapping[str, str] = field(default_factory=dict[str, str])
    reads: frozenset[str] = frozenset()


def indented(lines: list[str]) -> list[str]:
    """Return lines one step further in."""
    return [f"  {line}" for line in lines]


def global_text(
    name: str,
    arguments: list[str],
    threads: int,
    lines: list[str],
    blocks: int = 1,
    *,
    narrows: bool = False,
) -> str:
    """Return the text of a kernel of blocks of so many threads at most.

    So many `blocks` shall fit a multiprocessor: it bounds what registers each may take. `Index` is
    the type of indices: a template's parameter where the kernel `narrows`, and has 64 bits else.
    """
    words = ",\n    ".join(arguments)
    body = "\n".join(indented(lines))
    bounds = str(threads) if blocks == 1 else f"{threads}, {blocks}"
    text = f"static __global__ void __launch_bounds__({bounds})\n{name}({words}) {{\n{body}\n}}\n"
    return f"{_TEMPLATE}{text}" if narrows else _INDEX.sub("long long", text)


def launch_text(name: str, blocks: str, threads: int | str, given: list[str], text: str) -> str:
    """Return what launches the kernel of that text, with the indices that do where it narrows."""
    words = f"<<<{blocks}, {threads}, 0, stream>>>({', '.join(given)});"
    if not text.startswith(_TEMPLATE):
        return f"{name}{words}"
    return f"if ({NARROW}) {name}<int>{words}\n  else {name}<long long>{words}"


def narrow_lines(counts: Iterable[str]) -> list[str]:
    """Return the statements that define `NARROW`, of what tensors have in elements."""
    return [
        "// A GPU computes with indices of 32 bits at half the cost; 2^30 elements leave room for",
        "// the last step of a loop.",
        f"const long long elements = {' + '.join(counts)};",
        f"const bool {NARROW} = min(elements, 1073741824LL) == elements;",
    ]


def loop_lines(name: str, first: str, count: str, step: str, body: list[str]) -> list[str]:
    """Return a loop from `first` to `count`."""
    head = f"for (Index {name} = {first}; {name} < {count}; {name} += {step}) {{"
    return [head, *indented(body), "}"]
