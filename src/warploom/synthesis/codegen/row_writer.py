"""The reductions of a row: each a loop of the block, before what needs it."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from warploom.synthesis.codegen.draft import KernelDraft
from warploom.synthesis.codegen.graph import Node
from warploom.synthesis.codegen.groups import Groups, Wide
from warploom.synthesis.codegen.reductions import (
    NOWHERE,
    Reduction,
    ahead,
    column_helper_text,
    dims_of,
    helper_text,
    reduction_of,
)
from warploom.synthesis.codegen.scope import (
    Index,
    MaterializeError,
    Scope,
    product,
    split,
    variables,
)
from warploom.synthesis.codegen.text import indented, loop_lines
from warploom.synthesis.codegen.values import REDUCTIONS, Values


@dataclass(frozen=True, slots=True)
class RowLoop:
    """A loop along a row: its variable, how far it goes, and what one element needs.

    `loads` are the statements before the elements of a group, `before` and `after` those around
    the loop over them.
    """

    name: str
    extent: str
    lines: list[str]
    value: str
    loads: list[str] = field(default_factory=list[str])
    before: list[str] = field(default_factory=list[str])
    after: list[str] = field(default_factory=list[str])


def _bracketed(text: str) -> str:
    return text if text.isalnum() else f"({text})"


class RowWriter:
    """Writes the reductions of a row, each before what needs it.

    With `columns` the elements of a row are far apart, and those of other rows beside them: each
    lane of a block has a row of its own then, and each warp a part of these.
    """

    def __init__(
        self, draft: KernelDraft, rows: frozenset[str], wide: Wide | None = None, *,
        columns: bool = False,
    ) -> None:  # fmt: skip
        self.draft = draft
        self.wide = wide
        self.columns = columns
        self.first = "threadIdx.x / 32" if columns else "threadIdx.x"
        self.step = "blockDim.x / 32" if columns else "blockDim.x"
        self.rows = rows
        self.scope = Scope(rows)
        self.values: Values | None = None
        self.count = 0
        self.longest = "1"

    def reached(self, node: Node, index: Index, scope: Scope, guard: str) -> str:
        """Return the name of a reduced value, after its loop was written."""
        del scope
        if node.op not in REDUCTIONS or guard or variables(index) != self.rows:
            raise MaterializeError(node)
        values = self.values
        assert values is not None
        source = self.draft.graph.node_of(node.args[0])
        assert source is not None
        kind = reduction_of(node, source)
        text = column_helper_text(kind) if self.columns else helper_text(kind)
        self.draft.helpers[self._helper(kind)] = text
        inner, loop, names, sizes = self._inner(node, source, index)

        def value_in(body: Scope) -> str:
            return values.operand({"node": source.name}, kind.dtype, source, inner, body, "")

        body = self.scope.inner({*names, loop})
        value = value_in(body)
        single = RowLoop(loop, product(sizes), [*split(loop, names, sizes), *body.lines], value)
        self.longest = single.extent if self.longest == "1" else self.longest
        grouped = self.grouped(single, names, sizes, value_in)
        number = self.count
        self.count += 1
        self.scope.lines += self._reduced(kind, number, single, grouped)
        return f"r{number}"

    def grouped(
        self,
        single: "RowLoop",
        names: list[str],
        sizes: list[str],
        value_in: Callable[[Scope], str],
    ) -> "RowLoop | None":
        """Return the loop over groups of neighbors; None where none are loaded as one."""
        values = self.values
        if self.wide is None or values is None or not names:
            return None
        outer = self.scope.inner({single.name})
        inner = outer.inner(names)
        before = values.groups
        values.groups = Groups(self.wide, tuple(names), tuple(sizes), single.name, outer)
        value = value_in(inner)
        found = values.groups.loaded
        values.groups = before
        if not found:
            return None
        lines = inner.lines
        if any(re.search(rf"\b{name}\b", line) for name in names for line in lines):
            lines = [*split(f"({single.name} + e)", names, sizes), *lines]
        return RowLoop(single.name, single.extent, lines, value, outer.lines)

    def loops(
        self, single: "RowLoop", grouped: "RowLoop | None", number: str,
        body: Callable[[str, bool], list[str]],
    ) -> list[str]:  # fmt: skip
        """Return the loops of a row: over its groups, and over what is left.

        `body` returns what is done with a value; it is told whether that is one of a group.
        """
        name, extent = single.name, single.extent
        rest = [*single.lines, *body(single.value, False)]
        if grouped is None or self.wide is None:
            loop = loop_lines(name, self.first, extent, self.step, rest)
            return (
                [f"#pragma unroll {2 * self.draft.tuning.turns}", *loop] if self.columns else loop
            )
        width = self.wide.width
        step = f"{self.step} * {width}"
        return [
            f"const long long whole{number} = wide ? {_bracketed(extent)} / {width} * {width} : 0;",
            f"#pragma unroll {self.draft.tuning.turns}",
            *loop_lines(name, f"{self.first} * {width}", f"whole{number}", step, [
                *grouped.loads, *grouped.before, "#pragma unroll",
                f"for (int e = 0; e < {width}; ++e) {{",
                *indented([*grouped.lines, *body(grouped.value, True)]), "}", *grouped.after,
            ]),
            *loop_lines(name, f"whole{number} + {self.first}", extent, self.step, rest),
        ]  # fmt: skip

    def _reduced(
        self, kind: Reduction, number: int, single: "RowLoop", grouped: "RowLoop | None"
    ) -> list[str]:
        """Return the loops that reduce a row, and the join of what the threads have."""
        if kind.places:
            return self._places(kind, number, single, grouped)

        def joined(value: str, of_group: bool) -> list[str]:
            del of_group
            return [f"s{number} = {kind.join.format(a=f's{number}', b=value)};"]

        return [
            f"{kind.ctype} s{number} = {kind.first};",
            *self.loops(single, grouped, str(number), joined),
            f"const {kind.ctype} r{number} = {self._helper(kind)}(s{number});",
        ]

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

    def _helper(self, kind: Reduction) -> str:
        return kind.column_helper if self.columns else kind.helper

    def _places(
        self, kind: Reduction, number: int, single: "RowLoop", grouped: "RowLoop | None"
    ) -> list[str]:
        best, at, loop, extent = f"s{number}", f"p{number}", single.name, single.extent

        def compared(value: str, of_group: bool) -> list[str]:
            # Places come in their order, and the first one has no rival.
            place = f"{loop} + e" if of_group else loop
            return [
                f"if ({ahead(kind, best, value)}) {{", f"  {best} = {value};",
                f"  {at} = {place};", "}",
            ]  # fmt: skip

        first = self.first
        if grouped is not None and self.wide is not None:
            first = f"threadIdx.x * (wide ? {self.wide.width} : 1)"
        begin = [f"long long {at} = {first};"]  # no column has more warps than elements
        if not self.columns:
            begin = [
                f"const long long first{number} = {first};",
                f"long long {at} = first{number} < {extent} ? first{number} : {NOWHERE};",
            ]
        return [
            f"{kind.ctype} {best} = {kind.first};",
            *begin,
            *self.loops(single, grouped, str(number), compared),
            f"const long long r{number} = {self._helper(kind)}({best}, {at});",
        ]
