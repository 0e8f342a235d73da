"""Warns where what a program communicates has the same value in every element."""

import re
from collections.abc import Iterator

from tree_sitter import Node

from warploom.source.analysis import api
from warploom.source.analysis.effects import Effect, Effects, kernels_named
from warploom.source.analysis.places import Place, Places
from warploom.source.analysis.program import (
    FunctionDef,
    Program,
    Variable,
    arguments_of,
    callee_of,
    child,
    launch_shape,
    text_of,
)
from warploom.source.analysis.slices import API, Dependences
from warploom.source.analysis.stores import varying_parameters
from warploom.source.analysis.trace import Trace
from warploom.source.records import Warn

_FILLS = frozenset({"fill", "fill_n", "memset"})
_DEVICE_KINDS = frozenset({"device", "async", "symmetric"})
_NEUTRAL = re.compile(
    r"^(free|delete|printf|fprintf|assert|size|data|begin|end|resize|reserve|clear|sizeof|"
    r"memset|fill|fill_n|at|get|empty|capacity|memcpy)$"
)


class InputChecks:
    """Decides whether buffers hold one value throughout, from everything that writes them."""

    def __init__(self, trace: Trace, effects: Effects, dependences: Dependences) -> None:
        self.trace = trace
        self.program: Program = trace.program
        self.places: Places = trace.places
        self.dependences = dependences
        self.effects = effects
        self._writers: dict[Place, list[Effect]] = {}
        for effect in effects.all:
            if effect.writes:
                self._writers.setdefault(effect.place, []).append(effect)
        self._device = self._device_memory()
        self._host: dict[Variable, bool] = {}
        self._known: dict[Place, bool] = {}
        self._kernels: dict[FunctionDef, tuple[bool, bool]] = {}

    def _device_memory(self) -> set[Place]:
        found: set[Place] = set()
        for step in self.trace.steps:
            signature = api.ALLOCATIONS.get(step.call.name)
            node = step.call.arg(signature.pointer) if signature else None
            if signature and node is not None and signature.kind in _DEVICE_KINDS:
                found.update(self.places.roots_of(node, step.instance))
        return found

    def constant(self) -> Iterator[Warn]:
        """Yield a warning for each call that sends a buffer of equal or of unset elements."""
        warned: set[tuple[int, str]] = set()
        for effect in self.effects.all:
            call = effect.step.call
            if effect.kind != "collective" or not effect.reads:
                continue
            name = self.places.label(effect.place)
            if (call.node.id, name) in warned:
                continue
            if self._is_unwritten(effect.place):
                warned.add((call.node.id, name))
                yield Warn(
                    "uninitialized_inputs",
                    call.path,
                    call.line,
                    f"nothing in the program writes {name}, which {call.name} sends",
                )
            elif self.is_constant(effect.place, frozenset()):
                warned.add((call.node.id, name))
                yield Warn(
                    "constant_inputs",
                    call.path,
                    call.line,
                    f"every element of {name}, which {call.name} sends, has the same value: "
                    "misplaced data would go unseen",
                )

    def _is_unwritten(self, place: Place) -> bool:
        """Tell whether a place is the device's own memory, and nobody is seen to write it."""
        return place in self._device and all(
            self._others(w) == [] for w in self._writers.get(place, [])
        )

    def is_constant(self, place: Place, busy: frozenset[Place]) -> bool:
        """Tell whether all that is ever written to a place makes its elements equal."""
        if place in busy:
            return True
        if place not in self._known:
            # A collective in place makes nothing: it passes on what was there.
            writers = [w for w in self._writers.get(place, []) if self._others(w) != []]
            around = busy | {place}
            found = bool(writers) and all(self._keeps(w, around) for w in writers)
            if busy:
                return found
            self._known[place] = found
        return self._known[place]

    def _keeps(self, writer: Effect, busy: frozenset[Place]) -> bool:
        call = writer.step.call
        if writer.kind == "fill":
            return True
        if writer.kind == "copy":
            source = call.arg(api.COPIES[call.name].src)
            return source is not None and self._source(source, writer, busy)
        if writer.kind == "collective":
            others = self._others(writer)
            return others is not None and all(self.is_constant(p, busy) for p in others)
        return writer.kind == "kernel" and self._kernel(writer, busy)

    def _others(self, writer: Effect) -> list[Place] | None:
        """Return what else a collective reads to write a place; None where that is not known."""
        if writer.kind != "collective" or writer.step.call.name == "ncclRecv":
            return None
        mine = [e.place for e in self.effects.all if e.step is writer.step and e.reads]
        return [p for p in mine if p != writer.place]

    def _source(self, node: Node, writer: Effect, busy: frozenset[Place]) -> bool:
        """Tell whether the source of a copy holds one value throughout."""
        slot = self.dependences.slot(node)
        roots = self.places.roots_of(node, writer.step.instance)
        device = [p for p in roots if p in self._writers and self.places.is_allocated(p)]
        if device:
            return all(self.is_constant(p, busy) for p in device)
        owners = [p.owner for p in roots if not isinstance(p.owner, str) and not p.path]
        if not owners and slot is not None and not slot[1]:
            owners = [slot[0]]
        return bool(owners) and all(self.is_constant_host(v) for v in owners)

    def _kernel(self, writer: Effect, busy: frozenset[Place]) -> bool:
        """Tell whether a kernel stores one value, given what it reads."""
        call = writer.step.call
        target = child(call.node, "function") if call.launch is not None else call.arg(0)
        if target is None:
            return False
        kernels = kernels_named(self.trace, writer.step, target, writer.name)
        if not kernels:
            return False
        for kernel in kernels:
            if kernel not in self._kernels:
                self._kernels[kernel] = varying_parameters(self.program, kernel)
            varies, loads = self._kernels[kernel]
            if varies:
                return False
            for effect in self.effects.all:
                mine = loads and effect.step is writer.step and effect.reads
                if mine and not self.is_constant(effect.place, busy):
                    return False
        return True

    def is_constant_host(self, variable: Variable) -> bool:
        """Tell whether a host array is only ever filled with one value."""
        if variable not in self._host:
            self._host[variable] = True  # An array that is copied to itself stays constant.
            self._host[variable] = self._constant_host(variable)
        return self._host[variable]

    def _constant_host(self, variable: Variable) -> bool:
        writes = 0
        init = variable.init
        if init is not None and init.type in ("argument_list", "parameter_list"):
            items = [n for n in init.named_children if n.type != "comment"]
            if len(items) == 2 and not self._value_varies(items[1], None):
                writes += 1
            elif len(items) > 2:
                return False
        elif init is not None and init.type == "initializer_list":
            return False
        elif init is not None and init.type == "call_expression":
            name, _ = callee_of(init)
            if self.program.functions_named(name):
                return False
        for function in self.program.all_functions():
            if function.kind != "host":
                continue
            for node in function.assignments:
                verdict = self._assignment(node, variable)
                if verdict is False:
                    return False
                writes += verdict is True
            for node in function.calls:
                verdict = self._call(node, variable)
                if verdict is False:
                    return False
                writes += verdict is True
        return writes > 0

    def _assignment(self, node: Node, variable: Variable) -> bool | None:
        """Judge an assignment to an element: constant, varying, or not about `variable`."""
        left, right = child(node, "left"), child(node, "right")
        if left is None or right is None or left.type == "identifier":
            return None
        slot = self.dependences.slot(left)
        if slot is None or slot != (variable, ""):
            return None
        if left.type == "subscript_expression" and _allocates(right):
            return None
        return not self._value_varies(right, left)

    def _call(self, node: Node, variable: Variable) -> bool | None:
        """Judge a call that is given a host array."""
        name, owner = callee_of(node)
        if launch_shape(node) is not None or (API.match(name) and name != "MPI_Bcast"):
            return None
        listed = arguments_of(node)
        if owner is not None:
            mine = self.dependences.slot(owner)
            if mine == (variable, "") and name in ("push_back", "emplace_back"):
                value = listed[0] if listed else None
                if value is None or _changes_in_loop(value, node):
                    return False
                return not self._value_varies(value, None)
            if mine == (variable, "") and name == "assign":
                return len(listed) == 2 and not self._value_varies(listed[1], None)
        touching = [at for at, n in enumerate(listed) if self.dependences.slot(n) == (variable, "")]
        if not touching or name.isupper():
            return None
        if name in _FILLS:
            return not self._value_varies(listed[-1] if name != "memset" else listed[1], None)
        callees = self.program.functions_named(name)
        if not callees:
            return None if _NEUTRAL.match(name) or _reads_only(listed, touching) else False
        verdicts = [self._parameter(c, at) for c in callees for at in touching]
        return False if False in verdicts else True if True in verdicts else None

    def _parameter(self, function: FunctionDef, at: int) -> bool | None:
        """Judge what a helper writes through its parameter."""
        if at >= len(function.parameters):
            return None
        parameter = function.parameters[at]
        if parameter in self._host:
            return None
        self._host[parameter] = True
        verdicts = [self._assignment(n, parameter) for n in function.assignments]
        verdicts += [self._call(n, parameter) for n in function.calls]
        del self._host[parameter]
        return False if False in verdicts else True if True in verdicts else None

    def _value_varies(self, value: Node, target: Node | None) -> bool:
        """Tell whether a stored value can differ between elements.

        It does if it calls something, reads an array, or depends on what chooses the element.
        """
        chosen: set[Variable] = set()
        if target is not None:
            for index in _below(target, "subscript_argument_list"):
                chosen |= {s[0] for s in self.dependences.slots(index)}
            base = self.dependences.slot(target)
            for pointer in _below(target, "pointer_expression"):  # *(buffer + index)
                chosen |= {s[0] for s in self.dependences.slots(pointer) if s != base}
        for call in _below(value, "call_expression"):
            name, _ = callee_of(call)
            function = child(call, "function")
            if function is not None and function.type == "primitive_type":
                continue
            if name not in ("static_cast", "__float2half", "float2half", "__float2bfloat16"):
                return True
        if any(True for _ in _below(value, "subscript_expression")):
            return True
        if any(True for _ in _below(value, "update_expression")):
            return True
        return self.dependences.reaches([value], {(v, "") for v in chosen})


