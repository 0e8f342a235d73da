"""Warns where a program's verdict does not come from its results."""

import re
from collections.abc import Iterable, Iterator

from tree_sitter import Node

from warploom.source.analysis import api
from warploom.source.analysis.check_hollow import HollowChecks
from warploom.source.analysis.effects import Effects
from warploom.source.analysis.places import Place
from warploom.source.analysis.program import FunctionDef, Program, callee_of, child, text_of
from warploom.source.analysis.sites import Call
from warploom.source.analysis.slices import API, Dependences, Slot
from warploom.source.analysis.trace import Trace
from warploom.source.records import Warn

_PASS = re.compile(
    r"\bPASS(ED)?\b|\b[Pp]assed\b|(?i:\bsuccess\b)|(?i:\bcorrect(ly)?\b)|(?i:\bverified\b)"
    r"|(?i:(test|verif|result|check|complet|finish|all)\w*\b.*\b(ok|successful(ly)?)\b)"
)
_SETUP = re.compile(r"(?i)initiali|creat|connect|alloc|regist|destroy|clean|finaliz|set.?up|loaded")
_EXITS = re.compile(r"^(exit|_exit|abort|MPI_Abort|quick_exit|terminate)$")
_LEAVES = frozenset(
    {"return_statement", "goto_statement", "throw_statement", "break_statement",
     "continue_statement"}
)  # fmt: skip
_TO_HOST = frozenset({"cudaMemcpyDeviceToHost", "cudaMemcpyDefault", "device_to_host"})
_MAX_CALLERS = 4


