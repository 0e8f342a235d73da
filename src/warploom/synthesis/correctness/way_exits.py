"""Which ways of a condition need not be shown: those that end in a failure that everybody sees."""

import re

from tree_sitter import Node

from warploom.source.syntax import SourceFile

_ENTRY = "warploom_forward"
_NONZERO = re.compile(r"-?[1-9]\d*|cudaErrorInvalidValue")
_CAST = re.compile(r"(?:static_cast|\(int\)|\bint)(?=\()|\(int\)")
_LEAVING = ("return_statement", "break_statement", "continue_statement", "goto_statement")
_NEITHER: frozenset[bool] = frozenset()


class Exits:
    """What is done on either way of a condition of a text."""

    def __init__(self, tree: SourceFile) -> None:
        self.tree = tree

    def of_statement(self, node: Node, condition: Node) -> frozenset[bool]:
        """Return the ways of an `if` that end in a failure."""
        if node.type != "if_statement":
            return _NEITHER
        found: set[bool] = set()
        for way, name in ((True, "consequence"), (False, "alternative")):
            body = node.child_by_field_name(name)
            if body is not None and body.type == "else_clause":
                body = body.named_children[-1]
            if body is not None and self._fails(body, condition):
                found.add(way)
        return frozenset(found)

    def of_ternary(self, node: Node) -> frozenset[bool]:
        """Return the ways of a `?:` that an entry point returns as its failure."""
        around = node.parent
        while around is not None and around.type == "parenthesized_expression":
            around = around.parent
        if around is None or around.type != "return_statement" or not self.is_in_entry(around):
            return _NEITHER
        arms = ((True, "consequence"), (False, "alternative"))
        found = ((way, node.child_by_field_name(name)) for way, name in arms)
        return frozenset(way for way, arm in found if arm is not None and self._is_failure(arm))

    def of_label(self, case: Node) -> frozenset[bool]:
        """Return that a label need not be reached, where what follows it fails."""
        value = case.child_by_field_name("value")
        rest = [child for child in case.named_children if child != value]
        return frozenset({True}) if rest and self._fails(rest[0], None) else _NEITHER

    def is_in_entry(self, node: Node) -> bool:
        """Whether a statement is one of the entry point itself."""
        around = node.parent
        while around is not None and around.type not in (
            "function_definition",
            "lambda_expression",
        ):
            around = around.parent
        if around is None or around.type == "lambda_expression":
            return False
        declared = around.child_by_field_name("declarator")
        name = declared.child_by_field_name("declarator") if declared is not None else None
        return name is not None and self.tree.node_text(name) == _ENTRY

    def _fails(self, body: Node, condition: Node | None) -> bool:
        if body.type == "return_statement":
            value = body.named_children[0] if body.named_children else None
            if value is None or not self.is_in_entry(body):
                return False
            return self._is_failure(value) or self._is_error_of(value, condition)
        if body.type == "expression_statement":
            return joined(self.tree.node_text(body)) == "__trap();"
        if body.type != "compound_statement":
            return False
        for part in body.named_children:
            if self._fails(part, condition):
                return True
            if part.type not in ("expression_statement", "declaration", "comment"):
                return False
        return False

    def _is_failure(self, value: Node) -> bool:
        return bool(_NONZERO.fullmatch(bare(self.tree.node_text(value))))

    def _is_error_of(self, value: Node, condition: Node | None) -> bool:
        """Whether what is returned is the error that the condition found."""
        if condition is None:
            return False
        text = bare(_CAST.sub("", joined(self.tree.node_text(value))))
        wanted = {f"{text}!=cudaSuccess", f"cudaSuccess!={text}"}
        return bool(text.isidentifier()) and bare(self.tree.node_text(condition)) in wanted


def joined(text: str) -> str:
    """Return a text without blanks, and without the types of casts, which look like comparisons."""
    return re.sub(r"(?<=_cast)<[^<>]*>", "", re.sub(r"\s+", "", text))


def bare(text: str) -> str:
    """Return a text without blanks, and without brackets around all of it."""
    return unbracketed(joined(text))


def unbracketed(text: str) -> str:
    """Return a text that has no blanks without brackets around all of it."""
    while text[:1] == "(" and text[-1:] == ")" and closes_last(text):
        text = text[1:-1]
    return text


def closes_last(text: str) -> bool:
    """Whether the bracket that a text begins with is closed by its last letter."""
    depth = 0
    for at, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if depth == 0:
            return at == len(text) - 1
    return False
