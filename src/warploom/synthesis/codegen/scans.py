"""Scans: running sums and products along a dimension, with what is computed from them."""

import re
from dataclasses import dataclass

from warploom.synthesis.codegen import ctypes_of, pointwise
from warploom.synthesis.codegen.draft import KernelDraft
from warploom.synthesis.codegen.graph import Node
from warploom.synthesis.codegen.groups import HELPERS, Groups, Wide
from warploom.synthesis.codegen.refusal import BeyondRulesError
from warploom.synthesis.codegen.scope import (
    Index,
    MaterializeError,
    Scope,
    c_size,
    linear,
    product,
    split,
)
from warploom.synthesis.codegen.text import Kernel, global_text, indented
from warploom.synthesis.codegen.values import Values

_MOST_PARTS = 64  # of a column, each for threads of its own
_EACH = 32  # elements of a column for a thread, before another takes part in it


@dataclass(frozen=True, slots=True)
class _Kind:
    """A sum or a product: the type, what it begins with, and its sign."""

    ctype: str
    first: str
    sign: str
    helper: str


class ScanWriter:
    """Writes the kernels of a root that is computed from one scan at its own index."""

    def __init__(self, draft: KernelDraft, node: Node) -> None:
        self.draft = draft
        self.node = node
        rank = len(node.sizes)
        dim = int(node.args[1]) % max(rank, 1)
        if not rank or node.sizes[dim] == "1":
            raise BeyondRulesError(f"{node.op} along a dimension of one", line=node.line)
        self.names, self.sizes = draft.real()
        self.along = draft.index[dim]
        self.length = c_size(node.sizes[dim])
        self.rows = [(n, s) for n, s in zip(self.names, self.sizes, strict=True) if n != self.along]
        name = "sum" if node.op == "cumsum" else "prod"
        ctype = ctypes_of.computed(node.dtype)
        self.kind = _Kind(
            ctype, pointwise.literal(0 if name == "sum" else 1, node.dtype),
            "+" if name == "sum" else "*", f"block_scan_{name}_{ctype.replace(' ', '_')}",
        )  # fmt: skip

    @property
    def count(self) -> str:
        """How many rows are scanned."""
        return product(s for _, s in self.rows)

    def make(self) -> Kernel:
        """Return the kernel; along the last dimension a block has a row, else a lane a column."""
        if self.along == self.names[-1]:
            return self._in_rows()
        return self._down_columns()

    def _values(self) -> Values:
        return self.draft.values(self.draft.refuse)

    def _operand(self, values: Values, scope: Scope) -> str:
        """Return the value of the element that is taken in."""
        given, node = self.node.args[0], self.node
        return values.operand(given, node.dtype, node, self.draft.index, scope, "")

    def _result(self, values: Values, scope: Scope) -> str:
        """Return what is stored where the scan has come to `total`."""
        root = self.draft.root
        scope.memo[(self.node.name, self.draft.index, "")] = "total"
        if root is self.node:
            return ctypes_of.store(root.dtype, "total")
        return ctypes_of.store(root.dtype, values.value(root, self.draft.index, scope))

    # Along rows: a block goes along one, each thread with a few neighbors at a time.

    def _in_rows(self) -> Kernel:
        draft, kind = self.draft, self.kind
        seen = Wide(1)
        self._grouped(self._values(), seen)
        seen.dtypes |= {draft.root.dtype, self.node.dtype}
        width = seen.widest(draft.tuning.vector_bytes)
        draft.helpers[kind.helper] = _helper(kind)
        values, wide = self._values(), Wide(width)
        load, store = self._single(values, width)
        test: list[str] = []
        grouped = self._grouped(values, wide) if width > 1 and seen.pointers else None
        if grouped is not None and wide.pointers:
            draft.helpers |= HELPERS
            test = [wide.test]
            load = ["if (wide) {", *indented(_within(self.length, grouped[0])), "} else {",
                    *indented(load), "}"]  # fmt: skip
            store = ["if (wide) {", *indented(_within(self.length, grouped[1])), "} else {",
                     *indented(store), "}"]  # fmt: skip
        threads = draft.tuning.threads
        tile = [
            f"const Index first = begin + threadIdx.x * {width};",
            f"{kind.ctype} own[{width}];", "#pragma unroll",
            f"for (int e = 0; e < {width}; ++e) own[e] = {kind.first};",
            *load,
            "#pragma unroll",
            f"for (int e = 1; e < {width}; ++e) own[e] = own[e - 1] {kind.sign} own[e];",
            f"{kind.ctype} whole;",
            f"const {kind.ctype} before = carry {kind.sign} {kind.helper}(own[{width - 1}], "
            "whole);",
            *store,
            f"carry = carry {kind.sign} whole;",
        ]  # fmt: skip
        text = draft.kernel(values, threads, [
            f"const Index rows = {self.count};", *test,
            "for (Index row = blockIdx.x; row < rows; row += gridDim.x) {",
            *indented([
                *split("row", [n for n, _ in self.rows], [s for _, s in self.rows]),
                f"{kind.ctype} carry = {kind.first};",
                f"for (Index begin = 0; begin < {self.length}; begin += {threads * width}) {{",
                *indented(tile), "}",
            ]),
            "}",
        ])  # fmt: skip
        return draft.done("scan", text, values, self.count, f"blocks_for({self.count}, 1)", threads)

    def _single(self, values: Values, width: int) -> tuple[list[str], list[str]]:
        """Return what loads the elements of a thread one by one, and what stores them."""
        last = Scope(frozenset(self.names))
        value = self._operand(values, last)
        ending = Scope(frozenset(self.names))
        result = self._result(values, ending)
        place = linear(self.draft.index, self.draft.root.sizes)
        store = [*ending.lines, f"out[{place}] = {result};"]

        def loop(body: list[str]) -> list[str]:
            return [
                "#pragma unroll", f"for (int e = 0; e < {width}; ++e) {{",
                f"  const Index {self.along} = first + e;",
                f"  if ({self.along} < {self.length}) {{", *indented(indented(body)), "  }", "}",
            ]  # fmt: skip

        total = f"const {self.kind.ctype} total = before {self.kind.sign} own[e];"
        return loop([*last.lines, f"own[e] = {value};"]), loop([total, *store])

    def _grouped(self, values: Values, wide: Wide) -> tuple[list[str], list[str]] | None:
        """Return the same for groups of neighbors; None where rows cannot hold any."""
        draft = self.draft
        others = frozenset(n for n, _ in self.rows)
        pointer = draft.pointer_to(draft.root)
        kind = f"Group<{ctypes_of.stored(draft.root.dtype)}, {wide.width}> made;"

        def loop(body: Scope, outer: Scope, more: list[str]) -> list[str]:
            lines = [*body.lines, *more]
            if any(re.search(rf"\b{self.along}\b", line) for line in lines):
                lines.insert(0, f"const Index {self.along} = first + e;")
            return [*outer.lines, "#pragma unroll", f"for (int e = 0; e < {wide.width}; ++e) {{",
                    *indented(lines), "}"]  # fmt: skip

        def begun() -> tuple[Scope, Scope]:
            outer = Scope(others | {"first"})
            size = draft.root.sizes[draft.index.index(self.along)]
            values.groups = Groups(wide, (self.along,), (size,), "first", outer)
            return outer, outer.inner({self.along})

        outer, inner = begun()
        value = self._operand(values, inner)
        load = loop(inner, outer, [f"own[e] = {value};"])
        outer, inner = begun()
        total = f"const {self.kind.ctype} total = before {self.kind.sign} own[e];"
        inner.lines.append(total)
        result = self._result(values, inner)
        values.groups = None
        if not wide.can_be_multiple(self.length):
            return None
        wide.moves(pointer, draft.root.dtype)
        place = linear(
            tuple("first" if at == self.along else at for at in draft.index), draft.root.sizes
        )
        store = loop(inner, outer, [f"made.at[e] = {result};"])
        return load, [kind, *store, f"store_group({pointer} + {place}, made);"]

    # Down columns: each lane has one, and parts of it have threads of their own.

    def _down_columns(self) -> Kernel:
        draft, kind, threads = self.draft, self.kind, self.draft.tuning.threads
        values, read = self._values(), self._values()
        lines = self._part(values)
        outs = [f"{kind.ctype}* __restrict__ parts"]
        parts = global_text(f"{draft.name}_parts", draft.arguments(values, outs), threads, lines)
        lines = self._whole(read)
        outs = [f"const {kind.ctype}* __restrict__ parts",
                f"{ctypes_of.stored(draft.root.dtype)}* __restrict__ out"]  # fmt: skip
        scan = global_text(draft.name, draft.arguments(read, outs), threads, lines)
        name, count = f"parts_{draft.root.name}", f"count_{draft.root.name}"
        grid = f"dim3(blocks_for({self.count}, {threads}), {count})"
        launch = [
            f"const unsigned {count} = min(blocks_for({self.length}, {_EACH}), {_MOST_PARTS}u);",
            f"{kind.ctype}* {name} = nullptr;",
            f"if (cudaMallocAsync(reinterpret_cast<void**>(&{name}), ({self.count} * {count} + 1) "
            f"* sizeof({kind.ctype}), stream) != cudaSuccess) return 1;",
            f"{draft.name}_parts<<<{grid}, {threads}, 0, stream>>>"
            f"({', '.join(draft.given(values, [name]))});",
            f"{draft.name}<<<{grid}, {threads}, 0, stream>>>"
            f"({', '.join(draft.given(read, [name, draft.targets[draft.root.name]]))});",
            f"cudaFreeAsync({name}, stream);",
        ]
        reads = frozenset(values.reads) | frozenset(read.reads)
        return Kernel(
            "scan", draft.root.name, f"{parts}\n{scan}", "\n  ".join(launch), draft.helpers, reads
        )

    def _part(self, values: Values) -> list[str]:
        """Return the statements that join each part of a column."""
        kind, scope = self.kind, Scope(frozenset(self.names))
        value = self._operand(values, scope)
        return self._by_parts(
            [f"{kind.ctype} whole = {kind.first};"],
            [*scope.lines, f"whole = whole {kind.sign} {value};"],
            ["parts[blockIdx.y * rows + row] = whole;"],
        )

    def _whole(self, values: Values) -> list[str]:
        """Return the statements that go along a part, from what those before it have come to."""
        kind, scope = self.kind, Scope(frozenset(self.names))
        value = self._operand(values, scope)
        scope.lines += [f"carry = carry {kind.sign} {value};",
                        f"const {kind.ctype} total = carry;"]  # fmt: skip
        result = self._result(values, scope)
        place = linear(self.draft.index, self.draft.root.sizes)
        return self._by_parts(
            [
                f"{kind.ctype} carry = {kind.first};",
                "for (unsigned part = 0; part < blockIdx.y; ++part) {",
                f"  carry = carry {kind.sign} parts[part * rows + row];", "}",
            ],
            [*scope.lines, f"out[{place}] = {result};"],
            [],
        )  # fmt: skip

    def _by_parts(self, begin: list[str], each: list[str], end: list[str]) -> list[str]:
        """Return the loop over the columns of a thread, around one along the block's part."""
        names, sizes = [n for n, _ in self.rows], [s for _, s in self.rows]
        return [
            f"const long long rows = {self.count}, length = {self.length};",
            "const long long each = (length + gridDim.y - 1) / gridDim.y;",
            "const long long from = min(blockIdx.y * each, length);",
            "const long long to = min(from + each, length);",
            "const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;",
            "for (long long row = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;",
            "     row < rows; row += stride) {",
            *indented([
                *split("row", names, sizes), *begin,
                f"#pragma unroll {4 * self.draft.tuning.turns}",
                f"for (long long {self.along} = from; {self.along} < to; ++{self.along}) {{",
                *indented(each), "}", *end,
            ]),
            "}",
        ]  # fmt: skip


