"""Offsets into a program as places in the user's files."""

import threading
from collections.abc import Iterable, Iterator, Sequence

from warploom.core.records import SourceLocation
from warploom.emulator.building.addresses import Frame, frames_at
from warploom.emulator.building.build_records import EmulatorBuild
from warploom.emulator.building.link import strip_root

# Kept for the process: runs of one build repeat the same places. Keyed by build and offset.
_known: dict[tuple[str, int], tuple[Frame, ...]] = {}
_lock = threading.Lock()


def _look_up(build: EmulatorBuild, offsets: Iterable[int]) -> None:
    with _lock:
        todo = sorted({o for o in offsets if (build.key, o) not in _known})
        if not todo:
            return
        for offset, frames in frames_at(build.library, todo).items():
            _known[build.key, offset] = frames


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
        return next(self.places(frames), None)

    def places(self, frames: Sequence[int]) -> Iterator[SourceLocation]:
        """Yield all places in files of the user's, innermost first."""
        for offset in frames:
            for frame in _known.get((self._build.key, offset), ()):
                file = self._build.file_named(strip_root(frame.file))
                if file is not None:
                    yield SourceLocation(str(file.path), frame.line, frame.function)
