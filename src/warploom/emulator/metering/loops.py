"""Which loops nvcc unrolls, so that the loads of several iterations are on their way at once.

Unless told otherwise it does so with the innermost loops that count by a constant up to a bound
that stays, and have one way out. What keeps the loads of the next iteration behind this one is
excluded: stores to memory, calls of functions that have no price here, and addresses that come
from what was loaded before.
"""

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum, auto
from typing import NamedTuple

from tree_sitter import Node

from warploom.emulator.metering.arithmetic_prices import slots_of_call
from warploom.emulator.metering.names import NUMBER_TYPE, NumberNames

_NOT_PLAIN = frozenset(
    (
        # Other ways out, and in.
        "break_statement", "return_statement", "goto_statement", "throw_statement",
        "co_return_statement", "co_yield_statement", "labeled_statement", "switch_statement",
        "case_statement",
        # Loops of their own.
        "for_statement", "while_statement", "do_statement", "for_range_loop",
        # What may hold anything, or keeps its place.
        "gnu_asm_expression", "lambda_expression", "ERROR", "try_statement", "new_expression",
        "delete_expression",
    )
)  # fmt: skip
_IN_BOUNDS = frozenset(
    (
        "binary_expression", "identifier", "number_literal", "parenthesized_expression",
        "field_expression", "field_identifier", "qualified_identifier", "namespace_identifier",
        "cast_expression", "type_descriptor", "primitive_type", "sized_type_specifier",
        "type_identifier", "subscript_expression", "subscript_argument_list", "pointer_expression",
        "unary_expression", "comment", "sizeof_expression",
    )
)  # fmt: skip
_CAST = re.compile(
    r"(?:static|reinterpret|const)_cast\b|(?:size_t|u?int\d+_t|float|double|int|make_\w+\d)$"
)
_LOADED = re.compile(r"\*|__ld(?:g|ca|cg|cs|lu)\b")
_LOAD = re.compile(r"__ld(?:g|ca|cg|cs|lu)\b")
_STEP = re.compile(r"(?:\+\+|--)\s*(\w+)|(\w+)\s*(?:\+\+|--)|(\w+)\s*[+-]=\s*(?:\d+|k?[A-Z]\w*)")
_WORD = re.compile(r"\w+")
_OPERATOR = re.compile(r"\boperator\s*(?:[-+*/%^&|~!=<>,]|\w)")
_OUTSIDE = re.compile(r"__shared__|\b(?:static|extern|volatile)\b")
_PRAGMA = re.compile(r"#\s*pragma\b")
_KEPT = re.compile(r"#\s*pragma\s+(?:nounroll\b|unroll[ \t(]*1\b)")

_AROUND = frozenset(
    (
        "preproc_ifdef", "preproc_if", "preproc_else", "preproc_elif", "namespace_definition",
        "declaration_list",
    )
)  # fmt: skip
_PLACES = frozenset(("threadIdx", "blockIdx", "blockDim", "gridDim"))


class _Kind(Enum):
    """What a variable is: `ARRAY` may become registers, of `MEMORY` nothing is known."""

    VALUE = auto()
    ARRAY = auto()
    MEMORY = auto()


def opening_of(loop: Node, numbers: NumberNames) -> int | None:
    """Return where a block around a `for` statement may open, None where nvcc does not unroll it.

    As far as its text says: `k += N` counts by a constant where N is written as constants are, in
    capitals or as kName. `numbers`: what the file says of names of numbers.
    """
    body, condition = (loop.child_by_field_name(name) for name in ("body", "condition"))
    counter = _counter_of(loop)
    if not counter or body is None or condition is None or _is_elsewhere(body):
        return None
    sign = _text(condition.child_by_field_name("operator"))
    if condition.type != "binary_expression" or sign not in ("<", "<=", ">", ">=", "!="):
        return None
    bound = _WORD.findall(_text(condition))
    if counter not in bound or not all(node.type in _IN_BOUNDS for node in _all(condition)):
        return None
    own = _own_functions(_root_of(loop))
    if own.operators and not _is_of_numbers(body, condition, numbers):
        return None
    nodes: list[Node] = []
    for node in _all(body):
        if not _is_plain(node, own.names):
            return None
        nodes.append(node)
    known = _declared_in(_function_of(body))
    carried = _carried(nodes, known)
    if carried is None or carried & {counter, *bound}:
        return None
    return None if carried & set(_addressing(nodes, known)) else _opening(loop)


