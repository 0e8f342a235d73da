"""Neighbors that are moved as one: 16 bytes at a time, where tensors lie so.

A thread that moves single elements keeps too few bytes under way to fill the memory's bandwidth.
A loop over groups computes `width` neighbors at a time; where a pointer or a row is off the
alignment that this needs (`wide` is false), the loop over single elements beside it does all.
"""

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from warploom.synthesis.codegen import ctypes_of
from warploom.synthesis.codegen.graph import Node
from warploom.synthesis.codegen.scope import (
    Index,
    Scope,
    c_size,
    joined,
    linear,
    product,
    variables,
)
from warploom.synthesis.sizes import size_value

_GROUP = """// Neighbors that are moved as one.
template <typename T, int N>
struct alignas(sizeof(T) * N) Group {
  T at[N];
};
"""
_GROUP_AT = """// Loads the group at a place.
template <typename T, int N>
static __device__ Group<T, N> group_at(const T* place) {
  return *reinterpret_cast<const Group<T, N>*>(place);
}
"""
_STORE_GROUP = """// Stores a group at a place.
template <typename T, int N>
static __device__ void store_group(T* place, const Group<T, N>& values) {
  *reinterpret_cast<Group<T, N>*>(place) = values;
}
"""
_ADDRESS = """// The address that a pointer holds: groups must lie at multiples of their size.
static __host__ __device__ long long address_of(const void* pointer) {
  return reinterpret_cast<long long>(pointer);
}
"""
_GROUP_ONCE = """// Loads the group at a place that is read once: it leaves the caches first.
template <typename T, int N>
static __device__ Group<T, N> group_once(const T* place) {
  if constexpr (sizeof(T) * N == sizeof(uint4)) {
    const uint4 words = __ldcs(reinterpret_cast<const uint4*>(place));
    Group<T, N> group;
    memcpy(&group, &words, sizeof words);
    return group;
  } else {
    return group_at<T, N>(place);
  }
}
"""
HELPERS = {
    "Group": _GROUP, "group_at": _GROUP_AT, "store_group": _STORE_GROUP, "address_of": _ADDRESS,
}  # fmt: skip
"""What kernels with groups need, by name."""
_VALUE = re.compile(r"\bv\d")
_SYMBOL = re.compile(r"\bd\d+\b")
_PLAIN = {"larger_of": "max", "smaller_of": "min"}
_C_CALL = re.compile(r"\b(?:larger_of|smaller_of)\b")
_MOST_TRIED = 4096
_HELD = re.compile(r"\s*held\d+\[")
ONCE = {"group_once": _GROUP_ONCE}
"""What those need beside it that read a tensor once."""


def once(lines: Sequence[str], reads: Mapping[str, Node], uses: Mapping[str, int]) -> list[str]:
    """Return the statements with tensors streamed that nobody else loads.

    `reads` are nodes by their pointers, and `uses` counts who reads a node at all. Those of fewer
    dimensions than others are read for each row anew, and where a tensor's value says what is
    read, it may be the same again. Loads of what is held are those of the loop that uses it; where
    nothing is, a loop that loads a group twice leaves it in the caches. On an H200 a streamed sum
    of rows takes 0.92 of the time, and the least and the greatest of rows, which one loop finds,
    0.95.
    """
    made = list(lines)
    counts = {pointer: sum(size != "1" for size in node.sizes) for pointer, node in reads.items()}
    for pointer, count in counts.items():
        load = re.compile(rf"\bgroup_at(<[^<>]*>\({re.escape(pointer)} \+)")
        places = [at for at, line in enumerate(made) if load.search(line)]
        used = [at for at in places if not _HELD.match(made[at])]
        if count < max(counts.values()) or count == 1 or len(used) != uses[reads[pointer].name]:
            continue
        if len(used) > 1 and len(used) == len(places):
            continue
        if not any(_VALUE.search(made[at]) for at in places):
            for at in places:
                made[at] = load.sub(r"group_once\1", made[at])
    return made


