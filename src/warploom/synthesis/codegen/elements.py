"""Kernels of elements: each thread computes some, and nothing is shared."""

import re
from collections.abc import Iterable

from warploom.synthesis.codegen import ctypes_of
from warploom.synthesis.codegen.draft import KernelDraft
from warploom.synthesis.codegen.graph import Graph, Node
from warploom.synthesis.codegen.groups import HELPERS, Groups, Wide
from warploom.synthesis.codegen.layouts import LAYOUTS
from warploom.synthesis.codegen.scope import (
    Index,
    MaterializeError,
    Scope,
    c_size,
    product,
    split,
)
from warploom.synthesis.codegen.text import Kernel, indented
from warploom.synthesis.codegen.turned import TurnedWriter
from warploom.synthesis.codegen.turns import in_turns
from warploom.synthesis.codegen.values import Values

_ALONE = 4  # elements of a thread that are under way at once where none are moved as one
_MANY = 4  # loads of groups: a compiler that is told how many registers there are places them first
_FULL = 8  # blocks of a multiprocessor then: `rope` takes 39 us on an H200 instead of 44
_LOOKED_UP = re.compile(r"\b(?:in|tmp|out)_?\w*\[[^\]]*\bv\d+")
"""A load whose place a loaded value says."""
_CONSTANTS = ("full", "full_like", "scalar_tensor", "zeros_like", "ones_like")


