"""One walk over a file that fills the index of a program."""

import re

from tree_sitter import Node, Parser

from warploom.source.analysis.program import (
    RECORDS,
    SCOPES,
    FunctionDef,
    Program,
    RecordDef,
    Shape,
    Variable,
    child,
    shape_of,
    text_of,
)
from warploom.source.syntax import LANGUAGE, SourceFile

_PARAMETERS = ("parameter_declaration", "optional_parameter_declaration")
# What a check macro calls to report an error makes it no helper of the program.
_INTERESTING = re.compile(
    rb"<<\s*<|\b(?:p?nccl|cuda|MPI_)(?!Get(?:Last)?Error|PeekAt|Abort|Error_|Finalize|CommAbort)"
    rb"[A-Z]\w*\s*\("
)
_PLAIN_TYPE = re.compile(r"^(const |volatile |struct |class |typename )+")


def type_text(node: Node) -> str:
    """Return the base type of a declaration, without qualifiers."""
    found = child(node, "type")
    if found is None:
        return ""
    if found.type in RECORDS or found.type == "enum_specifier":
        name = child(found, "name")
        return text_of(name) if name else ""
    return _PLAIN_TYPE.sub("", text_of(found))


class _Indexer:
    """State of the walk: the file, and which function and record are around."""

    def __init__(self, program: Program, file: SourceFile) -> None:
        self.program = program
        self.file = file
        self.top = FunctionDef("", "host", "", file, file.root, file.root)

    def walk(self, node: Node, function: FunctionDef, record: RecordDef | None) -> None:
        """Index `node` and all below it, without recursion: trees can be deep."""
        stack = [(node, function, record)]
        while stack:
            node, function, record = stack.pop()
            function, record = self.visit(node, function, record)
            for inner in reversed(node.children):
                self.program.add_parent(inner, node)
                stack.append((inner, function, record))

    def visit(
        self, node: Node, function: FunctionDef, record: RecordDef | None
    ) -> tuple[FunctionDef, RecordDef | None]:
        """Index one node; return what is around its children."""
        kind = node.type
        if kind == "function_definition":
            return self.function(node, function, record), None
        if kind == "lambda_expression":
            return self.lambda_(node, function), None
        if kind in RECORDS and child(node, "body") is not None:
            return function, self.record(node)
        if kind in ("declaration", "field_declaration"):
            self.declaration(node, function, record)
        elif kind == "for_range_loop":
            self.range_variable(node, function)
        elif kind == "call_expression":
            function.calls.append(node)
        elif kind == "assignment_expression":
            function.assignments.append(node)
        elif kind == "field_initializer":
            function.initializers.append(node)
        elif kind == "return_statement":
            function.returns.append(node)
        return function, record

    def scope(self, node: Node) -> Node:
        """Return the scope node that holds a declaration."""
        return next((n for n in self.program.ancestors(node) if n.type in SCOPES), self.file.root)

    def function(self, node: Node, around: FunctionDef, record: RecordDef | None) -> FunctionDef:
        """Register a function definition and its parameters."""
        declarator, body = child(node, "declarator"), child(node, "body")
        shape = shape_of(declarator) if declarator else None
        if shape is None or body is None or shape.parameters is None:
            return around
        head = self.file.parsed[node.start_byte : body.start_byte]
        kind = "global" if b"__global__" in head else "device" if b"__device__" in head else "host"
        owner = record.name if record else shape.scope
        made = FunctionDef(shape.name, kind, owner, self.file, node, body, pointers=shape.pointers)
        self.program.add_function(made)
        self.parameters(shape.parameters, made, node)
        return made

    def lambda_(self, node: Node, around: FunctionDef) -> FunctionDef:
        """Register a lambda as a function named after the variable that holds it."""
        body, declarator = child(node, "body"), child(node, "declarator")
        if body is None:
            return around
        name = f"lambda@{self.file.line_of(node.start_byte)}"
        for outer in self.program.ancestors(node):
            if outer.type == "init_declarator":
                held = child(outer, "declarator")
                name = text_of(held) if held else name
            if outer.type != "parenthesized_expression":
                break
        made = FunctionDef(name, "host", "", self.file, node, body, around, pointers=1)
        around.lambdas.append(made)
        self.program.add_function(made)
        self.program.add_lambda(node, made)
        listed = child(declarator, "parameters") if declarator else child(node, "parameters")
        if listed is not None:
            self.parameters(listed, made, node)
        return made

    def parameters(self, listed: Node, function: FunctionDef, scope: Node) -> None:
        """Register the parameters of a function in its own scope."""
        for node in listed.named_children:
            if node.type not in _PARAMETERS:
                continue
            declarator = child(node, "declarator")
            shape = shape_of(declarator) if declarator else None
            name = shape.name if shape else ""
            made = Variable(
                name,
                type_text(node),
                shape.pointers if shape else 0,
                shape.dims if shape else (),
                self.file,
                function,
                node,
                declarator or node,
                parameter=len(function.parameters),
            )
            function.parameters.append(made)
            self.program.add_variable(made, scope)

    def record(self, node: Node) -> RecordDef:
        """Register a struct or class under its own name, or that of its typedef."""
        name = child(node, "name")
        if name is None:
            outer = self.program.parent(node)
            if outer is not None and outer.type == "type_definition":
                name = child(outer, "declarator")
        made = RecordDef(text_of(name) if name else f"struct@{node.start_byte}")
        self.program.records.setdefault(made.name, made)
        return self.program.records[made.name]

    def declaration(self, node: Node, function: FunctionDef, record: RecordDef | None) -> None:
        """Register every variable of one declaration."""
        base = type_text(node)
        is_field = node.type == "field_declaration"
        for declarator in node.children_by_field_name("declarator"):
            init = child(declarator, "value") if declarator.type == "init_declarator" else None
            if declarator.type == "init_declarator":
                init = init or next((c for c in declarator.named_children[1:]), None)
            shape = shape_of(declarator)
            if shape is None:
                continue
            if shape.parameters is not None:
                if is_field or not self.is_variable(shape, function):
                    constant = tuple(
                        text_of(n).startswith("const ") for n in shape.parameters.named_children
                    )
                    self.program.prototypes.setdefault(shape.name, constant)
                    continue
                init = shape.parameters
            made = Variable(
                shape.name,
                base,
                shape.pointers,
                shape.dims,
                self.file,
                function if function.name else None,
                node,
                declarator,
                init,
            )
            if is_field:
                if record is not None:
                    record.fields[shape.name] = made
                continue
            function.locals.append(made)
            self.program.add_variable(made, self.scope(node))

    def is_variable(self, shape: Shape, function: FunctionDef) -> bool:
        """Tell a variable `T v(n);` inside of a function from a prototype."""
        if not function.name or shape.parameters is None:
            return False
        inner = [child(n, "type") for n in shape.parameters.named_children]
        # `vector<T> v(ROWS * N);` reads like a function that takes a `ROWS*`; nobody declares a
        # function of primitive parameters by accident.
        return bool(inner) and all(n is not None and n.type == "type_identifier" for n in inner)

    def range_variable(self, node: Node, function: FunctionDef) -> None:
        """Register the variable of `for (auto& x : values)`."""
        declarator = child(node, "declarator")
        shape = shape_of(declarator) if declarator else None
        if declarator is None or shape is None:
            return
        made = Variable(
            shape.name,
            type_text(node),
            shape.pointers,
            shape.dims,
            self.file,
            function if function.name else None,
            node,
            declarator,
            child(node, "right"),
        )
        function.locals.append(made)
        self.program.add_variable(made, node)


