"""What a host value depends on: data, and the conditions under which it is set."""

import re
from collections.abc import Iterable, Iterator

from tree_sitter import Node

from warploom.source.analysis.naming import strip
from warploom.source.analysis.program import (
    FunctionDef,
    Program,
    Variable,
    arguments_of,
    callee_of,
    child,
    text_of,
)

API = re.compile(
    r"^(?!\w*(?:Check|Assert|Safe|Try|Error_?Handler))(p?nccl|cuda|cu|cublas|MPI_)[A-Z]\w*$"
)
"""A function of CUDA, NCCL or MPI, and no program's own `cudaCheck`."""
_GOVERNING = frozenset(
    {"if_statement", "while_statement", "for_statement", "switch_statement", "do_statement",
     "conditional_expression"}
)  # fmt: skip

Slot = tuple[Variable, str]
"""A variable and one of its fields ("" for the variable itself)."""


class Dependences:
    """The host's dependence graph; `reaches` walks it backwards."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._edges: dict[Slot, set[Slot]] = {}
        self._links: dict[Variable, set[Variable]] = {}
        self._returns: dict[int, set[Slot]] = {}
        self._nodes: dict[Slot, list[Node]] = {}
        self._return_nodes: dict[int, list[Node]] = {}
        for function in program.all_functions():
            if function.kind == "host":
                self._index(function)

    def reaches(self, nodes: Iterable[Node], goals: set[Slot]) -> bool:
        """Tell whether an expression depends on one of `goals` (a field "" stands for all)."""
        wanted = {v for v, f in goals if not f}
        seen: set[Slot] = set()
        stack = [slot for node in nodes for slot in self.slots(node)]
        while stack:
            slot = stack.pop()
            if slot in seen:
                continue
            seen.add(slot)
            if slot in goals or slot[0] in wanted:
                return True
            stack.extend(self._edges.get(slot, ()))
            if slot[1]:
                stack.extend(self._edges.get((slot[0], ""), ()))
            stack.extend((linked, slot[1]) for linked in self._links.get(slot[0], ()))
        return False

    def sources(self, nodes: Iterable[Node]) -> list[Node]:
        """Return the expressions that these depend on, themselves included, the nearest first."""
        found: dict[int, Node] = {}
        waiting = list(nodes)
        while waiting:
            node = waiting.pop(0)
            if node.id in found:
                continue
            found[node.id] = node
            for slot in self.slots(node):
                near = (slot, (slot[0], ""))
                waiting += [n for s in near for n in self._nodes.get(s, ())]
                for linked in self._links.get(slot[0], ()):
                    waiting += self._nodes.get((linked, slot[1]), ())
            for name in _called(node):
                for function in self.program.functions_named(name):
                    waiting += self._return_nodes.get(id(function), ())
        return list(found.values())

    def slots(self, node: Node) -> Iterator[Slot]:
        """Yield what an expression reads; the status of an API call depends on nothing here."""
        stack = [node]
        while stack:
            inner = stack.pop()
            if inner.type in ("identifier", "field_expression"):
                slot = self.slot(inner)
                if slot is not None:
                    yield slot
                if inner.type == "identifier" or slot is not None:
                    continue
            if inner.type == "call_expression":
                name, _ = callee_of(inner)
                if API.match(name):
                    continue
                for function in self.program.functions_named(name):
                    yield from self._returns.get(id(function), ())
            if inner.type == "lambda_expression":
                continue
            stack.extend(inner.children)

    def slot(self, node: Node) -> Slot | None:
        """Return the variable (and first field) that an lvalue is about."""
        path = ""
        node = strip(node)
        while node.type in ("field_expression", "subscript_expression", "pointer_expression"):
            if node.type == "field_expression":
                name = child(node, "field")
                path = text_of(name) if name is not None else ""
            inner = child(node, "argument")
            if inner is None:
                return None
            node = strip(inner)
        if node.type == "binary_expression":
            left = child(node, "left")
            return self.slot(left) if left is not None else None
        if node.type == "call_expression":
            _, owner = callee_of(node)
            return self.slot(owner) if owner is not None else None
        variable = self.program.lookup(node) if node.type == "identifier" else None
        return (variable, path) if variable is not None else None

    def governing(self, node: Node, function: FunctionDef) -> Iterator[Node]:
        """Yield the conditions around a node inside of its function."""
        inner = node
        for outer in self.program.ancestors(node):
            if outer.id == function.body.id:
                return
            if outer.type in _GOVERNING:
                condition = child(outer, "condition")
                if condition is not None and condition.id != inner.id:
                    yield condition
            inner = outer

    def _add(self, target: Slot | None, sources: Iterable[Slot]) -> None:
        if target is not None:
            self._edges.setdefault(target, set()).update(sources)

    def _depend(self, target: Slot | None, node: Node) -> None:
        """Let `target` depend on an expression."""
        self._add(target, self.slots(node))
        if target is not None:
            self._nodes.setdefault(target, []).append(node)

    def _index(self, function: FunctionDef) -> None:
        for variable in function.locals:
            if variable.init is not None:
                self._add((variable, ""), self.slots(variable.init))
                self._nodes.setdefault((variable, ""), []).append(variable.init)
        for node in function.assignments:
            left, right = child(node, "left"), child(node, "right")
            if left is None or right is None:
                continue
            target = self.slot(left)
            self._depend(target, right)
            for condition in self.governing(node, function):
                self._depend(target, condition)
        for node in function.file.nodes("update_expression", within=function.body):
            inner = child(node, "argument")
            target = self.slot(inner) if inner is not None else None
            for condition in self.governing(node, function):
                self._depend(target, condition)
        returned = self._returns.setdefault(id(function), set())
        for node in function.returns:
            for value in (*node.named_children, *self.governing(node, function)):
                returned.update(self.slots(value))
                self._return_nodes.setdefault(id(function), []).append(value)
        for node in function.calls:
            self._call(node, function)

    def _call(self, node: Node, function: FunctionDef) -> None:
        name, owner = callee_of(node)
        listed = arguments_of(node)
        callees = self.program.functions_named(name)
        reads = {slot for argument in listed for slot in self.slots(argument)}
        if owner is not None:
            self._add(self.slot(owner), reads)
        for callee in callees:
            for parameter, argument in zip(callee.parameters, listed, strict=False):
                self._nodes.setdefault((parameter, ""), []).append(argument)
                self._edges.setdefault((parameter, ""), set()).update(self.slots(argument))
                target = self.slot(argument)
                if target is None:
                    continue
                # Struct fields keep their names on both sides; what the callee sets comes back.
                self._links.setdefault(parameter, set()).add(target[0])
                if parameter.pointers or parameter.dims or _is_reference(parameter):
                    self._links.setdefault(target[0], set()).add(parameter)
        if not callees and not (API.match(name) and not name.startswith("MPI_")):
            for argument in listed:
                if argument.type == "pointer_expression" and text_of(argument).startswith("&"):
                    self._add(self.slot(argument), reads)
                    for condition in self.governing(node, function):
                        self._add(self.slot(argument), self.slots(condition))


def _called(node: Node) -> Iterator[str]:
    if node.type == "call_expression":
        yield callee_of(node)[0]
    for inner in node.children:
        yield from _called(inner)


def _is_reference(variable: Variable) -> bool:
    return text_of(variable.declarator).startswith("&")
