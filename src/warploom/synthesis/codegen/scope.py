"""Where generated statements stand, and what is known of index expressions."""

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from warploom.synthesis.codegen.graph import Node

Index = tuple[str, ...]
_WORD = re.compile(r"\b[A-Za-z_]\w*")
_SYMBOL = re.compile(r"d\d+\Z")


class MaterializeError(Exception):
    """A node whose values must lie in memory before this kernel runs."""

    def __init__(self, node: Node) -> None:
        super().__init__(node.name)
        self.node = node


def variables(index: Iterable[str]) -> frozenset[str]:
    """Return the variables of index expressions; sizes are none."""
    words = (word for text in index for word in _WORD.findall(text))
    return frozenset(w for w in words if not _SYMBOL.match(w) and w not in ("long", "static_cast"))


def is_split(text: str) -> bool:
    """Whether an index is made by division: neighbors may share it."""
    return "/" in text or "%" in text


def c_size(text: str) -> str:
    """Return a size as C: for sizes, which are never negative, `//` is `/`."""
    text = text.replace("//", "/")
    text = re.sub(r"\bmax\(", "larger_of(", text)
    text = re.sub(r"\bmin\(", "smaller_of(", text)
    return re.sub(r"\bfloat\(", "static_cast<double>(", text)


def product(sizes: Iterable[str]) -> str:
    """Return the product of sizes as C."""
    factors = [c_size(size) for size in sizes if size != "1"]
    return "*".join(f"({f})" if " " in f else f for f in factors) or "1"


def linear(index: Index, shape: Iterable[str]) -> str:
    """Return the place of an element in a dense tensor."""
    text = ""
    for at, size in joined(index, shape):
        text = f"({text} * {_atom(size)} + {at})" if text else at
    return text or "0"


def joined(index: Index, shape: Iterable[str]) -> list[tuple[str, str]]:
    """Return the indices with their sizes, of which none is 1; what a division parted is one again.

    `f / s` beside `f % s` in a dimension of the size s are one place `f`, and divisions are dear.
    """
    found: list[tuple[str, str]] = []
    for at, size in zip(index, shape, strict=True):
        if size == "1":
            continue
        rest = f" % ({c_size(size)}))"
        whole = at[1 : -len(rest)] if at.startswith("(") and at.endswith(rest) else None
        if found and whole is not None and found[-1][0] == f"({whole} / ({c_size(size)}))":
            found[-1] = (whole, product((found[-1][1], size)))
        else:
            found.append((at, size))
    return found


def _atom(size: str) -> str:
    size = c_size(size)
    return size if size.isalnum() or size.startswith("(") else f"({size})"


def split(flat: str, names: list[str], sizes: list[str]) -> Iterator[str]:
    """Yield statements that define `names` as the indices of the element number `flat`.

    Each but the first takes one division: they are dear.
    """
    rest = flat
    for name, size in reversed(list(zip(names[1:], sizes[1:], strict=True))):
        before = f"before_{name}"
        yield f"const Index {before} = {rest} / {_atom(size)};"
        yield f"const Index {name} = {rest} - {before} * {_atom(size)};"
        rest = before
    if names:
        yield f"const Index {names[0]} = {rest};"


@dataclass
class Scope:
    """Statements of one block; `bound` are the index variables that are defined around it.

    `extents` are sizes that indices are below wherever the statements run.
    """

    bound: frozenset[str]
    parent: "Scope | None" = None
    lines: list[str] = field(default_factory=list[str])
    memo: dict[tuple[str, Index, str], str] = field(
        default_factory=dict[tuple[str, Index, str], str]
    )
    names: "itertools.count[int]" = field(default_factory=itertools.count)
    defined: set[str] = field(default_factory=set[str])
    extents: dict[str, str] = field(default_factory=dict[str, str])

    def inner(self, more: Iterable[str]) -> "Scope":
        """Return a scope inside of this one, with more variables."""
        return Scope(self.bound | frozenset(more), self, names=self.names)

    def known(self, key: tuple[str, Index, str]) -> str | None:
        """Return the name of a value that was computed here or around."""
        scope: Scope | None = self
        while scope is not None:
            if key in scope.memo:
                return scope.memo[key]
            scope = scope.parent
        return None

    def known_names(self) -> frozenset[str]:
        """Return the variables that can be used here: indices, and what was given a name."""
        around = self.parent.known_names() if self.parent is not None else frozenset[str]()
        return around | self.bound | self.defined

    def note(self, index: Index, sizes: Iterable[str]) -> None:
        """Note that an index is one into these sizes; what was asked first is the narrowest."""
        for at, size in zip(index, sizes, strict=True):
            if size != "1":
                self.extents.setdefault(at, c_size(size))

    def known_extents(self) -> dict[str, str]:
        """Return the sizes that indices are below here."""
        around = self.parent.known_extents() if self.parent is not None else {}
        return {**self.extents, **around}

    def define(self, ctype: str, text: str) -> str:
        """Add a statement that gives a value a name."""
        name = f"v{next(self.names)}"
        self.lines.append(f"const {ctype} {name} = {text};")
        self.defined.add(name)
        return name
