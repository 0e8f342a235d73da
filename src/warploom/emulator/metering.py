"""Counts the arithmetic of device code: edits that tell the runtime what each block of text does.

The access hooks see loads and stores only. In a timed build each compound statement of device code
begins with a call that says how many operations its own text holds, as lanes of a multiprocessor
count them; nested blocks and loop bodies have calls of their own. What a compiler would fold away
is counted all the same, and both branches of `?:` are. The macros of a file are
looked into: their loops and blocks count for themselves, the rest of them where they are used.

What runs outside of bodies counts too: initializers of members count for the constructor that has
them, default arguments and default initializers of members where they are evaluated. Variables at
namespace scope have constants, and cost nothing on a GPU either.
"""

import functools
import re
from dataclasses import replace

from tree_sitter import Node

from warploom.emulator.metering_macros import Macro, macros_of, without_macros
from warploom.emulator.metering_names import Known, names_of
from warploom.emulator.metering_nodes import behind, bounds, changes, parts, stands_alone
from warploom.emulator.metering_packs import misread_patterns
from warploom.emulator.metering_prices import (
    DIVISION,
    slots_of_call,
    slots_of_ptx,
    without_comments,
)
from warploom.source.edits import TextEdit
from warploom.source.syntax import SourceFile, parse_source

_CALL = "warploom::count_operations"
_CALL_IN_CONSTANTS = "warploom::count_at_run_time"
"""The same, where the compiler may want a constant."""
MARKS = frozenset(("__global__", "__device__"))
"""Words of a function that runs on devices; macros that stand for one are further ones."""
_WORD = re.compile(r"\w+")
_IN_CONSTANTS = frozenset(("constexpr", "consteval"))
_CONSTANT = re.compile(
    r"(?:\bconstexpr(?:\s+(?:static|const|inline))*\s+[\w:]+|#[ \t]*define|\bconst\s+int)\s+(\w+)"
)
_FREE = frozenset(("=", "&&", "||", ","))


def device_marks(tree: SourceFile, known: frozenset[str] = MARKS) -> frozenset[str]:
    """Return `known` and the macros of `tree` whose text holds one of these words."""
    words = {
        tree.node_text(name): set(_WORD.findall(tree.node_text(value)))
        for node in tree.nodes("preproc_def", "preproc_function_def")
        if (name := node.child_by_field_name("name")) is not None
        and (value := node.child_by_field_name("value")) is not None
    }
    marks = set(known)
    while more := {name for name, held in words.items() if held & marks} - marks:
        marks |= more
    return frozenset(marks)


def metering_edits(tree: SourceFile, marks: frozenset[str] = MARKS) -> list[TextEdit]:
    """Return the insertions that count the operations of every device function of `tree`.

    `marks`: words of device functions, of the file's own and of those that it includes.
    """
    marks = device_marks(tree, marks)
    tree = without_macros(tree, marks - MARKS)
    macros = tuple(macros_of(tree))
    known = names_of(tree)
    known = replace(known, weights=_weights(macros, known))
    edits: list[TextEdit] = []
    for macro in macros:
        inside: list[TextEdit] = []
        meter = _Meter(macro.code, inside, known.within(macro.code))
        for node in macro.statements:
            meter.weigh(node)
        if macro.functions:
            _count_functions(macro.code, inside, known.within(macro.code), marks)
        edits += [
            replace(edit, start=edit.start + macro.shift, end=edit.end + macro.shift)
            for edit in inside
        ]
    _count_functions(tree, edits, known, marks)
    return edits


def _count_functions(
    tree: SourceFile, edits: list[TextEdit], known: Known, marks: frozenset[str]
) -> None:
    """Count what functions, lambdas outside of them, and declarations evaluate."""
    for function in tree.nodes("function_definition"):
        body = function.child_by_field_name("body")
        words = _words_of(tree, function)
        constant = bool(words & _IN_CONSTANTS)
        # A body may be `try { } catch (...) { }`, with what initializes members behind its `try`.
        holder = function
        if body is None or body.type != "compound_statement":
            holder = next(
                (n for n in function.named_children if n.type == "try_statement"), function
            )
            body = holder.child_by_field_name("body")
        # Compilers let device code call what may be in a constant (--expt-relaxed-constexpr).
        if body is None or body.type != "compound_statement" or not (constant or words & marks):
            continue
        call = _CALL_IN_CONSTANTS if constant else _CALL
        meter = _Meter(tree, edits, known, call)
        members = (n for n in holder.named_children if n.type == "field_initializer_list")
        meter.block(body, sum(meter.weigh(node) for node in members))
        meter.misread(body)
        for handler in holder.named_children:
            if handler.type == "catch_clause":
                meter.weigh(handler)
                meter.misread(handler)
    meter = _Meter(tree, edits, known, _CALL_IN_CONSTANTS)
    for node in tree.nodes("lambda_expression"):
        if not _is_counted(tree, node, marks):
            meter.weigh(node)
    for node in tree.nodes("optional_parameter_declaration", "field_declaration"):
        value = node.child_by_field_name("default_value")
        if value is not None and _is_evaluated(tree, node, marks):
            meter.expression(value)