def is_bound_alone(loop: Node) -> bool:
    """Whether a loop steps by a constant and compares its counter: the bound is worked once.

    Otherwise (`i * i < n`) the comparison is work of each iteration.
    """
    condition = loop.child_by_field_name("condition")
    counter = _counter_of(loop)
    if condition is None or counter is None:
        return False
    sides = [_text(condition.child_by_field_name(name)) for name in ("left", "right")]
    return counter in sides and sum(counter in _WORD.findall(side) for side in sides) == 1


def _counter_of(loop: Node) -> str | None:
    """Return the variable that a loop's step adds a constant to, None where it has no such step."""
    found = _STEP.fullmatch(_text(loop.child_by_field_name("update")).strip())
    return next(name for name in found.groups() if name) if found else None


def _opening(loop: Node) -> int | None:
    """Return where a block may open: in front of pragmas, which must stand before their loop."""
    before = loop.prev_sibling
    place = loop.start_byte
    while before is not None and (before.type == "comment" or _is_pragma(before)):
        if _is_pragma(before):
            if _KEPT.match(_text(before)):
                return None
            place = -1
        before = before.prev_sibling
    if before is None:
        return place if place >= 0 else None
    text = _text(before)
    # A macro or `_Pragma`, or a directive that may hold a pragma.
    if before.type == "ERROR" or (before.type == "expression_statement" and text[-1:] != ";"):
        return None
    if before.type.startswith("preproc") and (place < 0 or "pragma" in text.lower()):
        return None
    if place >= 0:
        return place
    return None if "//" in text.rpartition("\n")[2] else before.end_byte


def _is_pragma(node: Node) -> bool:
    return node.type == "preproc_call" and bool(_PRAGMA.match(_text(node)))


def _all(node: Node) -> Iterator[Node]:
    """Go through a node and all below it, which may be nested deeper than calls can be."""
    left = [node]
    while left:
        here = left.pop()
        yield here
        left += reversed(here.named_children)


def _text(node: Node | None) -> str:
    return (node.text or b"").decode("latin-1") if node is not None else ""


def _is_elsewhere(body: Node) -> bool:
    """Whether what a loop does, or where it ends, lies outside of its text: where macros make it.

    The text of a macro is read with a line behind it that ends its last statement.
    """
    return _text(body).endswith("\n;") or _text(body) == ";" or body.end_byte == body.start_byte


class _OwnFunctions(NamedTuple):
    """Functions of a file by their names, and whether it gives operators a meaning."""

    names: frozenset[str]
    operators: bool


def _root_of(node: Node) -> Node:
    while node.parent is not None:
        node = node.parent
    return node


@functools.lru_cache(maxsize=8)
def _own_functions(root: Node) -> _OwnFunctions:
    declared = (node for node in _all(root) if node.type == "function_declarator")
    names = {_text(node.child_by_field_name("declarator")).rpartition("::")[2] for node in declared}
    return _OwnFunctions(frozenset(names), bool(_OPERATOR.search(_text(root))))


def _is_of_numbers(body: Node, condition: Node, names: NumberNames) -> bool:
    """Whether all variables of a loop are numbers, or pointers to or arrays of numbers.

    Of anything else a file's own operators may be what its signs mean; so may they of what a cast
    or a macro makes.
    """
    if not names.types_hold:
        return False
    numbers = _numbers_of(_function_of(body)) | _constants_of(_root_of(body)) | names.macros
    for node in (*_all(body), *_all(condition)):
        name = _text(node)
        if node.type == "type_identifier" and not NUMBER_TYPE.fullmatch(name):
            return False
        if node.type != "identifier":
            continue
        called = node.parent is not None and node.parent.type == "call_expression"
        if name in names.rewritten or not (called or name in numbers or name in _PLACES):
            return False
    return True


@functools.lru_cache(maxsize=8)
def _numbers_of(function: Node) -> frozenset[str]:
    """Return the variables of a function whose every declaration is of numbers."""
    return _numbers_among(_all(function))


@functools.lru_cache(maxsize=8)
def _constants_of(root: Node) -> frozenset[str]:
    """Return what a file names numbers outside of its functions: its variables."""
    outside = [root]
    for node in outside:
        outside += [child for child in node.named_children if child.type in _AROUND]
    return _numbers_among(child for node in outside for child in node.named_children)


