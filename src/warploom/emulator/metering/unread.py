"""What the meter cannot count: text that the parser does not read, and macros that are no whole.

The compiler sees such text as it is (a digraph, `f = (g = 1, g) > 2 ? g : 1`), and a macro that is
the head of a loop, or the half of an expression, changes what the text around its uses means.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from tree_sitter import Node

from warploom.emulator.metering.arithmetic_prices import is_of_headers
from warploom.emulator.metering.count import MARKS, device_marks
from warploom.emulator.metering.macros import Macro, all_macros, is_list, without_macros
from warploom.source.masking import mask
from warploom.source.syntax import SourceFile

_WORD = re.compile(r"[A-Za-z_]\w*")
_MERE_WORDS = re.compile(r'[\w\s:"#.]*(?:\([\w\s,]*\)[\w\s]*)?')
_VALUES = re.compile(r"\{[\s,{}]*(?:[-+]?\s*[\w.]+\s*(?:[,{}][\s,{}]*)?)*\}")
_PLAIN = re.compile(r"[\w.\s]*")
_TOKEN = re.compile(r"\w+|\S")
_BEFORE_VALUES = frozenset(
    (
        "return", "case", "else", "sizeof", "throw", "do", "float", "double", "int", "unsigned",
        "char", "short", "long", "signed", "bool", "auto", "void", "const", "static", "struct",
        "class", "typename", "using", "namespace", "goto", "operator", "__global__", "__device__",
    )
)  # fmt: skip
_OPENING = ("for_statement", "while_statement", "for_range_loop", "if_statement")


def uncounted_lines(tree: SourceFile) -> frozenset[int]:
    """Return the lines of `tree` with operations that may not be counted in a timed build."""
    seen = without_macros(tree, device_marks(tree) - MARKS)
    found = {line for lines in seen.skipped for line in range(lines.first, lines.last + 1)}
    macros = tuple(all_macros(seen))
    names = frozenset(macro.name for macro in macros)
    partial = {
        macro.name
        for macro in macros
        if is_partial(macro, names) and not _heads_blocks(macro, tree)
    }
    partial |= _defined_anew(macros) | set(_functions_in_bodies(tree, macros))
    found |= {*_uses(tree, partial), *_mentions(tree), *_templates_of_macros(tree)}
    return frozenset(found)


def is_partial(macro: Macro, names: frozenset[str]) -> bool:
    """Whether a macro is neither whole statements or expressions nor words without operations."""
    if is_list(macro.replacement):
        return not _VALUES.fullmatch(macro.replacement)
    if _joins_arguments(macro):
        return True
    if not macro.code.root.has_error:
        return not macro.functions and any(_is_open(node) for node in macro.statements[-1:])
    words = set(_WORD.findall(macro.replacement))
    return not _MERE_WORDS.fullmatch(macro.replacement) or bool(words & names)


def _joins_arguments(macro: Macro) -> bool:
    """Whether an argument stands beside a word: `a` and `*b` make a product of `x y`."""
    before = ""
    for token in _TOKEN.findall(mask(macro.replacement)):
        if token in macro.parameters:
            if before in (")", "]") or (_WORD.fullmatch(before) and before not in _BEFORE_VALUES):
                return True
            if before[:1].isdigit():
                return True
        before = token
    return False


def _defined_anew(macros: Sequence[Macro]) -> set[str]:
    """Return the names that stand for several texts with operations: which is meant is open."""
    texts: dict[str, set[str]] = {}
    for macro in macros:
        texts.setdefault(macro.name, set()).add(" ".join(macro.replacement.split()))
    plain = {
        name
        for name, known in texts.items()
        if all(_PLAIN.fullmatch(text) and not texts.keys() & text.split() for text in known)
    }
    return {name for name, known in texts.items() if len(known) > 1} - plain


def _functions_in_bodies(tree: SourceFile, macros: Iterable[Macro]) -> Iterator[str]:
    """Yield the macros that define device functions, or seem to, and are used inside of others."""
    names = {macro.name for macro in macros if macro.functions}
    if not names:
        return
    for node in tree.nodes("identifier", "type_identifier"):
        if tree.node_text(node) in names and _lies_in_body(node):
            yield tree.node_text(node)


def _lies_in_body(node: Node) -> bool:
    while node.parent is not None:
        node = node.parent
        if node.type == "compound_statement":
            return True
    return False


def _heads_blocks(macro: Macro, tree: SourceFile) -> bool:
    """Whether a macro is the head of a loop, and each use of it stands before a block."""
    if macro.code.root.has_error or len(macro.statements) != 1 or not macro.parameters:
        return False
    text = mask(tree.text.decode("latin-1"))
    found = re.finditer(rf"(#[ \t]*define[ \t]+)?\b{macro.name}\b", text)
    return all(use[1] or _stands_before_block(text, use.end()) for use in found)


def _stands_before_block(text: str, at: int) -> bool:
    """Whether brackets begin at `at`, and braces behind them."""
    depth = 0
    for place in range(at, len(text)):
        depth += (text[place] == "(") - (text[place] == ")")
        if depth == 0 and not text[place].isspace():
            return text[place] == ")" and text[place + 1 :].lstrip().startswith("{")
    return False


def _is_open(node: Node) -> bool:
    """Whether a statement ends with the `;` that stands behind a macro's text when it is read."""
    while node.type in _OPENING:
        body = node.child_by_field_name("alternative") or node.child_by_field_name("body")
        body = body or node.child_by_field_name("consequence")
        if body is None:
            return True
        if body.type == "else_clause":
            body = body.named_children[-1]
        node = body
        if node.text == b";":
            return True
    return False


def _mentions(tree: SourceFile) -> Iterator[int]:
    """Yield the lines that name a priced function of the headers and do not call it there.

    A call by a pointer, a reference or a parameter of a template has no name that has a price.
    """
    text = mask(tree.text.decode("latin-1"))
    for found in _WORD.finditer(text):
        if is_of_headers(found[0]) and text[found.end() :].lstrip(" \t\n\\")[:1] != "(":
            yield text.count("\n", 0, found.start()) + 1


def _templates_of_macros(tree: SourceFile) -> Iterator[int]:
    """Yield the lines of assembly whose text comes from macros: what it costs stands elsewhere."""
    for node in tree.nodes("concatenated_string"):
        around = node.parent
        is_assembly = around is not None and around.type == "gnu_asm_expression"
        if is_assembly and any(not part.type.endswith("literal") for part in node.named_children):
            yield node.start_point[0] + 1


def _uses(tree: SourceFile, names: set[str]) -> Iterator[int]:
    """Yield the lines on which one of `names` stands."""
    if not names:
        return
    used = re.compile(rb"\b(?:" + b"|".join(re.escape(n.encode()) for n in sorted(names)) + rb")\b")
    for number, line in enumerate(tree.text.split(b"\n"), start=1):
        if used.search(line):
            yield number