def _is_counted(tree: SourceFile, node: Node, marks: frozenset[str]) -> bool:
    """Whether a lambda is counted with what is around it, or is the host's alone."""
    around = node.parent
    while around is not None and around.type not in ("function_definition", "lambda_expression"):
        around = around.parent
    if around is None:
        return False
    if around.type == "lambda_expression":
        return True
    body = node.child_by_field_name("body")
    head = tree.slice(node.start_byte, _end(body, node))
    words = set(_WORD.findall(without_comments(head)))
    return not words & marks or bool(_words_of(tree, around) & (marks | _IN_CONSTANTS))


def _is_evaluated(tree: SourceFile, node: Node, marks: frozenset[str]) -> bool:
    """Whether the default of a parameter or member is evaluated as device code runs."""
    if node.type == "field_declaration":
        words = {tree.node_text(child) for child in node.children}
        bits = any(child.type in ("ERROR", "bitfield_clause") for child in node.children)
        return not bits and not words & {"static", "constexpr"}
    around = node.parent
    while around is not None and not around.type.endswith(("declaration", "definition")):
        if around.type in ("template_parameter_list", "lambda_expression"):
            return False  # a constant, or counted with the lambda
        around = around.parent
    return around is not None and bool(_words_of(tree, around) & marks)


def _weights(macros: tuple[Macro, ...], known: Known) -> dict[str, int]:
    """Return what each macro does outside of its loops and blocks, those that it uses included."""
    weights: dict[str, int] = {}
    for _ in range(4):  # macros that use macros, as deep as anybody nests them
        weights = {
            macro.name: sum(
                _Meter(macro.code, [], replace(known.within(macro.code), weights=weights)).weigh(n)
                for n in macro.statements
            )
            + (slots_of_call(macro.replacement) if macro.replacement.isidentifier() else 0)
            for macro in macros
        }
    return weights


def _words_of(tree: SourceFile, function: Node) -> set[str]:
    """Return the words of a function's declaration, its template's included."""
    body = function.child_by_field_name("body")
    whole = function
    while whole.parent is not None and whole.parent.type == "template_declaration":
        whole = whole.parent
    # The parser does not see macros that stand before it.
    before = whole.prev_sibling
    start = before.end_byte if before is not None else 0
    if before is None and whole.parent is not None:
        start = whole.parent.start_byte
    head = tree.slice(start, _end(body, function))
    return set(_WORD.findall(without_comments(head)))


def _end(body: Node | None, function: Node) -> int:
    return body.start_byte if body is not None else function.end_byte