def _changes_in_loop(value: Node, call: Node) -> bool:
    """Tell whether a value names a variable that a loop around the call changes."""
    names = {text_of(n) for n in _below(value, "identifier")}
    outer = call.parent
    while outer is not None and outer.type != "function_definition":
        if outer.type in ("for_statement", "while_statement", "do_statement"):
            changed = {
                text_of(n)
                for kind in ("update_expression", "assignment_expression")
                for change in _below(outer, kind)
                for n in _below(
                    child(change, "argument") or child(change, "left") or change, "identifier"
                )
            }
            if names & changed:
                return True
        elif outer.type == "for_range_loop":
            declared = child(outer, "declarator")
            if declared is not None and names & {
                text_of(n) for n in _below(declared, "identifier")
            }:
                return True
        outer = outer.parent
    return False


def _allocates(node: Node) -> bool:
    return node.type == "new_expression" or "alloc" in text_of(node)


def _reads_only(listed: list[Node], touching: list[int]) -> bool:
    """Tell whether a call is given elements by value only."""
    return all(
        listed[at].type == "subscript_expression" or listed[at].type == "binary_expression"
        for at in touching
    )


def _below(node: Node, kind: str) -> Iterator[Node]:
    if node.type == kind:
        yield node
    for inner in node.children:
        yield from _below(inner, kind)
