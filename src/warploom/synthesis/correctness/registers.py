"""Launches of more threads than their registers fit: they fail on a GPU, and nowhere else.

How many registers a thread needs is what ptxas says; a multiprocessor has 65,536, given to warps in
steps of eight for each thread (CUDA C++ Programming Guide, compute capabilities 7.x to 12.x). How
many threads a block has is read off the launch where it is a number, or the name of one.
"""

import re
from collections.abc import Iterator

from warploom.core.records import Finding, Severity

_REGISTERS = 65_536
_STEP = 8
_WARP = 32
_ENTRY = re.compile(r"Compiling entry function '(\w+)'.*?Used (\d+) registers", re.DOTALL)
_LAUNCH = re.compile(r"\b(\w+)\s*(?:<[^<>;{}]*>)?\s*<<<")
_NUMBER = re.compile(r"(?:dim3)?\s*[({]?\s*(\d+)[uUlL]*\s*[)}]?")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def launches_beyond_registers(body: str, log: str, name: str, first_line: int) -> list[Finding]:
    """Return the launches of a kernel file that no GPU can start, by what ptxas said of it.

    `first_line` is the line of the file on which `body` begins.
    """
    text = _COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), body)
    needed = [(symbol, int(count)) for symbol, count in _ENTRY.findall(log)]
    findings: list[Finding] = []
    for kernel, threads, line in _launches(text):
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


def _launches(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the kernel, the threads of a block and the line of each launch that names a number."""
    for found in _LAUNCH.finditer(text):
        given = _arguments(text[found.end() :])
        threads = _value(given[1], text) if len(given) > 1 else None
        if threads is not None:
            yield found[1], threads, text.count("\n", 0, found.start()) + 1


def _arguments(text: str) -> list[str]:
    """Return what stands between `<<<` and `>>>`, at commas outside of brackets."""
    parts, depth = [""], 0
    for at, letter in enumerate(text):
        if depth == 0 and text.startswith(">>>", at):
            return parts
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return []


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