@dataclass
class Wide:
    """What holds where a kernel moves groups of `width` elements."""

    width: int
    pointers: dict[str, int] = field(default_factory=dict[str, int])
    multiples: dict[str, None] = field(default_factory=dict[str, None])
    dtypes: set[str] = field(default_factory=set[str])

    def moves(self, pointer: str, dtype: str) -> None:
        """Note that groups of a type are moved from or to a pointer."""
        self.dtypes.add(dtype)
        self.pointers[pointer] = self.width * ctypes_of.BYTES[dtype]

    def can_be_multiple(self, size: str) -> bool:
        """Whether a size may be a multiple of the width; where it varies, that is tested.

        It is none where others must be multiples too that it never is one together with.
        """
        if size.isdigit():
            return int(size) % self.width == 0
        if size not in self.multiples and not _can_be([*self.multiples, size], self.width):
            return False
        self.multiples[size] = None
        return True

    def widest(self, bytes_at_once: int) -> int:
        """Return how many neighbors of the widest type are so many bytes."""
        return max(1, bytes_at_once // max(ctypes_of.BYTES[dtype] for dtype in self.dtypes))

    @property
    def fits(self) -> str:
        """Whether all lies as groups need it: one condition, which cases take both ways."""
        parts = [f"address_of({name}) % {size}" for name, size in self.pointers.items()]
        parts += [f"{_atom(size)} % {self.width}" for size in self.multiples]
        return f"({' | '.join(parts)}) == 0"

    @property
    def test(self) -> str:
        """The statement that finds out whether it `fits`."""
        return f"const bool wide = {self.fits};"


def _can_be(sizes: Sequence[str], width: int) -> bool:
    """Whether sizes (C expressions) can be multiples of the width together, for some symbols."""
    plain = [one for one in sizes if "static_cast" not in one]  # sizes by real numbers may be any
    texts = [_C_CALL.sub(lambda call: _PLAIN[call[0]], one.replace("/", "//")) for one in plain]
    names = sorted(set(_SYMBOL.findall(" ".join(texts))))
    near = range(4 * width * width, 4 * width * width + width)
    for values in itertools.islice(itertools.product(near, repeat=len(names)), _MOST_TRIED):
        symbols = dict(zip(names, values, strict=True))
        if all(size_value(text, symbols) % width == 0 for text in texts):
            return True
    return False


def _factors(sizes: Iterable[str]) -> list[str]:
    """Return the factors of a product of sizes, in one order."""
    found: list[str] = []
    for size in map(c_size, sizes):
        plain = re.fullmatch(r"\(?(\w+(?:\*\w+)*)\)?", size)
        found += plain[1].split("*") if plain else [size]
    return sorted(found)


def _atom(size: str) -> str:
    return size if re.fullmatch(r"\w+|\(.*\)", size) else f"({size})"


@dataclass
class Groups:
    """One loop over groups: `start` is the place of a group's first element along the loop.

    The loop goes along the dimensions `names`, of the sizes `sizes`, whose elements are neighbors;
    `outer` is where groups are loaded, `flat` says that a place is one in memory. `places` has
    where each group is that is loaded without a guard, and its type.
    """

    wide: Wide
    names: tuple[str, ...]
    sizes: tuple[str, ...]
    start: str
    outer: Scope
    flat: bool = False
    loaded: dict[tuple[str, str, str], str] = field(default_factory=dict[tuple[str, str, str], str])
    places: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])

    def load(self, node: Node, pointer: str, index: Index, guard: str) -> str | None:
        """Return the name of the group that holds an element; None where it is in none.

        With a `guard` it is read only where that holds, and zeros otherwise.
        """
        place = self.start if self.flat else self._place(node, index)
        if place is None:
            return None
        key = (node.name, place, guard)
        if key not in self.loaded:
            self.wide.moves(pointer, node.dtype)
            name = f"g{next(self.outer.names)}"
            kind = f"{ctypes_of.stored(node.dtype)}, {self.wide.width}"
            text = f"group_at<{kind}>({pointer} + {place})"
            text = f"{guard} ? {text} : Group<{kind}>()" if guard else text
            self.outer.lines.append(f"const Group<{kind}> {name} = {text};")
            self.loaded[key] = name
            if not guard:
                self.places[name] = (f"{pointer} + {place}", node.dtype)
        return self.loaded[key]

    def alike(self, tests: Sequence[tuple[str, str, str]]) -> str | None:
        """Return tests of the loop's index for a whole group; None where elements may differ."""
        if self.flat or len(self.names) != 1:
            return None
        found: list[str] = []
        for at, sign, bound in tests:
            start = at
            if not variables([at]) <= self.outer.known_names():
                beside = ("0", "0") if at == self.names[0] else self._beside(at)
                if beside is None:
                    return None
                more, step = beside
                if not all(s == "0" or self.wide.can_be_multiple(s) for s in (step, bound)):
                    return None
                start = self.start if more == "0" else f"{self.start} + {more}"
            found.append(f"{start} {sign} {bound}")
        return " && ".join(found)

    def _place(self, node: Node, index: Index) -> str | None:
        """Return where the group begins; None where its elements are no neighbors."""
        pairs = joined(index, node.sizes)
        count = len(self.names)
        if len(pairs) < count:
            return None
        head, tail = pairs[: len(pairs) - count], pairs[len(pairs) - count :]
        if not variables(at for at, _ in head) <= self.outer.known_names():
            return None
        length = product(s for _, s in tail)
        more = "0"
        needed = [length] if head else []
        if [at for at, _ in tail[1:]] != list(self.names[1:]) or _factors(
            s for _, s in tail[1:]
        ) != _factors(self.sizes[1:]):
            return None
        if tail[0][0] != self.names[0]:
            beside = self._beside(tail[0][0])
            if beside is None:
                return None
            more, step = beside
            if count > 1:
                after = product(self.sizes[1:])
                more, step = f"{more} * ({after})", f"({step} * ({after}))"
            needed.append(step)
        elif count > 1 and tail[0][1] != self.sizes[0]:
            return None
        if not all(self.wide.can_be_multiple(c_size(size)) for size in needed):
            return None
        start = self.start if more == "0" else f"({self.start} + {more})"
        return linear((*(at for at, _ in head), start), (*(s for _, s in head), length))

    def _beside(self, text: str) -> tuple[str, str] | None:
        """Return how far an index is from the loop's, and a size that has to be a multiple for it.

        None where it does not go along with the loop: `(i + 3)`, `(i - (4))` and `(j * 8 + i)` do.
        """
        name = re.escape(self.names[0])
        ahead = re.fullmatch(rf"\({name} - \((.+)\)\)", text)
        if ahead is not None:
            return None if variables([ahead[1]]) else (f"-({ahead[1]})", str(ahead[1]))
        behind = re.fullmatch(rf"\({name} \+ (.+)\)", text)
        if behind is not None:
            return None if variables([behind[1]]) else (behind[1], behind[1])
        merged = re.fullmatch(rf"\((.+) \* (\w+|\([^()]+\)) \+ {name}\)", text)
        if merged is None or variables([merged[2]]):
            return None
        known = variables([merged[1]]) <= self.outer.known_names()
        return (f"{merged[1]} * {merged[2]}", str(merged[2])) if known else None
