"""Tiled matrix products with whatever leads to their operands and follows them."""

from warploom.synthesis.codegen import ctypes_of, pointwise
from warploom.synthesis.codegen.draft import KernelDraft
from warploom.synthesis.codegen.graph import Node
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
        text = draft.kernel(values, t.gemm_threads, self._body(ctype, zero, lefts, rights, ending))  # pyright: ignore[reportPrivateUsage]
        count = product(node.sizes)
        blocks = (
            f"dim3(static_cast<unsigned>(({self.n} + {t.tile_n - 1}) / {t.tile_n}), "
            f"static_cast<unsigned>(blocks_for(({self.m} + {t.tile_m - 1}) / {t.tile_m}, 1)))"
        )
        return draft.done("product", text, values, count, blocks, t.gemm_threads)  # pyright: ignore[reportPrivateUsage]

    def _reached(self, node: Node, index: Index, scope: Scope, guard: str) -> str:
        del index, scope, guard
        raise MaterializeError(node)

    def _tile(
        self, values: Values, source: Node, index: Index, along: str, size: str, tile: int,
        name: str,
    ) -> list[str]:  # fmt: skip
        """Return the loop that brings a tile of an operand into shared memory."""
        t = self.draft.tuning
        scope = Scope(frozenset({along, "at"}))
        index = tuple("0" if s == "1" else at for at, s in zip(index, source.sizes, strict=True))
        value = values.operand(
            {"node": source.name}, self.node.dtype, source, index, scope, f"use_{name}"
        )
        zero = pointwise.literal(0, self.node.dtype)
        first = "row0" if along == "row" else "col0"
        inner = [f"const int p = t / {t.tile_k}, q = t % {t.tile_k};"] if along == "row" else [
            f"const int p = t % {tile}, q = t / {tile};"
        ]  # fmt: skip
        return [
            f"for (int t = threadIdx.x; t < {tile * t.tile_k}; t += {t.gemm_threads}) {{",
            *indented([
                *inner, f"const long long {along} = {first} + p, at = step + q;",
                f"const bool use_{name} = {along} < {size} && at < {self.k};", *scope.lines,
                f"tile_{name}[q][p] = use_{name} ? {value} : {zero};",
            ]),
            "}",
        ]  # fmt: skip

    def _body(
        self, ctype: str, zero: str, lefts: list[str], rights: list[str], ending: list[str]
    ) -> list[str]:
        t = self.draft.tuning
        across = t.tile_n // t.thread_n
        work = [
            f"{ctype} sums[{t.thread_m}][{t.thread_n}];",
            f"for (int i = 0; i < {t.thread_m}; ++i)",
            f"  for (int j = 0; j < {t.thread_n}; ++j) sums[i][j] = {zero};",
            f"for (long long step = 0; step < {self.k}; step += {t.tile_k}) {{",
            *indented([*lefts, *rights, "__syncthreads();"]),
            f"  for (int q = 0; q < {t.tile_k}; ++q)",
            f"    for (int i = 0; i < {t.thread_m}; ++i)",
            f"      for (int j = 0; j < {t.thread_n}; ++j)",
            f"        sums[i][j] += tile_a[q][y * {t.thread_m} + i] * "
            f"tile_b[q][x * {t.thread_n} + j];",
            "  __syncthreads();",
            "}",
            f"for (int i = 0; i < {t.thread_m}; ++i) {{",
            f"  for (int j = 0; j < {t.thread_n}; ++j) {{",
            *indented(indented(ending)),
            "  }",
            "}",
        ]
        if self.batch:
            batches = c_size(self.node.sizes[0])
            work = [f"for (long long g0 = 0; g0 < {batches}; ++g0) {{", *indented(work), "}"]
        down = f"({self.m} + {t.tile_m - 1}) / {t.tile_m}"
        return [
            f"__shared__ {ctype} tile_a[{t.tile_k}][{t.tile_m} + 1];",
            f"__shared__ {ctype} tile_b[{t.tile_k}][{t.tile_n} + 1];",
            f"const int x = threadIdx.x % {across}, y = threadIdx.x / {across};",
            f"const long long col0 = static_cast<long long>(blockIdx.x) * {t.tile_n};",
            f"for (long long down = blockIdx.y; down < {down}; down += gridDim.y) {{",
            f"  const long long row0 = down * {t.tile_m};",
            *indented(work),
            "}",
        ]