def scan_of(draft: KernelDraft, scans: list[tuple[Node, Index]]) -> Node:
    """Return the scan that the root is computed from, at its own index.

    Raises MaterializeError where there are several, or it stands elsewhere.
    """
    node = scans[0][0]
    for other, index in scans:
        if other is not node or index != draft.index or other.sizes != draft.root.sizes:
            raise MaterializeError(other)
    return node


def _within(length: str, lines: list[str]) -> list[str]:
    return [f"if (first < {length}) {{", *indented(lines), "}"]


def _helper(kind: _Kind) -> str:
    ctype, first, sign = kind.ctype, kind.first, kind.sign
    return f"""// Joins the values of all threads before each; `whole` becomes that of the block.
static __device__ {ctype} {kind.helper}({ctype} value, {ctype}& whole) {{
  __shared__ {ctype} part[32];
  const int lane = threadIdx.x & 31;
  for (int step = 1; step < 32; step <<= 1) {{
    const {ctype} other = __shfl_up_sync(0xffffffffu, value, step);
    if (lane >= step) value = other {sign} value;
  }}
  if (lane == 31) part[threadIdx.x >> 5] = value;
  {ctype} before = __shfl_up_sync(0xffffffffu, value, 1);
  if (lane == 0) before = {first};
  __syncthreads();
  {ctype} warps = {first};
  {ctype} all = {first};
  for (int warp = 0; warp < static_cast<int>(blockDim.x >> 5); ++warp) {{
    if (warp == static_cast<int>(threadIdx.x >> 5)) warps = all;
    all = all {sign} part[warp];
  }}
  __syncthreads();
  whole = all;
  return warps {sign} before;
}}
"""
