"""One kernel for each node that lies in memory: elements, rows, products, scans."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from warploom.synthesis.codegen import ctypes_of
from warploom.synthesis.codegen.collective_names import COLLECTIVES
from warploom.synthesis.codegen.collectives import CollectiveWriter
from warploom.synthesis.codegen.columns import ColumnWriter
from warploom.synthesis.codegen.draft import KernelDraft
from warploom.synthesis.codegen.elements import ElementWriter
from warploom.synthesis.codegen.graph import Node
from warploom.synthesis.codegen.groups import HELPERS, Wide
from warploom.synthesis.codegen.held import Held, RowReads
from warploom.synthesis.codegen.products import ProductWriter
from warploom.synthesis.codegen.reductions import dims_of
from warploom.synthesis.codegen.row_writer import RowLoop, RowWriter
from warploom.synthesis.codegen.scans import ScanWriter, scan_of
from warploom.synthesis.codegen.scope import (
    Index,
    MaterializeError,
    Scope,
    is_split,
    linear,
    product,
    split,
    variables,
)
from warploom.synthesis.codegen.text import Kernel, indented
from warploom.synthesis.codegen.values import PRODUCTS, REDUCTIONS, Values
from warploom.synthesis.codegen.wholes import WholeWriter

_ROWS = ["for (Index row = blockIdx.x; row < rows; row += gridDim.x) {"]
_EACH = 2  # groups of a row for each thread of its block, before that has as many as it may
_STREAMED = 2  # times as many threads have sums of rows that are streamed
_MOST_ROW_THREADS = 512
"""Of a block, for rows that are few or read again."""
_MOST_THREADS = 1024
"""Of a block, for rows that are read once."""
_OF_PLACES = ("argmax", "argmin")  # rows that are held take 1.2 of their time


@dataclass(slots=True)
class _Found:
    """What the value of a root leads to."""

    reductions: list[tuple[Node, Index]] = field(default_factory=list[tuple[Node, Index]])
    products: list[tuple[Node, Index]] = field(default_factory=list[tuple[Node, Index]])
    scans: list[tuple[Node, Index]] = field(default_factory=list[tuple[Node, Index]])
    merged: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = field(
        default_factory=dict[str, tuple[tuple[str, ...], tuple[str, ...]]]
    )


class KernelMaker(KernelDraft):
    """Makes the kernel of the form that fits.

    Raises MaterializeError where another node must lie in memory first.
    """

    def make(self) -> Kernel:
        """Return the kernel of the form that fits."""
        if self.root.op in COLLECTIVES and not self.also:
            return CollectiveWriter(self).make()
        found = self._discover()
        if found.scans:
            if self.also or found.reductions or found.products:
                raise MaterializeError(found.scans[0][0])
            return ScanWriter(self, scan_of(self, found.scans)).make()
        if found.reductions:
            return self._rows(found)
        if found.products and self.also:
            raise MaterializeError(found.products[0][0])
        if found.products:
            return self._product(found)
        return ElementWriter(self).make()

    def _discover(self) -> _Found:
        found = _Found()

        def reached(node: Node, index: Index, scope: Scope, guard: str) -> str:
            if guard:
                raise MaterializeError(node)
            if node.op in REDUCTIONS:
                found.reductions.append((node, index))
            elif node.op in PRODUCTS:
                found.products.append((node, index))
            else:
                found.scans.append((node, index))
            return scope.define(ctypes_of.computed(node.dtype), "0")

        values = self.values(reached)
        scope = Scope(variables(self.index))
        for node in (self.root, *self.also):
            values.value(node, self.index_of(node), scope)
        found.merged = values.merged
        return found

    # Rows: a block computes one row at a time, and reduces it as often as needed.

    def _rows(self, found: _Found) -> Kernel:
        for node, index in found.reductions:
            if node is not self.root and any(
                is_split(text) or any(v.startswith("v") for v in variables([text]))
                for text in index
            ):
                raise MaterializeError(node)
        if found.products:
            raise MaterializeError(found.products[0][0])
        own = variables(self.index)
        widest = max((variables(index) for _, index in found.reductions), key=len)
        if own and not widest:
            raise MaterializeError(found.reductions[0][0])
        if not own and not self.also and len(found.reductions) == 1:
            whole = WholeWriter(self, *found.reductions[0]).make()
            if whole is not None:
                return whole
        if own and all(self._is_column(node) for node, _ in found.reductions):
            return self._columns(found)
        seen = Wide(1)
        _, read = self._row_kernel(found, widest, seen, None)
        width = seen.widest(self.tuning.vector_bytes) if seen.pointers else 1
        if width == 1:
            return self._row_kernel(found, widest, None, None)[0]
        made = min(ctypes_of.BYTES[node.dtype] for node in (self.root, *self.also))
        held = read.held(width, self.tuning.held_bytes, made)
        if read.loops == 1 and not any(node.op in _OF_PLACES for node, _ in found.reductions):
            held = read.held_once(width, self.tuning.once_bytes)
        return self._row_kernel(found, widest, Wide(width), held)[0]

    def _is_column(self, node: Node) -> bool:
        """Whether what a node reduces is far apart, and its results are neighbors."""
        source = self.graph.node_of(node.args[0])
        if source is None:
            return False
        real = [at for at, size in enumerate(source.sizes) if size != "1"]
        return bool(real) and real[-1] not in dims_of(node, len(source.sizes))

    def _columns(self, found: _Found) -> Kernel:
        """Return the kernels of a reduction down columns, which lies in memory for the rest."""
        node, index = found.reductions[0]
        alone = all(other is node and at == index for other, at in found.reductions)
        if self.also or not alone or variables(index) != variables(self.index):
            raise MaterializeError(node)
        return ColumnWriter(self, node, index).make()

    def _row_kernel(
        self, found: _Found, widest: frozenset[str], wide: Wide | None, held: Held | None
    ) -> tuple[Kernel, RowReads]:
        """Return the kernel of which a block computes a row, of the index variables `widest`.

        With it comes what its loops load, by groups.
        """
        names, sizes = self.real()
        rows = [(n, s) for n, s in zip(names, sizes, strict=True) if n in widest]
        inner = [(n, s) for n, s in zip(names, sizes, strict=True) if n not in widest]
        writer = RowWriter(self, widest, wide, held)
        values = self.values(writer.reached)
        writer.values = values
        ending = self._row_ending(writer, values, inner)
        count = product(s for _, s in rows)
        lines = [f"const Index rows = {count};"]
        width = 1
        if wide is not None and wide.width > 1 and wide.pointers:
            self.helpers |= HELPERS
            lines.append(wide.test)
            width = wide.width
        most, again = str(self.tuning.row_threads), "0"
        limit = max(_STREAMED * self.tuning.row_threads, _MOST_ROW_THREADS)
        row = [*writer.lines, *ending]
        if writer.held is not None and writer.holds:
            row = [*writer.held.lines(), *row]
            most = writer.held.threads
            if writer.held.once:
                limit, row = _MOST_THREADS, self.streamed(values, row)
        elif len(writer.shared) + bool(inner) > 1:
            again = _read_again(writer, values)
        elif width > 1:
            row, before = self.streamed(values, row), row
            if row != before and all(node.op == "sum" for node, _ in found.reductions):
                most = str(_STREAMED * self.tuning.row_threads)
        row = [*split("row", [r[0] for r in rows], [r[1] for r in rows]), *row]
        text = self.kernel(values, limit, [*lines, *_ROWS, *indented(row), "}"])
        given = f"{writer.longest}, {_EACH * width}, {most}, {limit}, {again}, {count}"
        threads = f"threads_for({given})"
        made = self.done("rows", text, values, count, f"blocks_for({count}, 1)", threads)
        return made, writer.read

    def _row_ending(
        self, writer: RowWriter, values: Values, inner: list[tuple[str, str]]
    ) -> list[str]:
        """Return what is done once a row's reductions are known: its outputs."""
        names, sizes = [n for n, _ in inner], [s for _, s in inner]
        last = writer.scope.inner({*names, "k"})
        one = "threadIdx.x == 0"
        of_row = [node for node in self.also if not variables(self.index_of(node)) & set(names)]
        nodes = [node for node in (self.root, *self.also) if node not in of_row or not inner]
        if any(node.sizes != self.root.sizes for node in nodes):
            raise MaterializeError(nodes[-1])
        stores = self._stores(values, nodes, last)
        if not inner:
            return [f"if ({one}) {{", *indented([*last.lines, *stores]), "}"]
        once = self._stores(values, of_row, writer.scope)
        if once:
            once = [f"if ({one}) {{", *indented(once), "}"]
        single = RowLoop("k", product(sizes), [*split("k", names, sizes), *last.lines], "")

        def value_in(scope: Scope) -> str:
            for node in nodes:
                stored = ctypes_of.store(node.dtype, values.value(node, self.index, scope))
                scope.lines.append(f"made_{node.name}.at[e] = {stored};")
            return ""

        grouped = writer.grouped(single, names, sizes, value_in) if self._ends(names) else None
        if grouped is not None:
            grouped = self._stored(writer, grouped, nodes, sizes)

        def body(value: str, of_group: bool) -> list[str]:
            del value
            return [] if of_group else stores

        return [*once, *writer.loops([(single, grouped, body)], "")]

    def _stores(self, values: Values, nodes: Sequence[Node], scope: Scope) -> list[str]:
        """Return the statements that store nodes, each at its index."""
        made: list[str] = []
        for node in nodes:
            result = values.value(node, self.index_of(node), scope)
            place = linear(self.index_of(node), node.sizes)
            stored = ctypes_of.store(node.dtype, result)
            made.append(f"{self.pointer_to(node)}[{place}] = {stored};")
        return made

    def _ends(self, names: list[str]) -> bool:
        """Whether the elements of a row of the root are neighbors."""
        return self.real()[0][-len(names) :] == names

    def _stored(
        self, writer: RowWriter, grouped: RowLoop, nodes: Sequence[Node], sizes: list[str]
    ) -> RowLoop | None:
        """Return a loop over groups with the store of each; None where rows cannot hold any."""
        wide = writer.wide
        if wide is None or not wide.can_be_multiple(product(sizes)):
            return None
        place = self._place_of_group(len(sizes))
        before: list[str] = []
        after: list[str] = []
        for node in nodes:
            pointer, made = self.pointer_to(node), f"made_{node.name}"
            wide.moves(pointer, node.dtype)
            before.append(f"Group<{ctypes_of.stored(node.dtype)}, {wide.width}> {made};")
            after.append(f"store_group({pointer} + {place}, {made});")
        return replace(grouped, before=before, after=after)

    def _place_of_group(self, count: int) -> str:
        """Return where the group of a row begins that has the number k in it."""
        names, sizes = self.real()
        head = len(names) - count
        return linear((*names[:head], "k"), (*sizes[:head], product(sizes[head:])))

    # Products: a block computes a tile, in steps through shared memory.

    def _product(self, found: _Found) -> Kernel:
        node, index = found.products[0]
        for other, _ in found.products[1:]:
            if other is not node:
                raise MaterializeError(other)
        defined = self._inverse(index, found)
        if defined is None or any(i != index for _, i in found.products):
            raise MaterializeError(node)
        return ProductWriter(self, node, index, defined).make()

    def _inverse(self, index: Index, found: _Found) -> list[str] | None:
        """Return statements that define the root's indices from those of a product (g0, g1, ...).

        None where they are not one to one.
        """
        lines: list[str] = []
        done: list[str] = []
        for at, text in enumerate(index):
            if text == "0":
                continue
            if text in found.merged:
                names, sizes = found.merged[text]
                if not all(name in self.index for name in names):
                    return None
                lines += split(f"g{at}", list(names), list(sizes))
                done += names
            elif text in self.index:
                lines.append(f"const Index {text} = g{at};")
                done.append(text)
            else:
                return None
        wanted = sorted(name for name in self.index if name != "0")
        return lines if sorted(done) == wanted else None


def _read_again(writer: RowWriter, values: Values) -> str:
    """Return the bytes of a row of what is read in several loops, as a C expression."""
    reads = [
        (sum(size != "1" for size in node.sizes), ctypes_of.BYTES[node.dtype])
        for node in values.reads.values()
    ]
    most = max((count for count, _ in reads), default=0)
    return f"{writer.longest} * {sum(size for count, size in reads if count == most)}"
