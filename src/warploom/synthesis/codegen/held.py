"""Rows that threads hold: each loads its groups of a row into registers before it uses one.

The loops of such a row go along what is held first, and then along what is beyond it. What is read
again need not be loaded again then: on an H200 a softmax of rows of 6,208 numbers takes 0.8 of the
time. And where a row is read once, all of it is under way at once: sums take 0.95 of the time.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Protocol

from warploom.synthesis.codegen import ctypes_of
from warploom.synthesis.codegen.turns import turn_loop

PLACE = "k"
"""The variable of the loop that loads."""
_WORDS = re.compile(r"[A-Za-z_]\w*")
_BY_PLACE = re.compile(r"static_cast<long long>\(k\d"), re.compile(r"const bool .* [<>]=? ")
"""In a loop, an element's place as a value, and a comparison of order."""
_OF_ROW = re.compile(r"(?:i\d+|d\d+|(?:in|tmp|out)\w*|k|larger_of|smaller_of)\Z")


class HasPlaces(Protocol):
    """A loop over groups: how far it goes, and where what it loads is."""

    @property
    def extent(self) -> str:
        """How far it goes."""
        ...

    @property
    def places(self) -> Iterable[str]:
        """The names of its groups."""
        ...

    @property
    def lines(self) -> Iterable[str]:
        """The statements of an element."""
        ...

    def place(self, name: str) -> str:
        """Return where a group is, with the loop's variable as `PLACE`."""
        ...

    def dtype(self, name: str) -> str:
        """Return the type of a group's elements."""
        ...


@dataclass(frozen=True, slots=True)
class Held:
    """What a thread holds of a row of `extent` elements: `turns` groups of each place."""

    extent: str
    places: tuple[tuple[str, str], ...]
    width: int
    turns: int
    once: bool = False

    def name(self, place: str) -> str:
        """Return the name of the array that holds groups of a place; none: they are not held."""
        names = {one: f"held{at}" for at, (one, _) in enumerate(self.places)}
        return names.get(place, "")

    @property
    def beyond(self) -> str:
        """The place of a thread's first element that is not held."""
        return f"held + threadIdx.x * {self.width}"

    @property
    def threads(self) -> str:
        """How many threads hold a whole row, with as many as complete a warp."""
        each = self.turns * self.width
        return f"({self.extent} + {each - 1}) / {each} + 31"

    def loop(self, name: str, body: list[str]) -> list[str]:
        """Return the loop along what is held."""
        place = (
            f"const Index {name} = (turn * static_cast<int>(blockDim.x) + "
            f"static_cast<int>(threadIdx.x)) * {self.width};"
        )
        return turn_loop(self.turns, [place], body, f"{name} < held")

    def lines(self) -> list[str]:
        """Return the statements that load it."""
        arrays: list[str] = []
        loads: list[str] = []
        for place, dtype in self.places:
            kind, name = f"{ctypes_of.stored(dtype)}, {self.width}", self.name(place)
            arrays.append(f"Group<{kind}> {name}[{self.turns}];")
            loads.append(f"{name}[turn] = group_at<{kind}>({place});")
        groups = f"wide ? {bracketed(self.extent)} / {self.width} : 0"
        why = "All loads are under way at once" if self.once else "What is read again is held"
        return [
            f"// {why}: the first groups of each thread. How many is a bound:",
            "// rows of which not all is held are tried too, where none is so long.",
            f"const Index groups = {groups};",
            f"const Index held = min(groups, static_cast<Index>({self.turns} * blockDim.x)) * "
            f"{self.width};",
            *arrays, *self.loop(PLACE, loads),
        ]  # fmt: skip


@dataclass
class RowReads:
    """What the loops of a row load: places with their types, and how many loops load each."""

    counts: Counter[tuple[str, str, str]] = field(default_factory=Counter[tuple[str, str, str]])
    loops: int = 0
    by_place: bool = False

    def note(self, loops: Iterable[HasPlaces | None]) -> None:
        """Note what a loop loads, which several reductions may share."""
        loops = [loop for loop in loops if loop is not None]
        for loop in loops:
            self.by_place |= all(
                any(wanted.search(line) for line in loop.lines) for wanted in _BY_PLACE
            )
        found = {
            (loop.extent, loop.place(name), loop.dtype(name))
            for loop in loops for name in loop.places
        }  # fmt: skip
        self.counts.update(sorted(found))
        self.loops += 1

    def held(self, width: int, most_bytes: int, made: int) -> Held | None:
        """Return what a thread holds: groups of `width` of what several loops load, if any.

        It is half as much where elements of fewer bytes are `made` of it: their stores are short,
        and want more threads. On an H200 `quantize_int8` takes 49 us so, and 59 else.
        Nothing is held where an element's place decides, as in a causal mask: what the mask lets
        through beyond what is held, no case would be large enough to show.
        """
        if self.by_place:
            return None
        again = [
            key for key, count in self.counts.items()
            if count > 1 and all(map(_OF_ROW.match, _WORDS.findall(key[1])))
        ]  # fmt: skip
        of_row = [key for key in again if re.search(r"\bi\d", key[1])] or again
        alike = [key for key in of_row if key[0] == of_row[0][0]]
        each = sum(width * ctypes_of.BYTES[dtype] for _, _, dtype in alike)
        if any(ctypes_of.BYTES[dtype] > made for _, _, dtype in alike):
            most_bytes //= 2
        return _held(alike, width, most_bytes // each if each else 0)

    def held_once(self, width: int, most_bytes: int) -> Held | None:
        """Return what a thread holds of a row that one loop reads, if that is a single place.

        A product of a matrix and a vector, of which only one can be held, takes 1.08 of the time,
        and rows of single bytes, whose elements are more work than their loads, 1.48.
        """
        keys = [key for key in self.counts if all(map(_OF_ROW.match, _WORDS.findall(key[1])))]
        if self.by_place or len(self.counts) != 1 or not keys or ctypes_of.BYTES[keys[0][2]] == 1:
            return None
        each = width * ctypes_of.BYTES[keys[0][2]]
        held = _held(keys, width, most_bytes // each)
        return held and replace(held, once=True)


def _held(keys: list[tuple[str, str, str]], width: int, turns: int) -> Held | None:
    """Return what is held of places, which are of one extent, in so many turns at most."""
    if turns < 2:
        return None
    places = tuple((place, dtype) for _, place, dtype in keys)
    return Held(keys[0][0], places, width, 1 << (turns.bit_length() - 1))


def bracketed(text: str) -> str:
    """Return a term of a product."""
    return text if text.isalnum() else f"({text})"
