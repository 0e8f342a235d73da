"""Addresses in a shared object as lines of source, by addr2line or what stands in for it."""

import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from warploom.core.errors import MissingToolError
from warploom.core.records import Limits
from warploom.toolchain.demangle import readable_names
from warploom.toolchain.sandbox import run_sandboxed_tool

_BATCH = 1000
_TOOLS = (
    ("addr2line",),
    ("llvm-addr2line",),
    ("llvm-symbolizer", "--output-style=GNU"),
)
_ADDRESS = re.compile(r"^0x[0-9a-f]+$")
_PLACE = re.compile(r"^(.*):(\d+|\?)(?: \(discriminator \d+\))?$")
# What follows the $ tells functions of the same name in several files apart (guard/merge.cpp); the
# tool does not read such names.
_OF_A_FILE = re.compile(r"^(_Z[^$]+)\$\w+$")
_LIMITS = Limits(seconds=120.0, memory_mb=4096, output_mb=256)


@dataclass(frozen=True, slots=True)
class Frame:
    """One function at one place; inlined ones have a frame of their own."""

    function: str
    file: str
    line: int


def _tool() -> tuple[str, ...]:
    for tool in _TOOLS:
        if shutil.which(tool[0]):
            return tool
    raise MissingToolError(
        "addr2line (binutils) or llvm-symbolizer is needed to name source lines, but none is found",
        hint="install binutils (Debian: apt-get install binutils)",
    )


def _parse(output: str) -> dict[int, tuple[Frame, ...]]:
    """Read the tool's output: an address, then a function and a place per inlined frame."""
    found: dict[int, list[Frame]] = {}
    frames: list[Frame] = []
    function: str | None = None
    for text in output.splitlines():
        if function is None and _ADDRESS.match(text):
            frames = found.setdefault(int(text, 16), [])
        elif function is None:
            function = text
        else:
            place = _PLACE.match(text)
            if place and place[2] != "?":
                frames.append(Frame(function, place[1], int(place[2])))
            function = None
    return {address: tuple(frames) for address, frames in found.items()}


def frames_at(library: Path, addresses: Sequence[int]) -> dict[int, tuple[Frame, ...]]:
    """Return the functions at each address of `library`, innermost first.

    Raises:
        MissingToolError: there is no tool that reads debug information.
    """
    found: dict[int, tuple[Frame, ...]] = {}
    tool = _tool()
    for start in range(0, len(addresses), _BATCH):
        batch = addresses[start : start + _BATCH]
        command = [*tool, "-a", "-i", "-f", "-C", "-e", str(library)]
        # The library is a stranger's too.
        result = run_sandboxed_tool(
            [*command, *(hex(address) for address in batch)], limits=_LIMITS, readable=[library]
        )
        places = _parse(result.stdout.decode(errors="replace"))
        found.update((address, places.get(address, ())) for address in batch)
    plain = _plain_names(frame.function for frames in found.values() for frame in frames)
    return {
        address: tuple(replace(f, function=plain.get(f.function, f.function)) for f in frames)
        for address, frames in found.items()
    }


def _plain_names(functions: Iterable[str]) -> Mapping[str, str]:
    """Return the readable names of functions that exist in several files, by their symbols."""
    symbols = {name: found[1] for name in functions if (found := _OF_A_FILE.match(name))}
    return dict(zip(symbols, readable_names(list(symbols.values())), strict=True))
