"""What a reference of several ranks must be: one collective, and how large its window is."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from warploom.core.errors import BadInputError
from warploom.synthesis.codegen.collective_names import COLLECTIVES, IN_PARTS
from warploom.synthesis.codegen.ctypes_of import BYTES
from warploom.synthesis.codegen.graph import Graph, Node, names_in, renamed_arguments
from warploom.synthesis.codegen.refusal import BeyondRulesError
from warploom.synthesis.records import SymbolArg

_SAME = frozenset({"clone", "alias", "detach", "lift_fresh_copy", "contiguous", "copy"})
_ALIGN = 16


def without_copies(graph: Graph) -> Graph:
    """Return a graph in which nothing is copied for the sake of `torch.distributed`'s interface.

    Its functions write to tensors of their caller: what they are given is cloned before, and what
    they return is copied there.
    """
    same: dict[str, str] = {}

    def name_of(name: str) -> str:
        return same.get(name, name)

    kept: list[Node] = []
    known: dict[str, Node] = {node.name: node for node in graph.inputs}
    for node in graph.nodes:
        args, kwargs = renamed_arguments(node.args, node.kwargs, name_of)
        node = replace(node, args=args, kwargs=kwargs)
        known[node.name] = node
        source = _copied(node, known)
        if source is None:
            kept.append(node)
        else:
            same[node.name] = source
    outputs = tuple(map(name_of, graph.outputs))
    return Graph(graph.inputs, _needed(kept, outputs), outputs, graph.symbols, graph.guards)


def _copied(node: Node, known: Mapping[str, Node]) -> str | None:
    """Return the node that a node is a copy of."""
    if node.op not in _SAME:
        return None
    argument = node.args[0]
    if not isinstance(argument, dict) or "node" not in argument:
        return None
    source = known[str(argument["node"])]  # pyright: ignore[reportUnknownArgumentType]
    return source.name if (source.shape, source.dtype) == (node.shape, node.dtype) else None


def _needed(nodes: list[Node], outputs: tuple[str, ...]) -> tuple[Node, ...]:
    """Return the nodes that outputs follow from."""
    wanted = set(outputs)
    found: list[Node] = []
    for node in reversed(nodes):
        if node.name in wanted or node.op in COLLECTIVES:
            found.append(node)
            wanted.update(names_in((*node.args, *node.kwargs.values())))
    return tuple(reversed(found))


def collective_of(graph: Graph, ranks: int) -> Node:
    """Return the one collective of a graph.

    Raises:
        BadInputError: there is none.
        BeyondRulesError: there are several.
    """
    found = [node for node in graph.nodes if node.op in COLLECTIVES]
    if not found:
        raise BadInputError(
            f"a reference for {ranks} ranks must call a collective of torch.distributed, and use "
            "what it returns, but calls none",
            hint="leave out --ranks",
        )
    if len(found) > 1:
        raise BeyondRulesError(f"{len(found)} collectives in one reference", line=found[1].line)
    return found[0]


def window_of(graph: Graph, node: Node) -> str:
    """Return how many bytes the window of a collective has, as text over the symbols.

    It has room for the operand and the result, each of them aligned.
    """
    source = graph.node_of(node.args[0])
    assert source is not None
    texts: list[str] = []
    for one in (source, node):
        count = "*".join([*one.sizes, str(BYTES[one.dtype])])
        texts.append(f"({count} + {_ALIGN - 1})//{_ALIGN}*{_ALIGN}")
    return f"({' + '.join(texts)})"


def divided(
    symbols: Sequence[SymbolArg], graph: Graph, node: Node, ranks: int
) -> tuple[SymbolArg, ...]:
    """Return the sizes, those multiples of `ranks` of which a collective gives each rank a part."""
    source = graph.node_of(node.args[0])
    if node.op not in IN_PARTS or source is None:
        return tuple(symbols)
    names = set(re.findall(r"\w+", source.sizes[0]))
    return tuple(
        replace(one, multiple=math.lcm(one.multiple, ranks)) if one.name in names else one
        for one in symbols
    )
