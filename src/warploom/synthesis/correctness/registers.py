"""Launches of more threads than their registers fit: they fail on a GPU, and nowhere else.

How many registers a thread needs is what ptxas says; a multiprocessor has 65,536, given to warps in
steps of eight for each thread (CUDA C++ Programming Guide, compute capabilities 7.x to 12.x). How
many threads a block has is read off the launch where it is a number, or the name of one.
"""

import re
from collections.abc import Iterator

from warploom.core.records import Finding, Severity
from warploom.source.analysis.program import callee_of, launch_shape
from warploom.source.syntax import parse_source

_REGISTERS = 65_536
_STEP = 8
_WARP = 32
_ENTRY = re.compile(r"Compiling entry function '(\w+)'.*?Used (\d+) registers", re.DOTALL)
_NUMBER = re.compile(r"(?:dim3)?\s*[({]?\s*(\d+)[uUlL]*\s*[)}]?")


def launches_beyond_registers(body: str, log: str, name: str, first_line: int) -> list[Finding]:
    """Return the launches of a kernel file that no GPU can start, by what ptxas said of it.

    `first_line` is the line of the file on which `body` begins.
    """
    needed = [(symbol, int(count)) for symbol, count in _ENTRY.findall(log)]
    findings: list[Finding] = []
    for kernel, threads, line in _launches(body):
        mangled = re.compile(rf"(?<!\d){len(kernel)}{kernel}")
        own = [count for symbol, count in needed if mangled.search(symbol)]
        most = max(own, default=0)
        taken = -(-most // _STEP) * _STEP * -(-threads // _WARP) * _WARP
        if taken > _REGISTERS:
            findings.append(
                Finding(
                    "launch_error", Severity.ERROR,
                    f"{kernel} needs {most} registers a thread: {threads} threads need {taken}, "
                    f"and a multiprocessor has {_REGISTERS}",
                    f"say __launch_bounds__({threads}), so that the compiler keeps to it, or "
                    "launch smaller blocks",
                    name, line + first_line - 1,
                )
            )  # fmt: skip
    return findings


def _launches(body: str) -> Iterator[tuple[str, int, int]]:
    """Yield the kernel, the threads of a block and the line of each launch that names a number."""
    tree = parse_source(body)
    for call in tree.nodes("call_expression"):
        shape = launch_shape(call)
        threads = _value(tree.node_text(shape[1]), body) if shape and len(shape) > 1 else None
        if threads is not None:
            yield callee_of(call)[0], threads, tree.line_of(call.start_byte)


def _value(text: str, body: str) -> int | None:
    """Return the number that an expression is, or the constant that it names."""
    word = text.strip()
    found = _NUMBER.fullmatch(word)
    if found is not None:
        return int(found[1])
    if not re.fullmatch(r"\w+", word):
        return None
    constants = re.findall(
        rf"\bconst(?:expr)?\b[^;={{}}()]*\b{word}\s*[={{]\s*(\d+)[uUlL]*\s*}}?\s*;"
        rf"|#[ \t]*define[ \t]+{word}[ \t]+(\d+)\b", body,
    )  # fmt: skip
    values = {int(a or b) for a, b in constants}
    return values.pop() if len(values) == 1 else None
