"""Counts what each block of one function does: a walk over its text that inserts the calls."""

import functools
import re
from collections.abc import Sequence

from tree_sitter import Node

from warploom.emulator.metering.loops import is_bound_alone, opening_of
from warploom.emulator.metering.macros import Repeats
from warploom.emulator.metering.names import Known
from warploom.emulator.metering.nodes import (
    behind,
    bounds,
    changes,
    has_effects,
    parts,
    stands_alone,
)
from warploom.emulator.metering.operators import FREE, own_operations
from warploom.emulator.metering.packs import misread_patterns
from warploom.source.edits import TextEdit
from warploom.source.masking import mask
from warploom.source.syntax import SourceFile, parse_source

CALL = "warploom::count_operations"
"""What is called with a number of operations."""
CALL_IN_CONSTANTS = "warploom::count_at_run_time"
"""The same, where the compiler may want a constant."""
CALL_ON_DEVICE = "warploom::count_on_device"
"""The same in a function that is not marked as one of devices, where a kernel calls it."""
CALL_IN_ARGUMENTS = "warploom::count_in_argument"
"""The same in an argument of a macro, which is a part of a statement."""
_LOOP = "warploom_loop"
"""Counts the iterations of a loop that nvcc unrolls, and hands on its condition."""
_OF_UNROLLED = 1
"""Operations of an iteration's own counting, comparing and branching, where four share these."""
_WORD = re.compile(r"\w+")
_CONSTANT = re.compile(
    r"(?:\bconstexpr(?:\s+(?:static|const|inline))*\s+[\w:]+|#[ \t]*define|\bconst\s+int)\s+(\w+)"
)
_FOLDED = 2  # operations in the head of a loop: a step and a comparison


@functools.lru_cache(maxsize=4)
def _jumps_of(tree: SourceFile) -> tuple[tuple[int, bytes | None], ...]:
    """Return where a file's `goto` are, and to which label."""
    return tuple(
        (node.start_byte, to.text)
        for node in tree.nodes("goto_statement")
        if (to := node.child_by_field_name("label")) is not None
    )


@functools.lru_cache(maxsize=8)  # there is a meter for each function of a text
def _constants_of(text: bytes) -> tuple[str, ...]:
    return tuple(_CONSTANT.findall(mask(text.decode("latin-1"))))


