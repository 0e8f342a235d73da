"""One kernel per node that lies in memory: elements, rows with their reductions, products, scans."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from warploom.synthesize.codegen import ctypes_of, pointwise
from warploom.synthesize.codegen.graph import Graph, Node
from warploom.synthesize.codegen.layouts import LAYOUTS
from warploom.synthesize.codegen.parameters import TuningParameters
from warploom.synthesize.codegen.reductions import (
    NOWHERE,
    Reduction,
    better,
    dims_of,
    helper_text,
    reduction_of,
)
from warploom.synthesize.codegen.scope import (
    Index,
    MaterializeError,
    Scope,
    c_size,
    is_split,
    linear,
    product,
    split,
    variables,
)
from warploom.synthesize.codegen.values import PRODUCTS, REDUCTIONS, SCANS, Values


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel: what it is, its text, the statement that launches it, functions that it needs."""

    form: str
    root: str
    text: str
    launch: str
    helpers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(slots=True)
class _Found:
    """What the value of a root leads to."""

    reductions: list[tuple[Node, Index]] = field(default_factory=list[tuple[Node, Index]])
    products: list[tuple[Node, Index]] = field(default_factory=list[tuple[Node, Index]])
    scans: list[Node] = field(default_factory=list[Node])
    merged: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = field(
        default_factory=dict[str, tuple[tuple[str, ...], tuple[str, ...]]]
    )


