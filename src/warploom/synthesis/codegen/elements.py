"""Kernels of elements: each thread computes some, and nothing is shared."""

import re

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
    linear,
    product,
    split,
)
from warploom.synthesis.codegen.text import Kernel, indented
from warploom.synthesis.codegen.turned import TurnedWriter
from warploom.synthesis.codegen.turns import in_turns
from warploom.synthesis.codegen.values import Values

_ALONE = 4  # elements of a thread that are under way at once where none are moved as one
_WARP = 32
_LANES = """// Threads that share a row: a warp, or fewer where the row is shorter.
static unsigned lanes_for(long long length) {
  unsigned lanes = 32;
  while (lanes / 2 >= length) {
    lanes /= 2;
  }
  return lanes;
}
"""
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
            if self.draft.real()[0][1:]:
                return self._by_rows()
        first, each = "", threads * _ALONE
        lines = [f"const Index count = {count};"]
        if wide is not None:
            draft.helpers |= HELPERS
            first, each = f"tiles * {self._tile(wide)} + ", self._tile(wide)
            lines += self._tiles(wide)
        lines += [
            "const Index stride = static_cast<Index>(gridDim.x) * blockDim.x;",
            *([f"#pragma unroll {_ALONE}"] if wide is None else []),
            f"for (Index i = {first}static_cast<Index>(blockIdx.x) * blockDim.x + "
            "threadIdx.x; i < count; i += stride) {",
            *indented(single),
            "}",
        ]
        text = draft.kernel(self.values, threads, lines)
        blocks = f"blocks_for({count}, {each})"
        return draft.done("elements", text, self.values, count, blocks, threads)

    def _by_rows(self) -> Kernel:
        """Return a kernel whose threads lie in rows: indices of rows take the divisions.

        Each thread computes `_ALONE` elements of a row at a time, far enough apart that those of
        its neighbors lie beside them.
        """
        draft, threads = self.draft, self.draft.tuning.element_threads
        names, sizes = draft.real()
        rows, length = product(sizes[:-1]), c_size(sizes[-1])
        scope = Scope(frozenset({*names, "row"}))
        place = linear(("row", names[-1]), ("rows", sizes[-1]))
        stores = [
            f"{draft.pointer_to(node)}[{place}] = "
            f"{ctypes_of.store(node.dtype, self.values.value(node, draft.index, scope))};"
            for node in self.nodes
        ]
        lines = [
            f"const Index rows = {rows};",
            "const Index down = static_cast<Index>(gridDim.y) * blockDim.y;",
            "for (Index row = static_cast<Index>(blockIdx.y) * blockDim.y + threadIdx.y; "
            "row < rows; row += down) {",
            *indented(list(split("row", names[:-1], sizes[:-1]))),
            "  const Index along = static_cast<Index>(gridDim.x) * blockDim.x;",
            "  for (Index first = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x; "
            f"first < {length}; first += along * {_ALONE}) {{",
            *indented(indented(in_turns(
                _ALONE, [f"const Index {names[-1]} = first + turn * along;"], scope.lines, stores,
                f"{names[-1]} < {length}",
            ))),
            "  }",
            "}",
        ]  # fmt: skip
        text = draft.kernel(self.values, threads, lines)
        across = f"lanes_for({length})"
        if length.isdigit():
            across = str(min(_WARP, 1 << (int(length) - 1).bit_length()))
        else:
            draft.helpers["lanes_for"] = _LANES
        down = f"{threads} / {across}"
        blocks = f"dim3(blocks_for({length}, {_WARP * _ALONE}), blocks_for({rows}, {down}))"
        shape = f"dim3({across}, {down})"
        return draft.done("elements", text, self.values, f"{rows}*{length}", blocks, shape)

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

    def _tile(self, wide: Wide) -> int:
        return self.draft.tuning.element_threads * self.draft.tuning.turns * wide.width

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

    def _tiles(self, wide: Wide) -> list[str]:
        """Return the loop over whole tiles of a block."""
        tuning, tile = self.draft.tuning, self._tile(wide)
        threads, turns = tuning.element_threads, tuning.turns
        return [
            wide.test,
            f"// {turns} x {wide.width} neighbors of each thread are under way at once.",
            f"const Index tiles = wide ? count / {tile} : 0;",
            "for (Index tile = blockIdx.x; tile < tiles; tile += gridDim.x) {",
            *indented(in_turns(turns, [
                f"const Index first = tile * {tile} + "
                f"(turn * {threads} + static_cast<int>(threadIdx.x)) * {wide.width};"
            ], *self._group(wide))),
            "}",
        ]  # fmt: skip

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
        groups = [
            f"Group<{ctypes_of.stored(node.dtype)}, {wide.width}> made_{node.name};"
            for node in self.nodes
        ]
        return [*lines, *outer.lines], [
            *groups, "#pragma unroll",
            f"for (int e = 0; e < {wide.width}; ++e) {{", *indented(body), "}",
            *(f"store_group({self.draft.pointer_to(node)} + first, made_{node.name});"
              for node in self.nodes),
        ]  # fmt: skip


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
