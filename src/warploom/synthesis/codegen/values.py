"""Values of nodes at indices, as statements: everything that is not a reduction is inlined here."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from warploom.synthesis.codegen import ctypes_of, pointwise
from warploom.synthesis.codegen.collective_names import COLLECTIVES
from warploom.synthesis.codegen.graph import Graph, Node
from warploom.synthesis.codegen.groups import Groups
from warploom.synthesis.codegen.ranges import Test, is_never_negative, needed
from warploom.synthesis.codegen.refusal import BeyondRulesError
from warploom.synthesis.codegen.scope import (
    Index,
    MaterializeError,
    Scope,
    c_size,
    linear,
    variables,
)

IDENTITIES = frozenset(
    {"clone", "alias", "detach", "lift_fresh_copy", "contiguous", "_to_copy", "copy", "to"}
)
REDUCTIONS = frozenset({"sum", "amax", "amin", "prod", "any", "all", "argmax", "argmin", "max",
                        "min"})  # fmt: skip
PRODUCTS = frozenset({"mm", "bmm"})
SCANS = frozenset({"cumsum", "cumprod"})
_OF_SIZE = re.compile(r"static_cast<[\w ]+>\((.+)\)")
Reached = Callable[[Node, Index, Scope, str], str]


class Tiles(Protocol):
    """Inputs of which tiles lie in shared memory."""

    def element(self, node: Node, pointer: str, index: Index) -> str | None:
        """Return where an element lies there; None where it is read as usual."""
        ...


class Values:
    """Computes values of nodes; `reached` says what a reduction, product or scan is worth.

    `buffers` are the nodes that lie in memory, `reads` those that were loaded. With `flat`, an
    index is the place of the element in memory, alike for all tensors. In a loop over `groups`,
    neighbors are loaded as one. `layouts` are the operations that read another element of a tensor.
    """

    def __init__(
        self,
        graph: Graph,
        buffers: dict[str, str],
        root: Node,
        reached: Reached,
        layouts: "Mapping[str, Layout]",
    ) -> None:
        self.graph = graph
        self.buffers = buffers
        self.root = root
        self.reached = reached
        self.layouts = layouts
        self.reads: dict[str, Node] = {}
        self.merged: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}
        self.flat = False
        self.groups: Groups | None = None
        self.turned: Tiles | None = None
        self._of_groups: set[str] = set()

    def inside(self, given: Sequence[Test], scope: Scope, guard: str) -> str | None:
        """Return the name of a condition, beside `guard`: an index, a sign and a bound for each.

        Where it holds for all elements of a group or for none, it is known before they are loaded.
        It is `guard` itself where it always holds then, and None where it never does.
        """
        tests = needed(given, scope.known_extents())
        if not tests:
            return None if tests is None else guard
        text = " && ".join(" ".join(test) for test in tests)
        groups = self.groups
        grouped = groups is not None and scope.parent is groups.outer
        if groups is not None and grouped and (not guard or guard in self._of_groups):
            alike = groups.alike(tests)
            if alike is not None:
                scope, text = groups.outer, alike
        name = scope.define("bool", f"{guard} && ({text})" if guard else text)
        if groups is not None and scope is groups.outer:
            self._of_groups.add(name)
        return name

    def value(self, node: Node, index: Index, scope: Scope, guard: str = "") -> str:
        """Return the name of the value of `node` at `index`, of its computed type.

        With a `guard` the value is used only where that holds, and memory is read only there.
        """
        if not guard and not self.flat:
            scope.note(index, node.sizes)
        key = (node.name, index, guard)
        known = scope.known(key)
        if known is not None:
            return known
        outer = scope.parent
        if outer is not None and not guard and variables(index) <= outer.bound:
            return self.value(node, index, outer)
        result = self._value(node, index, scope, guard)
        scope.memo[key] = result
        return result

    def _value(self, node: Node, index: Index, scope: Scope, guard: str) -> str:
        if node.op == "input" or (node.name in self.buffers and node is not self.root):
            return self._load(node, index, scope, guard)
        if node.op in COLLECTIVES:
            raise MaterializeError(node)
        if node.op in REDUCTIONS | PRODUCTS | SCANS:
            return self.reached(node, index, scope, guard)
        if node.op in IDENTITIES:
            return self._cast(node, index, scope, guard)
        if node.op in self.layouts:
            return self.layouts[node.op](self, node, index, scope, guard)
        return self._pointwise(node, index, scope, guard)

    def _load(self, node: Node, index: Index, scope: Scope, guard: str) -> str:
        self.reads[node.name] = node
        at = index[0] if self.flat and node.sizes else linear(index, node.sizes)
        ctype = ctypes_of.computed(node.dtype)
        place = f"{self.pointer(node)}[{at}]"
        if self.turned is not None and not guard:
            place = self.turned.element(node, self.pointer(node), index) or place
        grouped = self.groups is not None and scope.parent is self.groups.outer
        if self.groups is not None and grouped and (not guard or guard in self._of_groups):
            group = self.groups.load(node, self.pointer(node), index, guard) if node.sizes else None
            if group is not None:
                place, guard = f"{group}.at[e]", ""
        text = ctypes_of.load(node.dtype, place)
        if guard:
            text = f"{guard} ? {text} : {pointwise.literal(0, node.dtype)}"
        return scope.define(ctype, text)

    def pointer(self, node: Node) -> str:
        """Return the name of the parameter that points to a node's elements."""
        return self.buffers.get(node.name, f"in_{node.name}")

    def operand(
        self, argument: Any, dtype: str, node: Node, index: Index, scope: Scope, guard: str
    ) -> str:
        """Return an operand of a pointwise operation, converted to `dtype`."""
        found = self.graph.node_of(argument)
        ctype = ctypes_of.computed(dtype)
        if found is None:
            return self.number(argument, dtype, node)
        if found.op == "scalar":
            return self.number(found.args[0], dtype, node)
        text = self.value(found, self.broadcast(found, node, index), scope, guard)
        if ctypes_of.computed(found.dtype) == ctype:
            return text
        if dtype == "bool":
            return f"({text} != 0)"
        return f"static_cast<{ctype}>({text})"

    def broadcast(self, found: Node, node: Node, index: Index) -> Index:
        """Return the index into an operand where the result has `index`."""
        if self.flat:
            return index if found.sizes else ()
        skip = len(node.sizes) - len(found.sizes)
        return tuple(
            "0" if size == "1" else index[skip + at] for at, size in enumerate(found.sizes)
        )

    def number(self, argument: Any, dtype: str, node: Node) -> str:
        """Return a number or a size as C text."""
        if isinstance(argument, dict) and "sym" in argument:
            text = c_size(str(argument["sym"]))  # pyright: ignore[reportUnknownArgumentType]
            return f"static_cast<{ctypes_of.computed(dtype)}>({text})"
        if isinstance(argument, dict) and "float" in argument:
            return pointwise.literal(float(str(argument["float"])), dtype)  # pyright: ignore[reportUnknownArgumentType]
        if isinstance(argument, bool | int | float):
            return pointwise.literal(argument, dtype)
        raise BeyondRulesError(f"{node.op} with the argument {argument!r}", line=node.line)

    def dtype_of(self, argument: Any, beside: str) -> str:
        """Return the type of an operand; of a number, what it becomes beside the type `beside`."""
        found = self.graph.node_of(argument)
        if found is not None and found.op != "scalar":
            return found.dtype
        value = found.args[0] if found is not None else argument
        floating = isinstance(value, float) or (isinstance(value, dict) and "float" in value)
        if floating and beside not in ctypes_of.FLOATING:
            return "float32"
        return "int64" if beside == "bool" and not isinstance(value, bool) else beside

    def _meeting(self, node: Node, count: int = 2) -> str:
        """Return the type in which the operands of a comparison meet."""
        tensors = [self.graph.node_of(arg) for arg in node.args[:count]]
        known = [t.dtype for t in tensors if t is not None and t.op != "scalar"]
        beside = ctypes_of.promoted(known)
        return ctypes_of.promoted([self.dtype_of(arg, beside) for arg in node.args[:count]])

    def _cast(self, node: Node, index: Index, scope: Scope, guard: str) -> str:
        text = self.operand(node.args[0], node.dtype, node, index, scope, guard)
        source = self.graph.node_of(node.args[0])
        if source is None or source.dtype == node.dtype:
            return text
        exact = ctypes_of.rounded(node.dtype, text)
        return scope.define(ctypes_of.computed(node.dtype), exact)

    def _pointwise(self, node: Node, index: Index, scope: Scope, guard: str) -> str:
        def arg(at: int, dtype: str) -> str:
            return self.operand(node.args[at], dtype, node, index, scope, guard)

        text = _expression(self, node, arg)
        ctype = ctypes_of.computed(node.dtype)
        if node.dtype in ("int8", "uint8", "int16"):
            text = f"static_cast<{ctype}>({text})"
        return scope.define(ctype, text)

    def meeting(self, node: Node, count: int = 2) -> str:
        """Return the type in which the first operands of a node meet."""
        return self._meeting(node, count)


