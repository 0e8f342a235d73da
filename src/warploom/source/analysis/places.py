"""Where pointers lead: abstract places, and the value flow between them.

A place is a variable of one call of a function, and a path of fields. Elements of an array, and
the memory behind a pointer, are the same place as the array or pointer: a buffer is known by who
owns it, not by offset. Flow is taken without order (every assignment counts).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from tree_sitter import Node

from warploom.source.analysis.levels import (
    holds_pointers,
    implicit_field,
    may_point,
    record_name,
    variable_level,
    variable_type,
)
from warploom.source.analysis.naming import CASTS, PASSTHROUGH_METHODS
from warploom.source.analysis.program import (
    FunctionDef,
    Program,
    Variable,
    arguments_of,
    callee_of,
    child,
    text_of,
)

_MAX_ROOTS = 64
_NULLS = frozenset({"NULL", "nullptr", "true", "false", "stdout", "stderr"})


@dataclass(slots=True, eq=False)
class Instance:
    """One call of a function on the path from its entry: who called it, and with what."""

    function: FunctionDef
    caller: "Instance | None" = None
    site: Node | None = None
    bindings: dict[int, Node] = field(default_factory=dict[int, Node])
    this: "frozenset[Place]" = frozenset()
    callees: "dict[int, list[Instance]]" = field(default_factory=dict[int, "list[Instance]"])
    thread: bool = False
    depth: int = 0

    def chain(self) -> "Iterable[Instance]":
        """Yield this call and those around it, innermost first."""
        found: Instance | None = self
        while found is not None:
            yield found
            found = found.caller


@dataclass(frozen=True, slots=True)
class Place:
    """A variable (or a name that is declared nowhere), in one call, and a path of fields."""

    owner: Variable | str
    instance: Instance | None
    path: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The place as a reader would write it, such as `ctx.buf`."""
        owner = self.owner if isinstance(self.owner, str) else self.owner.name
        return ".".join((owner, *self.path))

    def member(self, *names: str) -> "Place":
        """Return the place of a field."""
        return Place(self.owner, self.instance, self.path + names)


def _depth(place: Place) -> int:
    return place.instance.depth if place.instance is not None else -1


