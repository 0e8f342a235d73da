"""Finds comparisons behind a verdict that look at no result: of a thing with itself, say."""

import re
from collections.abc import Iterable, Iterator

from tree_sitter import Node

from warploom.source.analysis import api
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
from warploom.source.analysis.slices import Dependences, Slot
from warploom.source.records import Warn

_COMPARES = frozenset({"==", "!=", "<", ">", "<=", ">="})
_LOOPS = frozenset({"for_statement", "while_statement", "do_statement", "for_range_loop"})
_LIBRARY = frozenset({"memcmp", "bcmp", "equal", "mismatch"})
_STATUS = re.compile(r"^(?:nccl|cuda|CUDA_|MPI_|CUBLAS_|errno)\w*$|^(?:nullptr|NULL)$")
_NUMBER = re.compile(r"^[-+(]*[\d.][\w.+-]*\)*$|^[A-Z][A-Z0-9_]+$|^k[A-Z]\w*$")
# What brings no result to the host, of functions whose text is not at hand.
_HARMLESS = re.compile(
    r"^(f?abs[fl]?|fm(ax|in|od)[fl]?|max|min|sqrt[fl]?|pow[fl]?|exp[fl]?|log\w*|sin[fl]?|cos[fl]?"
    r"|isnan|isinf|isfinite|round[fl]?|floor[fl]?|ceil[fl]?|size|length|begin|end|data|at|front|back"
    r"|empty|c_str|resize|reserve|push_back|assign|get|malloc|calloc|free|delete|new|memset|fill"
    r"|fill_n|iota|s?rand\w*|drand48|rand_r|f?s?n?printf|puts|to_string|\w+_cast|sizeof|float|double"
    r"|int|char|numeric_limits|epsilon|infinity|now|count|vector|string|memcmp|bcmp|equal|mismatch)$"
)
_MENTIONS = re.compile(r"\bcudaMemcpy(?:DeviceToHost|Default)\b|\bcuMemcpyDtoH\w*|\bthrust\b")
_DIRECT = frozenset({"HostToDevice", "host_to_device"})


