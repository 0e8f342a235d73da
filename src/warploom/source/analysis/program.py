"""Files, functions, variables and scopes of a program: names to what they stand for."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tree_sitter import Node, Tree

from warploom.source.syntax import SourceFile

SCOPES = frozenset(
    {
        "compound_statement", "for_statement", "for_range_loop", "while_statement", "if_statement",
        "switch_statement", "catch_clause", "function_definition", "lambda_expression",
        "translation_unit",
    }
)  # fmt: skip
RECORDS = frozenset({"struct_specifier", "class_specifier", "union_specifier"})
_MPI_BOUND = re.compile(r"MPI ?:: ?(?:COMM_WORLD ?\. ?)?([A-Z]\w*)")
_POINTERS = frozenset({"pointer_declarator", "abstract_pointer_declarator"})


@dataclass(slots=True, eq=False)
class Variable:
    """A declared variable, parameter or field."""

    name: str
    type: str
    pointers: int
    dims: tuple[str, ...]
    file: SourceFile
    function: "FunctionDef | None"
    declaration: Node
    declarator: Node
    init: Node | None = None
    parameter: int | None = None


@dataclass(slots=True, eq=False)
class FunctionDef:
    """A function, lambda, or macro with a body that matters; `kind`: global, device, host.

    `pointers` counts the stars of what it returns. `calls`, `returns`, `assignments`,
    `initializers` (of a constructor's members), `lambdas` and `locals` are its own, without those
    of lambdas inside.
    """

    name: str
    kind: str
    record: str
    file: SourceFile
    node: Node
    body: Node
    owner: "FunctionDef | None" = None
    pointers: int = 0
    parameters: list[Variable] = field(default_factory=list[Variable])
    calls: list[Node] = field(default_factory=list[Node])
    returns: list[Node] = field(default_factory=list[Node])
    assignments: list[Node] = field(default_factory=list[Node])
    initializers: list[Node] = field(default_factory=list[Node])
    lambdas: "list[FunctionDef]" = field(default_factory=list["FunctionDef"])
    locals: list[Variable] = field(default_factory=list[Variable])


@dataclass(slots=True, eq=False)
class RecordDef:
    """A struct, class or union with its fields."""

    name: str
    fields: dict[str, Variable] = field(default_factory=dict[str, Variable])


def child(node: Node, name: str) -> Node | None:
    """Return the child of `node` in the field `name`."""
    return node.child_by_field_name(name)


def text_of(node: Node) -> str:
    """Return the parsed text of a node, its white space squeezed."""
    raw = node.text or b""
    return re.sub(r"\s+", " ", raw.decode("utf-8", "surrogateescape")).strip()


@dataclass(frozen=True, slots=True)
class Shape:
    """What a declarator says beside the name."""

    name: str
    node: Node
    pointers: int
    dims: tuple[str, ...]
    parameters: Node | None
    scope: str


def shape_of(declarator: Node) -> Shape | None:
    """Unwrap a declarator down to its name; None for what declares no variable or function."""
    pointers, dims = 0, list[str]()
    parameters: Node | None = None
    node = declarator
    while True:
        inner = child(node, "declarator")
        if node.type in _POINTERS:
            pointers += 1
        elif node.type == "array_declarator":
            size = child(node, "size")
            dims.append(text_of(size) if size else "")
        elif node.type == "function_declarator" and parameters is None:
            parameters = child(node, "parameters")
        elif node.type in ("identifier", "field_identifier", "type_identifier"):
            return Shape(text_of(node), node, pointers, tuple(dims), parameters, "")
        elif node.type in ("qualified_identifier", "operator_name", "destructor_name"):
            scope, _, last = text_of(node).rpartition("::")
            return Shape(last, node, pointers, tuple(dims), parameters, scope.split("::")[-1])
        elif node.type == "template_function":
            inner = child(node, "name")
        if inner is None:
            inner = next((c for c in node.named_children if c.type != "type_qualifier"), None)
        if inner is None:
            return None
        node = inner


def callee_of(call: Node) -> tuple[str, Node | None]:
    """Return the plain name that a call calls, and the object for a method call ("" if none).

    In MPI's C++ bindings it is the name of the C call, whose arguments have the same places but for
    the communicator behind them.
    """
    node = child(call, "function")
    if node is not None and (bound := _MPI_BOUND.fullmatch(text_of(node))):
        return f"MPI_{bound[1]}", None
    owner: Node | None = None
    while node is not None:
        if node.type in ("identifier", "field_identifier", "destructor_name"):
            return text_of(node), owner
        if node.type == "field_expression":
            owner, node = child(node, "argument"), child(node, "field")
        elif node.type in ("qualified_identifier", "template_function", "template_method"):
            node = child(node, "name")
        elif node.type == "dependent_name" or node.type == "parenthesized_expression":
            node = node.named_children[0] if node.named_children else None
        elif node.type == "primitive_type":
            return text_of(node), owner
        else:
            return "", owner
    return "", owner


def arguments_of(call: Node) -> list[Node]:
    """Return the argument nodes of a call, comments left out."""
    listed = child(call, "arguments")
    if listed is None:
        return []
    return [n for n in listed.named_children if n.type != "comment"]


def launch_shape(call: Node) -> list[Node] | None:
    """Return what stands between `<<<` and `>>>`; None for an ordinary call."""
    for node in call.children:
        if node.type == "kernel_call_syntax":
            return [n for n in node.named_children if n.type != "comment"]
    return None


class Program:
    """All files of a program, indexed once; lookups are by node, so that scopes are respected.

    `prototypes` tells, for functions that are only declared, which parameters point to const.
    `loose` holds one nameless function per file for what stands outside of all functions.
    """

    def __init__(self, files: tuple[SourceFile, ...]) -> None:
        self.files = files
        self.functions: list[FunctionDef] = []
        self.records: dict[str, RecordDef] = {}
        self.loose: list[FunctionDef] = []
        self._by_name: dict[str, list[FunctionDef]] = {}
        self._parents: dict[int, Node] = {}
        self._owners: dict[int, FunctionDef] = {}
        self._scopes: dict[tuple[int, str], list[Variable]] = {}
        self._globals: dict[str, list[Variable]] = {}
        self._lambdas: dict[int, FunctionDef] = {}
        self._trees: list[Tree] = []
        self.macros: dict[int, Node] = {}
        self.prototypes: dict[str, tuple[bool, ...]] = {}

    def add_function(self, function: FunctionDef) -> None:
        """Register a function under its name and its body."""
        self.functions.append(function)
        self._by_name.setdefault(function.name, []).append(function)
        self._owners[function.body.id] = function
        self._owners[function.node.id] = function

    def keep(self, tree: Tree) -> None:
        """Keep a tree alive whose nodes the index refers to."""
        self._trees.append(tree)

    def rename(self, function: FunctionDef, name: str, node: Node) -> None:
        """Give a function made from a macro the macro's name and the definition's place."""
        self._by_name[function.name].remove(function)
        function.name = name
        self._by_name.setdefault(name, []).append(function)
        self.macros[id(function)] = node

    def add_parent(self, node: Node, parent: Node) -> None:
        """Remember whose child `node` is."""
        self._parents[node.id] = parent

    def add_variable(self, variable: Variable, scope: Node) -> None:
        """Register a variable in the scope node that holds it."""
        if scope.type == "translation_unit":
            self._globals.setdefault(variable.name, []).append(variable)
        self._scopes.setdefault((scope.id, variable.name), []).append(variable)

    def add_lambda(self, node: Node, function: FunctionDef) -> None:
        """Register the function that a lambda expression makes."""
        self._lambdas[node.id] = function

    def lambda_at(self, node: Node) -> FunctionDef | None:
        """Return the function that the lambda expression `node` makes."""
        return self._lambdas.get(node.id)

    def parent(self, node: Node) -> Node | None:
        """Return the parent of a node."""
        return self._parents.get(node.id)

    def ancestors(self, node: Node) -> Iterator[Node]:
        """Yield the nodes around `node`, innermost first."""
        found = self._parents.get(node.id)
        while found is not None:
            yield found
            found = self._parents.get(found.id)

    def all_functions(self) -> list[FunctionDef]:
        """Return the functions, and the nameless ones of the files' top levels."""
        return [*self.functions, *self.loose]

    def function_at(self, node: Node) -> FunctionDef | None:
        """Return the innermost function or lambda that holds `node`."""
        for outer in self.ancestors(node):
            owner = self._owners.get(outer.id)
            if owner is not None:
                return owner
        return None

    def functions_named(self, name: str) -> list[FunctionDef]:
        """Return all definitions of a name (overloads, both arms of an `#ifdef`)."""
        return self._by_name.get(name, [])

    def lookup(self, node: Node, name: str | None = None) -> Variable | None:
        """Return the variable that an identifier names at its place, None if none is declared."""
        wanted = text_of(node) if name is None else name
        for scope in self.ancestors(node):
            if scope.type not in SCOPES:
                continue
            declared = self._scopes.get((scope.id, wanted))
            if declared:
                before = [v for v in declared if v.declarator.start_byte <= node.start_byte]
                return (before or declared)[-1]
        everywhere = self._globals.get(wanted)
        return everywhere[-1] if everywhere else None

    def lookup_callee(self, call: Node) -> Variable | None:
        """Return the variable that a call goes through: a function pointer or functor."""
        function = child(call, "function")
        if function is None or function.type != "identifier":
            return None
        return self.lookup(function) if text_of(function) not in self._by_name else None

    def field_of(self, record: str, name: str) -> Variable | None:
        """Return a field of a struct by the struct's name."""
        found = self.records.get(record)
        return found.fields.get(name) if found else None
