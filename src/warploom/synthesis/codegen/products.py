"""Tiled matrix products with whatever leads to their operands and follows them."""

from warploom.synthesis.codegen import ctypes_of, pointwise
from warploom.synthesis.codegen.draft import KernelDraft
from warploom.synthesis.codegen.graph import Node
from warploom.synthesis.codegen.parameters import TuningParameters
from warploom.synthesis.codegen.scope import (
    Index,
    MaterializeError,
    Scope,
    c_size,
    linear,
    product,
)
from warploom.synthesis.codegen.text import Kernel, indented
from warploom.synthesis.codegen.values import Values

_Moves = tuple[list[str], list[str]]
_THREADS = 512  # of a multiprocessor, at least: others compute while some wait for memory
_PAD = 4  # elements behind a line of a tile: lines begin in other banks, at multiples of 16 bytes


class ProductWriter:
    """Writes a tiled matrix product with whatever leads to its operands and follows it."""

    def __init__(self, draft: KernelDraft, node: Node, index: Index, defined: list[str]) -> None:
        self.draft = draft
        self.node = node
        self.index = index
        self.defined = defined
        left, right = (draft.graph.node_of(arg) for arg in node.args[:2])
        assert left is not None
        assert right is not None
        self.left, self.right = left, right
        self.batch = len(node.sizes) == 3
        self.m, self.n = (c_size(s) for s in node.sizes[-2:])
        self.k = c_size(left.sizes[-1])

    def make(self) -> Kernel:
        """Return the kernel."""
        draft, node = self.draft, self.node
        t = draft.tuning
        values = draft.values(self._reached)
        ctype = ctypes_of.computed(node.dtype)
        zero = pointwise.literal(0, node.dtype)
        batch = ("g0",) if self.batch else ()
        rows = "g1" if self.batch else "g0"
        cols = "g2" if self.batch else "g1"
        lefts = self._tile(values, self.left, (*batch, "row", "at"), "row", self.m, t.tile_m, "a")
        rights = self._tile(values, self.right, (*batch, "at", "col"), "col", self.n, t.tile_n, "b")
        scope = Scope(frozenset({rows, cols, *draft.index}))
        scope.memo[(node.name, self.index, "")] = "total"
        result = values.value(draft.root, draft.index, scope)
        place = linear(draft.index, draft.root.sizes)
        ending = [
            f"const long long {rows} = row0 + y * {t.thread_m} + i;",
            f"const long long {cols} = col0 + x * {t.thread_n} + j;",
            f"if ({rows} < {self.m} && {cols} < {self.n}) {{",
            f"  const {ctype} total = sums[i][j];",
            *indented([*self.defined, *scope.lines]),
            f"  out[{place}] = {ctypes_of.store(draft.root.dtype, result)};",
            "}",
        ]
        lines = self._body(ctype, zero, lefts, rights, ending)
        blocks = max(1, _THREADS // t.gemm_threads)
        text = draft.kernel(values, t.gemm_threads, lines, blocks, narrows=False)
        count = product(node.sizes)
        grid = (
            f"dim3(static_cast<unsigned>(({self.n} + {t.tile_n - 1}) / {t.tile_n}), "
            f"static_cast<unsigned>(blocks_for(({self.m} + {t.tile_m - 1}) / {t.tile_m}, 1))"
        )
        grid += f", blocks_for({c_size(node.sizes[0])}, 1))" if self.batch else ")"
        return draft.done("product", text, values, count, grid, t.gemm_threads)

    def _reached(self, node: Node, index: Index, scope: Scope, guard: str) -> str:
        del index, scope, guard
        raise MaterializeError(node)

    def _tile(
        self, values: Values, source: Node, index: Index, along: str, size: str, tile: int,
        name: str,
    ) -> _Moves:  # fmt: skip
        """Return the loops that load a thread's part of a tile, and put it into shared memory.

        Neighboring lanes read neighbors, whichever way the operand lies.
        """
        t = self.draft.tuning
        scope = Scope(frozenset({along, "at"}))
        index = tuple("0" if s == "1" else at for at, s in zip(index, source.sizes, strict=True))
        value = values.operand(
            {"node": source.name}, self.node.dtype, source, index, scope, f"use_{name}"
        )
        zero = pointwise.literal(0, self.node.dtype)
        first = "row0" if along == "row" else "col0"
        ends = [any(f"+ {end})]" in line for line in scope.lines) for end in ("at", along)]
        deep = along == "row" if ends[0] == ends[1] else ends[0]
        split = f"t / {t.tile_k}, q = t % {t.tile_k}" if deep else f"t % {tile}, q = t / {tile}"
        part = [f"const int t = n * {t.gemm_threads} + threadIdx.x;", f"const int p = {split};"]

        def loop(body: list[str]) -> list[str]:
            count = tile * t.tile_k // t.gemm_threads
            return ["#pragma unroll", f"for (int n = 0; n < {count}; ++n) {{",
                    *indented([*part, *body]), "}"]  # fmt: skip

        load = loop([
            f"const long long {along} = {first} + p, at = step + q;",
            f"const bool use_{name} = {along} < {size} && at < {self.k};", *scope.lines,
            f"next_{name}[n] = use_{name} ? {value} : {zero};",
        ])  # fmt: skip
        return load, loop([f"tile_{name}[q][p] = next_{name}[n];"])

    def _body(
        self, ctype: str, zero: str, lefts: _Moves, rights: _Moves, ending: list[str]
    ) -> list[str]:
        t = self.draft.tuning
        across = t.tile_n // t.thread_n
        counts = [tile * t.tile_k // t.gemm_threads for tile in (t.tile_m, t.tile_n)]
        work = [
            f"{ctype} sums[{t.thread_m}][{t.thread_n}];",
            *_each(t, [f"sums[i][j] = {zero};"]),
            f"{ctype} next_a[{counts[0]}], next_b[{counts[1]}];",
            "// What the next step needs is loaded while this one is computed.",
            "const auto bring = [&](const long long step) {",
            *indented([*lefts[0], *rights[0]]), "};",
            "bring(0);",
            f"for (long long step = 0; step < {self.k}; step += {t.tile_k}) {{",
            *indented([
                *lefts[1], *rights[1], "__syncthreads();", f"bring(step + {t.tile_k});",
                "#pragma unroll", f"for (int q = 0; q < {t.tile_k}; ++q) {{",
                *indented(_each(t, [
                    _multiply_add(
                        ctype,
                        f"tile_a[q][y * {t.thread_m} + i]", f"tile_b[q][x * {t.thread_n} + j]",
                    )
                ])),
                "}", "__syncthreads();",
            ]),
            "}",
            *_each(t, ending),
        ]  # fmt: skip
        if self.batch:
            batches = c_size(self.node.sizes[0])
            work = [f"for (long long g0 = blockIdx.z; g0 < {batches}; g0 += gridDim.z) {{",
                    *indented(work), "}"]  # fmt: skip
        down = f"({self.m} + {t.tile_m - 1}) / {t.tile_m}"
        return [
            f"alignas(16) __shared__ {ctype} tile_a[{t.tile_k}][{t.tile_m + _PAD}];",
            f"alignas(16) __shared__ {ctype} tile_b[{t.tile_k}][{t.tile_n + _PAD}];",
            f"const int x = threadIdx.x % {across}, y = threadIdx.x / {across};",
            f"const long long col0 = static_cast<long long>(blockIdx.x) * {t.tile_n};",
            f"for (long long down = blockIdx.y; down < {down}; down += gridDim.y) {{",
            f"  const long long row0 = down * {t.tile_m};",
            *indented(work),
            "}",
        ]


def _multiply_add(ctype: str, left: str, right: str) -> str:
    """Return what adds a product to a sum, as the one operation that nvcc makes where told to."""
    name = {"float": "fmaf", "double": "fma"}.get(ctype)
    if name is None:
        return f"sums[i][j] += {left} * {right};"
    return f"sums[i][j] = {name}({left}, {right}, sums[i][j]);"


def _each(t: TuningParameters, body: list[str]) -> list[str]:
    """Return loops over what a thread has of a tile; unrolled, so that it is in registers."""
    return [
        "#pragma unroll", f"for (int i = 0; i < {t.thread_m}; ++i) {{",
        *indented(["#pragma unroll", f"for (int j = 0; j < {t.thread_n}; ++j) {{",
                   *indented(body), "}"]),
        "}",
    ]  # fmt: skip
