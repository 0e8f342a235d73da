"""Atomics whose results nobody looks at: others may come before them."""

from warploom.source.edits import TextEdit
from warploom.source.syntax import SourceFile

_DONE = ("add", "sub", "min", "max", "and", "or")
_METHODS = frozenset({*(f"fetch_{one}" for one in _DONE), "exchange"})
_OPERATIONS = (*(f"atomic{one.title()}" for one in (*_DONE, "inc", "dec")), "atomicExch")
_NAMES = frozenset({
    *(name + reach for name in _OPERATIONS for reach in ("", "_block", "_system")),
    *(f"__nv_atomic_fetch_{one}" for one in _DONE),
})  # fmt: skip


def unused_edits(tree: SourceFile) -> list[TextEdit]:
    """Return edits that say so behind each such call that is a statement of its own.

    A cast to `void` may stand before the call.
    """
    edits: list[TextEdit] = []
    for statement in tree.nodes("expression_statement"):
        if statement.has_error or statement.child_count != 2:
            continue
        call, end = statement.children
        cast = call.child_by_field_name("value") if call.type == "cast_expression" else None
        call = cast or call
        if call.type != "call_expression" or end.type != ";":
            continue
        callee = call.child_by_field_name("function")
        if callee is None:
            continue
        method = callee.child_by_field_name("field") if callee.type == "field_expression" else None
        named = method or callee
        name = tree.slice(named.start_byte, named.end_byte).removeprefix("::")
        if name in (_METHODS if method is not None else _NAMES):
            edits.append(TextEdit(end.start_byte, end.start_byte, ", ::warploom::result_unused()"))
    return edits
