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

import re
from collections.abc import Container
from dataclasses import replace

from tree_sitter import Node

from warploom.emulator.metering.arithmetic_prices import slots_of_call
from warploom.emulator.metering.blocks import CALL, CALL_IN_CONSTANTS, CALL_ON_DEVICE, Meter
from warploom.emulator.metering.macros import Macro, macros_of, repeating, without_macros
from warploom.emulator.metering.names import Known, names_of
from warploom.source.edits import TextEdit
from warploom.source.masking import mask
from warploom.source.syntax import SourceFile

MARKS = frozenset(("__global__", "__device__"))
"""Words of a function that runs on devices; macros that stand for one are further ones."""
_WORD = re.compile(r"\w+")
_MOST = 1 << 30  # operations of a macro, which count in 32 bits
_IN_CONSTANTS = frozenset(("constexpr", "consteval"))


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
    known = replace(known, weights=_weights(macros, known), repeating=repeating(macros))
    edits: list[TextEdit] = []
    for macro in macros:
        inside: list[TextEdit] = []
        meter = Meter(macro.code, inside, known.within(macro.code))
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
    calls = _calls_of(tree, marks)
    for function in tree.nodes("function_definition"):
        if function.id not in calls or _lies_in(function, calls):
            continue
        # A body may be `try { } catch (...) { }`, with what initializes members behind its `try`.
        body, holder = function.child_by_field_name("body"), function
        if body is None or body.type != "compound_statement":
            tries = (n for n in function.named_children if n.type == "try_statement")
            holder = next(tries, function)
            body = holder.child_by_field_name("body")
        if body is None or body.type != "compound_statement":
            continue
        meter = Meter(tree, edits, known, calls[function.id])
        members = (n for n in holder.named_children if n.type == "field_initializer_list")
        meter.block(body, sum(meter.weigh(node) for node in members))
        meter.misread(body)
        for handler in holder.named_children:
            if handler.type == "catch_clause":
                meter.weigh(handler)
                meter.misread(handler)
    meter = Meter(tree, edits, known, CALL_IN_CONSTANTS)
    for node in tree.nodes("lambda_expression"):
        if not _lies_in(node, calls) and not _is_counted(tree, node, marks):
            meter.weigh(node)
    for node in tree.nodes("optional_parameter_declaration", "field_declaration"):
        value = node.child_by_field_name("default_value")
        if value is not None and _is_evaluated(tree, node, marks):
            meter.expression(value)


def _lies_in(node: Node, functions: Container[int]) -> bool:
    """Whether a node lies in one of some functions, which counts it too."""
    around = node.parent
    while around is not None and around.id not in functions:
        around = around.parent
    return around is not None


def _calls_of(tree: SourceFile, marks: frozenset[str]) -> dict[int, str]:
    """Return what counts in each function that may run on a device, by its node.

    Compilers let device code call what may be in a constant (--expt-relaxed-constexpr). Another
    declaration may have the mark of a function, or its class, or a macro that made it: what device
    code names counts where a GPU runs it.
    """
    calls: dict[int, str] = {}
    others: dict[str, list[Node]] = {}
    named: set[str] = set()
    for function in tree.nodes("function_definition"):
        words = _words_of(tree, function)
        if words & (_IN_CONSTANTS | marks):
            calls[function.id] = CALL_IN_CONSTANTS if words & _IN_CONSTANTS else CALL
            named |= _words_in(tree, function)
        else:
            for name in _names_of(tree, function):
                others.setdefault(name, []).append(function)
    macros = {macro.name: set(_WORD.findall(macro.replacement)) for macro in macros_of(tree)}
    fresh = named
    while fresh:
        found = {word for name in fresh for word in macros.get(name, ())}
        for function in (function for name in fresh for function in others.get(name, ())):
            if function.id not in calls:
                calls[function.id] = CALL_ON_DEVICE
                found |= _words_in(tree, function)
        fresh, named = found - named, named | found
    return calls


def _names_of(tree: SourceFile, function: Node) -> set[str]:
    """Return what may call a function: its name, or its class where it is a constructor."""
    declarator = function.child_by_field_name("declarator")
    while declarator is not None and declarator.type != "function_declarator":
        declarator = declarator.child_by_field_name("declarator") or next(
            (n for n in declarator.named_children if n.type.endswith("declarator")), None
        )
    name = declarator.child_by_field_name("declarator") if declarator is not None else None
    head = tree.node_text(name) if name is not None else ""
    words = _WORD.findall(head) or _WORD.findall(tree.node_text(function).partition("{")[0])
    return set(words)


def _words_in(tree: SourceFile, function: Node) -> set[str]:
    words = set(_WORD.findall(mask(tree.node_text(function))))
    return words | {"operator"}  # which no use spells


def _is_counted(tree: SourceFile, node: Node, marks: frozenset[str]) -> bool:
    """Whether a lambda outside of counted functions is counted with another, or is the host's."""
    around = node.parent
    while around is not None and around.type not in ("function_definition", "lambda_expression"):
        around = around.parent
    if around is None:
        return False
    if around.type == "lambda_expression":
        return True
    body = node.child_by_field_name("body")
    head = tree.slice(node.start_byte, _end(body, node))
    return not marks & set(_WORD.findall(mask(head)))


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
    own = {macro.name: known.within(macro.code) for macro in macros}
    names = set(own)
    using = {macro.name: names & set(_WORD.findall(macro.replacement)) for macro in macros}
    weights: dict[str, int] = {}
    before: dict[str, int] | None = None
    for _ in range(len(macros) + 1):  # macros that use macros, as deep as these go
        if weights == before:
            break
        before, weights = weights, dict(weights)
        for macro in macros:
            if before and not using[macro.name]:
                continue
            within = replace(own[macro.name], weights=before)
            count = sum(Meter(macro.code, [], within).weigh(node) for node in macro.statements)
            if macro.replacement.isidentifier():
                count += slots_of_call(macro.replacement)
            weights[macro.name] = min(count, _MOST)
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
    return set(_WORD.findall(mask(head)))


def _end(body: Node | None, function: Node) -> int:
    return body.start_byte if body is not None else function.end_byte