class ElementWriter:
    """Writes the kernel of elements: by groups of neighbors, and what is left one by one."""

    def __init__(self, draft: KernelDraft) -> None:
        self.draft = draft
        self.root = draft.root
        self.nodes = (draft.root, *draft.also)
        for node in draft.also:
            if node.sizes != draft.root.sizes:
                raise MaterializeError(node)
        self.flat = all(is_flat(draft.graph, draft.buffers, node) for node in self.nodes)
        self.values = self._values()
        self.blocks = 1

    def _values(self) -> Values:
        values = self.draft.values(self.draft.refuse)
        values.flat = self.flat
        return values

    def make(self) -> Kernel:
        """Return the kernel."""
        draft, threads = self.draft, self.draft.tuning.element_threads
        single = self._single()
        count = product(self.root.sizes)
        wide = self._wide()
        if wide is None and not self.flat:
            turned = TurnedWriter(draft).make()
            if turned is not None:
                return turned
        fits = ""
        first, each = "", threads * _ALONE
        loop: list[str] = []
        if wide is not None:
            fits = wide.fits
            loop, each = self._tiles(wide)
        elif not self.flat and (order := self._in_order()) is not None:
            fits, loop, each = order
        more: dict[str, str] = {}
        if fits:
            draft.helpers |= HELPERS
            first = f"tiles * {each} + "
            # The host finds out whether groups fit: as a part of each block it took up to 6 %.
            more["tiles"] = f"{fits} ? {count} / {each} : 0"
        lines = [
            f"const Index count = {count};",
            *loop,
            "const Index stride = static_cast<Index>(gridDim.x) * blockDim.x;",
            *([] if fits else [f"#pragma unroll {_ALONE}"]),
            f"for (Index i = {first}static_cast<Index>(blockIdx.x) * blockDim.x + "
            "threadIdx.x; i < count; i += stride) {",
            *indented(single),
            "}",
        ]
        parameters = [f"const Index {name}" for name in more]
        text = draft.kernel(self.values, threads, lines, self.blocks, more=parameters)
        blocks = f"blocks_for({count}, {each})"
        return draft.done("elements", text, self.values, count, blocks, threads, more)

    def _in_order(self) -> tuple[str, list[str], int] | None:
        """Return the loop over tiles of which each thread makes some neighbors, one by one.

        Nothing is loaded by groups, but what is made lies as one, and only the first of them takes
        divisions. Before it comes what must hold for that, behind it how many elements a tile has.
        On an H200 rows of 6,915 numbers, put together from two, take 49 us instead of 56.
        """
        threads = self.draft.tuning.element_threads
        seen = Wide(1)
        seen.dtypes |= {node.dtype for node in (*self.nodes, *self.values.reads.values())}
        wide = Wide(seen.widest(self.draft.tuning.vector_bytes))
        if wide.width == 1 or not self.draft.real()[0]:
            return None
        for node in self.nodes:
            wide.moves(self.draft.pointer_to(node), node.dtype)
        tile = threads * wide.width
        names, sizes = self.draft.real()
        scope, values = Scope(frozenset(names)), self._values()
        made = [
            f"made_{node.name}.at[e] = "
            f"{ctypes_of.store(node.dtype, values.value(node, self.draft.index, scope))};"
            for node in self.nodes
        ]
        begin = [
            re.sub(rf"^const (Index (?:{'|'.join(names)}) =)", r"\1", line)
            for line in split("first", names, sizes)
        ]
        return wide.fits, [
            f"// {wide.width} neighbors of each thread are stored at once.",
            "for (Index tile = blockIdx.x; tile < tiles; tile += gridDim.x) {",
            *indented([
                f"const Index first = tile * {tile} + "
                f"static_cast<int>(threadIdx.x) * {wide.width};",
                *begin, *_groups_made(self.nodes, wide.width), "#pragma unroll",
                f"for (int e = 0; e < {wide.width}; ++e) {{",
                *indented([*scope.lines, *made, *_next(names, sizes)]), "}",
                *self._stored(),
            ]),
            "}",
        ], tile  # fmt: skip

    def _single(self) -> list[str]:
        """Return the statements for the element number i."""
        scope = Scope(frozenset({"i"}))
        index = ("i",) if self.flat else self.draft.index
        stores = [
            f"{self.draft.pointer_to(node)}[i] = "
            f"{ctypes_of.store(node.dtype, self.values.value(node, index, scope))};"
            for node in self.nodes
        ]
        lines = [] if self.flat else list(split("i", *self.draft.real()))
        return [*lines, *scope.lines, *stores]

    def _wide(self) -> Wide | None:
        """Return how wide groups are; None where neighbors are nowhere loaded as one."""
        if not self.draft.real()[0]:
            return None
        seen = self._tried(Wide(1))
        if not seen.pointers:
            return None
        seen.dtypes |= {node.dtype for node in self.nodes}
        width = seen.widest(self.draft.tuning.vector_bytes)
        wide = self._tried(Wide(width)) if width > 1 else seen
        return wide if width > 1 and wide.pointers and self._rows_fit(wide) else None

    def _tried(self, wide: Wide) -> Wide:
        self._group(wide)
        return wide

    def _rows_fit(self, wide: Wide) -> bool:
        """Whether groups end where the last dimension does; note what is tested for that."""
        for node in self.nodes:
            wide.moves(self.draft.pointer_to(node), node.dtype)
        return self.flat or wide.can_be_multiple(c_size(self.draft.real()[1][-1]))

    def _tiles(self, wide: Wide) -> tuple[list[str], int]:
        """Return the loop over whole tiles of a block, and how many elements a tile has."""
        threads, turns = self.draft.tuning.element_threads, self.draft.tuning.turns
        head, tail = self._group(wide)
        if sum("group_at<" in line for line in head) >= _MANY:
            self.blocks = _FULL
        if any(_LOOKED_UP.search(line) for line in tail):
            turns *= 2  # each load waits for the one that says where: 42 to 38 us on an H200
        tile = threads * turns * wide.width
        return [
            f"// {turns} x {wide.width} neighbors of each thread are under way at once.",
            "for (Index tile = blockIdx.x; tile < tiles; tile += gridDim.x) {",
            *indented(in_turns(turns, [
                f"const Index first = tile * {tile} + "
                f"(turn * {threads} + static_cast<int>(threadIdx.x)) * {wide.width};"
            ], head, tail)),
            "}",
        ], tile  # fmt: skip

    def _group(self, wide: Wide) -> tuple[list[str], list[str]]:
        """Return the statements for the group that begins at the element `first`.

        Those come apart that are for the whole group.
        """
        outer = Scope(frozenset({"first"}))
        index: Index = ("i",)
        names, sizes = ["i"], ["1"]
        lines: list[str] = []
        start = "first"
        if not self.flat:
            names, sizes = self.draft.real()
            index, start = self.draft.index, "start"
            outer.bound |= frozenset({*names[:-1], "start"})
            lines += split("first", [*names[:-1], "start"], sizes)
        inner = outer.inner({names[-1]})
        values = self._values()
        values.groups = Groups(wide, (names[-1],), (sizes[-1],), start, outer, self.flat)
        made = [
            f"made_{node.name}.at[e] = "
            f"{ctypes_of.store(node.dtype, values.value(node, index, inner))};"
            for node in self.nodes
        ]
        body = [*inner.lines, *made]
        if any(re.search(rf"\b{names[-1]}\b", line) for line in body):
            body.insert(0, f"const Index {names[-1]} = {start} + e;")
        return [*lines, *outer.lines], [
            *_groups_made(self.nodes, wide.width), "#pragma unroll",
            f"for (int e = 0; e < {wide.width}; ++e) {{", *indented(body), "}", *self._stored(),
        ]  # fmt: skip

    def _stored(self) -> list[str]:
        """Return the statements that store groups."""
        return [
            f"store_group({self.draft.pointer_to(node)} + first, made_{node.name});"
            for node in self.nodes
        ]


def _groups_made(nodes: Iterable[Node], width: int) -> list[str]:
    """Return the groups that elements of nodes are put into."""
    return [f"Group<{ctypes_of.stored(node.dtype)}, {width}> made_{node.name};" for node in nodes]


def _next(names: list[str], sizes: list[str]) -> list[str]:
    """Return the statements that step to the next index."""
    lines = [f"++{names[0]};"]
    for name, size in zip(names[1:], sizes[1:], strict=True):
        lines = [f"if (++{name} == {c_size(size)}) {{", f"  {name} = 0;", *indented(lines), "}"]
    return lines


def is_flat(graph: Graph, buffers: dict[str, str], root: Node) -> bool:
    """Whether everything that leads to `root` has its shape, or is a single number."""
    todo, seen = [root], set[str]()
    while todo:
        one = todo.pop()
        if one.name in seen or one.op == "scalar":
            continue
        seen.add(one.name)
        if one.sizes != root.sizes and one.sizes:
            return False
        if one.op == "input" or (one.name in buffers and one is not root):
            continue
        if one.op in LAYOUTS and one.op not in _CONSTANTS:
            return False
        todo += [n for n in map(graph.node_of, one.args) if n is not None]
    return True
