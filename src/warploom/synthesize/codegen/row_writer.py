"""The reductions of a row: each a loop of the block, before what needs it."""

from typing import TYPE_CHECKING

from warploom.synthesize.codegen.graph import Node
from warploom.synthesize.codegen.reductions import (
    NOWHERE,
    Reduction,
    ahead,
    dims_of,
    helper_text,
    reduction_of,
)
from warploom.synthesize.codegen.scope import (
    Index,
    MaterializeError,
    Scope,
    product,
    split,
    variables,
)
from warploom.synthesize.codegen.text import loop_lines
from warploom.synthesize.codegen.values import REDUCTIONS, Values

if TYPE_CHECKING:
    from warploom.synthesize.codegen.kernels import KernelMaker


class RowWriter:
    """Writes the reductions of a row, each before what needs it."""

    def __init__(self, maker: "KernelMaker", rows: frozenset[str]) -> None:
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
                *loop_lines(loop, extent, threads, [
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
        test = ahead(
            kind, best, value
        )  # places come in their order, and the first one has no rival
        return [
            f"{kind.ctype} {best} = {kind.first};",
            f"long long {at} = threadIdx.x < {extent} ? threadIdx.x : {NOWHERE};",
            *loop_lines(loop, extent, threads, [
                *lines, f"if ({test}) {{", f"  {best} = {value};", f"  {at} = {loop};", "}",
            ]),
            f"const long long r{number} = {kind.helper}({best}, {at});",
        ]  # fmt: skip
