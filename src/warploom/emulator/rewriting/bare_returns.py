"""`return;` in a function that has a result: nvcc warns of it, g++ does not take it."""

from pathlib import Path

from tree_sitter import Node

from warploom.source.edits import TextEdit
from warploom.source.syntax import SourceFile


def bare_return_edits(tree: SourceFile | None, file: Path) -> list[TextEdit]:
    """Return edits that give such a statement of a CUDA file a value of the function's type."""
    edits: list[TextEdit] = []
    if tree is None or file.suffix not in (".cu", ".cuh"):
        return edits
    for statement in tree.nodes("return_statement"):
        value = any(c.is_named and c.type != "comment" for c in statement.children)
        if not value and not statement.has_error and _has_result(statement):
            at = statement.start_byte + len("return")
            edits.append(TextEdit(at, at, " {}"))
    return edits


def _has_result(statement: Node) -> bool:
    """Whether the function around `statement` returns a number; lambdas say for themselves."""
    node = statement.parent
    while node is not None and node.type not in ("function_definition", "lambda_expression"):
        node = node.parent
    if node is None or node.type == "lambda_expression":
        return False
    kind = node.child_by_field_name("type")
    declarator = node.child_by_field_name("declarator")
    if kind is None or kind.text is None or declarator is None:
        return False
    if declarator.type != "function_declarator":
        return False
    return kind.type in ("primitive_type", "sized_type_specifier") and kind.text != b"void"
