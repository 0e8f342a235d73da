"""What a candidate calls by its name: its functions and templates."""

from tree_sitter import Node

from warploom.source.syntax import SourceFile


def function_names(tree: SourceFile) -> frozenset[str]:
    """Return the names of the functions that a file declares."""
    return frozenset(
        tree.node_text(name)
        for node in tree.nodes("function_declarator")
        if (name := node.child_by_field_name("declarator")) is not None
        and name.type in ("identifier", "field_identifier")
    )


def template_names(tree: SourceFile) -> frozenset[str]:
    """Return the names of the templates that a file declares."""
    return frozenset(
        tree.node_text(name)
        for node in tree.nodes("template_declaration")
        for name in tree.nodes("identifier", "type_identifier", within=node)
        if name.parent is not None
        and name.parent.type in ("function_declarator", "struct_specifier", "class_specifier",
                                 "init_declarator", "alias_declaration")
        and not _is_in_body(name, node)
    )  # fmt: skip


def _is_in_body(node: Node, template: Node) -> bool:
    """Whether a name is one inside of a function that a template is."""
    around: Node | None = node
    while around is not None and around != template and around.type != "compound_statement":
        around = around.parent
    return around is not None and around != template
