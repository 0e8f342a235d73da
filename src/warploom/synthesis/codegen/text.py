"""Pieces of kernels' text."""

from collections.abc import Mapping
from dataclasses import dataclass, field


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
    name: str, arguments: list[str], threads: int, lines: list[str], blocks: int = 1
) -> str:
    """Return the text of a kernel of blocks of so many threads at most.

    So many `blocks` shall fit a multiprocessor: it bounds what registers each may take.
    """
    words = ",\n    ".join(arguments)
    body = "\n".join(indented(lines))
    bounds = str(threads) if blocks == 1 else f"{threads}, {blocks}"
    return f"static __global__ void __launch_bounds__({bounds})\n{name}({words}) {{\n{body}\n}}\n"


def loop_lines(name: str, first: str, count: str, step: str, body: list[str]) -> list[str]:
    """Return a loop from `first` to `count`."""
    head = f"for (long long {name} = {first}; {name} < {count}; {name} += {step}) {{"
    return [head, *indented(body), "}"]
