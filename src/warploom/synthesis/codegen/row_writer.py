"""The reductions of a row: each a loop of the block, before what needs it."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from warploom.synthesis.codegen.draft import KernelDraft
from warploom.synthesis.codegen.graph import Node
from warploom.synthesis.codegen.groups import Groups, Wide
from warploom.synthesis.codegen.held import PLACE, Held, RowReads, bracketed
from warploom.synthesis.codegen.reductions import (
    NOWHERE,
    Reduction,
    ahead,
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

_DEFINED = re.compile(r"const [\w <>,]+ (\w+) = ")


@dataclass(frozen=True, slots=True)
class RowLoop:
    """A loop along a row: its variable, how far it goes, and what one element needs.

    `loads` are the statements before the elements of a group, `before` and `after` those around
    the loop over them. `places` is as `Groups` has it.
    """

    name: str
    extent: str
    lines: list[str]
    value: str
    loads: list[str] = field(default_factory=list[str])
    before: list[str] = field(default_factory=list[str])
    after: list[str] = field(default_factory=list[str])
    places: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])

    def held(self, held: Held) -> list[str]:
        """Return `loads` with the groups that a thread holds, of the number `turn`."""
        lines: list[str] = []
        for line in self.loads:
            found = _DEFINED.match(line)
            name = held.name(self.place(found[1])) if found and found[1] in self.places else ""
            lines.append(f"{line.split(' = ')[0]} = {name}[turn];" if name else line)
        return lines

    def place(self, name: str) -> str:
        """Return where a group is, with the loop's variable as `PLACE`."""
        return re.sub(rf"\b{self.name}\b", PLACE, self.places[name][0])

    def dtype(self, name: str) -> str:
        """Return the type of a group's elements."""
        return self.places[name][1]


LoopPart = tuple[RowLoop, RowLoop | None, Callable[[str, bool], list[str]]]
"""Element by element, by groups where it can be, and what is done with a value.

The last is told whether its value is one of a group.
"""


@dataclass(frozen=True, slots=True)
class _Reduced:
    """One reduction of a loop: what is before it, done with each value, and after it."""

    number: int
    single: RowLoop
    grouped: RowLoop | None
    begin: list[str]
    body: Callable[[str, bool], list[str]]
    end: list[str]

    def words(self) -> frozenset[str]:
        """Return the names that the loop uses."""
        lines = [*self.single.lines, self.single.value]
        if self.grouped is not None:
            lines += [*self.grouped.loads, *self.grouped.lines, self.grouped.value]
        return frozenset(word for line in lines for word in re.findall(r"\w+", line))


@dataclass(slots=True)
class _Shared:
    """Reductions that share one loop; it stands at the statement number `at` of the row."""

    at: int
    parts: list[_Reduced]

    def takes(self, one: _Reduced, lines: list[str]) -> bool:
        """Whether a reduction needs nothing that is only known after this loop."""
        first = self.parts[0]
        later = {f"r{part.number}" for part in self.parts}
        later |= {found[1] for line in lines[self.at :] if (found := _DEFINED.match(line))}
        alike = one.single.extent == first.single.extent
        return alike and (one.grouped is None) == (first.grouped is None) and (
            not later & one.words()
        )  # fmt: skip


def _same(one: RowLoop, name: str) -> list[str]:
    """Return what gives the place in the loop `name` to a loop that shares it."""
    return [] if one.name == name else [f"const Index {one.name} = {name};"]