def _expression(values: Values, node: Node, arg: Callable[[int, str], str]) -> str:
    """Return the C expression of a pointwise operation."""
    op, dtype = node.op, node.dtype
    if op in pointwise.UNARY:
        return pointwise.fill(pointwise.UNARY[op], dtype, arg(0, dtype))
    if op in pointwise.ROUNDING:
        return (
            pointwise.fill(pointwise.ROUNDING[op], dtype, arg(0, dtype))
            if dtype in ctypes_of.FLOATING and len(node.args) == 1 and not node.kwargs
            else _plain(node, arg(0, dtype))
        )
    if op in pointwise.BINARY:
        return pointwise.fill(pointwise.BINARY[op], dtype, arg(0, dtype), arg(1, dtype))
    if op in pointwise.COMPARISONS:
        meet = "bool" if op.startswith("logical") else values.meeting(node)
        return f"({arg(0, meet)} {pointwise.COMPARISONS[op]} {arg(1, meet)})"
    if op in pointwise.TESTS:
        meet = "bool" if op == "logical_not" else values.meeting(node, 1)
        if meet not in ctypes_of.FLOATING and op != "logical_not":
            return "false"
        return pointwise.fill(pointwise.TESTS[op], meet, arg(0, meet))
    special = _SPECIAL.get(op)
    if special is None:
        raise BeyondRulesError(f"the operation {op}", line=node.line)
    return special(node, arg)


