"""Offsets into an executable as places in the user's files."""

import re
import shutil
from collections.abc import Iterable

from warploom.core.errors import MissingToolError
from warploom.core.records import Limits, SourceLocation
from warploom.hardware.build import HardwareBuild
from warploom.toolchain.sandbox import run_sandboxed_tool

_TOOLS = (("addr2line",), ("llvm-addr2line",), ("llvm-symbolizer", "--output-style=GNU"))
_ADDRESS = re.compile(r"^0x[0-9a-f]+$")
_LINE = re.compile(r"^(.*):(\d+)(?: \(discriminator \d+\))?$")
_LIMITS = Limits(seconds=120.0, memory_mb=4096, output_mb=64)


def places_of(build: HardwareBuild, offsets: Iterable[int]) -> dict[int, SourceLocation]:
    """Return the first of the user's places for each offset; those without one are left out.

    Raises:
        MissingToolError: nothing here reads debug information.
    """
    wanted = sorted(set(offsets))
    if not wanted:
        return {}
    tool = next((words for words in _TOOLS if shutil.which(words[0])), None)
    if tool is None:
        raise MissingToolError(
            "addr2line (binutils) or llvm-symbolizer is needed to name source lines",
            hint="install binutils (Debian: apt-get install binutils)",
        )
    command = [*tool, "-e", build.program, "-a", "-f", "-C", "-i", *map(hex, wanted)]
    result = run_sandboxed_tool(command, limits=_LIMITS, readable=[build.program])
    output = result.stdout.decode(errors="replace")
    return parse_places(output, build)


def parse_places(output: str, build: HardwareBuild) -> dict[int, SourceLocation]:
    """Read addr2line's output: an address, then a function and a place per inlined frame."""
    found: dict[int, SourceLocation] = {}
    address = 0
    function = ""
    for text in output.splitlines():
        match = _LINE.match(text)
        if _ADDRESS.match(text):
            address = int(text, 16)
        elif match is None:
            function = text
        elif address not in found and int(match[2]) > 0:
            path = build.user_file(match[1])
            if path is not None:
                found[address] = SourceLocation(path, int(match[2]), function)
    return found
