"""Macros that device code uses, so that arithmetic in them is counted as well.

A loop or block in a macro's definition gets its own calls, in the definition; what else a macro
does is counted where it is used.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto

from tree_sitter import Node

from warploom.source.syntax import SourceFile, parse_source

_PREFIX, _SUFFIX = b"void warploom_macro() {", b"\n;}"
_OF_LAMBDA = r"(?<=\])\s*(?:__(?:host|device)__\s*)+"
_LOOPS = frozenset(("for", "while", "do", "goto"))
_PASTED = re.compile(rb"\s*##\s*")
_QUOTED = re.compile(rb"#[ \t]*[A-Za-z_]\w*")
_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Macro:
    """A definition: its replacement parsed as code, `shift` bytes before its place in the file.

    `functions` says that it defines device functions; else it is the body of one. `replacement` is
    its text, which may be another name of a function.
    """

    name: str
    replacement: str
    code: SourceFile
    shift: int
    functions: bool
    parameters: tuple[str, ...]

    @property
    def statements(self) -> tuple[Node, ...]:
        """The nodes of the replacement."""
        if self.functions:
            return ()
        functions = self.code.nodes("function_definition")
        body = next((node.child_by_field_name("body") for node in functions), None)
        return tuple(body.named_children) if body is not None else ()


def macros_of(tree: SourceFile) -> Iterator[Macro]:
    """Yield the macros of `tree` that hold statements or expressions, or that define device code.

    Which of them device code uses is not asked: a use can look like anything to a parser, and in
    host code the counts are those of the host's work.
    """
    return (
        macro
        for macro in all_macros(tree)
        if not (macro.code.root.has_error or is_list(macro.replacement))
    )


class Repeats(Enum):
    """How often a macro may evaluate an argument: some times, where it stands, or in a loop."""

    IN_PLACE = auto()
    IN_LOOPS = auto()


def repeating(macros: Iterable[Macro]) -> Mapping[str, Repeats]:
    """Return the macros that may evaluate an argument more than once.

    What a macro hands to further macros may come to be in a loop.
    """
    all_of_them = tuple(macros)
    around = {macro.name for macro in all_of_them} | _LOOPS
    found: dict[str, Repeats] = {}
    for macro in all_of_them:
        words = _WORD.findall(macro.replacement)
        if macro.parameters and ("__VA_ARGS__" in words or around & set(words)):
            found[macro.name] = Repeats.IN_LOOPS
        elif any(words.count(name) > 1 for name in macro.parameters):
            found[macro.name] = Repeats.IN_PLACE
    return found


def all_macros(tree: SourceFile) -> Iterator[Macro]:
    """Yield the macros of `tree`, those too whose text the parser cannot read by itself."""
    for node in tree.nodes("preproc_def", "preproc_function_def"):
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is not None and value is not None:
            yield _macro(tree, node, tree.node_text(name), value)


def _parameters(tree: SourceFile, definition: Node) -> tuple[str, ...]:
    list_of_them = definition.child_by_field_name("parameters")
    text = tree.node_text(list_of_them) if list_of_them is not None else ""
    return (*_WORD.findall(text), *(["__VA_ARGS__"] if "..." in text else []))


def _defines_device_code(text: str) -> bool:
    return bool({"__global__", "__device__"} & set(_WORD.findall(text))) and "{" in text


def is_list(text: str) -> bool:
    """Whether a replacement in braces is a list of values and no block."""
    return text.lstrip().startswith("{") and ";" not in text


def _macro(tree: SourceFile, definition: Node, name: str, value: Node) -> Macro:
    words = tree.node_text(value).strip()
    functions = _defines_device_code(words)
    text = tree.text[value.start_byte : value.end_byte]
    text = _PASTED.sub(lambda found: b"_" * len(found[0]), text)
    text = _QUOTED.sub(lambda found: b'"' + b"_" * (len(found[0]) - 2) + b'"', text)
    prefix, suffix = (b"", b"\n") if functions else (_PREFIX, _SUFFIX)
    code = parse_source(prefix + text + suffix, tree.path, {})
    shift = value.start_byte - len(prefix)
    return Macro(name, words, code, shift, functions, _parameters(tree, definition))


def without_macros(tree: SourceFile, names: frozenset[str]) -> SourceFile:
    """Parse `tree` without the macros `names`, which the parser would take for types.

    Nor does it know the marks of a lambda, which stand where no type can.
    """
    words = [rf"\b{re.escape(name)}\b" for name in sorted(names)]
    used = re.compile("|".join([*words, _OF_LAMBDA]).encode())
    if not used.search(tree.text):
        return tree
    lines = tree.parsed.split(b"\n")
    blank = [
        line if line.lstrip().startswith(b"#") else used.sub(lambda m: b" " * len(m[0]), line)
        for line in lines
    ]
    return replace(parse_source(b"\n".join(blank), tree.path, {}), text=tree.text)