def _plain(node: Node, text: str) -> str:
    if node.dtype in ctypes_of.FLOATING:
        raise BeyondRulesError(f"{node.op} to decimal places", line=node.line)
    return text


def _scaled(sign: str) -> Callable[[Node, Callable[[int, str], str]], str]:
    def made(node: Node, arg: Callable[[int, str], str]) -> str:
        alpha = node.kwargs.get("alpha", 1)
        if alpha not in (0, 1) and not isinstance(alpha, int | float):
            raise BeyondRulesError(f"{node.op} with alpha {alpha}", line=node.line)
        other = arg(1, node.dtype)
        if alpha != 1:
            other = f"({other} * {pointwise.literal(alpha, node.dtype)})"
        return f"({arg(0, node.dtype)} {sign} {other})"

    return made


def _rsub(node: Node, arg: Callable[[int, str], str]) -> str:
    return f"({arg(1, node.dtype)} - {arg(0, node.dtype)})"


def _div(node: Node, arg: Callable[[int, str], str]) -> str:
    mode = node.kwargs.get("rounding_mode")
    a, b = arg(0, node.dtype), arg(1, node.dtype)
    if mode is None:
        return f"({a} / {b})"
    if node.dtype in ctypes_of.FLOATING:
        name = {"floor": "floor", "trunc": "trunc"}[str(mode)]
        return f"{name}{pointwise.suffix(node.dtype)}({a} / {b})"
    if mode == "trunc":
        return f"({a} / {b})"
    return f"({a} / {b} - (({a} % {b} != 0) && (({a} < 0) != ({b} < 0))))"


def _remainder(node: Node, arg: Callable[[int, str], str]) -> str:
    a, b, f = arg(0, node.dtype), arg(1, node.dtype), pointwise.suffix(node.dtype)
    if node.dtype in ctypes_of.FLOATING:
        zero = pointwise.literal(0, node.dtype)
        rest = f"fmod{f}({a}, {b})"
        return (
            f"({rest} != {zero} && (({rest} < {zero}) != ({b} < {zero})) ? {rest} + {b} : {rest})"
        )
    return f"(({a} % {b} != 0 && ((({a} % {b}) < 0) != ({b} < 0))) ? {a} % {b} + {b} : {a} % {b})"


