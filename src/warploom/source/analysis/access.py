"""Which of its parameters a kernel reads and writes through."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from warploom.source.analysis.levels import level, may_point, record_name
from warploom.source.analysis.places import Instance, Place, Places
from warploom.source.analysis.program import (
    FunctionDef,
    Program,
    arguments_of,
    callee_of,
    child,
    text_of,
)

_ATOMIC = re.compile(r"^(atomic\w+|red\w*_add|__stc[sg]|__stwt|__stwb|__stcg)$")
_STORE = re.compile(r"^__st\w+$")
_LOAD = re.compile(r"^__ld\w+$")
_MAX_DEPTH = 12


@dataclass(slots=True)
class Access:
    """What happens through one parameter (or one field of a struct parameter)."""

    reads: bool = False
    writes: bool = False


Accesses = dict[tuple[int, tuple[str, ...]], Access]


class KernelAccess:
    """Reads and writes of device functions, worked out once per function."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._known: dict[int, Accesses] = {}
        self._busy: set[int] = set()

    def of(self, function: FunctionDef) -> Accesses:
        """Return what a function does through each of its parameters."""
        key = id(function)
        if key in self._known:
            return self._known[key]
        if key in self._busy or len(self._busy) > _MAX_DEPTH:
            return {(p.parameter or 0, ()): Access(True, True) for p in function.parameters}
        self._busy.add(key)
        found = _Walk(self, function).run()
        self._busy.discard(key)
        self._known[key] = found
        return found


class _Walk:
    """One pass over a device function's body."""

    def __init__(self, kernels: KernelAccess, function: FunctionDef) -> None:
        self.kernels = kernels
        self.program = kernels.program
        self.function = function
        self.instance = Instance(function)
        self.places = Places(self.program)
        self.found: Accesses = {}

    def run(self) -> Accesses:
        """Return the accesses of the whole body."""
        for part in _with_lambdas(self.function):
            for variable in part.locals:
                self.places.initialize(variable, self.instance)
            for assignment in part.assignments:
                left, right = child(assignment, "left"), child(assignment, "right")
                if left is not None and right is not None:
                    self.places.assign(left, right, self.instance)
        self.visit(self.function.body)
        return self.found

    def visit(self, body: Node) -> None:
        """Look at every expression below `body`."""
        stack = [body]
        while stack:
            node = stack.pop()
            if node.type == "assignment_expression":
                self.assignment(node)
            elif node.type == "update_expression":
                target = child(node, "argument")
                if target is not None and self.is_memory(target):
                    self.mark(target, reads=True, writes=True)
            elif node.type == "call_expression":
                self.call(node)
            elif node.type == "gnu_asm_expression":
                self.inline_assembly(node)
            elif node.type in ("subscript_expression", "pointer_expression", "field_expression"):
                self.load(node)
            stack.extend(node.children)

    def is_memory(self, node: Node) -> bool:
        """Tell whether an expression names an element behind a pointer, not a variable."""
        while node.type in ("parenthesized_expression", "field_expression"):
            inner = child(node, "argument") or node.named_children[0]
            if node.type == "field_expression" and b"->" in (node.text or b""):
                return True
            node = inner
        if node.type == "identifier":
            variable = self.program.lookup(node)
            return (
                variable is not None
                and variable.parameter is not None
                and text_of(variable.declarator).startswith("&")
            )
        return node.type in ("subscript_expression", "pointer_expression")

    def assignment(self, node: Node) -> None:
        """Mark the target of an assignment to memory."""
        left, operator = child(node, "left"), child(node, "operator")
        if left is None or not self.is_memory(left):
            return
        compound = operator is not None and text_of(operator) != "="
        self.mark(left, reads=compound, writes=True)

    def load(self, node: Node) -> None:
        """Mark a use of memory as a read, unless it is the target of a store or an address."""
        outer = self.program.parent(node)
        while outer is not None and outer.type in (
            "subscript_expression", "field_expression", "parenthesized_expression",
        ):  # fmt: skip
            inner_is_index = child(outer, "argument")
            if inner_is_index is not None and inner_is_index.id != node.id:
                break
            node, outer = outer, self.program.parent(outer)
        if outer is None or not self.is_memory(node):
            return
        if outer.type == "assignment_expression":
            left = child(outer, "left")
            if left is not None and left.id == node.id:
                return
        if outer.type in ("pointer_expression", "update_expression"):
            return
        if outer.type == "pointer_expression" or level(self.program, node) > 0:
            return
        self.mark(node, reads=True, writes=False)

    def call(self, node: Node) -> None:
        """Mark what a call does to the memory that it is given."""
        name, owner = callee_of(node)
        listed = arguments_of(node)
        if _ATOMIC.match(name) or _STORE.match(name) or _LOAD.match(name):
            if listed:
                stores = _STORE.match(name) is not None
                loads = _LOAD.match(name) is not None
                self.mark(listed[0], reads=not stores, writes=not loads)
            return
        if name in ("memcpy", "memset") and listed:
            self.mark(listed[0], reads=False, writes=True)
            for source in listed[1:2]:
                self.mark(source, reads=True, writes=False)
            return
        callees = [f for f in self.program.functions_named(name) if f is not self.function]
        callees = [f for f in callees if len(f.parameters) == len(listed)] or callees
        for at, argument in enumerate(listed):
            if not may_point(self.program, argument):
                continue
            if callees:
                for callee in callees:
                    self.passed(argument, at, callee)
            elif owner is None and name and "cast" not in name:
                self.mark(argument, reads=True, writes=not self.is_const(argument))

    def passed(self, argument: Node, at: int, callee: FunctionDef) -> None:
        """Mark an argument with what the callee does through its parameter."""
        for (index, path), access in self.kernels.of(callee).items():
            if index == at:
                for place in self.places.roots_of(argument, self.instance):
                    self.mark_place(place.member(*path), access.reads, access.writes)

    def inline_assembly(self, node: Node) -> None:
        """Take every pointer that inline PTX is given as read and written."""
        for operand in _below(node, "gnu_asm_input_operand"):
            value = child(operand, "value")
            if value is not None and may_point(self.program, value):
                self.mark(value, reads=True, writes=True)

    def is_const(self, node: Node) -> bool:
        """Tell whether an argument leads to parameters declared `const T*` only."""
        owners = [p.owner for p in self.places.roots_of(node, self.instance)]
        return bool(owners) and all(
            not isinstance(o, str) and text_of(o.declaration).lstrip().startswith("const")
            for o in owners
        )

    def mark(self, node: Node, *, reads: bool, writes: bool) -> None:
        """Mark every parameter that an expression leads to."""
        for place in self.places.evaluate(node, self.instance):
            for root in self.places.roots(place):
                self.mark_place(root, reads, writes)

    def mark_place(self, place: Place, reads: bool, writes: bool) -> None:
        """Mark the parameter that a place belongs to."""
        owner = place.owner
        if isinstance(owner, str) or owner.parameter is None:
            return
        if owner.function is not self.function:
            return
        holder = record_name(self.program, owner.type)
        path = place.path[:1] if holder in self.program.records else ()
        access = self.found.setdefault((owner.parameter, path), Access())
        access.reads = access.reads or reads
        access.writes = access.writes or writes


def _with_lambdas(function: FunctionDef) -> Iterator[FunctionDef]:
    yield function
    for inner in function.lambdas:
        yield from _with_lambdas(inner)


def _below(node: Node, kind: str) -> Iterator[Node]:
    for inner in node.children:
        if inner.type == kind:
            yield inner
        yield from _below(inner, kind)
