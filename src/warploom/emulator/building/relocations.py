"""Who names an undefined symbol: reads a shared object that was linked with its relocations kept.

A function of our headers may be what names it; then it is asked who names that function, until a
line of the user's is found.
"""

import struct
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from warploom.emulator.building.addresses import Frame, frames_at
from warploom.emulator.building.elf import sections

_SHT_SYMTAB, _SHT_RELA = 2, 4
_STT_FUNC = 2
_FARTHEST = 12  # functions of headers between a user's line and a symbol


@dataclass(frozen=True, slots=True)
class Mention:
    """A line of the user's that leads to a symbol; `name` is the function of ours it calls."""

    name: str | None
    file: str
    line: int


class _Object:
    """The functions and relocations of one file."""

    def __init__(self, path: Path) -> None:
        data = path.read_bytes()
        self.path = path
        found = list(sections(data))
        symbols: list[str] = []
        functions: list[tuple[int, int, str]] = []
        for kind, start, length, link, entry in found:
            if kind != _SHT_SYMTAB:
                continue
            names = found[link][1]
            for at in range(start, start + length, entry):
                name, info, _, section, value, size = struct.unpack_from("<IBBHQQ", data, at)
                begin = names + name
                named = data[begin : data.index(b"\0", begin)].decode("latin-1")
                symbols.append(named.partition("@")[0])  # less the version of a library's
                if info & 15 == _STT_FUNC and section:
                    functions.append((value, value + size, symbols[-1]))
        self.functions = sorted(functions)
        self._starts = [start for start, _, _ in self.functions]
        # Where each symbol is named.
        self.places: dict[str, list[int]] = defaultdict(list)
        for kind, start, length, link, entry in found:
            if kind != _SHT_RELA or found[link][0] != _SHT_SYMTAB:
                continue
            for at in range(start, start + length, entry):
                offset, info = struct.unpack_from("<QQ", data, at)
                self.places[symbols[info >> 32]].append(offset)

    def function_at(self, address: int) -> str | None:
        at = bisect_right(self._starts, address) - 1
        return self.functions[at][2] if at >= 0 and address < self.functions[at][1] else None


def find_mentions(
    library: Path, symbols: Iterable[str], is_users: Callable[[str], bool]
) -> Mapping[str, Mention]:
    """Return a line of the user's that leads to each of `symbols`, where one is found.

    Args:
        library: linked with `--emit-relocs`.
        symbols: as the linker names them.
        is_users: whether a file of debug information is the user's.
    """
    linked = _Object(library)
    found: dict[str, Mention] = {}
    for symbol in symbols:
        pending, seen = [symbol], {symbol}
        for _ in range(_FARTHEST):
            offsets = sorted({o for name in pending for o in linked.places.get(name, ())})
            mentions = [
                mention
                for frames in frames_at(library, offsets).values()
                if (mention := _mention(frames, is_users)) is not None
            ]
            if mentions:
                found[symbol] = min(mentions, key=lambda m: (m.file, m.line))
                break
            callers = {linked.function_at(offset) for offset in offsets}
            pending = [name for name in callers if name is not None and name not in seen]
            seen.update(pending)
            if not pending:
                break
    return found


def _mention(frames: tuple[Frame, ...], is_users: Callable[[str], bool]) -> Mention | None:
    called: str | None = None
    for frame in frames:
        if is_users(frame.file):
            return Mention(called, frame.file, frame.line)
        called = frame.function.partition("(")[0].partition("<")[0]
    return None
