"""Variables whose declaration sets nothing: on a GPU, and on a stack, they hold anything.

A compiler takes zero for most of them, so a sum that begins with one would be right here and wrong
on a GPU. So `float sum, part[4];` in a function is followed, on the same line, by calls
`::warploom::unset(sum, "sum"); ::warploom::unset(part, "part");`. These give the variables what
memory holds that nobody has written, and tell of it (include/warploom/device.h). What is set before
it is read costs nothing. Variables whose address is taken, and objects whose functions are called,
are left alone: others set them.

What this does not recognize, the compiler sees: building/unset_values.py.
"""

import re
from collections.abc import Iterator

from tree_sitter import Node

from warploom.source.edits import TextEdit
from warploom.source.masking import mask
from warploom.source.syntax import SourceFile

_UNSET = "::warploom::unset"
_DEVICE_HEADER = re.compile(
    rb"\b__(?:global|device)__\b|#[ \t]*include[ \t]*[<\"](?:cuda_runtime|cuda|nccl)\w*\.h"
)
_BLOCKS = (
    "compound_statement", "case_statement", "labeled_statement", "preproc_if", "preproc_ifdef",
    "preproc_else", "preproc_elif", "preproc_elifdef",
)  # fmt: skip
_HEADS = ("for_statement", "init_statement")  # nothing can be put behind the declaration
# A word that may be a macro, and what a macro or alias that stands for a type looks like.
_MACRO_LIKE = re.compile(r"[A-Z][A-Z0-9_]+")
_ALIAS = (
    r"\busing\s+{0}\s*=|\btypedef\b[^;{{}}]*\b{0}\s*;|#[ \t]*define[ \t]+{0}[ \t]+[\w:]+[ \t*\w]*$"
)
# Zero from the start, defined elsewhere, or no variable of the function's own.
_OTHER = re.compile(
    r"\b(?:static|extern|thread_local|constexpr|constinit|typedef|register|volatile|using|friend|"
    r"__shared__|__device__|__constant__|__managed__)\b"
)


def unset_edits(tree: SourceFile, marks: frozenset[str], *, host: bool) -> list[TextEdit]:
    """Return what gives the unset variables of device functions of `tree` a value.

    `marks`: the words that say that a function runs on devices (see metering.py). `host`: those of
    host functions as well, where the whole file is compiled as CUDA. Arrays of the host's are left
    alone, as their sizes may be known at run time only.
    """
    host = host and _DEVICE_HEADER.search(tree.text) is not None  # which declares what is called
    edits: list[TextEdit] = []
    for function in tree.nodes("function_definition"):
        body = function.child_by_field_name("body")
        if body is None:
            continue
        around = function
        while around.parent is not None and around.parent.type == "template_declaration":
            around = around.parent
        head = set(re.findall(r"\w+", mask(tree.slice(around.start_byte, body.start_byte))))
        on_device = bool(head & marks) and "__host__" not in head
        if on_device or host:
            edits += _of_function(tree, body, arrays=on_device)
    return sorted(set(edits), key=lambda edit: edit.start)


def _of_function(tree: SourceFile, body: Node, *, arrays: bool) -> Iterator[TextEdit]:
    """Yield the edits for the declarations in one function."""
    text = mask(tree.node_text(body))
    for declaration in tree.nodes("declaration", within=body):
        parent = declaration.parent
        if parent is None or parent.type not in (*_BLOCKS, *_HEADS) or declaration.has_error:
            continue
        if _OTHER.search(_specifiers(tree, declaration)) or not _names_type(tree, declaration):
            continue
        if parent.type in _HEADS:
            yield from _in_head(tree, declaration, text)
            continue
        found = (
            _name(tree, declarator, arrays=arrays)
            for declarator in declaration.children_by_field_name("declarator")
        )
        calls = "".join(
            f' {_UNSET}({name}, "{name}");'
            for name in found
            if name and not _is_set_elsewhere(name, text)
        )
        if calls:
            yield TextEdit(declaration.end_byte, declaration.end_byte, calls)


def _in_head(tree: SourceFile, declaration: Node, text: str) -> Iterator[TextEdit]:
    """Yield a first value for each number that the head of a loop or condition leaves without."""
    kind = declaration.child_by_field_name("type")
    if kind is None or kind.type not in ("primitive_type", "sized_type_specifier"):
        return
    for node in declaration.children_by_field_name("declarator"):
        name = tree.node_text(node)
        if node.type == "identifier" and not _is_set_elsewhere(name, text):
            value = f' = {_UNSET}_start<decltype({name})>("{name}")'
            yield TextEdit(node.end_byte, node.end_byte, value)


def _specifiers(tree: SourceFile, declaration: Node) -> str:
    """Return what stands before the first variable."""
    first = declaration.child_by_field_name("declarator")
    end = first.start_byte if first is not None else declaration.end_byte
    return mask(tree.slice(declaration.start_byte, end))


def _names_type(tree: SourceFile, declaration: Node) -> bool:
    """Whether it begins with a type: the word of `TIMER t;` may be a macro that declares others."""
    kind = declaration.child_by_field_name("type")
    word = tree.node_text(kind) if kind is not None else ""
    if not _MACRO_LIKE.fullmatch(word):
        return True
    return re.search(_ALIAS.format(word).encode(), tree.text, re.MULTILINE) is not None


def _is_set_elsewhere(name: str, text: str) -> bool:
    """Whether something gets the address of a variable: by `&`, or as an object's own function."""
    word = re.escape(name)
    if re.search(rf"\b{word}\s*\.\s*\w+\s*\(", text):
        return True
    for found in re.finditer(rf"(?<!&)&\s*{word}\b", text):
        before = text[: found.start()].rstrip()
        # Behind `)`, which may end a cast, it is the address; else `&` may have two operands.
        operand = before[-1:].isalnum() or before[-1:] in ("_", "]")
        if not operand or re.search(r"\b(?:return|case|sizeof|throw|else)\Z", before):
            return True
    return False


def _name(tree: SourceFile, declarator: Node, *, arrays: bool) -> str:
    """Return the name of a variable that is declared without a value, "" for anything else.

    A value that is the variable's own is none: `float x = x;`.
    """
    node: Node | None = declarator
    if declarator.type == "init_declarator":
        node = declarator.child_by_field_name("declarator")
        value = declarator.child_by_field_name("value")
        if node is None or value is None:
            return ""
        own = rf"[({{\s]*{re.escape(tree.node_text(node))}\s*(?:[-+*/,)}}].*)?"
        if not re.fullmatch(own, tree.node_text(value), re.DOTALL):
            return ""
    while node is not None and node.type in ("pointer_declarator", "array_declarator"):
        if node.type == "array_declarator" and not arrays:
            return ""
        node = node.child_by_field_name("declarator")
    return tree.node_text(node) if node is not None and node.type == "identifier" else ""