class KernelMaker:
    """Makes the kernel that fills the buffer of `root`.

    Raises MaterializeError where another node must lie in memory first.
    """

    def __init__(
        self,
        graph: Graph,
        buffers: dict[str, str],
        root: Node,
        name: str,
        tuning: TuningParameters,
    ) -> None:
        self.graph = graph
        self.buffers = buffers
        self.root = root
        self.name = name
        self.tuning = tuning
        self.helpers: dict[str, str] = {}
        self.index: Index = tuple(
            "0" if size == "1" else f"i{at}" for at, size in enumerate(root.sizes)
        )

    def make(self) -> Kernel:
        """Return the kernel of the form that fits."""
        if self.root.op in SCANS:
            return self._scan()
        found = self._discover()
        if found.scans:
            raise MaterializeError(found.scans[0])
        if found.reductions:
            return self._rows(found)
        if found.products:
            return self._product(found)
        return self._elements()

    def _discover(self) -> _Found:
        found = _Found()

        def reached(node: Node, index: Index, scope: Scope, guard: str) -> str:
            if guard:
                raise MaterializeError(node)
            if node.op in REDUCTIONS:
                found.reductions.append((node, index))
            elif node.op in PRODUCTS:
                found.products.append((node, index))
            elif node is not self.root:
                found.scans.append(node)
            return scope.define(ctypes_of.computed(node.dtype), "0")

        values = Values(self.graph, self.buffers, self.root, reached)
        values.value(self.root, self.index, Scope(variables(self.index)))
        found.merged = values.merged
        return found

    def _refuse(self, node: Node, index: Index, scope: Scope, guard: str) -> str:
        del index, scope, guard
        raise MaterializeError(node)

    # Elements: each thread computes some, nothing is shared.

    def _elements(self) -> Kernel:
        values = Values(self.graph, self.buffers, self.root, self._refuse)
        count = product(self.root.sizes)
        scope = Scope(frozenset({"i"}))
        if self._is_flat(self.root):
            values.flat = True
            result = values.value(self.root, ("i",), scope)
            lines = scope.lines
        else:
            names, sizes = self._real()
            result = values.value(self.root, self.index, scope)
            lines = [*split("i", names, sizes), *scope.lines]
        body = [*lines, f"out[i] = {ctypes_of.store(self.root.dtype, result)};"]
        text = self._kernel(
            values, self.tuning.threads,
            [
                f"const long long count = {count};",
                "const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;",
                "for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + "
                "threadIdx.x; i < count; i += stride) {",
                *_indented(body),
                "}",
            ],
        )  # fmt: skip
        blocks = f"blocks_for({count}, {self.tuning.threads})"
        return self._done("elements", text, values, count, blocks, self.tuning.threads)

    def _real(self) -> tuple[list[str], list[str]]:
        pairs = [(n, s) for n, s in zip(self.index, self.root.sizes, strict=True) if s != "1"]
        return [n for n, _ in pairs], [s for _, s in pairs]

    def _is_flat(self, node: Node) -> bool:
        """Whether everything that leads to `node` has its shape, or is a single number."""
        todo, seen = [node], set[str]()
        while todo:
            one = todo.pop()
            if one.name in seen or one.op == "scalar":
                continue
            seen.add(one.name)
            if one.sizes != self.root.sizes and one.sizes:
                return False
            if one.op == "input" or (one.name in self.buffers and one is not self.root):
                continue
            if one.op in LAYOUTS and one.op not in ("full", "full_like", "scalar_tensor",
                                                    "zeros_like", "ones_like"):  # fmt: skip
                return False
            todo += [n for n in map(self.graph.node_of, one.args) if n is not None]
        return True

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
        names, sizes = self._real()
        rows = [(n, s) for n, s in zip(names, sizes, strict=True) if n in widest]
        inner = [(n, s) for n, s in zip(names, sizes, strict=True) if n not in widest]
        writer = _RowWriter(self, widest)
        values = Values(self.graph, self.buffers, self.root, writer.reached)
        writer.values = values
        last = writer.scope.inner({n for n, _ in inner} | {"e"})
        result = values.value(self.root, self.index, last)
        place = linear(self.index, self.root.sizes)
        store = f"out[{place}] = {ctypes_of.store(self.root.dtype, result)};"
        threads = self.tuning.row_threads
        if inner:
            ending = _loop("e", product(s for _, s in inner), threads, [
                *split("e", [n for n, _ in inner], [s for _, s in inner]), *last.lines, store,
            ])  # fmt: skip
        else:
            ending = ["if (threadIdx.x == 0) {", *_indented([*last.lines, store]), "}"]
        count = product(s for _, s in rows)
        text = self._kernel(values, threads, [
            f"const long long rows = {count};",
            "for (long long row = blockIdx.x; row < rows; row += gridDim.x) {",
            *_indented([*split("row", [n for n, _ in rows], [s for _, s in rows]),
                        *writer.scope.lines, *ending]),
            "}",
        ])  # fmt: skip
        return self._done("rows", text, values, count, f"blocks_for({count}, 1)", threads)

    # Products: a block computes a tile, in steps through shared memory.

    def _product(self, found: _Found) -> Kernel:
        node, index = found.products[0]
        for other, _ in found.products[1:]:
            if other is not node:
                raise MaterializeError(other)
        defined = self._inverse(index, found)
        if defined is None or any(i != index for n, i in found.products):
            raise MaterializeError(node)
        return _ProductWriter(self, node, index, defined).make()

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
                lines.append(f"const long long {text} = g{at};")
                done.append(text)
            else:
                return None
        wanted = sorted(name for name in self.index if name != "0")
        return lines if sorted(done) == wanted else None

    # Scans: a block goes along a row, a tile at a time.

    def _scan(self) -> Kernel:
        root = self.root
        source = self.graph.node_of(root.args[0])
        assert source is not None
        kind = "sum" if root.op == "cumsum" else "prod"
        dim = int(root.args[1]) % max(len(root.sizes), 1)
        if not root.sizes or root.sizes[dim] == "1":
            raise MaterializeError(source) if source.op == "nothing" else _single_scan(root)
        names, sizes = self._real()
        along = self.index[dim]
        rows = [(n, s) for n, s in zip(names, sizes, strict=True) if n != along]
        writer = _RowWriter(self, frozenset(n for n, _ in rows))
        values = Values(self.graph, self.buffers, root, writer.reached)
        writer.values = values
        scope = writer.scope.inner({along})
        ctype = ctypes_of.computed(root.dtype)
        value = values.operand(root.args[0], root.dtype, root, self.index, scope, "inside")
        first = pointwise.literal(0 if kind == "sum" else 1, root.dtype)
        sign = "+" if kind == "sum" else "*"
        helper = f"block_scan_{kind}_{ctype.replace(' ', '_')}"
        self.helpers[helper] = _scan_text(helper, ctype, first, sign)
        size, threads = c_size(root.sizes[dim]), self.tuning.threads
        place = linear(self.index, root.sizes)
        tile = [
            f"const long long {along} = begin + threadIdx.x;",
            f"const bool inside = {along} < {size};",
            *scope.lines,
            f"{ctype} whole;",
            f"const {ctype} sofar = {helper}(inside ? {value} : {first}, whole);",
            f"if (inside) out[{place}] = {ctypes_of.store(root.dtype, f'(carry {sign} sofar)')};",
            f"carry = carry {sign} whole;",
        ]
        count = product(s for _, s in rows)
        text = self._kernel(values, threads, [
            f"const long long rows = {count};",
            "for (long long row = blockIdx.x; row < rows; row += gridDim.x) {",
            *_indented([
                *split("row", [n for n, _ in rows], [s for _, s in rows]), *writer.scope.lines,
                f"{ctype} carry = {first};",
                f"for (long long begin = 0; begin < {size}; begin += {threads}) {{",
                *_indented(tile), "}",
            ]),
            "}",
        ])  # fmt: skip
        return self._done("scan", text, values, count, f"blocks_for({count}, 1)", threads)

    def _kernel(self, values: Values, threads: int, lines: list[str]) -> str:
        """Return the text of a kernel around its statements."""
        arguments = [
            f"const {ctypes_of.stored(node.dtype)}* __restrict__ {values.pointer(node)}"
            for node in values.reads.values()
        ]
        arguments.append(f"{ctypes_of.stored(self.root.dtype)}* __restrict__ out")
        arguments += [f"const long long {s.name}" for s in self.graph.symbols]
        words = ",\n    ".join(arguments)
        body = "\n".join(_indented(lines))
        return (
            f"static __global__ void __launch_bounds__({threads})\n"
            f"{self.name}({words}) {{\n{body}\n}}\n"
        )

    def _done(
        self, form: str, text: str, values: Values, count: str, blocks: str, threads: int
    ) -> Kernel:
        given = [values.pointer(node) for node in values.reads.values()]
        given += [self.buffers[self.root.name], *(s.name for s in self.graph.symbols)]
        launch = (
            f"if ({count} > 0) {self.name}<<<{blocks}, {threads}, 0, stream>>>({', '.join(given)});"
        )
        return Kernel(form, self.root.name, text, launch, self.helpers)


