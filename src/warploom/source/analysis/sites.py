"""Calls of a program with their places in the text."""

from dataclasses import dataclass

from tree_sitter import Node

from warploom.source.analysis.program import (
    FunctionDef,
    Program,
    Variable,
    arguments_of,
    callee_of,
    launch_shape,
    text_of,
)
from warploom.source.records import Argument, CallSite, Declaration, Span

_BEFORE = 200  # bytes: a macro stands no farther before a call
LOOPS = frozenset({"for_statement", "while_statement", "do_statement", "for_range_loop"})


@dataclass(slots=True, eq=False)
class Call:
    """One call expression: what it calls, its arguments, and where it stands.

    `launch` holds the nodes between `<<<` and `>>>`, None for an ordinary call.
    """

    node: Node
    name: str
    owner: Node | None
    args: list[Node]
    function: FunctionDef
    launch: list[Node] | None

    @property
    def line(self) -> int:
        """The line where the call begins, from 1."""
        return self.function.file.line_of(self.node.start_byte)

    @property
    def path(self) -> str:
        """The file that holds the call."""
        return str(self.function.file.path)

    def arg(self, index: int | None) -> Node | None:
        """Return the argument at a position, None if there is none."""
        return self.args[index] if index is not None and index < len(self.args) else None

    def text(self, index: int | None) -> str | None:
        """Return the text of the argument at a position as written, its white space squeezed."""
        node = self.arg(index)
        return None if node is None else text_of(node)


def make_call(node: Node, function: FunctionDef) -> Call:
    """Describe the call expression `node`, which stands in `function`."""
    name, owner = callee_of(node)
    return Call(node, name, owner, arguments_of(node), function, launch_shape(node))


def span_of(node: Node) -> Span:
    """Return the bytes of a node."""
    return Span(node.start_byte, node.end_byte)


def statement_of(program: Program, node: Node) -> Node:
    """Return the innermost full statement or declaration around an expression."""
    for outer in program.ancestors(node):
        if outer.type.endswith("_statement") or outer.type in ("declaration", "field_declaration"):
            if outer.type == "compound_statement":
                break
            return outer
        node = outer if outer.type not in ("translation_unit", "function_definition") else node
    return node


def full_span(function: FunctionDef, program: Program) -> Span:
    """Return the span of a function with its template header."""
    outer = program.parent(function.node)
    return span_of(outer if outer and outer.type == "template_declaration" else function.node)


def _checked(program: Program, call: Call) -> bool:
    file, node = call.function.file, call.node
    start = max(0, node.start_byte - _BEFORE)
    before = file.text[start : node.start_byte].rstrip()
    if before and file.parsed[start + len(before) - 1] == ord(" "):
        return True  # a macro that the parser does not see
    outer = program.parent(node)
    while outer is not None and outer.type == "parenthesized_expression":
        outer = program.parent(outer)
    if outer is None or outer.type in ("expression_statement", "cast_expression"):
        return False
    return outer.type not in ("compound_statement", "ERROR", "translation_unit", "comma_expression")


def _in_loop(program: Program, call: Call) -> bool:
    for outer in program.ancestors(call.node):
        if outer.type in LOOPS:
            return True
        if outer.id == call.function.body.id:
            return False
    return False


def site_of(program: Program, call: Call) -> CallSite:
    """Return the place of a call as a record."""
    file = call.function.file
    return CallSite(
        file=call.path,
        line=call.line,
        end_line=file.line_of(max(call.node.start_byte, call.node.end_byte - 1)),
        function=call.function.name,
        function_span=full_span(call.function, program),
        call=span_of(call.node),
        statement=span_of(statement_of(program, call.node)),
        arguments=tuple(Argument(text_of(n), span_of(n)) for n in call.args),
        checked=_checked(program, call),
        in_loop=_in_loop(program, call),
        conditions=file.conditions_at(call.line),
    )


def declaration_of(variable: Variable) -> Declaration:
    """Return a variable's declaration as a record."""
    return Declaration(
        name=variable.name,
        type=variable.type,
        pointers=variable.pointers,
        dims=variable.dims,
        file=str(variable.file.path),
        line=variable.file.line_of(variable.declarator.start_byte),
        function=variable.function.name if variable.function else "",
        parameter=variable.parameter is not None,
        span=span_of(variable.declaration),
        declarator=span_of(variable.declarator),
    )


def find_calls(program: Program) -> list[Call]:
    """Return every call of the program, by file and place."""
    order = {id(file): at for at, file in enumerate(program.files)}
    calls = [make_call(n, f) for f in program.all_functions() for n in f.calls]
    return sorted(calls, key=lambda c: (order[id(c.function.file)], c.node.start_byte))
