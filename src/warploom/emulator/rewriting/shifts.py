"""Shifts of device code: by the width of the value or more, a GPU gives 0 or the sign.

The processor of this machine counts modulo the width instead, which a program could see. So
`x << n` becomes `x << by << n`, where `by` is the runtime's (include/warploom/device.h). What this
does not see (text made by macros, assignments) stops the program when it shifts by too much.
"""

import re
from collections.abc import Iterator

from tree_sitter import Node

from warploom.source.edits import TextEdit
from warploom.source.masking import mask
from warploom.source.syntax import SourceFile

_BY = "::warploom::shift_by"
_STREAMS = re.compile(r"\b(?:cout|cerr|clog|endl|[io]?stringstream|[io]stream|bitset)\b")
_OPERATOR = re.compile(rb"\boperator\s*(?:<<|>>)")
# Only what cannot begin an operand shows that it is no shift.
_SHIFT = re.compile(rb"(?<![<>])(?:<<|>>)(?![<>])=?\s*(?![\s\"'),;{}\]=.>])(\w*)")
# The end of a container of containers: `std::vector` can be nothing but a template.
_CONTAINER = rb"(?:vector|array|map|set|pair|tuple|optional|unique_ptr|shared_ptr)"
_NESTED = re.compile(
    rb"(?<![\w:])std::%b<(?:const )?std::%b<[\w:, *]*>>" % (_CONTAINER, _CONTAINER)
)
_ANOTHER_MEANING = re.compile(
    rb"#[ \t]*define\b[^\n]*\b(?:std|%b)\b|(?<!using namespace )\bstd\b(?!::)" % _CONTAINER
)
_FEW = 32
"""Literals below this are less than any width."""


def shift_edits(tree: SourceFile, marks: frozenset[str]) -> list[TextEdit]:
    """Return what makes the shifts in device functions of `tree` those of a GPU.

    `marks`: the words that say that a function runs on devices (see metering.py). A file with
    shift operators of its own is left alone.
    """
    if _OPERATOR.search(tree.text):
        return []
    edits: list[TextEdit] = []
    for function in tree.nodes("function_definition"):
        text = mask(tree.node_text(function))
        start = mask(tree.slice(max(0, function.start_byte - 200), function.start_byte))
        start = start[max(start.rfind(end) for end in ";}#") + 1 :]
        body = function.child_by_field_name("body")
        if body is None or _STREAMS.search(text):
            continue
        head = start + mask(tree.slice(function.start_byte, body.start_byte))
        if set(re.findall(r"\w+", head)) & marks or "constexpr" in head:
            edits += _of_function(tree, function)
    return sorted(set(edits), key=lambda edit: edit.start)


def has_plain_shifts(text: bytes) -> bool:
    """Whether rewritten text may hold shifts that `shift_edits` did not see.

    Looks at characters only: streams and most closing brackets of templates are taken for shifts.
    """
    text = text.replace(b"\\\r\n", b"").replace(b"\\\n", b"")
    if b"##" in text:  # could make an operator of two pieces
        return True
    if not _ANOTHER_MEANING.search(text):
        text = _NESTED.sub(b"", text)
    by = _BY.encode()
    for found in _SHIFT.finditer(text):
        before = text[max(0, found.start() - 2 * len(by)) : found.start()].rstrip()
        ours = before.endswith(by) or text.startswith(by, found.start(1))
        if not ours and not _is_small(found[1].decode(errors="replace")):
            return True
    return False


def _of_function(tree: SourceFile, function: Node) -> Iterator[TextEdit]:
    """Yield the edits for one function and what it holds."""
    waiting = [function]
    while waiting:
        node = waiting.pop()
        waiting += node.children
        if node.type != "binary_expression":
            continue
        sign, right = node.child_by_field_name("operator"), node.child_by_field_name("right")
        if sign is None or right is None or sign.type not in ("<<", ">>"):
            continue
        if not _is_small(tree.node_text(right)):
            yield TextEdit(sign.end_byte, sign.end_byte, f" {_BY} {sign.type}")


def _is_small(text: str) -> bool:
    found = re.fullmatch(r"(0[xX][0-9a-fA-F]+|[0-9]+)[uUlL]*", text)
    return bool(found) and int(found[1], 16 if found[1][:2] in ("0x", "0X") else 10) < _FEW