class Places:
    """Evaluates pointer expressions to places, and follows places to their roots."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._sources: dict[Place, set[Place]] = {}
        self._allocated: set[Place] = set()
        self._roots: dict[Place, tuple[Place, ...]] = {}
        self._targets: dict[Place, list[Place]] = {}

    def flow(self, target: Place, source: Place) -> None:
        """Record that the value of `source` may be assigned to `target`."""
        if target != source:
            known = self._sources.setdefault(target, set())
            if source not in known:
                known.add(source)
                self._targets.setdefault(source, []).append(target)

    def assign(self, left: Node, right: Node, instance: Instance) -> None:
        """Record an assignment between two expressions."""
        if not (may_point(self.program, left) and may_point(self.program, right)):
            return
        sources = self.evaluate(right, instance)
        for target in self.evaluate(left, instance):
            for source in sources:
                self.flow(target, source)

    def initialize(self, variable: Variable, instance: Instance) -> None:
        """Record the initializer of a declared variable."""
        init = variable.init
        if init is None:
            return
        if variable_level(self.program, variable) <= 0 and not holds_pointers(
            self.program, variable
        ):
            return
        here = self._home(variable, instance)
        if init.type in ("initializer_list", "argument_list", "parameter_list"):
            self._aggregate(here, variable, init, instance)
        elif may_point(self.program, init):
            for source in self.evaluate(init, instance):
                self.flow(here, source)

    def _aggregate(self, here: Place, variable: Variable, init: Node, instance: Instance) -> None:
        record = self.program.records.get(
            record_name(self.program, variable_type(self.program, variable))
        )
        names = list(record.fields) if record and not variable.dims else []
        items = [n for n in init.named_children if n.type != "comment"]
        for at, item in enumerate(items):
            target, value = here, item
            if item.type == "initializer_pair":
                label, inner = child(item, "designator"), child(item, "value")
                if label is None or inner is None:
                    continue
                target, value = here.member(text_of(label).lstrip(".")), inner
            elif at < len(names):
                target = here.member(names[at])
            if value.type == "initializer_list":
                continue
            if may_point(self.program, value):
                for source in self.evaluate(value, instance):
                    self.flow(target, source)

    def allocate(self, node: Node, instance: Instance) -> None:
        """Record that an expression's place is allocated: it owns memory of its own."""
        for place in self.evaluate(node, instance):
            inner = node
            while inner.type in ("cast_expression", "parenthesized_expression"):
                inner = child(inner, "value") or inner.named_children[0]
            by_address = inner.type == "pointer_expression" and text_of(inner).startswith("&")
            self._allocated.update(self._owners(place, by_address))
        self._roots.clear()

    def _owners(self, place: Place, by_address: bool) -> set[Place]:
        """Return the places that hold the pointer which an allocation sets."""
        prefixes = [s for cut in range(len(place.path)) for s in self._sources_at(place, cut)]
        if not by_address or self._is_reference(place):
            prefixes += self._sources.get(place, set())
        if not prefixes:
            return {place}
        return {root for found in prefixes for root in self.roots(found)}

    def _sources_at(self, place: Place, cut: int) -> list[Place]:
        """Return what flows into `place` by assignments to its first `cut` fields."""
        prefix = Place(place.owner, place.instance, place.path[:cut])
        return [s.member(*place.path[cut:]) for s in self._sources.get(prefix, ())]

    def _is_reference(self, place: Place) -> bool:
        if isinstance(place.owner, str) or place.path:
            return False
        return text_of(place.owner.declarator).lstrip().startswith("&")

    def roots(self, place: Place) -> tuple[Place, ...]:
        """Return the places at which the flow into `place` begins, in a stable order."""
        known = self._roots.get(place)
        if known is None:
            found: dict[Place, None] = {}
            self._follow(place, found)
            known = self._roots[place] = tuple(found)
        return known

    def _follow(self, start: Place, found: dict[Place, None]) -> None:
        seen: set[Place] = set()
        stack = [start]
        while stack and len(found) < _MAX_ROOTS:
            place = stack.pop()
            if place in seen or len(place.path) > 8:
                continue
            seen.add(place)
            cuts = range(len(place.path) + 1)
            sources = [s for cut in cuts for s in self._sources_at(place, cut)]
            if place in self._allocated or not sources:
                found[place] = None
            stack.extend(sorted(sources, key=lambda p: p.name, reverse=True))
        if not found:
            found[start] = None

    def label(self, place: Place) -> str:
        """Return a reader's name for a place: what a helper makes is called as its taker does."""
        return self.taker(place).name

    def taker(self, place: Place) -> Place:
        """Return the place that what a helper makes ends in, nearest to the entry."""
        best, seen, waiting = place, {place}, [place]
        while waiting:
            here = waiting.pop(0)
            if _depth(here) < _depth(best):
                best = here
            for target in self._targets.get(here, ()):
                if target not in seen and len(seen) < _MAX_ROOTS:
                    seen.add(target)
                    waiting.append(target)
        return best

    def roots_of(self, node: Node, instance: Instance) -> tuple[Place, ...]:
        """Return the roots of every place that an expression may lead to."""
        if not may_point(self.program, node):
            return ()
        found: dict[Place, None] = {}
        for place in self.evaluate(node, instance):
            found.update(dict.fromkeys(self.roots(place)))
        return tuple(found)

    def is_allocated(self, place: Place) -> bool:
        """Tell whether a place owns memory that the program allocates on or for a device."""
        return place in self._allocated

    def evaluate(self, node: Node, instance: Instance) -> frozenset[Place]:
        """Return the places that an expression may be about."""
        kind = node.type
        if kind in ("identifier", "field_identifier"):
            return self._identifier(node, instance)
        if kind == "this":
            return self._this(instance)
        if kind == "field_expression":
            owner, name = child(node, "argument"), child(node, "field")
            if owner is None or name is None:
                return frozenset()
            return frozenset(p.member(text_of(name)) for p in self.evaluate(owner, instance))
        if kind == "conditional_expression":
            arms = [child(node, n) for n in ("consequence", "alternative")]
            return self._union((a for a in arms if a is not None), instance)
        if kind == "binary_expression":
            return self._sum(node, instance)
        if kind == "call_expression":
            return self._call(node, instance)
        if kind == "assignment_expression":
            return self._union([n for n in [child(node, "left")] if n is not None], instance)
        if kind in ("pointer_expression", "subscript_expression"):
            inner = child(node, "argument")
            return self.evaluate(inner, instance) if inner else frozenset()
        if kind == "cast_expression":
            inner = child(node, "value")
            return self.evaluate(inner, instance) if inner else frozenset()
        if kind in ("initializer_list", "argument_list", "compound_literal_expression"):
            return self._union(node.named_children, instance)
        if kind in ("parenthesized_expression", "comma_expression") and node.named_children:
            return self.evaluate(node.named_children[-1], instance)
        return frozenset()

    def _union(self, nodes: Iterable[Node], instance: Instance) -> frozenset[Place]:
        found: set[Place] = set()
        for node in nodes:
            found |= self.evaluate(node, instance)
        return frozenset(found)

    def _sum(self, node: Node, instance: Instance) -> frozenset[Place]:
        operator = child(node, "operator")
        if operator is None or text_of(operator) not in "+-":
            return frozenset()
        sides = [s for n in ("left", "right") if (s := child(node, n)) is not None]
        for side in sides:
            if may_point(self.program, side):
                found = self.evaluate(side, instance)
                if found:
                    return found
        return frozenset()

    def _home(self, variable: Variable, instance: Instance) -> Place:
        """Return the place of a variable in the call that declares it."""
        if variable.function is None:
            return Place(variable, None)
        for outer in instance.chain():
            if outer.function is variable.function:
                return Place(variable, outer)
        return Place(variable, instance)

    def _identifier(self, node: Node, instance: Instance) -> frozenset[Place]:
        name = text_of(node)
        variable = self.program.lookup(node)
        if variable is None:
            if implicit_field(self.program, node) is not None:
                return frozenset(p.member(name) for p in self._this(instance))
            if name in _NULLS or name.isupper() or self.program.functions_named(name):
                return frozenset()
            return frozenset({Place(name, None)})
        here = self._home(variable, instance)
        if variable.parameter is None or here.instance is None:
            return frozenset({here})
        argument = here.instance.bindings.get(variable.parameter)
        if argument is None or here.instance.caller is None:
            return frozenset({here})
        return self.evaluate(argument, here.instance.caller)

    def _this(self, instance: Instance) -> frozenset[Place]:
        for outer in instance.chain():
            if outer.function.record:
                return outer.this or frozenset({Place(outer.function.record, None)})
        return frozenset()

    def _call(self, node: Node, instance: Instance) -> frozenset[Place]:
        name, owner = callee_of(node)
        listed = arguments_of(node)
        if name in CASTS and len(listed) == 1:
            return self.evaluate(listed[0], instance)
        callees = instance.callees.get(node.id, [])
        if not callees and owner is not None and name in PASSTHROUGH_METHODS:
            return self.evaluate(owner, instance)
        found: set[Place] = set()
        for callee in callees:
            for returned in callee.function.returns:
                for value in returned.named_children:
                    if may_point(self.program, value):
                        found |= self.evaluate(value, callee)
        return frozenset(found)