def _is_interesting(body: bytes) -> bool:
    return bool(_INTERESTING.search(body))


def _index_macros(program: Program, file: SourceFile) -> None:
    """Register macros that call CUDA or NCCL as functions of their parameters."""
    for node in file.nodes("preproc_function_def"):
        name, listed, value = child(node, "name"), child(node, "parameters"), child(node, "value")
        if name is None or value is None or not _is_interesting(value.text or b""):
            continue
        start, end = value.start_byte, value.end_byte
        head = b"void f(){"
        body = file.parsed[start:end].replace(b"\\\n", b"  ").replace(b"\\\r\n", b"   ")
        # Same offsets as in the file: the head takes the place of the end of `#define NAME(...)`.
        tree = Parser(LANGUAGE).parse(b" " * (start - len(head)) + head + body + b"}")
        program.keep(tree)
        indexer = _Indexer(program, file)
        indexer.walk(tree.root_node, indexer.top, None)
        found = [f for f in program.functions_named("f") if f.node.start_byte == start - len(head)]
        if not found:
            continue
        made = found[-1]
        program.rename(made, text_of(name), node)
        for parameter in listed.named_children if listed else ():
            variable = Variable(
                text_of(parameter), "", 1, (), file, made, parameter, parameter, None,
                len(made.parameters),
            )  # fmt: skip
            made.parameters.append(variable)
            program.add_variable(variable, made.node)


def build_program(files: tuple[SourceFile, ...]) -> Program:
    """Index `files`: functions, records, variables, scopes, and macros that call CUDA or NCCL."""
    program = Program(files)
    for file in files:
        indexer = _Indexer(program, file)
        program.loose.append(indexer.top)
        indexer.walk(file.root, indexer.top, None)
        _index_macros(program, file)
    return program
