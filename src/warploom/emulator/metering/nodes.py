"""Which nodes of a syntax tree are evaluated, and where control comes to them."""

from collections.abc import Iterator

from tree_sitter import Node


def parts(node: Node) -> Iterator[Node]:
    """Return the parts of `node` that may be evaluated."""
    for child in node.named_children:
        if child.type != "comment":
            yield child


def stands_alone(case: Node) -> bool:
    """Whether a label stands where one statement may, with no block around it."""
    around, before = case.parent, case.prev_named_sibling
    if before is not None and before.type == "ERROR":
        return True  # `switch (n) case 0: ...`
    return around is not None and not around.type.startswith(("compound_statement", "preproc"))


def behind(node: Node) -> Iterator[Node]:
    """Return what follows the blocks that a label lies in, within its `switch`.

    What stands in the body of the `switch` itself is counted where that begins.
    """
    around = node.parent
    while around is not None and around.type != "switch_statement":
        outer = around.parent
        if outer is None or outer.type == "switch_statement":
            return
        if outer.parent is not None and outer.parent.type == "switch_statement":
            return
        after = around.next_named_sibling
        while after is not None:
            yield after
            after = after.next_named_sibling
        around = outer


def bounds(node: Node) -> Iterator[Node]:
    """Return what stands in square brackets within an operand that is not evaluated by itself.

    A bound that is no constant is evaluated there too (`sizeof(char[n])`), and what parsers take
    for a subscript may be one.
    """
    for child in node.children:
        if child.type in ("subscript_argument_list", "abstract_array_declarator"):
            yield child
        elif child.type == "array_declarator":
            yield from child.named_children
        else:
            yield from bounds(child)


def changes(node: Node) -> bool:
    """Whether something is assigned inside of `node`: then it is no list of template arguments."""
    kinds = ("assignment_expression", "update_expression")
    return node.type in kinds or any(changes(child) for child in node.named_children)


def has_effects(node: Node) -> bool:
    """Whether something is changed or called inside of `node`, so that it runs each time anew."""
    kinds = ("assignment_expression", "update_expression", "call_expression", "lambda_expression")
    return node.type in kinds or any(has_effects(child) for child in node.named_children)