class Meter:
    """Walks one function; each block's own operations become one call at its start."""

    def __init__(
        self,
        tree: SourceFile,
        edits: list[TextEdit],
        known: Known,
        call: str = CALL,
    ) -> None:
        self.tree = tree
        self.edits = edits
        self.known = known
        self.call = call
        self.places = 1  # operations to find an element's place
        self._behind: dict[int, int] = {}

    def _nested(self, call: str, edits: list[TextEdit] | None = None) -> "Meter":
        """Return a meter of a part of the same text."""
        meter = Meter(self.tree, self.edits if edits is None else edits, self.known, call)
        meter._behind = self._behind
        return meter

    @property
    def _within(self) -> str:
        """What is called inside of an expression, which may be a constant."""
        return CALL_ON_DEVICE if self.call == CALL_ON_DEVICE else CALL_IN_CONSTANTS

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
        found = _constants_of(self.tree.text)
        return frozenset(name for name in found if self.known.declared.get(name, 0) < 2)

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
            case "call_expression" if self._repeats(node):
                return self._repeated(node)
            case "function_definition":
                return self._function(node)
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

    def _own(self, node: Node) -> int:
        return own_operations(node, self.tree, self.known, self.places)

    def _repeats(self, node: Node) -> bool:
        name = node.child_by_field_name("function")
        return name is not None and self.tree.node_text(name) in self.known.repeating

    def _repeated(self, node: Node) -> int:
        """Count the arguments of a macro where they are evaluated, as often as they are.

        Compilers work out once what is the same each time.
        """
        count, arguments = self._own(node), node.child_by_field_name("arguments")
        name = node.child_by_field_name("function")
        text = self.tree.node_text(name) if name is not None else ""
        within = CALL_ON_DEVICE if self.call == CALL_ON_DEVICE else CALL_IN_ARGUMENTS
        inside = self._nested(within)
        for part in parts(arguments) if arguments is not None else ():
            left = part.child_by_field_name("left")
            # `T * p` may declare, or name a type.
            if left is not None and left.type == "identifier" and not self._is_variable(left):
                count += self.weigh(part)
            elif self.known.repeating[text] is Repeats.IN_LOOPS or has_effects(part):
                inside.expression(part)
            else:
                count += self.weigh(part)
        return count + self.known.weights.get(text, 0)

    def _is_variable(self, node: Node) -> bool:
        return self.tree.node_text(node) in self.known.variables

    def _bound(self, node: Node) -> int:
        """Count the bound of an array where the compiler may have to evaluate it."""
        words = _WORD.findall(self.tree.node_text(node))
        folded = all(word in self._constants or word[0].isdigit() for word in words)
        return 0 if folded else self.weigh(node)

    def _function(self, node: Node) -> int:
        """Count a function of a local class, with the values of its members, at each call."""
        body = node.child_by_field_name("body")
        if body is None or body.type != "compound_statement":
            return sum(self.weigh(child) for child in parts(node))
        members = [n for n in node.named_children if n.type == "field_initializer_list"]
        self.block(body, sum(self.weigh(member) for member in members))
        rest = (n for n in node.named_children if n not in (body, *members))
        return sum(self.weigh(part) for part in rest)

    def _lambda(self, node: Node) -> int:
        """A lambda may run in a constant, and what it captures is evaluated around it."""
        rest = [child for child in node.named_children if child.type != "compound_statement"]
        body = node.child_by_field_name("body")
        if body is not None and body.type == "compound_statement":
            self._nested(self._within).block(body)
        return sum(self.weigh(part) for part in rest)

    def _unrolled(self, node: Node) -> bool:
        """Count a loop that nvcc unrolls; false where it does not.

        The places of elements become parts of the addresses in its loads.
        """
        body, condition = (node.child_by_field_name(name) for name in ("body", "condition"))
        opens = opening_of(node, self.known.numbers) if self.call == CALL else None
        if opens is None or body is None or condition is None:
            return False
        inner = self._nested(self.call)
        inner.places = 0
        whole = body.named_children if body.type == "compound_statement" else [body]
        head = _OF_UNROLLED if is_bound_alone(node) else inner.weigh(condition)
        count = head + sum(inner.weigh(part) for part in whole)
        self._insert(opens, f"{{ warploom::Unrolled {_LOOP}; ")
        self._insert(condition.start_byte, f"{_LOOP}.goes_on({count}u, ")
        self._insert(condition.end_byte, " ? true : false)")
        self._insert(node.end_byte, " }")
        return True

    def _for(self, node: Node) -> int:
        if self._unrolled(node):
            first, bound = (node.child_by_field_name(n) for n in ("initializer", "condition"))
            once = self.weigh(first) if first is not None else 0
            return once + max(0, self.weigh(bound) - 1 if bound is not None else 0)
        body, update = node.child_by_field_name("body"), node.child_by_field_name("update")
        each = sum(
            self.weigh(part)
            for part in (node.child_by_field_name("condition"), update)
            if part is not None
        )
        if is_bound_alone(node):
            each -= min(each // 2, _FOLDED)  # compilers unroll, and fold half of what only counts
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
        folds = node.type == "fold_expression" and sign is not None and sign.type not in FREE
        for part in node.named_children:
            count = self.weigh(part) + folds
            if count and part.type not in ("type_descriptor", "comment"):
                self._insert(part.start_byte, f"({self._within}({count}u), ")
                self._insert(part.end_byte, ")")
        return 0

    def misread(self, body: Node) -> None:
        """Count the packs that the parser took for something else."""
        for pattern in misread_patterns(body):
            self._insert(pattern.start, f"({self._within}({pattern.count}u), ")
            self._insert(pattern.end, ")")

    def _switch(self, node: Node) -> int:
        condition, body = node.child_by_field_name("condition"), node.child_by_field_name("body")
        count = self.weigh(condition) if condition is not None else 0
        if body is None:
            return count
        # Nothing at the start of the body runs: one case of it does, and those that it falls into.
        parts = body.named_children if body.type == "compound_statement" else [body]
        cases = sum(part.type == "case_statement" for part in parts)
        branches = 2 * max(1, cases).bit_length()  # a comparison and a branch for each half
        return count + branches + sum(self.weigh(part) for part in parts)

    def _case(self, node: Node) -> int:
        """Count at a label what follows it, for control jumps past the starts of blocks.

        Where no block is around it, the parser takes for its own what comes after its statement.
        """
        colon = next((part for part in node.children if part.type == ":"), None)
        if colon is None:
            return sum(self.weigh(child) for child in node.named_children)
        parts = [part for part in node.named_children if part.start_byte >= colon.end_byte]
        own = sum(self.weigh(part) for part in parts)
        each = own + self._weigh_behind(node, list(behind(node)))
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
        read = Meter(again, [], self.known, self.call)
        count = sum(self.weigh(child) for child in node.named_children)
        return max(count, sum(read.weigh(child) for child in body.named_children))

    def _compares(self, node: Node) -> bool:
        """Whether `<` and `>` around a list compare: what stands before them is a variable."""
        name = node.parent.child_by_field_name("name") if node.parent is not None else None
        text = self.tree.node_text(name) if name is not None else ""
        return text in self.known.variables or (
            self.known.own_signs and text not in self.known.templates
        )

    def _weigh_behind(self, label: Node, parts: Sequence[Node]) -> int:
        """Return the operations of what follows a label: once, however many labels lie in it."""
        if label.id not in self._behind:
            silent = self._nested(self.call, [])
            self._behind[label.id] = 0
            # The last label first: none then waits for those behind it.
            self._behind[label.id] = sum(silent.weigh(part) for part in reversed(parts))
        return self._behind[label.id]

    def _label(self, node: Node) -> int:
        """Count what follows a label each time that control comes there, as a loop may do."""
        parts = [child for child in node.named_children if child.type != "statement_identifier"]
        last = self._last_jump(node)
        place: Node | None = node
        while place is not None:
            here, place = place, place.parent
            if place is not None:  # asking each sibling for its next one takes time squared
                behind = here.end_byte
                parts += [child for child in place.named_children if child.start_byte >= behind]
            if place is not None and place.end_byte > last:
                break  # nobody comes back from behind it
        each = self._weigh_behind(node, parts)
        colon = next(child for child in node.children if child.type == ":")
        self._insert(colon.end_byte, f" {self.call}({max(each, 1)}u);")
        return sum(self.weigh(part) for part in parts if part.parent == node)

    def _last_jump(self, label: Node) -> int:
        """Return where the last `goto` to a label is, in its function."""
        function = label
        while function.parent is not None and function.type != "function_definition":
            function = function.parent
        name = label.child_by_field_name("label")
        wanted = None if name is None else name.text
        jumps = (at for at, to in _jumps_of(self.tree)
                 if function.start_byte <= at < function.end_byte and to == wanted)  # fmt: skip
        return max(jumps, default=0)