def _numbers_among(nodes: Iterable[Node]) -> frozenset[str]:
    numbers, others = set[str](), set[str]()
    for node in nodes:
        if node.type in ("declaration", "parameter_declaration"):
            kind = _text(node.child_by_field_name("type"))
            (numbers if NUMBER_TYPE.fullmatch(kind) else others).update(_declared([node]))
    return frozenset(numbers - others)


def _is_plain(node: Node, own: frozenset[str]) -> bool:
    """Whether a part of a body is none of what loads of the next iteration wait for."""
    if node.type in _NOT_PLAIN:
        return False
    if node.type == "call_expression":
        name = _text(node.child_by_field_name("function")).partition("<")[0]
        return name.rpartition("::")[2].strip() not in own and _is_arithmetic(node)
    # A name alone is a macro, which says nothing of what it does.
    return node.type != "expression_statement" or [n.type for n in node.named_children] != [
        "identifier"
    ]


def _carried(nodes: list[Node], known: Mapping[str, _Kind]) -> set[str] | None:
    """Return the variables that go from iteration to iteration, None where something is stored."""
    carried = set[str]()
    for node in nodes:
        target = _target(node)
        if target is None:
            continue
        root = _root(target)
        kind = known.get(root, _Kind.MEMORY) if root else _Kind.MEMORY
        if kind is _Kind.MEMORY or (kind is _Kind.VALUE and b"[" in (target.text or b"")):
            return None  # a store
        carried.add(root)
    return carried - _declared(nodes).keys()


@functools.lru_cache(maxsize=8)
def _declared_in(function: Node) -> Mapping[str, _Kind]:
    return _declared(_all(function))


def _declared(nodes: Iterable[Node]) -> dict[str, _Kind]:
    """Return the variables that are declared in some nodes."""
    found: dict[str, _Kind] = {}
    for node in nodes:
        if node.type not in ("declaration", "parameter_declaration"):
            continue
        for part in node.children_by_field_name("declarator"):
            kind, name = _Kind.VALUE, part
            while name.type != "identifier":
                if name.type == "array_declarator" and node.type == "declaration":
                    kind = _Kind.ARRAY
                elif name.type not in ("init_declarator", "pointer_declarator", "array_declarator"):
                    kind = _Kind.MEMORY
                inner = name.child_by_field_name("declarator")
                if inner is None:
                    break
                name = inner
            found[_text(name)] = _Kind.MEMORY if _OUTSIDE.search(_text(node)) else kind
    return found


def _is_arithmetic(call: Node) -> bool:
    """Whether a call is of a function that has a price, a cast, or a plain load."""
    function = call.child_by_field_name("function")
    if function is not None and function.type == "primitive_type":
        return True
    text = _text(function)
    return bool(_CAST.match(text) or _LOAD.match(text)) or slots_of_call(text) > 0


def _target(node: Node) -> Node | None:
    """Return what an expression changes."""
    if node.type == "assignment_expression":
        return node.child_by_field_name("left")
    if node.type == "update_expression":
        return node.child_by_field_name("argument")
    return None


def _root(target: Node) -> str:
    """Return the variable that a target is, or is a part of; none behind a pointer."""
    while target.type in ("field_expression", "subscript_expression"):
        inner = target.child_by_field_name("argument")
        if inner is None or _text(target)[len(_text(inner)) :].lstrip().startswith("->"):
            return ""
        target = inner
    return _text(target) if target.type == "identifier" else ""


def _function_of(node: Node) -> Node:
    while node.parent is not None and node.type != "function_definition":
        node = node.parent
    return node


def _addressing(nodes: list[Node], known: Mapping[str, _Kind]) -> Iterator[str]:
    """Go through the names that decide where something is loaded from."""
    for node in nodes:
        parts: list[Node] = []
        if node.type == "subscript_expression":
            base, *parts = node.named_children
            if base.type != "subscript_expression" and known.get(_text(base)) is not _Kind.ARRAY:
                parts.append(base)
        elif node.type == "field_expression" and b"->" in (node.text or b""):
            parts = node.named_children[:1]
        elif _LOADED.match(_text(node)) and node.type in ("pointer_expression", "call_expression"):
            parts = node.named_children
        for part in parts:
            yield from (_text(name) for name in _all(part) if name.type == "identifier")