class RowWriter:
    """Writes the reductions of a row, each before what needs it."""

    def __init__(
        self,
        draft: KernelDraft,
        rows: frozenset[str],
        wide: Wide | None = None,
        held: Held | None = None,
    ) -> None:
        self.draft = draft
        self.wide = wide
        self.held = held
        self.holds = False
        self.read = RowReads()
        self.first = "threadIdx.x"
        self.step = "blockDim.x"
        self.under_way = draft.tuning.turns
        self.rows = rows
        self.scope = Scope(rows)
        self.values: Values | None = None
        self.count = 0
        self.longest = "1"
        self.shared: list[_Shared] = []

    @property
    def lines(self) -> list[str]:
        """The statements of a row: its reductions, and what they need."""
        loops = {one.at: self._shared_lines(one) for one in self.shared}
        return [line for at, text in enumerate(self.scope.lines) for line in loops.get(at, [text])]

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
        self.draft.helpers[kind.helper] = helper_text(kind)
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
        one = self._reduced(kind, number, single, grouped)
        if self.shared and self.shared[-1].takes(one, self.scope.lines):
            self.shared[-1].parts.append(one)
        else:
            self.shared.append(_Shared(len(self.scope.lines), [one]))
            self.scope.lines.append("")  # where the loop will stand
        return f"r{number}"

    def _shared_lines(self, shared: _Shared) -> list[str]:
        """Return the loop of several reductions, with what is before and after it."""
        parts = shared.parts
        loops = [(one.single, one.grouped, one.body) for one in parts]
        return [
            *(line for one in parts for line in one.begin),
            *self.loops(loops, str(parts[0].number)),
            *(line for one in parts for line in one.end),
        ]

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
        groups = Groups(self.wide, tuple(names), tuple(sizes), single.name, outer)
        values.groups = groups
        value = value_in(inner)
        found = values.groups.loaded
        values.groups = before
        if not found:
            return None
        lines = inner.lines
        if any(re.search(rf"\b{name}\b", line) for name in names for line in lines):
            lines = [*split(f"({single.name} + e)", names, sizes), *lines]
        return RowLoop(single.name, single.extent, lines, value, outer.lines, places=groups.places)

    def loops(self, parts: "Sequence[LoopPart]", number: str) -> list[str]:
        """Return the loops of a row, alike for all `parts`: over its groups, and what is left."""
        single, grouped, _ = parts[0]
        name, extent = single.name, single.extent
        rest: list[str] = []
        for one, _, body in parts:
            rest += [*_same(one, name), *one.lines, *body(one.value, False)]
        if grouped is None or self.wide is None:
            return loop_lines(name, self.first, extent, self.step, rest)
        self.read.note(part[1] for part in parts)
        width, end = self.wide.width, f"whole{number}"
        step = f"{self.step} * {width}"
        begin, first = [f"#pragma unroll {self.under_way}"], f"{self.first} * {width}"
        if self.held is not None and self.held.extent == extent:
            self.holds = True
            begin = self.held.loop(name, self._whole(parts, self.held))
            first = self.held.beyond
        return [
            f"const Index {end} = wide ? {bracketed(extent)} / {width} * {width} : 0;",
            *begin,
            *loop_lines(name, first, end, step, self._whole(parts, None)),
            *loop_lines(name, f"{end} + {self.first}", extent, self.step, rest),
        ]

    def _whole(self, parts: "Sequence[LoopPart]", held: Held | None) -> list[str]:
        """Return what is done with a group."""
        assert self.wide is not None
        lines: list[str] = []
        for one, group, body in parts:
            if group is None:
                continue
            lines += [
                *_same(one, parts[0][0].name), *(group.held(held) if held else group.loads),
                *group.before, "#pragma unroll", f"for (int e = 0; e < {self.wide.width}; ++e) {{",
                *indented([*group.lines, *body(group.value, True)]), "}", *group.after,
            ]  # fmt: skip
        return lines

    def _reduced(
        self, kind: Reduction, number: int, single: "RowLoop", grouped: "RowLoop | None"
    ) -> _Reduced:
        """Return what reduces a row, and joins what the threads have."""
        if kind.places:
            return self._places(kind, number, single, grouped)

        def joined(value: str, of_group: bool) -> list[str]:
            del of_group
            return [f"s{number} = {kind.join.format(a=f's{number}', b=value)};"]

        return _Reduced(
            number, single, grouped, [f"{kind.ctype} s{number} = {kind.first};"], joined,
            [f"const {kind.ctype} r{number} = {kind.helper}(s{number});"],
        )  # fmt: skip

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

    def _places(
        self, kind: Reduction, number: int, single: "RowLoop", grouped: "RowLoop | None"
    ) -> _Reduced:
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
        begin = [
            f"{kind.ctype} {best} = {kind.first};",
            f"const long long first{number} = {first};",
            f"long long {at} = first{number} < {extent} ? first{number} : {NOWHERE};",
        ]
        end = [f"const long long r{number} = {kind.helper}({best}, {at});"]
        return _Reduced(number, single, grouped, begin, compared, end)