class _Meter:
    """Walks one function; each block's own operations become one call at its start."""

    def __init__(
        self,
        tree: SourceFile,
        edits: list[TextEdit],
        known: Known,
        call: str = _CALL,
    ) -> None:
        self.tree = tree
        self.edits = edits
        self.known = known
        self.call = call

    def block(self, node: Node, extra: int = 0) -> None:
        """Count a compound statement that may run any number of times."""
        count = extra + sum(self.weigh(child) for child in node.named_children)
        if count:
            self._insert(node.start_byte + 1, f" {self.call}({count}u);")

    def expression(self, node: Node) -> None:
        """Count an expression that stands alone, each time it is evaluated."""
        if node.type in ("initializer_list", "initializer_pair"):
            for part in node.named_children:
                self.expression(part)
            return
        words = _WORD.findall(self.tree.node_text(node))
        if all(word in self._constants or word[0].isdigit() for word in words):
            return  # the compiler folds it, and may have to: `{N * 4}` must not narrow
        count = self.weigh(node)
        if count:
            self._insert(node.start_byte, f"({self.call}({count}u), ")
            self._insert(node.end_byte, ")")

    @functools.cached_property
    def _constants(self) -> frozenset[str]:
        return frozenset(_CONSTANT.findall(without_comments(self.tree.text.decode("latin-1"))))

    def _insert(self, offset: int, text: str) -> None:
        self.edits.append(TextEdit(offset, offset, text))

    def weigh(self, node: Node) -> int:
        """Return the operations of `node` that run each time the block around it does."""
        match node.type:
            case "compound_statement":
                self.block(node)
                return 0
            case "for_statement":
                return self._for(node)
            case "while_statement" | "do_statement" | "for_range_loop":
                return self._loop(node)
            case "switch_statement":
                return self._switch(node)
            case "case_statement":
                return self._case(node)
            case "template_argument_list":
                return self._list(node)
            case "lambda_expression":
                return self._lambda(node)
            case "labeled_statement":
                return self._label(node)
            case "fold_expression" | "parameter_pack_expansion":
                return self._pack(node)
            case "sizeof_expression" | "decltype":
                return sum(self.weigh(bound) for bound in bounds(node))
            case "array_declarator":
                return sum(self._bound(child) for child in node.named_children)
            case "static_assert_declaration":
                return 0
            case _:
                return self._own(node) + sum(self.weigh(child) for child in parts(node))

    def _bound(self, node: Node) -> int:
        """Count the bound of an array where the compiler may have to evaluate it."""
        words = _WORD.findall(self.tree.node_text(node))
        folded = all(word in self._constants or word[0].isdigit() for word in words)
        return 0 if folded else self.weigh(node)

    def _lambda(self, node: Node) -> int:
        """A lambda may run in a constant, and what it captures is evaluated around it."""
        rest = [child for child in node.named_children if child.type != "compound_statement"]
        body = node.child_by_field_name("body")
        if body is not None and body.type == "compound_statement":
            inner = _Meter(self.tree, self.edits, self.known, _CALL_IN_CONSTANTS)
            inner.block(body)
        return sum(self.weigh(part) for part in rest)

    def _for(self, node: Node) -> int:
        body, update = node.child_by_field_name("body"), node.child_by_field_name("update")
        each = sum(
            self.weigh(part)
            for part in (node.child_by_field_name("condition"), update)
            if part is not None
        )
        each = (each + 1) // 2  # compilers unroll, and fold half of what only counts
        first = node.child_by_field_name("initializer")
        once = self.weigh(first) if first is not None else 0
        if body is None:
            return once
        if body.type == "compound_statement":
            self.block(body, max(each, 1))
            return once
        each += self.weigh(body)
        condition = node.child_by_field_name("condition")
        if not each:
            return once
        inside = body.type != "expression_statement"  # which may leave it in the middle
        if not inside or condition is None or not self._before(condition, each):
            end = next(child for child in reversed(node.children) if child.type == ")")
            place = end.start_byte if update is None else update.end_byte
            self._insert(place, f"{' ' if update is None else ', '}{self.call}({each}u)")
        return once

    def _before(self, condition: Node, count: int) -> bool:
        """Count in front of a condition, each time that it is evaluated; false if it cannot be."""
        if condition.type == "declaration":
            value = condition.child_by_field_name("value")
            value = value or (condition.named_children or [None])[-1]
            if value is None or value.type in ("initializer_list", "identifier"):
                return False
            condition = value
        self._insert(condition.start_byte, f"({self.call}({count}u), ")
        self._insert(condition.end_byte, ")")
        return True

    def _loop(self, node: Node) -> int:
        body = node.child_by_field_name("body")
        rest = [child for child in node.named_children if child != body]
        each = sum(self.weigh(part) for part in rest)
        if body is not None and body.type == "compound_statement":
            self.block(body, max(each, 1))
            return 0
        each += self.weigh(body) if body is not None else 0
        if body is None or not each:
            return each
        condition = node.child_by_field_name("condition")
        if condition is not None and condition.type == "condition_clause":
            condition = condition.child_by_field_name("value")
        if node.type == "while_statement" and condition is not None:
            return 0 if self._before(condition, each) else each
        if body.text == b";":
            return each  # the rest of it is where a macro is used
        self._insert(body.start_byte, f"{{ {self.call}({each}u); ")
        self._insert(body.end_byte, " }")
        return 0

    def _pack(self, node: Node) -> int:
        """Each element of a pack is evaluated, however many there are."""
        sign = node.child_by_field_name("operator")
        folds = node.type == "fold_expression" and sign is not None and sign.type not in _FREE
        for part in node.named_children:
            count = self.weigh(part) + folds
            if count and part.type not in ("type_descriptor", "comment"):
                self._insert(part.start_byte, f"({_CALL_IN_CONSTANTS}({count}u), ")
                self._insert(part.end_byte, ")")
        return 0

    def misread(self, body: Node) -> None:
        """Count the packs that the parser took for something else."""
        for pattern in misread_patterns(body):
            self._insert(pattern.start, f"({_CALL_IN_CONSTANTS}({pattern.count}u), ")
            self._insert(pattern.end, ")")

    def _switch(self, node: Node) -> int:
        condition, body = node.child_by_field_name("condition"), node.child_by_field_name("body")
        count = self.weigh(condition) if condition is not None else 0
        if body is None:
            return count
        # Nothing at the start of the body runs: one case of it does, and those that it falls into.
        parts = body.named_children if body.type == "compound_statement" else [body]
        return count + sum(self.weigh(part) for part in parts)

    def _case(self, node: Node) -> int:
        """Count at a label what follows it, for control jumps past the starts of blocks.

        Where no block is around it, the parser takes for its own what comes after its statement.
        """
        colon = next((part for part in node.children if part.type == ":"), None)
        if colon is None:
            return sum(self.weigh(child) for child in node.named_children)
        parts = [part for part in node.named_children if part.start_byte >= colon.end_byte]
        own = sum(self.weigh(part) for part in parts)
        silent = _Meter(self.tree, [], self.known, self.call)
        each = own + sum(silent.weigh(part) for part in behind(node))
        alone = stands_alone(node)
        statement = next((part for part in parts if part.type != "comment"), None)
        if each and alone and statement is not None:
            self._insert(statement.start_byte, f"{{ {self.call}({each}u); ")
            self._insert(statement.end_byte, " }")
        elif each:
            self._insert(colon.end_byte, f" {self.call}({each}u);")
        return own if alone else 0

    def _list(self, node: Node) -> int:
        """Count what the parser takes for arguments of a template, where it is no such list."""
        if not (changes(node) or self._compares(node)):
            return 0
        text = self.tree.text[node.start_byte + 1 : node.end_byte - 1]
        again = parse_source(b"void f() { (" + text + b"); }", self.tree.path, {})
        body = next(iter(again.nodes("compound_statement")))
        read = _Meter(again, [], self.known, self.call)
        count = sum(self.weigh(child) for child in node.named_children)
        return max(count, sum(read.weigh(child) for child in body.named_children))

    def _compares(self, node: Node) -> bool:
        """Whether `<` and `>` around a list compare: what stands before them is a variable."""
        name = node.parent.child_by_field_name("name") if node.parent is not None else None
        text = self.tree.node_text(name) if name is not None else ""
        return text in self.known.variables or (
            self.known.own_signs and text not in self.known.templates
        )

    def _label(self, node: Node) -> int:
        """Count what follows a label each time that control comes there, as a loop may do."""
        parts = [child for child in node.named_children if child.type != "statement_identifier"]
        last = self._last_jump(node)
        place: Node | None = node
        while place is not None:
            after = place.next_named_sibling
            while after is not None:
                parts.append(after)
                after = after.next_named_sibling
            place = place.parent
            if place is not None and place.end_byte > last:
                break  # nobody comes back from behind it
        silent = _Meter(self.tree, [], self.known, self.call)
        each = sum(silent.weigh(part) for part in parts)
        colon = next(child for child in node.children if child.type == ":")
        self._insert(colon.end_byte, f" {self.call}({max(each, 1)}u);")
        return sum(self.weigh(part) for part in parts if part.parent == node)

    def _last_jump(self, label: Node) -> int:
        """Return where the last `goto` to a label is, in its function."""
        function = label
        while function.parent is not None and function.type != "function_definition":
            function = function.parent
        name = label.child_by_field_name("label")
        jumps = (
            node.start_byte
            for node in self.tree.nodes("goto_statement")
            for to in (node.child_by_field_name("label"),)
            if function.start_byte <= node.start_byte < function.end_byte
            if name is not None and to is not None and to.text == name.text
        )
        return max(jumps, default=0)

    def _own(self, node: Node) -> int:
        match node.type:
            case "binary_expression" | "assignment_expression":
                return self._operator(node)
            case "update_expression" | "subscript_expression":
                return 1
            case "identifier":
                return self.known.weights.get(self.tree.node_text(node), 0)
            case "call_expression":
                name = node.child_by_field_name("function")
                text = self.tree.node_text(name) if name is not None else ""
                return slots_of_call(text)
            case "gnu_asm_expression":
                return slots_of_ptx(node)
            case _:
                return 0

    def _operator(self, node: Node) -> int:
        sign = node.child_by_field_name("operator")
        text = self.tree.node_text(sign) if sign is not None else "="
        if text in _FREE:
            return 0
        if text in ("/", "%", "/=", "%="):
            return DIVISION
        fused = text in ("+", "-", "+=", "-=") and any(
            self._is_product(part) for part in node.named_children
        )
        return 0 if fused else 1

    def _is_product(self, node: Node) -> bool:
        while node.type == "parenthesized_expression" and node.named_child_count == 1:
            node = node.named_children[0]
        sign = node.child_by_field_name("operator") if node.type == "binary_expression" else None
        return sign is not None and self.tree.node_text(sign) == "*"
