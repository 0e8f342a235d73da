"""Offsets into a program as places in the user's files."""

import re
import shutil
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from warploom.core.errors import MissingToolError
from warploom.core.records import Limits, SourceLocation
from warploom.emulator.build import EmulatorBuild, strip_root
from warploom.toolchain.sandbox import run_sandboxed_tool

_BATCH = 1000
_TOOLS = (
    ("addr2line",),
    ("llvm-addr2line",),
    ("llvm-symbolizer", "--output-style=GNU"),
)
_ADDRESS = re.compile(r"^0x[0-9a-f]+$")
_PLACE = re.compile(r"^(.*):(\d+|\?)(?: \(discriminator \d+\))?$")
_LIMITS = Limits(seconds=120.0, memory_mb=4096, output_mb=256)


@dataclass(frozen=True, slots=True)
class _Frame:
    """One function at one place; inlined ones have a frame of their own."""

    function: str
    file: str
    line: int


# Kept for the process: runs of one build repeat the same places. Keyed by build and offset.
_known: dict[tuple[str, int], tuple[_Frame, ...]] = {}
_lock = threading.Lock()


def _tool() -> tuple[str, ...]:
    for tool in _TOOLS:
        if shutil.which(tool[0]):
            return tool
    raise MissingToolError(
        "addr2line (binutils) or llvm-symbolizer is needed to name source lines, but none is found",
        hint="install binutils (Debian: apt-get install binutils)",
    )


def _parse(output: str) -> dict[int, tuple[_Frame, ...]]:
    """Read the tool's output: an address, then a function and a place per inlined frame."""
    found: dict[int, list[_Frame]] = {}
    frames: list[_Frame] = []
    function: str | None = None
    for text in output.splitlines():
        if function is None and _ADDRESS.match(text):
            frames = found.setdefault(int(text, 16), [])
        elif function is None:
            function = text
        else:
            place = _PLACE.match(text)
            if place and place[2] != "?":
                frames.append(_Frame(function, place[1], int(place[2])))
            function = None
    return {address: tuple(frames) for address, frames in found.items()}


def _look_up(build: EmulatorBuild, offsets: Iterable[int]) -> None:
    with _lock:
        todo = sorted({o for o in offsets if (build.key, o) not in _known})
        if not todo:
            return
        tool = _tool()
        for start in range(0, len(todo), _BATCH):
            batch = todo[start : start + _BATCH]
            command = [*tool, "-a", "-i", "-f", "-C", "-e", str(build.library)]
            # The library is a stranger's too.
            result = run_sandboxed_tool(
                [*command, *(hex(offset) for offset in batch)],
                limits=_LIMITS,
                readable=[build.library],
            )
            places = _parse(result.stdout.decode(errors="replace"))
            for offset in batch:
                _known[build.key, offset] = places.get(offset, ())


class Symbolizer:
    """Turns frames of one build into source locations; `prepare` looks many up at once."""

    def __init__(self, build: EmulatorBuild) -> None:
        self._build = build

    def prepare(self, stacks: Iterable[Sequence[int]]) -> None:
        """Look up all offsets of `stacks` in one call of the tool.

        Raises:
            MissingToolError: there is no tool that reads debug information.
        """
        _look_up(self._build, (offset for stack in stacks for offset in stack))

    def locate(self, frames: Sequence[int]) -> SourceLocation | None:
        """Return the first place in a file of the user's, innermost first; None without one."""
        for offset in frames:
            for frame in _known.get((self._build.key, offset), ()):
                file = self._build.file_named(strip_root(frame.file))
                if file is not None:
                    return SourceLocation(str(file.path), frame.line, frame.function)
        return None
