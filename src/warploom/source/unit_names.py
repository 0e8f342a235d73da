"""The names that a source file has for itself: other translation units may have the same."""

import re

from tree_sitter import Node

from warploom.source.syntax import SourceFile

_HOLDERS = ("preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif", "linkage_specification",
            "declaration_list")  # fmt: skip
_INTERNAL = re.compile(r"(?:\s|\[\[\w+\]\]|__\w+__)*(?:static|inline|template|constexpr|const)\b")
_DECLARED = re.compile(
    r"([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)*(?:\((?:[^()]|\([^()]*\))*\)[\w\s]*)?;?\s*\Z"
)
_TYPES = frozenset(("struct_specifier", "class_specifier", "union_specifier", "enum_specifier"))


def internal_names(file: SourceFile) -> set[str]:
    """Return the names of a file that no other translation unit sees.

    They are types, and functions and variables that are `static`, `inline`, templates, or in a
    namespace without a name.
    """
    found: set[str] = set()
    waiting = [(node, False) for node in file.root.named_children]
    while waiting:
        node, hidden = waiting.pop()
        if node.type == "namespace_definition":
            inner = node.child_by_field_name("body")
            hidden = hidden or node.child_by_field_name("name") is None
            waiting += [(child, hidden) for child in inner.named_children] if inner else []
        elif node.type in _HOLDERS:
            waiting += [(child, hidden) for child in node.named_children]
        elif node.type in ("function_definition", "declaration", "template_declaration"):
            head = file.node_text(node).split("{")[0]
            name = _DECLARED.search(head.split("=")[0])
            if name and (hidden or _INTERNAL.match(head)):
                found.add(name[1])
        found |= _type_names(file, node)
    return found - {"main"}


def _type_names(file: SourceFile, node: Node) -> set[str]:
    """Return the types that a statement at namespace scope defines, with an enum's values."""
    named: list[Node | None] = []
    if node.type == "template_declaration":
        return set[str]().union(*(_type_names(file, child) for child in node.named_children))
    if node.type == "alias_declaration":
        named = [node.child_by_field_name("name")]
    elif node.type == "type_definition":
        named += node.children_by_field_name("declarator")
    kind = node.child_by_field_name("type") or node
    if kind.type in _TYPES and kind.child_by_field_name("body") is not None:
        named.append(kind.child_by_field_name("name"))
        if kind.type == "enum_specifier" and not file.node_text(kind).startswith("enum class"):
            values = file.nodes("enumerator", within=kind)
            named += [value.child_by_field_name("name") for value in values]
    return {text for n in named if n is not None and (text := file.node_text(n)).isidentifier()}


def own_macros(file: SourceFile) -> set[str]:
    """Return the macros that a file defines itself."""
    nodes = file.nodes("preproc_def", "preproc_function_def")
    named = (node.child_by_field_name("name") for node in nodes)
    return {file.node_text(name) for name in named if name is not None}
