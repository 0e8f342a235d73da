"""A traced graph as frozen records: sizes are text over the symbols d0, d1, ..."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

_WORD = re.compile(r"[A-Za-z_]\w*")
_CALLS = frozenset({"max", "min", "pow", "float"})
Argument = Any
"""A node (`{"node": name}`), a size (`{"sym": text}`), a type, a number, None or a list."""


@dataclass(frozen=True, slots=True)
class Node:
    """One operation: its result has `shape` (None: no tensor) and `dtype`."""

    name: str
    op: str
    args: tuple[Argument, ...]
    kwargs: Mapping[str, Argument]
    shape: tuple[str, ...] | None
    dtype: str
    line: int | None = None
    groups: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = ()

    @property
    def sizes(self) -> tuple[str, ...]:
        """The shape of a tensor."""
        return self.shape or ()


@dataclass(frozen=True)
class Symbol:
    """A size that varies: that of dimension `dim` of the input number `input`."""

    name: str
    input: int
    dim: int


@dataclass(frozen=True)
class Graph:
    """What a reference computes; `guards` are what its trace takes for granted of sizes."""

    inputs: tuple[Node, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[str, ...]
    symbols: tuple[Symbol, ...] = field(default=())
    guards: tuple[str, ...] = field(default=())

    @cached_property
    def by_name(self) -> Mapping[str, Node]:
        """All nodes, inputs among them."""
        return {node.name: node for node in (*self.inputs, *self.nodes)}

    @cached_property
    def order(self) -> Mapping[str, int]:
        """The place of each node in the order of the graph."""
        return {node.name: at for at, node in enumerate((*self.inputs, *self.nodes))}

    @cached_property
    def uses(self) -> Mapping[str, int]:
        """How many nodes read each node."""
        return Counter(
            name
            for node in self.nodes
            for name in set(names_in([*node.args, *node.kwargs.values()]))
        )

    def node_of(self, argument: Argument) -> Node | None:
        """Return the node that an argument names; None where it is none."""
        if isinstance(argument, dict) and "node" in argument:
            return self.by_name[str(argument["node"])]  # pyright: ignore[reportUnknownArgumentType]
        return None


def graph_from(data: Mapping[str, Any]) -> Graph:
    """Return the graph of a trace: equal nodes once, symbols renamed d0, d1, ..."""
    names = {entry["name"]: f"d{at}" for at, entry in enumerate(data["symbols"])}
    data = json.loads(_renamed(json.dumps(data), names))
    same: dict[str, str] = {}
    known: dict[str, str] = {}
    nodes: list[Node] = []
    for entry in data["nodes"]:
        args, kwargs = renamed_arguments(
            entry["args"], entry["kwargs"], lambda name: same.get(name, name)
        )
        key = json.dumps([entry["op"], args, kwargs, entry["shape"], entry["dtype"]])
        if key in known:
            same[entry["name"]] = known[key]
            continue
        known[key] = entry["name"]
        if entry["op"] == "copy":  # copy(self, source): nothing of `self` is left
            args = args[1:2]
        nodes.append(_node(entry, args, kwargs))
    inputs = tuple(
        Node(e["name"], "input", (), {}, _sizes(e["shape"]), e["dtype"]) for e in data["inputs"]
    )
    named: list[str] = data["outputs"]
    outputs = tuple(same.get(name, name) for name in named)
    symbols = tuple(Symbol(e["name"], e["input"], e["dim"]) for e in data["symbols"])
    return Graph(inputs, tuple(nodes), outputs, symbols, tuple(data.get("guards", ())))


def words_of_sizes(node: Node) -> frozenset[str]:
    """Return the symbols that the shape and the arguments of a node name."""
    texts = [*node.sizes, *_sizes_in([*node.args, *node.kwargs.values()])]
    return frozenset(word for text in texts for word in _WORD.findall(text)) - _CALLS


def _sizes_in(value: Any) -> Iterator[str]:
    if isinstance(value, list | tuple):
        for item in value:  # pyright: ignore[reportUnknownVariableType]
            yield from _sizes_in(item)
    elif isinstance(value, dict) and "sym" in value:
        yield str(value["sym"])  # pyright: ignore[reportUnknownArgumentType]


def names_in(value: Any) -> Iterator[str]:
    """Yield the names of the nodes that an argument, or several, name."""
    if isinstance(value, list | tuple):
        for item in value:  # pyright: ignore[reportUnknownVariableType]
            yield from names_in(item)
    elif isinstance(value, dict) and "node" in value:
        yield str(value["node"])  # pyright: ignore[reportUnknownArgumentType]


def renamed_arguments(
    args: Sequence[Argument], kwargs: Mapping[str, Argument], rename: Callable[[str], str]
) -> tuple[tuple[Argument, ...], dict[str, Argument]]:
    """Return the arguments of a node with other names of the nodes that they name."""

    def renamed(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [renamed(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
        if isinstance(value, dict) and "node" in value:
            return {"node": rename(str(value["node"]))}  # pyright: ignore[reportUnknownArgumentType]
        return value  # pyright: ignore[reportUnknownVariableType]

    return tuple(map(renamed, args)), {key: renamed(value) for key, value in kwargs.items()}


def _renamed(text: str, names: Mapping[str, str]) -> str:
    if not names:
        return text
    pattern = r"\b(" + "|".join(re.escape(name) for name in names) + r")\b"
    return re.sub(pattern, lambda match: names[match[1]], text)


def _sizes(shape: Sequence[int | str] | None) -> tuple[str, ...] | None:
    return None if shape is None else tuple(str(size) for size in shape)


def _node(entry: Mapping[str, Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Node:
    groups = tuple((tuple(a), tuple(b)) for a, b in entry.get("groups", ()))
    return Node(
        entry["name"], entry["op"], args, kwargs, _sizes(entry["shape"]), entry["dtype"],
        entry["line"], groups,
    )  # fmt: skip
