"""Names for expressions: what buffer, kernel or handle an expression is about."""

import re

from tree_sitter import Node

from warploom.source.analysis.program import arguments_of, callee_of, child, text_of

CASTS = frozenset(
    {"static_cast", "reinterpret_cast", "const_cast", "raw_pointer_cast", "move", "ref", "forward"}
)
PASSTHROUGH_METHODS = frozenset({"data", "get", "begin", "c_str", "front", "at", "back"})
_POINTER_OPERATORS = frozenset({"+", "-"})


def strip(node: Node) -> Node:
    """Return the expression under casts and parentheses."""
    while True:
        inner: Node | None = None
        if node.type == "parenthesized_expression":
            inner = node.named_children[0] if node.named_children else None
        elif node.type == "cast_expression":
            inner = child(node, "value")
        elif node.type == "call_expression" and callee_of(node)[0] in CASTS:
            listed = arguments_of(node)
            inner = listed[0] if len(listed) == 1 else None
        if inner is None:
            return node
        node = inner


def base_name(node: Node) -> str:
    """Return the owner of the memory that a pointer expression is about, such as `ctx.buf`.

    `&d_buf[i]`, `d_buf + off`, `(void*)d_buf` and `d_buf.data()` are all about `d_buf`.
    """
    node = strip(node)
    if node.type in ("pointer_expression", "subscript_expression"):
        inner = child(node, "argument")
        return base_name(inner) if inner else text_of(node)
    if node.type == "binary_expression":
        left, sign = child(node, "left"), child(node, "operator")
        if left is not None and sign is not None and text_of(sign) in _POINTER_OPERATORS:
            return base_name(left)
    if node.type == "field_expression":
        owner, name = child(node, "argument"), child(node, "field")
        if owner is not None and name is not None:
            return f"{base_name(owner)}.{text_of(name)}"
    if node.type == "call_expression":
        name, owner = callee_of(node)
        if owner is not None and name in PASSTHROUGH_METHODS:
            return base_name(owner)
    return text_of(node)


def kernel_name(node: Node) -> tuple[str, str]:
    """Return a kernel's plain name and its template arguments as written ("" without)."""
    node = strip(node)
    while node.type in ("pointer_expression", "parenthesized_expression"):
        inner = child(node, "argument") or (node.named_children[0] if node.named_children else None)
        if inner is None:
            break
        node = strip(inner)
    written = text_of(node)
    match = re.fullmatch(r"(?:.*::)?(\w+)\s*<(.*)>", written)
    if match:
        return match[1], match[2].strip()
    return written.rpartition("::")[2], ""
