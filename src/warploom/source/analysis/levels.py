"""How many times an expression can still be dereferenced: pointers apart from plain values."""

import re

from tree_sitter import Node

from warploom.source.analysis.naming import CASTS, PASSTHROUGH_METHODS
from warploom.source.analysis.program import (
    Program,
    Variable,
    arguments_of,
    callee_of,
    child,
    text_of,
)

_CONTAINER = re.compile(r"(?:vector|array|unique_ptr|shared_ptr|span|deque|list|device_ptr)\s*<")
_ADDRESS_TYPES = frozenset({"CUdeviceptr", "uintptr_t", "std::uintptr_t", "ncclWindow_t"})
_NO_POINTER = re.compile(r"^([A-Z0-9_]+|(threadIdx|blockIdx|blockDim|gridDim)(\.[xyz])?|warpSize)$")
_DEPTH = 40


def type_level(written: str) -> int:
    """Return how often a value of a type as written can be dereferenced."""
    return (
        written.count("*")
        + len(_CONTAINER.findall(written))
        + (1 if written in _ADDRESS_TYPES else 0)
    )


def record_name(program: Program, written: str) -> str:
    """Return the struct behind a type as written.

    `std::vector<Ctx>` is about `Ctx`; `Buffer<float>` is about `Buffer` if the program defines it.
    """
    inner = written
    while "<" in inner and inner.endswith(">"):
        outer = inner[: inner.index("<")].rpartition("::")[2].strip()
        if outer in program.records:
            return outer
        inner = inner[inner.index("<") + 1 : -1].split(",")[0].strip()
    return inner.replace("&", "").replace("*", "").strip().rpartition("::")[2]


def variable_type(program: Program, variable: Variable, depth: int = 0) -> str:
    """Return a variable's base type; `auto` is replaced by its initializer's, where known."""
    if variable.type != "auto" or variable.init is None or depth > _DEPTH:
        return variable.type
    return expression_type(program, variable.init, depth + 1)


def expression_type(program: Program, node: Node, depth: int = 0) -> str:
    """Return the base type (without stars) that an expression is about, "" if not known."""
    variable = expression_variable(program, node, depth)
    return variable_type(program, variable, depth) if variable is not None else ""


def expression_variable(program: Program, node: Node, depth: int = 0) -> Variable | None:
    """Return the variable or field that an expression is about, through casts and subscripts."""
    if depth > _DEPTH:
        return None
    if node.type in ("identifier", "field_identifier"):
        return program.lookup(node) or implicit_field(program, node)
    if node.type == "field_expression":
        owner, name = child(node, "argument"), child(node, "field")
        if owner is None or name is None:
            return None
        if owner.type == "this":
            return implicit_field(program, name)
        return program.field_of(
            record_name(program, expression_type(program, owner, depth + 1)), text_of(name)
        )
    inner: Node | None = None
    if node.type in ("pointer_expression", "subscript_expression"):
        inner = child(node, "argument")
    elif node.type == "binary_expression":
        inner = child(node, "left")
    elif node.type == "cast_expression":
        inner = child(node, "value")
    elif node.type == "parenthesized_expression" and node.named_children:
        inner = node.named_children[0]
    elif node.type == "call_expression":
        name, owner = callee_of(node)
        listed = arguments_of(node)
        if owner is not None and name in PASSTHROUGH_METHODS:
            inner = owner
        elif name in CASTS and len(listed) == 1:
            inner = listed[0]
    return expression_variable(program, inner, depth + 1) if inner is not None else None


def implicit_field(program: Program, node: Node) -> Variable | None:
    """Return the field of the class around `node` that an unqualified name means."""
    function = program.function_at(node)
    while function is not None:
        if function.record:
            return program.field_of(function.record, text_of(node))
        function = function.owner
    return None


def level(program: Program, node: Node, depth: int = 0) -> int:
    """Return how often an expression's value can be dereferenced; 1 where nothing is known.

    A struct that is not a pointer has level 0 and may still hold pointers: see `is_record`.
    """
    if depth > _DEPTH:
        return 1
    kind = node.type
    if kind in ("identifier", "field_identifier", "field_expression"):
        variable = expression_variable(program, node, depth)
        if variable is None:
            return 0 if _NO_POINTER.match(text_of(node)) else 1
        return variable_level(program, variable, depth + 1)
    if kind in ("subscript_expression", "pointer_expression"):
        inner = child(node, "argument")
        sign = 1 if kind == "pointer_expression" and text_of(node).startswith("&") else -1
        return level(program, inner, depth + 1) + sign if inner else 1
    if kind == "binary_expression":
        operator, left, right = (child(node, n) for n in ("operator", "left", "right"))
        if operator is None or text_of(operator) not in "+-" or left is None or right is None:
            return 0
        return max(level(program, left, depth + 1), level(program, right, depth + 1))
    if kind == "cast_expression":
        type_node, value = child(node, "type"), child(node, "value")
        found = type_level(text_of(type_node)) if type_node else 0
        return found or (0 if value is None else min(1, level(program, value, depth + 1)))
    if kind == "parenthesized_expression" and node.named_children:
        return level(program, node.named_children[0], depth + 1)
    if kind == "conditional_expression":
        arms = [child(node, n) for n in ("consequence", "alternative")]
        return max((level(program, a, depth + 1) for a in arms if a), default=0)
    if kind == "call_expression":
        return _call_level(program, node, depth)
    return 1 if kind in ("initializer_list", "argument_list", "this") else 0


def _call_level(program: Program, node: Node, depth: int) -> int:
    name, owner = callee_of(node)
    listed = arguments_of(node)
    if name in CASTS and len(listed) == 1:
        function = child(node, "function")
        written = text_of(function) if function else ""
        return type_level(written) if "_cast<" in written else level(program, listed[0], depth + 1)
    if owner is not None and name in PASSTHROUGH_METHODS:
        found = level(program, owner, depth + 1)
        return found - 1 if name in ("front", "back", "at") else found
    made = program.functions_named(name)
    return max((f.pointers for f in made), default=0)


def variable_level(program: Program, variable: Variable, depth: int = 0) -> int:
    """Return how often a variable's value can be dereferenced."""
    own = variable.pointers + len(variable.dims)
    if variable.type == "auto":
        if variable.init is None:
            return own or 1
        inner = level(program, variable.init, depth + 1)
        if variable.declaration.type == "for_range_loop":
            inner -= 1
        return max(own, inner)
    return own + type_level(variable.type)


def is_record(program: Program, node: Node) -> bool:
    """Tell whether an expression is a struct or class of the program, or of unknown type."""
    variable = expression_variable(program, node)
    return variable is None or holds_pointers(program, variable)


def holds_pointers(program: Program, variable: Variable) -> bool:
    """Tell whether a variable that is no pointer may hold some: a struct, or of unknown type."""
    written = variable_type(program, variable)
    return written in ("", "auto") or record_name(program, written) in program.records


def may_point(program: Program, node: Node) -> bool:
    """Tell whether the value of an expression can lead to memory."""
    return level(program, node) > 0 or (
        node.type not in ("number_literal", "binary_expression", "sizeof_expression")
        and expression_variable(program, node) is not None
        and is_record(program, node)
    )
