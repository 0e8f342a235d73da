"""Reductions down columns: lanes have neighboring columns, and blocks share a column's length out.

What is reduced is far apart there, and its results are neighbors. A first kernel reduces parts of
all columns, a second one joins these, in a fixed order.
"""

import re

from warploom.synthesis.codegen import ctypes_of
from warploom.synthesis.codegen.draft import KernelDraft
from warploom.synthesis.codegen.graph import Node
from warploom.synthesis.codegen.groups import HELPERS, Groups, Wide
from warploom.synthesis.codegen.reductions import (
    ALIKE,
    NOWHERE,
    Reduction,
    ahead,
    dims_of,
    reduction_of,
)
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

_BLOCKS = 1024  # are enough for the largest GPU
_MOST_PARTS = 64  # that one thread joins
_EACH = 8  # elements of a column for each warp, before further blocks take part in it


class ColumnWriter:
    """Writes the two kernels of a node that is computed from one reduction down columns."""

    def __init__(self, draft: KernelDraft, node: Node, index: Index) -> None:
        self.draft = draft
        self.node = node
        self.index = index
        source = draft.graph.node_of(node.args[0])
        assert source is not None
        self.source = source
        self.kind = reduction_of(node, source)
        self.warps = draft.tuning.threads // 32
        dims = dims_of(node, len(source.sizes))
        real = [at for at, size in enumerate(source.sizes) if size != "1"]
        self.down = [at for at in real if at in dims]
        self.across = [at for at in real if at not in dims]
        self.inner: Index = tuple(
            "0" if at not in real else f"k_{at}" if at in dims else f"c{at}"
            for at in range(len(source.sizes))
        )

    @property
    def columns(self) -> str:
        """How many columns there are."""
        return product(self.source.sizes[at] for at in self.across)

    @property
    def length(self) -> str:
        """How many elements a column has."""
        return product(self.source.sizes[at] for at in self.down)

    def make(self) -> Kernel:
        """Return both kernels."""
        seen = Wide(1)
        self._group(self._values(), seen)
        width = seen.widest(self.draft.tuning.vector_bytes) if seen.pointers else 1
        values = self._values()
        lines = self._parts(values, width)
        if width > 1:
            lines = self.draft.streamed(values, lines)
        outs = [f"{self.kind.ctype}* __restrict__ parts"]
        if self.kind.places:
            outs.append("long long* __restrict__ places")
        parts = global_text(
            f"{self.draft.name}_parts", self.draft.arguments(values, outs),
            self.draft.tuning.threads, lines,
        )  # fmt: skip
        joining, read = self._joining()
        reads = frozenset(values.reads) | frozenset(read.reads)
        launch = "\n  ".join(self._launch(values, read, width))
        text = f"{parts}\n{joining}"
        return Kernel("columns", self.draft.root.name, text, launch, self.draft.helpers, reads)

    def _values(self) -> Values:
        return self.draft.values(self.draft.refuse)

    def _split(self, name: str, names: list[str], ats: list[int]) -> list[str]:
        return list(split(name, names, [self.source.sizes[at] for at in ats]))

    # The kernel of the parts.

    def _parts(self, values: Values, width: int) -> list[str]:
        """Return the statements of the first kernel."""
        kind, wide = self.kind, Wide(width)
        group = self._group(values, wide) if width > 1 else None
        single = self._loop(self._single(values, width))
        loops = single
        lines: list[str] = []
        if group is not None and wide.pointers:
            self.draft.helpers |= HELPERS
            lines.append(wide.test)
            first = f"const long long first = min(begin + lane * {width}LL, columns - {width});"
            names = [f"c{at}" for at in self.across[:-1]]
            head = self._split("first", [*names, "start"], self.across)
            loops = [
                "if (wide) {", *indented([first, *head, *self._loop(group)]),
                "} else {", *indented(single), "}",
            ]  # fmt: skip
        begin = [f"{kind.ctype} s[{width}];"]
        each = [f"s[e] = {kind.first};"]
        if kind.places:
            begin.append(f"long long at[{width}];")
            each.append(f"at[e] = own < length ? own : {NOWHERE};")
        slot = f"wide ? slot % 32 * {width} + slot / 32 : slot" if len(lines) else "slot"
        return [
            f"__shared__ {kind.ctype} part[{self.warps}][{32 * width}];",
            *([f"__shared__ long long place_of[{self.warps}][{32 * width}];"]
              if kind.places else []),
            f"const long long columns = {self.columns}, length = {self.length};",
            *lines,
            "const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;",
            f"const long long own = blockIdx.y * {self.warps}LL + warp;",
            f"const long long step = gridDim.y * {self.warps}LL;",
            f"for (long long begin = blockIdx.x * {32 * width}LL; begin < columns; "
            f"begin += gridDim.x * {32 * width}LL) {{",
            *indented([
                f"// Each lane has {width} of these columns, and each warp a part of them.",
                *begin, "#pragma unroll", f"for (int e = 0; e < {width}; ++e) {{",
                *indented(each), "}", *loops, *self._stored(width, slot),
            ]),
            "}",
        ]  # fmt: skip

    def _loop(self, body: list[str]) -> list[str]:
        """Return the loop down the columns of a lane."""
        names = [f"k_{at}" for at in self.down]
        return [
            f"#pragma unroll {4 * self.draft.tuning.turns}",
            "for (long long k = own; k < length; k += step) {",
            *indented([*self._split("k", names, self.down), *body]),
            "}",
        ]

    def _reduced(self, value: str) -> list[str]:
        """Return the statements that take one more value in."""
        held = f"const {self.kind.ctype} held = s[e];"
        if self.kind.places:  # they come in their order
            return [held, f"if ({ahead(self.kind, 'held', value)}) {{", f"  s[e] = {value};",
                    "  at[e] = k;", "}"]  # fmt: skip
        return [held, f"s[e] = {self.kind.join.format(a='held', b=value)};"]

    def _value(self, values: Values, scope: Scope) -> str:
        given = {"node": self.source.name}
        return values.operand(given, self.kind.dtype, self.source, self.inner, scope, "")

    def _single(self, values: Values, width: int) -> list[str]:
        """Return the statements for one element of each column."""
        scope = Scope(frozenset(self.inner))
        value = self._value(values, scope)
        names = [f"c{at}" for at in self.across]
        return [
            "#pragma unroll", f"for (int e = 0; e < {width}; ++e) {{",
            *indented([
                "const long long column = min(begin + e * 32 + lane, columns - 1);",
                *self._split("column", names, self.across), *scope.lines, *self._reduced(value),
            ]),
            "}",
        ]  # fmt: skip

    def _group(self, values: Values, wide: Wide) -> list[str]:
        """Return the statements for a group of neighbors of a row, from `start` on."""
        last = f"c{self.across[-1]}"
        size = self.source.sizes[self.across[-1]]
        outer = Scope(frozenset({*self.inner, "start"}) - {last})
        inner = outer.inner({last})
        values.groups = Groups(wide, (last,), (size,), "start", outer)
        value = self._value(values, inner)
        values.groups = None
        body = [*inner.lines, *self._reduced(value)]
        if any(re.search(rf"\b{last}\b", line) for line in body):
            body.insert(0, f"const long long {last} = start + e;")
        if wide.pointers and not wide.can_be_multiple(c_size(size)):
            wide.pointers.clear()
        return [*outer.lines, "#pragma unroll", f"for (int e = 0; e < {wide.width}; ++e) {{",
                *indented(body), "}"]  # fmt: skip

    def _stored(self, width: int, slot: str) -> list[str]:
        """Return the join of what the warps have of each column, and its store."""
        kind = self.kind
        places = kind.places
        return [
            "#pragma unroll", f"for (int e = 0; e < {width}; ++e) {{",
            "  part[warp][e * 32 + lane] = s[e];",
            *(["  place_of[warp][e * 32 + lane] = at[e];"] if places else []),
            "}", "__syncthreads();",
            f"for (int slot = threadIdx.x; slot < {32 * width}; slot += blockDim.x) {{",
            f"  const long long column = begin + ({slot});",
            "  if (column < columns) {",
            f"    {kind.ctype} value = part[0][slot];",
            *(["    long long place = place_of[0][slot];"] if places else []),
            f"    for (int other = 1; other < {self.warps}; ++other) {{",
            *indented(indented(indented(
                _joined(kind, "part[other][slot]", "place_of[other][slot]")
            ))),
            "    }",
            "    parts[blockIdx.y * columns + column] = value;",
            *(["    places[blockIdx.y * columns + column] = place;"] if places else []),
            "  }", "}", "__syncthreads();",
        ]  # fmt: skip

    # The kernel that joins them.

    def _joining(self) -> tuple[str, Values]:
        """Return the second kernel, and what it reads."""
        draft, kind = self.draft, self.kind

        def reached(node: Node, index: Index, scope: Scope, guard: str) -> str:
            del scope
            if node is not self.node or index != self.index or guard:
                raise MaterializeError(node)
            return "place" if kind.places else "value"

        values = draft.values(reached)
        scope = Scope(frozenset(draft.index))
        result = values.value(draft.root, draft.index, scope)
        names, sizes = draft.real()
        other = "parts[part * columns + column]", "places[part * columns + column]"
        body = [
            *split("i", names, sizes),
            f"const long long column = {linear(self.index, self.node.sizes)};",
            f"{kind.ctype} value = parts[column];",
            *(["long long place = places[column];"] if kind.places else []),
            "#pragma unroll 4",
            "for (int part = 1; part < count; ++part) {",
            *indented(_joined(kind, *other)), "}",
            *scope.lines,
            f"out[{linear(draft.index, draft.root.sizes)}] = "
            f"{ctypes_of.store(draft.root.dtype, result)};",
        ]  # fmt: skip
        lines = [
            f"const long long columns = {self.columns}, elements = {product(sizes)};",
            "const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;",
            "for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;",
            "     i < elements; i += stride) {",
            *indented(body),
            "}",
        ]
        outs = [
            f"const {kind.ctype}* __restrict__ parts",
            *(["const long long* __restrict__ places"] if kind.places else []),
            "const int count", f"{ctypes_of.stored(draft.root.dtype)}* __restrict__ out",
        ]  # fmt: skip
        arguments = draft.arguments(values, outs)
        return global_text(draft.name, arguments, draft.tuning.threads, lines), values

    def _launch(self, values: Values, read: Values, width: int) -> list[str]:
        draft, kind, threads = self.draft, self.kind, self.draft.tuning.threads
        root = draft.root.name
        count, across, out = f"count_{root}", f"across_{root}", draft.targets[root]
        scratch = [(f"parts_{root}", kind.ctype)]
        if kind.places:
            scratch.append((f"places_{root}", "long long"))
        lines = [
            f"const unsigned {across} = blocks_for({self.columns}, {32 * width});",
            f"const int {count} = static_cast<int>(min(blocks_for({self.length}, "
            f"{self.warps * _EACH}), max(1u, min({_MOST_PARTS}u, {_BLOCKS}u / {across}))));",
        ]
        for name, ctype in scratch:
            lines += [
                f"{ctype}* {name} = nullptr;",
                f"if (cudaMallocAsync(reinterpret_cast<void**>(&{name}), ({self.columns} * {count}"
                f" + 1) * sizeof({ctype}), stream) != cudaSuccess) return 1;",
            ]
        names = [name for name, _ in scratch]
        elements = product(draft.root.sizes)
        return [
            *lines,
            f"{draft.name}_parts<<<dim3({across}, static_cast<unsigned>({count})), {threads}, 0, "
            f"stream>>>({', '.join(draft.given(values, names))});",
            f"{draft.name}<<<blocks_for({elements}, {threads}), {threads}, 0, stream>>>"
            f"({', '.join(draft.given(read, [*names, count, out]))});",
            *(f"cudaFreeAsync({name}, stream);" for name in names),
        ]


def _joined(kind: Reduction, other: str, at: str) -> list[str]:
    """Return the statements that join another part with `value`, and `place`."""
    first = f"const {kind.ctype} next = {other};"
    if not kind.places:
        return [first, f"value = {kind.join.format(a='value', b='next')};"]
    alike = ALIKE.replace("other", "next")
    return [
        first, f"const long long there = {at};",
        f"if ({ahead(kind, 'value', 'next')}) {{", "  value = next;", "  place = there;",
        f"}} else if ({alike}) {{", "  place = min(place, there);", "}",
    ]  # fmt: skip