def _pow(node: Node, arg: Callable[[int, str], str]) -> str:
    dtype, power = node.dtype, node.args[1]
    a = arg(0, dtype)
    if isinstance(power, int | float) and power in (1, 2, 3, 4):
        return "(" + " * ".join([a] * int(power)) + ")"
    if dtype not in ctypes_of.FLOATING:
        raise BeyondRulesError("pow of integers", line=node.line)
    if power == 0.5:
        return f"sqrt{pointwise.suffix(dtype)}({a})"
    if power == -1:
        return f"({pointwise.literal(1, dtype)} / {a})"
    return f"pow{pointwise.suffix(dtype)}({a}, {arg(1, dtype)})"


def _abs(node: Node, arg: Callable[[int, str], str]) -> str:
    a = arg(0, node.dtype)
    if node.dtype in ctypes_of.FLOATING:
        return f"fabs{pointwise.suffix(node.dtype)}({a})"
    return f"({a} < 0 ? -{a} : {a})"


def _sign(node: Node, arg: Callable[[int, str], str]) -> str:
    a, zero = arg(0, node.dtype), pointwise.literal(0, node.dtype)
    ctype = ctypes_of.computed(node.dtype)
    return f"static_cast<{ctype}>(({a} > {zero}) - ({a} < {zero}))"


def _clamp(node: Node, arg: Callable[[int, str], str]) -> str:
    text = arg(0, node.dtype)
    for at, sign in ((1, "<"), (2, ">")):
        given = len(node.args) > at and node.args[at] is not None
        bound = arg(at, node.dtype) if given else ""
        size = _OF_SIZE.fullmatch(text)
        natural = size is not None and is_never_negative(size[1])
        if given and not (natural and sign == "<" and bound == pointwise.literal(0, node.dtype)):
            text = f"({text} {sign} {bound} ? {bound} : {text})"
    return text


def _where(node: Node, arg: Callable[[int, str], str]) -> str:
    return f"({arg(0, 'bool')} ? {arg(1, node.dtype)} : {arg(2, node.dtype)})"


def _leaky(node: Node, arg: Callable[[int, str], str]) -> str:
    slope = node.args[1] if len(node.args) > 1 else 0.01
    a, zero = arg(0, node.dtype), pointwise.literal(0, node.dtype)
    return f"({a} > {zero} ? {a} : {a} * {pointwise.literal(slope, node.dtype)})"


def _bitwise_not(node: Node, arg: Callable[[int, str], str]) -> str:
    return f"(!{arg(0, 'bool')})" if node.dtype == "bool" else f"(~{arg(0, node.dtype)})"


def _hardtanh(node: Node, arg: Callable[[int, str], str]) -> str:
    low, high = (*node.args[1:], -1.0, 1.0)[:2] if len(node.args) > 2 else (-1.0, 1.0)
    a = arg(0, node.dtype)
    least, most = (pointwise.literal(v, node.dtype) for v in (low, high))
    return f"({a} < {least} ? {least} : ({a} > {most} ? {most} : {a}))"


_SPECIAL: dict[str, Callable[[Node, Callable[[int, str], str]], str]] = {
    "add": _scaled("+"), "sub": _scaled("-"), "rsub": _rsub, "div": _div, "pow": _pow,
    "remainder": _remainder, "abs": _abs, "sign": _sign, "sgn": _sign, "clamp": _clamp,
    "where": _where, "leaky_relu": _leaky, "bitwise_not": _bitwise_not, "hardtanh": _hardtanh,
    "clamp_min": _clamp,
    "clamp_max": lambda node, arg: (
        f"({arg(0, node.dtype)} > {arg(1, node.dtype)} ? {arg(1, node.dtype)} : "
        f"{arg(0, node.dtype)})"
    ),
    "floor_divide": lambda node, arg: (
        f"floor{pointwise.suffix(node.dtype)}({arg(0, node.dtype)} / {arg(1, node.dtype)})"
    ),
}  # fmt: skip


Layout = Callable[[Values, Node, Index, Scope, str], str]
"""Returns the value of a node at an index."""
