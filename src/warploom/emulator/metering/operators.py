"""What one node of a syntax tree counts as by itself, without the nodes inside of it."""

from tree_sitter import Node

from warploom.emulator.metering.arithmetic_prices import (
    DIVISION,
    slots_of_call,
    slots_of_ptx,
)
from warploom.emulator.metering.names import Known
from warploom.source.syntax import SourceFile

FREE = frozenset(("=", "&&", "||", ","))
"""Operators that are no operation of a GPU's."""
_COMPARISONS = frozenset(("<", ">", "<=", ">=", "==", "!=", "&&", "||"))


def own_operations(node: Node, tree: SourceFile, known: Known, places: int) -> int:
    """Return the operations of a node itself; `places` are those to find an element's place."""
    match node.type:
        case "binary_expression" | "assignment_expression":
            return _operator(node, tree)
        case "update_expression" | "conditional_expression":
            return 1
        case "function_declarator":
            return _misread_product(node, tree)
        case "subscript_expression":
            return places
        case "identifier":
            return known.weights.get(tree.node_text(node), 0)
        case "call_expression":
            name = node.child_by_field_name("function")
            return slots_of_call(tree.node_text(name) if name is not None else "")
        case "gnu_asm_expression":
            return slots_of_ptx(node)
        case _:
            return 0


def _misread_product(node: Node, tree: SourceFile) -> int:
    """Count `T x(a * b);` in a function, which is read as the declaration of another one."""
    around = node.parent
    while around is not None and around.type in ("declaration", "init_declarator"):
        around = around.parent
    if around is None or around.type not in ("compound_statement", "case_statement"):
        return 0
    text = tree.node_text(node)
    return text.count("*") + text.count("&")


def _operator(node: Node, tree: SourceFile) -> int:
    sign = node.child_by_field_name("operator")
    text = tree.node_text(sign) if sign is not None else "="
    if text in ("&&", "||"):  # a comparison takes the other side along
        return 0 if any(_sign_of(part, tree) in _COMPARISONS for part in node.named_children) else 1
    if text in FREE:
        return 0
    if text in ("/", "%", "/=", "%="):
        return DIVISION
    sums = text in ("+", "-", "+=", "-=")
    return 0 if sums and any(_sign_of(part, tree) == "*" for part in node.named_children) else 1


def _sign_of(node: Node, tree: SourceFile) -> str:
    """Return the operator of a binary expression, in parentheses or not; "" of anything else."""
    while node.type == "parenthesized_expression" and node.named_child_count == 1:
        node = node.named_children[0]
    sign = node.child_by_field_name("operator") if node.type == "binary_expression" else None
    return "" if sign is None else tree.node_text(sign)