def _single_scan(root: Node) -> Exception:
    from warploom.synthesize.codegen.refusal import BeyondRulesError

    return BeyondRulesError(f"{root.op} along a dimension of one", line=root.line)


def _indented(lines: list[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def _loop(name: str, count: str, threads: int, body: list[str]) -> list[str]:
    head = f"for (long long {name} = threadIdx.x; {name} < {count}; {name} += {threads}) {{"
    return [head, *_indented(body), "}"]


def _scan_text(name: str, ctype: str, first: str, sign: str) -> str:
    return f"""// Joins the values of all threads up to each; `whole` becomes that of the block.
static __device__ {ctype} {name}({ctype} value, {ctype}& whole) {{
  __shared__ {ctype} part[32];
  const int lane = threadIdx.x & 31;
  for (int step = 1; step < 32; step <<= 1) {{
    const {ctype} other = __shfl_up_sync(0xffffffffu, value, step);
    if (lane >= step) value = other {sign} value;
  }}
  if (lane == 31) part[threadIdx.x >> 5] = value;
  __syncthreads();
  {ctype} before = {first};
  {ctype} all = {first};
  for (int warp = 0; warp < static_cast<int>(blockDim.x >> 5); ++warp) {{
    if (warp == static_cast<int>(threadIdx.x >> 5)) before = all;
    all = all {sign} part[warp];
  }}
  __syncthreads();
  whole = all;
  return before {sign} value;
}}
"""


class _RowWriter:
    """Writes the reductions of a row, each before what needs it."""

    def __init__(self, maker: KernelMaker, rows: frozenset[str]) -> None:
        self.maker = maker
        self.rows = rows
        self.scope = Scope(rows)
        self.values: Values | None = None
        self.count = 0

    def reached(self, node: Node, index: Index, scope: Scope, guard: str) -> str:
        """Return the name of a reduced value, after its loop was written."""
        del scope
        if node.op not in REDUCTIONS or guard or variables(index) != self.rows:
            raise MaterializeError(node)
        values = self.values
        assert values is not None
        source = self.maker.graph.node_of(node.args[0])
        assert source is not None
        kind = reduction_of(node, source)
        self.maker.helpers[kind.helper] = helper_text(kind)
        inner, loop, names, sizes = self._inner(node, source, index)
        body = self.scope.inner({*names, loop})
        value = values.operand({"node": source.name}, kind.dtype, source, inner, body, "")
        number = self.count
        self.count += 1
        lines = [*split(loop, names, sizes), *body.lines]
        threads = self.maker.tuning.row_threads
        extent = product(sizes)
        if kind.places:
            text = self._places(kind, number, loop, extent, threads, lines, value)
        else:
            text = [
                f"{kind.ctype} s{number} = {kind.first};",
                *_loop(loop, extent, threads, [
                    *lines, f"s{number} = {kind.join.format(a=f's{number}', b=value)};",
                ]),
                f"const {kind.ctype} r{number} = {kind.helper}(s{number});",
            ]  # fmt: skip
        self.scope.lines += text
        return f"r{number}"

    def _inner(
        self, node: Node, source: Node, index: Index
    ) -> tuple[Index, str, list[str], list[str]]:
        """Return the index into what is reduced, and the variables of the loop."""
        dims = dims_of(node, len(source.sizes))
        keeps = len(node.sizes) == len(source.sizes)
        rest = iter(index)
        inner: list[str] = []
        names: list[str] = []
        sizes: list[str] = []
        loop = f"k{self.count}"
        for at, size in enumerate(source.sizes):
            if at not in dims:
                inner.append(next(rest))
                continue
            if keeps:
                next(rest)
            if size == "1":
                inner.append("0")
                continue
            names.append(f"{loop}_{at}")
            sizes.append(size)
            inner.append(names[-1])
        return tuple(inner), loop, names, sizes

    @staticmethod
    def _places(
        kind: Reduction, number: int, loop: str, extent: str, threads: int, lines: list[str],
        value: str,
    ) -> list[str]:  # fmt: skip
        best, at = f"s{number}", f"p{number}"
        test = better(kind, best, at, value, loop)
        return [
            f"{kind.ctype} {best} = {kind.first};",
            f"long long {at} = {NOWHERE};",
            *_loop(loop, extent, threads, [
                *lines, f"if ({test}) {{", f"  {best} = {value};", f"  {at} = {loop};", "}",
            ]),
            f"const long long r{number} = {kind.helper}({best}, {at});",
        ]  # fmt: skip


class _ProductWriter:
    """Writes a tiled matrix product with whatever leads to its operands and follows it."""

    def __init__(self, maker: KernelMaker, node: Node, index: Index, defined: list[str]) -> None:
        self.maker = maker
        self.node = node
        self.index = index
        self.defined = defined
        left, right = (maker.graph.node_of(arg) for arg in node.args[:2])
        assert left is not None
        assert right is not None
        self.left, self.right = left, right
        self.batch = len(node.sizes) == 3
        self.m, self.n = (c_size(s) for s in node.sizes[-2:])
        self.k = c_size(left.sizes[-1])

    def make(self) -> Kernel:
        """Return the kernel."""
        maker, node = self.maker, self.node
        t = maker.tuning
        values = Values(maker.graph, maker.buffers, maker.root, self._reached)
        ctype = ctypes_of.computed(node.dtype)
        zero = pointwise.literal(0, node.dtype)
        batch = ("g0",) if self.batch else ()
        rows = "g1" if self.batch else "g0"
        cols = "g2" if self.batch else "g1"
        lefts = self._tile(values, self.left, (*batch, "row", "at"), "row", self.m, t.tile_m, "a")
        rights = self._tile(values, self.right, (*batch, "at", "col"), "col", self.n, t.tile_n, "b")
        scope = Scope(frozenset({rows, cols, *maker.index}))
        scope.memo[(node.name, self.index, "")] = "total"
        result = values.value(maker.root, maker.index, scope)
        place = linear(maker.index, maker.root.sizes)
        ending = [
            f"const long long {rows} = row0 + y * {t.thread_m} + i;",
            f"const long long {cols} = col0 + x * {t.thread_n} + j;",
            f"if ({rows} < {self.m} && {cols} < {self.n}) {{",
            f"  const {ctype} total = sums[i][j];",
            *_indented([*self.defined, *scope.lines]),
            f"  out[{place}] = {ctypes_of.store(maker.root.dtype, result)};",
            "}",
        ]
        text = maker._kernel(values, t.gemm_threads, self._body(ctype, zero, lefts, rights, ending))  # pyright: ignore[reportPrivateUsage]
        count = product(node.sizes)
        blocks = (
            f"dim3(static_cast<unsigned>(({self.n} + {t.tile_n - 1}) / {t.tile_n}), "
            f"static_cast<unsigned>(blocks_for(({self.m} + {t.tile_m - 1}) / {t.tile_m}, 1)))"
        )
        return maker._done("product", text, values, count, blocks, t.gemm_threads)  # pyright: ignore[reportPrivateUsage]

    def _reached(self, node: Node, index: Index, scope: Scope, guard: str) -> str:
        del index, scope, guard
        raise MaterializeError(node)

    def _tile(
        self, values: Values, source: Node, index: Index, along: str, size: str, tile: int,
        name: str,
    ) -> list[str]:  # fmt: skip
        """Return the loop that brings a tile of an operand into shared memory."""
        t = self.maker.tuning
        scope = Scope(frozenset({along, "at"}))
        index = tuple("0" if s == "1" else at for at, s in zip(index, source.sizes, strict=True))
        value = values.operand(
            {"node": source.name}, self.node.dtype, source, index, scope, f"in_{name}"
        )
        zero = pointwise.literal(0, self.node.dtype)
        first = "row0" if along == "row" else "col0"
        inner = [f"const int p = t / {t.tile_k}, q = t % {t.tile_k};"] if along == "row" else [
            f"const int p = t % {tile}, q = t / {tile};"
        ]  # fmt: skip
        return [
            f"for (int t = threadIdx.x; t < {tile * t.tile_k}; t += {t.gemm_threads}) {{",
            *_indented([
                *inner, f"const long long {along} = {first} + p, at = step + q;",
                f"const bool in_{name} = {along} < {size} && at < {self.k};", *scope.lines,
                f"tile_{name}[q][p] = in_{name} ? {value} : {zero};",
            ]),
            "}",
        ]  # fmt: skip

    def _body(
        self, ctype: str, zero: str, lefts: list[str], rights: list[str], ending: list[str]
    ) -> list[str]:
        t = self.maker.tuning
        across = t.tile_n // t.thread_n
        work = [
            f"{ctype} sums[{t.thread_m}][{t.thread_n}];",
            f"for (int i = 0; i < {t.thread_m}; ++i)",
            f"  for (int j = 0; j < {t.thread_n}; ++j) sums[i][j] = {zero};",
            f"for (long long step = 0; step < {self.k}; step += {t.tile_k}) {{",
            *_indented([*lefts, *rights, "__syncthreads();"]),
            f"  for (int q = 0; q < {t.tile_k}; ++q)",
            f"    for (int i = 0; i < {t.thread_m}; ++i)",
            f"      for (int j = 0; j < {t.thread_n}; ++j)",
            f"        sums[i][j] += tile_a[q][y * {t.thread_m} + i] * "
            f"tile_b[q][x * {t.thread_n} + j];",
            "  __syncthreads();",
            "}",
            f"for (int i = 0; i < {t.thread_m}; ++i) {{",
            f"  for (int j = 0; j < {t.thread_n}; ++j) {{",
            *_indented(_indented(ending)),
            "  }",
            "}",
        ]
        if self.batch:
            batches = c_size(self.node.sizes[0])
            work = [f"for (long long g0 = 0; g0 < {batches}; ++g0) {{", *_indented(work), "}"]
        down = f"({self.m} + {t.tile_m - 1}) / {t.tile_m}"
        return [
            f"__shared__ {ctype} tile_a[{t.tile_k}][{t.tile_m} + 1];",
            f"__shared__ {ctype} tile_b[{t.tile_k}][{t.tile_n} + 1];",
            f"const int x = threadIdx.x % {across}, y = threadIdx.x / {across};",
            f"const long long col0 = static_cast<long long>(blockIdx.x) * {t.tile_n};",
            f"for (long long down = blockIdx.y; down < {down}; down += gridDim.y) {{",
            f"  const long long row0 = down * {t.tile_m};",
            *_indented(work),
            "}",
        ]


Callback = Callable[[Node, Index, Scope, str], str]
WORD = re.compile(r"\w+")
