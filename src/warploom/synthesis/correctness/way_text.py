"""The text of a candidate with its conditions watched: a call around each tells which way it goes.

No candidate may use the names of these calls. What they tell is noted by the emulator's runtime, in
memory where no program can write (`behavior/ways.cpp`). What decides something in another way than
by a condition is refused, and each word that may decide is held against what was watched.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from tree_sitter import Node

from warploom.source.edits import TextEdit, apply_edits
from warploom.source.syntax import SourceFile, parse_source
from warploom.synthesis.correctness.way_bounds import (
    Bound,
    assigned_bound,
    called_bound,
    chosen_bound,
)
from warploom.synthesis.correctness.way_exits import Exits
from warploom.synthesis.correctness.way_extents import zero_way
from warploom.synthesis.correctness.way_macros import check_macros
from warploom.synthesis.correctness.way_names import function_names, template_names
from warploom.synthesis.correctness.ways import Condition, UnwatchedError, Watched

_ORDERED = {"<": "way_lt", "<=": "way_le", ">": "way_gt", ">=": "way_ge"}
_EQUAL = frozenset({"==", "!=", "not_eq"})
_JOINING = {"&&": False, "and": False, "||": True, "or": True}
"""Operators on conditions, and the way of a part that decides the whole."""
_NOT = frozenset({"!", "not"})
_CASTS = frozenset({"static_cast", "reinterpret_cast", "const_cast"})
_GIVEN = frozenset({"ncclLsaBarrierSession"})  # refused by name where there is one rank
_WORDS = re.compile(
    rb"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'"
    rb"|^[ \t]*\#(?:\\\n|[^\n])*"
    rb"|\b(?:if|while|for|do|switch|case|default|and|or|not|not_eq|try|catch|throw|virtual)\b"
    rb"|<=>|<<<|>>>|<<=|>>=|<<|>>|->\*?|&&|\|\||[=!<>]=|[<>?!]",
    re.DOTALL | re.MULTILINE,
)
_NEUTRAL = frozenset({b"<<<", b">>>", b"<<=", b">>=", b"<<", b"->", b"default", b"<", b">", b">>"})
_CONDITIONAL = frozenset({*_ORDERED, *_EQUAL, *_JOINING, *_NOT})
_DECLARING = frozenset({"init_declarator", "declaration", "parameter_declaration",
                        "pointer_declarator", "reference_declarator",
                        "array_declarator"})  # fmt: skip
_ARMS = frozenset({"preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif"})


def watch(body: str) -> Watched:
    """Return a candidate's text with its conditions watched.

    Raises:
        UnwatchedError: something in it may decide what runs, and cannot be watched.
    """
    tree = parse_source(body)
    if tree.skipped:
        raise UnwatchedError("this text is beyond the parser", tree.skipped[0].first)
    watcher = _Watcher(tree)
    check_macros(tree)
    watcher.visit(tree.root)
    watcher.check_all_seen()
    return Watched(apply_edits(body, watcher.edits), tuple(watcher.conditions))


class _Watcher:
    """Walks over a text; what it meets is noted by where it stands."""

    def __init__(self, tree: SourceFile) -> None:
        self.tree = tree
        self.edits: list[TextEdit] = []
        self.conditions: list[Condition] = []
        self.seen: set[int] = set()
        self.answers: dict[int, tuple[int, bool]] = {}
        self.exits = Exits(tree)
        self.templates = template_names(tree)
        self.functions = function_names(tree)

    def visit(self, node: Node) -> None:
        """Watch what is in `node`, which is no condition itself."""
        match node.type:
            case "if_statement" | "while_statement" | "do_statement" | "for_statement":
                self._statement(node)
            case "conditional_expression":
                self._ternary(node)
            case "binary_expression" | "unary_expression" if self._operator(node) in _CONDITIONAL:
                self.condition(node, frozenset())
            case "init_declarator" if self._is_answer(node):
                value = node.child_by_field_name("value")
                assert value is not None
                self.answers[value.start_byte] = self.condition(value, frozenset())
            case "call_expression" if (bound := called_bound(self.tree, node)) is not None:
                self._bound(node, bound)
            case "switch_statement":
                self._switch(node)
            case "case_statement" | "for_range_loop":
                self._see(node, "case", "for")
                self._parts(node)
            case "lambda_expression":
                self._lambda(node)
            case "return_statement":
                self._return(node)
            case "template_argument_list":
                self._check_template(node)
                self._parts(node)
            case "identifier" if self.tree.node_text(node) in self.functions | self.templates:
                self._check_name(node)
            case _:
                self._parts(node)

    def condition(self, node: Node, free: frozenset[bool]) -> tuple[int, bool]:
        """Watch a condition whose ways `free` need not be shown.

        Returns its number, and whether it holds where what has the number does.
        """
        inner = _plain(node)
        operator = self._operator(inner)
        if operator in _NOT:
            self._see(inner, operator)
            argument = inner.child_by_field_name("argument")
            if argument is None:
                raise UnwatchedError(f"{operator} of nothing", self._line(inner))
            number, holds = self.condition(argument, frozenset(not way for way in free))
            return number, not holds
        if operator in _JOINING:
            return self._joined(inner, operator, free), True
        if operator in _ORDERED or operator in _EQUAL:
            return self._comparison(inner, operator, free), True
        if inner.type == "declaration":
            raise UnwatchedError("a condition that declares a variable", self._line(inner))
        number = self._wrapped(inner, "way", free, lambda: self.visit(inner))
        known = self._value_of(inner)
        if known is not None:
            self.conditions[number] = replace(self.conditions[number], parts=(known,))
        return number, True

    def _value_of(self, name: Node) -> tuple[int, bool] | None:
        """Return the condition that a constant of this function is the answer of."""
        around: Node | None = name if name.type == "identifier" else None
        while around is not None and around.type != "function_definition":
            around = around.parent
        if around is None:
            return None
        text = self.tree.node_text(name)
        declared = [
            node
            for node in self.tree.nodes("identifier", within=around)
            if self.tree.node_text(node) == text
            and node.parent is not None
            and node.parent.type in _DECLARING
        ]
        one = declared[0].parent if len(declared) == 1 else None
        value = one.child_by_field_name("value") if one is not None else None
        statement = one.parent if one is not None else None
        if value is None or statement is None or statement.type != "declaration":
            return None
        constant = self.tree.node_text(statement).startswith("const bool ")
        return self.answers.get(value.start_byte) if constant else None

    def _is_answer(self, node: Node) -> bool:
        """Whether a variable is declared as the answer of a condition."""
        value = node.child_by_field_name("value")
        return value is not None and self._operator(_plain(value)) in _CONDITIONAL

    def check_all_seen(self) -> None:
        """Hold what was watched against the words of the text."""
        for found in _WORDS.finditer(self.tree.parsed):
            word = found[0]
            plain = word[:1] in b"\"'/" or word.lstrip()[:1] == b"#" or word in _NEUTRAL
            if not plain and found.start() not in self.seen and not self._is_type(found):
                line = self.tree.line_of(found.start())
                raise UnwatchedError(f"{word.decode()} in a place of which nothing is known", line)

    def _is_type(self, found: re.Match[bytes]) -> bool:
        """Whether && is a reference, as the parser has it."""
        if found[0] != b"&&":
            return False
        node = self.tree.root.descendant_for_byte_range(found.start(), found.end())
        around = node.parent.type if node is not None and node.parent is not None else ""
        return "reference_declarator" in around

    def _joined(self, node: Node, operator: str, free: frozenset[bool]) -> int:
        self._see(node, operator)
        decides = _JOINING[operator]
        parts: list[tuple[int, bool]] = []

        def inside() -> None:
            for name in ("left", "right"):
                side = node.child_by_field_name(name)
                if side is not None:
                    parts.append(self.condition(side, free & {decides}))

        number = self._wrapped(node, "way", free, inside)
        one = self.conditions[number]
        self.conditions[number] = replace(one, parts=tuple(parts), joined=decides)
        return number

    def _comparison(self, node: Node, operator: str, free: frozenset[bool]) -> int:
        self._see(node, operator)
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        sign = node.child_by_field_name("operator")
        if left is None or right is None or sign is None:
            raise UnwatchedError(f"{operator} without both sides", self._line(node))

        def inside() -> None:
            self.visit(left)
            if operator in _ORDERED:
                self.edits.append(TextEdit(sign.start_byte, sign.end_byte, "), ("))
            self.visit(right)

        if operator in _EQUAL and self._is_number_test(left, right):
            free = frozenset((True, False))
        return self._wrapped(node, _ORDERED.get(operator, "way"), free, inside)

    def _is_number_test(self, left: Node, right: Node) -> bool:
        """Whether it asks for NaN, which not every value can be."""
        text = self.tree.node_text(left)
        return left.type == "identifier" and text == self.tree.node_text(right)

    def _wrapped(
        self, node: Node, name: str, free: frozenset[bool], inside: Callable[[], None]
    ) -> int:
        number = self._new(node, self.tree.node_text(node), free)
        self._insert(node.start_byte, f"warploom::{name}({number}u, (")
        inside()
        self._insert(node.end_byte, "))")
        return number

    def _statement(self, node: Node) -> None:
        bound = assigned_bound(self.tree, node) if node.type == "if_statement" else None
        if bound is not None:
            self._bound(node, bound)
            return
        self._see(node, "if", "while", "do", "for")
        condition = node.child_by_field_name("condition")
        for part in node.named_children:
            if condition is None or part != condition:
                self.visit(part)
                continue
            value = condition
            if condition.type == "condition_clause":
                first = condition.child_by_field_name("initializer")
                if first is not None:
                    self.visit(first)
                value = condition.child_by_field_name("value") or condition
            free = self.exits.of_statement(node, value)
            if node.type in ("for_statement", "while_statement"):
                self._loop(value, free)
            else:
                self.condition(value, free)

    def _loop(self, condition: Node, free: frozenset[bool]) -> None:
        """Watch the condition of a loop: what a later turn does differs from the first."""
        self._insert(_plain(condition).start_byte, f"warploom::way_turn({len(self.conditions)}u, (")
        number, goes_on = self.condition(condition, free)
        self._insert(_plain(condition).end_byte, "))")
        self.conditions[number] = replace(self.conditions[number], goes_on=goes_on)

    def _ternary(self, node: Node) -> None:
        bound = chosen_bound(self.tree, node)
        if bound is not None:
            self._bound(node, bound)
            return
        self._see(node, "?")
        condition = node.child_by_field_name("condition")
        for part in node.named_children:
            if part == condition:
                self.condition(part, self.exits.of_ternary(node))
            else:
                self.visit(part)

    def _bound(self, node: Node, bound: Bound) -> None:
        """Watch which of two values decides; what is not in either is written anew."""
        number = self._new(node, self.tree.node_text(node), frozenset())
        self.conditions[number] = replace(self.conditions[number], bound=True)
        least = "true" if bound.least else "false"
        begin = f"{{ {bound.target} = " if bound.target else ""
        begin += (
            f"warploom::bounded({number}u, {least}, "
            f"[](auto _Wp, auto _Wq) {{ return {bound.choice}; }}, ("
        )
        end = ")); }" if bound.target else "))"
        self._rewrite(node.start_byte, bound.left.start_byte, begin)
        self.visit(bound.left)
        self._rewrite(bound.left.end_byte, bound.right.start_byte, "), (")
        self.visit(bound.right)
        self._rewrite(bound.right.end_byte, node.end_byte, end)

    def _rewrite(self, start: int, end: int, text: str) -> None:
        """Write something else, on as many lines; its words decide nothing any more."""
        old = self.tree.parsed[start:end]
        self.seen |= {start + found.start() for found in _WORDS.finditer(old)}
        self.edits.append(TextEdit(start, end, text + "\n" * old.count(b"\n")))

    def _return(self, node: Node) -> None:
        """What an entry point returns says whether it failed."""
        value = _plain(node.named_children[0]) if node.named_children else None
        known = value is not None and self._operator(value) in _CONDITIONAL
        if value is not None and known and self.exits.is_in_entry(node):
            self.condition(value, frozenset({True}))
        else:
            self._parts(node)

    def _switch(self, node: Node) -> None:
        """Watch which label is taken, not which is come to: one may fall into the next."""
        self._see(node, "switch")
        clause, body = node.child_by_field_name("condition"), node.child_by_field_name("body")
        value = clause.child_by_field_name("value") if clause is not None else None
        if value is None or body is None or value.type == "declaration":
            raise UnwatchedError("a switch that is not understood", self._line(node))
        cases = list(_cases(body))
        labels = [case for case in cases if case.child_by_field_name("value") is not None]
        others = [case for case in cases if case.child_by_field_name("value") is None]
        values = [case.child_by_field_name("value") for case in labels]
        texts = [self.tree.node_text(value) for value in values if value is not None]
        first = len(self.conditions)
        numbers = range(first, first + len(labels) + 1)
        for case, text in zip(labels, texts, strict=True):
            self._new(case, f"case {text}", self.exits.of_label(case), numbers)
        rest = others[0] if others else node
        free = self.exits.of_label(rest) if others else frozenset[bool]()
        self._new(rest, "default" if others else "no label of the switch", free, numbers)
        self._insert(value.start_byte, f"warploom::switched({first}u, (")
        self.visit(value)
        self._insert(value.end_byte, "".join([")", *(f", ({text})" for text in texts), ")"]))
        self.visit(body)

    def _lambda(self, node: Node) -> None:
        body = node.child_by_field_name("body")
        for part in node.named_children:
            if part == body:
                alone = range(len(self.conditions), len(self.conditions) + 1)
                number = self._new(node, "a lambda", frozenset(), alone)
                self._insert(part.start_byte + 1, f" warploom::reached({number}u);")
            self.visit(part)

    def _check_template(self, node: Node) -> None:
        """Refuse two comparisons that the parser took for the arguments of a template."""
        around = node.parent
        name = around.child_by_field_name("name") if around is not None else None
        text = self.tree.node_text(name) if name is not None else ""
        outer = around.parent if around is not None else None
        qualified = outer is not None and outer.type == "qualified_identifier"
        if not qualified and text not in self.templates | _CASTS | _GIVEN:
            raise UnwatchedError(f"{text}<, no template of this file,", self._line(node))

    def _check_name(self, node: Node) -> None:
        """Refuse what is called otherwise than by its name: no condition says which it is."""
        text, line = self.tree.node_text(node), self._line(node)
        around = node.parent
        while around is not None and around.type in ("template_function", "qualified_identifier"):
            node, around = around, around.parent
        if around is None or around.type in ("function_declarator", "template_method"):
            return
        if around.type in _DECLARING:
            raise UnwatchedError(f"{text}, a variable named like a function,", line)
        while around is not None:
            function = around.child_by_field_name("function")
            if function is not None and around.type == "call_expression":
                attribute = self.tree.node_text(function).startswith("cudaFuncSetAttribute")
                if function == node or attribute:
                    return
            around = around.parent
        raise UnwatchedError(f"{text}, which is not called by its name,", line)

    def _parts(self, node: Node) -> None:
        for child in node.named_children:
            if not child.type.startswith("preproc_") or child.type in _ARMS:
                self.visit(child)

    def _operator(self, node: Node) -> str:
        sign = node.child_by_field_name("operator")
        known = node.type in ("binary_expression", "unary_expression") and sign is not None
        return self.tree.node_text(sign) if known and sign is not None else ""

    def _see(self, node: Node, *words: str) -> None:
        self.seen |= {child.start_byte for child in node.children if child.type in words}

    def _new(
        self, node: Node, text: str, free: frozenset[bool], labels: range | None = None
    ) -> int:
        number = len(self.conditions)
        if labels is None and self.exits.is_in_entry(node):
            free |= zero_way(self.tree, node)
        words = " ".join(text.split())
        self.conditions.append(Condition(number, self._line(node), words, free, labels))
        return number

    def _insert(self, offset: int, text: str) -> None:
        self.edits.append(TextEdit(offset, offset, text))

    def _line(self, node: Node) -> int:
        return self.tree.line_of(node.start_byte)


def _plain(node: Node) -> Node:
    """Return what is in brackets."""
    while node.type == "parenthesized_expression" and node.named_child_count == 1:
        node = node.named_children[0]
    return node


def _cases(body: Node) -> Iterator[Node]:
    """Yield the labels of a switch, not those of switches in it."""
    for child in body.named_children:
        if child.type == "case_statement":
            yield child
        if child.type not in ("switch_statement", "lambda_expression"):
            yield from _cases(child)