class HollowChecks:
    """Looks at what a pass string depends on."""

    def __init__(self, program: Program, dependences: Dependences, goals: set[Slot]) -> None:
        self.program = program
        self.dependences = dependences
        self.goals = goals

    def without_results(
        self, literal: Node, conditions: Iterable[Node], function: FunctionDef
    ) -> Warn | None:
        """Return a warning where a verdict hangs on comparisons of which none sees a result."""
        nodes = [*conditions, *self._leaving(literal, function)]
        found = self._comparisons(nodes, function)
        if not found or not self._is_certain(nodes):
            return None
        return self._warn(found[0], text_of(literal))

    def of_itself(
        self, literal: Node, conditions: Iterable[Node], function: FunctionDef
    ) -> Warn | None:
        """Return a warning where each comparison of results has the same on both sides."""
        nodes = [*conditions, *self._leaving(literal, function)]
        found = [
            node
            for node in self._comparisons(nodes, function)
            if self.dependences.reaches([node], self.goals)
        ]
        if not found or not all(self._is_same(node) for node in found):
            return None
        return self._warn(found[0], text_of(literal))

    def _is_certain(self, nodes: list[Node]) -> bool:
        """Tell whether all is known of where the compared data comes from.

        Each read-back of the program has a known destination, and no function whose text is not at
        hand is given an array of the comparison or returns a part of it.
        """
        mentioned = sum(
            len(_MENTIONS.findall(file.text.decode("utf-8", "replace")))
            for file in self.program.files
        )
        functions = self.program.all_functions()
        known = sum(
            1
            for function in functions
            for call in function.calls
            if callee_of(call)[0] in api.COPIES and self._has_destination(call)
        )
        if mentioned > known:
            return False
        sources = self.dependences.sources(nodes)
        arrays = {slot[0] for node in sources for slot in self.dependences.slots(node)}
        made = [n for node in sources for n in _below(node) if n.type == "call_expression"]
        if any(self._is_unknown(call) for call in made):
            return False
        return not any(
            self._is_unknown(call) and self._is_given(call, arrays)
            for function in functions
            for call in function.calls
        )

    def _has_destination(self, call: Node) -> bool:
        signature, listed = api.COPIES[callee_of(call)[0]], arguments_of(call)
        text = text_of(call)
        if not _MENTIONS.search(text) or len(listed) <= signature.dst:
            return False
        return self.dependences.slot(listed[signature.dst]) is not None

    def _is_unknown(self, call: Node) -> bool:
        name, _ = callee_of(call)
        if name in api.COPIES or _HARMLESS.match(name):
            return False
        return not self.program.functions_named(name)

    def _is_given(self, call: Node, arrays: set[Variable]) -> bool:
        slots = (self.dependences.slot(argument) for argument in arguments_of(call))
        return any(
            slot is not None and slot[0] in arrays and self._holds(slot[0]) for slot in slots
        )

    def _holds(self, variable: Variable) -> bool:
        return bool(variable.dims or variable.pointers) or "vector" in variable.type

    def _warn(self, node: Node, verdict: str) -> Warn:
        function = self.program.function_at(node)
        assert function is not None
        file = function.file
        return Warn(
            "hollow_check",
            str(file.path),
            file.line_of(node.start_byte),
            f"{verdict} depends on '{text_of(node)}', which {self._why(node)}",
        )

    def _why(self, node: Node) -> str:
        if self._is_same(node):
            return "compares something with itself"
        sides = _sides(node)
        plain = all(_NUMBER.match(text_of(side)) or _is_element(side) for side in sides)
        if plain and any(_NUMBER.match(text_of(side)) for side in sides):
            return "compares no result with a constant: what it looks at never came from the device"
        return "looks at nothing that was read back from the device"

    def _leaving(self, literal: Node, function: FunctionDef) -> Iterator[Node]:
        """Yield conditions in loops before the verdict under which the function is left."""
        for test in function.file.nodes("if_statement", within=function.body):
            condition = child(test, "condition")
            body = child(test, "consequence")
            if condition is None or body is None or test.end_byte > literal.start_byte:
                continue
            in_loop = any(outer.type in _LOOPS for outer in self.program.ancestors(test))
            if in_loop and re.search(r"\b(return|exit|abort|MPI_Abort)\b", text_of(body)):
                yield condition

    def _comparisons(self, nodes: list[Node], function: FunctionDef) -> list[Node]:
        """Return the comparisons of data behind `nodes`: those of the function itself first."""
        found: dict[int, Node] = {}
        for node in self.dependences.sources(nodes):
            for inner in _below(node):
                if self._compares(inner):
                    found[inner.id] = inner
        here = [n for n in found.values() if self.program.function_at(n) is function]
        chosen = here or list(found.values())
        return sorted(chosen, key=lambda n: n.start_byte)

    def _compares(self, node: Node) -> bool:
        """Tell whether a node compares data: elements, or arrays by a call."""
        if node.type == "binary_expression":
            operator = child(node, "operator")
            if operator is None or text_of(operator) not in _COMPARES or self._is_loops(node):
                return False
            sides = _sides(node)
            if any(_STATUS.match(text_of(side)) for side in sides):
                return False
            return any(self._is_data(side) for side in sides)
        if node.type != "call_expression":
            return False
        name, _ = callee_of(node)
        known = name in _LIBRARY or bool(self.program.functions_named(name))
        return known and sum(self._is_array(a) for a in arguments_of(node)) >= 2

    def _is_loops(self, node: Node) -> bool:
        parent = self.program.parent(node)
        while parent is not None and parent.type in (
            "condition_clause",
            "parenthesized_expression",
        ):
            parent = self.program.parent(parent)
        return parent is not None and parent.type in _LOOPS

    def _is_data(self, node: Node) -> bool:
        """Tell whether an expression holds elements, or a value that was made from some."""
        if any(_is_element(inner) for inner in _below(node)):
            return True
        direct = [s for s in self.dependences.slots(node) if _is_floating(s[0])]
        made = self.dependences.sources([node]) if direct else []
        return any(_is_element(inner) for other in made for inner in _below(other))

    def _is_array(self, node: Node) -> bool:
        slot = self.dependences.slot(node)
        if slot is None:
            return False
        return self._holds(slot[0])

    def _is_same(self, node: Node) -> bool:
        """Tell whether both sides of a comparison (or what it subtracts) are the same thing."""
        if node.type == "call_expression":
            arrays = [a for a in arguments_of(node) if self._is_array(a)]
            return len({self._name(a) for a in arrays}) == 1
        left, right = _sides(node)
        if self._name(left) == self._name(right):
            return True
        made = [*_below(node), *(i for n in self.dependences.sources([node]) for i in _below(n))]
        subtractions = [
            n for n in made
            if n.type == "binary_expression"
            and text_of(child(n, "operator") or n) == "-"
            and any(_is_element(i) for i in _below(n))
        ]  # fmt: skip
        return bool(subtractions) and all(
            len({self._name(side) for side in _sides(n)}) == 1 for n in subtractions
        )

    def _name(self, node: Node) -> str:
        """Return what an expression names, with the original in place of a copy of results."""
        node = strip(node)
        slot = self.dependences.slot(node)
        text = text_of(node)
        if slot is None:
            return text
        original = self._copied(slot[0], node.start_byte)
        if original is None:
            return text
        return re.sub(rf"\b{re.escape(slot[0].name)}\b", original, text, count=1)

    def _copied(self, variable: Variable, before: int) -> str | None:
        """Return the name of the results that a variable is a copy of, taken after they came."""
        function = variable.function
        if function is None:
            return None
        made: list[tuple[Node, int]] = []
        if variable.init is not None:
            made.append((variable.init, variable.init.start_byte))
        for node in function.assignments:
            left, right = child(node, "left"), child(node, "right")
            slot = self.dependences.slot(left) if left is not None else None
            if slot is not None and slot[0] is variable and right is not None:
                made.append((right, node.start_byte))
        sources = {self._whole(node) for node, _ in made}
        if len(sources) != 1 or not made or self._is_passed(variable, function):
            return None
        [original] = sources
        came = [call.start_byte for call in function.calls if _reads_back(call, original or "")]
        at = made[0][1]
        if original is None or not came or not max(came) < at < before:
            return None
        return original

    def _whole(self, node: Node) -> str | None:
        """Return the variable that an initializer or a right side is as a whole."""
        inner = strip(node)
        if inner.type in ("argument_list", "initializer_list") and len(inner.named_children) == 1:
            inner = strip(inner.named_children[0])
        if inner.type == "subscript_expression":
            inner = strip(child(inner, "argument") or inner)
        return text_of(inner) if inner.type == "identifier" else None

    def _is_passed(self, variable: Variable, function: FunctionDef) -> bool:
        """Tell whether a call may change the variable: one that is not a comparison."""
        for call in function.calls:
            name, owner = callee_of(call)
            if name in _LIBRARY or (owner is not None and text_of(owner) == variable.name):
                continue
            slots = (self.dependences.slot(a) for a in arguments_of(call))
            if any(slot is not None and slot[0] is variable for slot in slots):
                return True
        return False


def _reads_back(call: Node, name: str) -> bool:
    signature = api.COPIES.get(callee_of(call)[0])
    listed = arguments_of(call)
    if signature is None or len(listed) <= signature.dst:
        return False
    text = text_of(call)
    to_device = any(word in text for word in _DIRECT)
    return (
        not to_device
        and re.search(rf"\b{re.escape(name)}\b", text_of(listed[signature.dst])) is not None
    )


def _sides(node: Node) -> list[Node]:
    return [strip(side) for name in ("left", "right") if (side := child(node, name)) is not None]


def _below(node: Node) -> Iterator[Node]:
    yield node
    for inner in node.children:
        yield from _below(inner)


def _is_element(node: Node) -> bool:
    """Tell whether a node is an element of an array, and no argument of the program."""
    if node.type == "subscript_expression":
        argument = child(node, "argument")
        return argument is None or not re.match(r"arg[vs]?\b", text_of(argument))
    return node.type == "pointer_expression" and text_of(node).startswith("*")


def _is_floating(variable: Variable) -> bool:
    return variable.type in ("float", "double", "auto") or "float" in variable.type