class ResultChecks:
    """Checks that a pass string is guarded by results, and that results are read at all."""

    def __init__(self, trace: Trace, effects: Effects, dependences: Dependences) -> None:
        self.trace = trace
        self.program: Program = trace.program
        self.effects = effects
        self.dependences = dependences
        self.goals = self._goals()
        self.hollow = HollowChecks(self.program, dependences, self.goals)
        self._callers: dict[str, list[tuple[Node, FunctionDef]]] = {}
        for function in self.program.all_functions():
            for node in function.calls:
                self._callers.setdefault(callee_of(node)[0], []).append((node, function))

    def _goals(self) -> set[Slot]:
        """Return the host variables that hold results, or that code elsewhere derives from them."""
        found: set[Slot] = set()
        managed = {"managed", "pinned", "mapped"}
        for step in self.trace.steps:
            call = step.call
            signature = api.ALLOCATIONS.get(call.name)
            node: Node | None = None
            if signature is not None and signature.kind in managed:
                node = call.arg(signature.pointer)
            copy = api.COPIES.get(call.name)
            if copy is not None and copy.src is not None:
                kind = copy.direction or (call.text(copy.kind) or "")
                if "HostToDevice" not in kind and "host_to_device" not in kind:
                    node = call.arg(copy.dst)
            if node is None:
                continue
            slot = self.dependences.slot(node)
            if slot is not None:
                found.add(slot)
            found |= set(_slots(self.trace.places.roots_of(node, step.instance)))
        return found

    def unguarded(self) -> Iterator[Warn]:
        """Yield a warning for each pass string that is printed whatever the results are.

        Where it hangs on a comparison, that is what is named.
        """
        for function in self.program.functions:
            if function.kind != "host" or id(function) in self.program.macros:
                continue
            for literal in function.file.nodes("string_literal", within=function.body):
                text = text_of(literal)
                if not _PASS.search(text) or _SETUP.search(text):
                    continue
                if self.program.function_at(literal) is not function:
                    continue
                if not self._printed(literal):
                    continue
                conditions = list(self.dependences.governing(literal, function))
                if self._guarded(literal, function, 0):
                    hollow = self.hollow.of_itself(literal, conditions, function)
                    if hollow is not None:
                        yield hollow
                    continue
                hollow = self.hollow.without_results(literal, conditions, function)
                if hollow is not None:
                    yield hollow
                else:
                    yield Warn(
                        "unguarded_pass",
                        str(function.file.path),
                        function.file.line_of(literal.start_byte),
                        f"{text} is printed without a comparison of results that guards it",
                    )

    def _printed(self, literal: Node) -> bool:
        """Tell whether a string is an argument, is streamed, or is chosen between."""
        for outer in self.program.ancestors(literal):
            if outer.type in ("argument_list", "conditional_expression"):
                return True
            if outer.type == "binary_expression":
                operator = child(outer, "operator")
                return operator is not None and text_of(operator) == "<<"
            if outer.type.endswith("_statement") or outer.type == "declaration":
                return outer.type == "return_statement"
        return False

    def _guarded(self, node: Node, function: FunctionDef, depth: int) -> bool:
        """Tell whether a place is only reached when a comparison of results allows it."""
        conditions = list(self.dependences.governing(node, function))
        if self.dependences.reaches(conditions, self.goals):
            return True
        if any(self._unknown_verdict(c) for c in conditions):
            return True
        if self._exits_before(node, function):
            return True
        callers = [(n, f) for n, f in self._callers.get(function.name, []) if f is not function]
        if not callers or depth >= _MAX_CALLERS:
            return False
        return all(self._guarded(n, f, depth + 1) for n, f in callers)

    def _unknown_verdict(self, condition: Node) -> bool:
        """Tell whether a condition asks a function of another file about device memory."""
        for call in _calls_below(condition):
            name, _ = callee_of(call)
            if API.match(name) or self.program.functions_named(name):
                continue
            if self._takes_device(call):
                return True
        return False

    def _takes_device(self, call: Node) -> bool:
        for step in self.trace.by_call.get(call.id, ()):
            for argument in step.call.args:
                roots = self.trace.places.roots_of(argument, step.instance)
                if any(self.trace.places.is_allocated(p) for p in roots):
                    return True
        return False

    def _exits_before(self, node: Node, function: FunctionDef) -> bool:
        """Tell whether something before a place leaves when results are wrong."""
        for test in function.file.nodes("if_statement", within=function.body):
            condition = child(test, "condition")
            if condition is None or test.end_byte > node.start_byte:
                continue
            if _leaves(test) and self.dependences.reaches([condition], self.goals):
                return True
        for call in function.calls:
            if call.end_byte > node.start_byte:
                continue
            name, _ = callee_of(call)
            listed = child(call, "arguments")
            tests = "assert" in name.lower() or name.isupper()
            if tests and listed is not None and self.dependences.reaches([listed], self.goals):
                return True
            for callee in self.program.functions_named(name):
                if self._exits_inside(callee, {id(function)}):
                    return True
        return False

    def _exits_inside(self, function: FunctionDef, busy: set[int]) -> bool:
        """Tell whether a function ends the program when results are wrong."""
        if function.kind != "host" or id(function) in busy:
            return False
        busy.add(id(function))
        for call in function.calls:
            name, _ = callee_of(call)
            if _EXITS.match(name) or "assert" in name.lower():
                tests = list(self.dependences.governing(call, function))
                listed = child(call, "arguments")
                if "assert" in name.lower() and listed is not None:
                    tests.append(listed)
                if self.dependences.reaches(tests, self.goals):
                    return True
            elif any(self._exits_inside(f, busy) for f in self.program.functions_named(name)):
                return True
        return False

    def unread(self) -> Iterator[Warn]:
        """Yield a warning for each collective whose result never gets to the host."""
        used = self._read_places()
        warned: set[int] = set()
        for effect in self.effects.all:
            call = effect.step.call
            if effect.kind != "collective" or not effect.writes or call.node.id in warned:
                continue
            mine = [e for e in self.effects.all if e.step.call.node.id == call.node.id and e.writes]
            if any(e.place in used for e in mine):
                continue
            warned.add(call.node.id)
            buffer = self.trace.places.label(effect.place)
            yield Warn(
                "no_readback",
                call.path,
                call.line,
                f"what {call.name} leaves in {buffer} is never read back to the host, "
                "directly or through later work",
            )

    def _read_places(self) -> set[Place]:
        """Return the places whose content gets to the host, followed backwards from there."""
        used: set[Place] = set()
        by_step: dict[int, list[int]] = {}
        effects = self.effects.all
        for at, effect in enumerate(effects):
            # What a rank receives is what another one sent, by the same program.
            paired = effect.step.call.name in ("ncclSend", "ncclRecv")
            by_step.setdefault(-1 if paired else effect.step.index, []).append(at)
            if effect.reads and (effect.kind in ("mpi", "call") or _is_readback(effect.step.call)):
                used.add(effect.place)
        used |= self._escaping()
        changed = True
        while changed:
            changed = False
            for indices in by_step.values():
                mine = [effects[i] for i in indices]
                if any(e.writes and e.place in used for e in mine):
                    new = {e.place for e in mine if e.reads} - used
                    changed = changed or bool(new)
                    used |= new
        return used

    def _escaping(self) -> set[Place]:
        """Return device buffers that the host can read in place."""
        found: set[Place] = set()
        for step in self.trace.steps:
            call = step.call
            signature = api.ALLOCATIONS.get(call.name)
            pointer = call.arg(signature.pointer) if signature else None
            if call.name == "cudaHostRegister":
                pointer = call.arg(0)
            elif not signature or signature.kind not in ("managed", "pinned"):
                pointer = None
            if pointer is not None:
                found.update(self.trace.places.roots_of(pointer, step.instance))
        return found | {e.place for e in self.effects.all if _is_managed(e.place)}


def _is_managed(place: Place) -> bool:
    """Tell whether a place is a variable that the host reads in place."""
    owner = place.owner
    return not isinstance(owner, str) and "__managed__" in text_of(owner.declaration)


def _is_readback(call: Call) -> bool:
    signature = api.COPIES.get(call.name)
    if signature is None or signature.src is None:
        return False
    kind = signature.direction or call.text(signature.kind) or ""
    return "FromSymbol" in call.name or kind in _TO_HOST


def _slots(places: Iterable[Place]) -> Iterator[Slot]:
    for place in places:
        if not isinstance(place.owner, str):
            yield place.owner, place.path[0] if place.path else ""


def _calls_below(node: Node) -> Iterator[Node]:
    if node.type == "call_expression":
        yield node
    for inner in node.children:
        yield from _calls_below(inner)


def _leaves(node: Node) -> bool:
    if node.type in _LEAVES:
        return True
    if node.type == "call_expression" and _EXITS.match(callee_of(node)[0]):
        return True
    return any(_leaves(inner) for inner in node.children)
