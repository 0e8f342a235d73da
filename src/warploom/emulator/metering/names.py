"""What the names of a file are: `a < b > (c)` is a comparison or a template, as `a` is."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from warploom.emulator.metering.macros import Repeats
from warploom.source.masking import mask
from warploom.source.syntax import SourceFile

_BUILT_IN = frozenset(("x", "y", "z", "w", "warpSize"))
"""Variables, and members of them, that no file declares."""
_DECLARING = ("for_range_loop", "enumerator", "lambda_capture_initializer", "preproc_def")
"""What names something beside declarations and declarators."""
_OWN_SIGN = re.compile(rb"\boperator\s*[<>]")

_DEFINED = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)(.*)$", re.MULTILINE)
_NUMERIC = re.compile(rb"(?:[ \t()+*/%<>-]|\b\d[\w.]*+)++")
_TYPE = rb"(?:size_t|ptrdiff_t|u?int\d+_t)"
_OWN_TYPE = re.compile(
    rb"\b(?:struct|class|union|enum|typename)\s+%b\b|\busing\s+%b\s*=|\btypedef\b[^;]*\b%b\s*;"
    rb"|\}\s*%b\s*;" % ((_TYPE,) * 4)
)
_MAKES_TYPES = re.compile(rb"\b(?:struct|class|union|enum|typename|using|typedef)\b")
NUMBER_TYPE = re.compile(
    r"(?:unsigned|signed|long|short|int|char|bool|float|double|size_t|ptrdiff_t|u?int\d+_t|\s)+"
)
"""Types whose values no operator of a file's own can be for, where their names mean them."""


@dataclass(frozen=True)
class NumberNames:
    """Which names of a file are numbers, where it gives operators a meaning.

    `macros`: numbers wherever the file defines them. `rewritten`: macros that are anything else.
    `types_hold`: the types of numbers have their names to themselves.
    """

    macros: frozenset[str] = frozenset()
    rewritten: frozenset[str] = frozenset()
    types_hold: bool = True


@dataclass(frozen=True)
class Known:
    """Names of a file. `own_signs`: it says what `<` or `>` is to do.

    `declared`: how often each name is declared. `weights`: what each macro does outside of its
    loops and blocks. `repeating`: macros that may evaluate an argument more than once.
    """

    variables: frozenset[str]
    templates: frozenset[str]
    own_signs: bool
    declared: Mapping[str, int]
    weights: Mapping[str, int] = field(default_factory=dict[str, int])
    repeating: Mapping[str, Repeats] = field(default_factory=dict[str, Repeats])
    numbers: NumberNames = NumberNames()

    def within(self, code: SourceFile) -> "Known":
        """Return the names within the text of a macro: all but templates may be variables there."""
        names = {code.node_text(node) for node in code.nodes("identifier", "field_identifier")}
        names |= {code.node_text(node) for node in code.nodes("type_identifier")}
        return replace(self, variables=self.variables | (names - self.templates))


def _declares(kind: str) -> bool:
    return kind in _DECLARING or (
        kind.endswith(("declarator", "declaration")) and kind != "function_declarator"
    )


def names_of(tree: SourceFile) -> Known:
    """Return which names of a file are variables, fields or macros, and which are templates."""
    times = Counter(
        tree.node_text(node)
        for node in tree.nodes("identifier", "field_identifier")
        if node.parent is not None and _declares(node.parent.type)
    )
    templates: set[str] = set()
    for node in tree.nodes("template_declaration"):
        for declared in node.named_children:
            name = declared.child_by_field_name("name") or declared
            while (inner := name.child_by_field_name("declarator")) is not None:
                name = inner
            templates.add(tree.node_text(name).rpartition("::")[2])
    return Known(
        frozenset(times.keys() | _BUILT_IN),
        frozenset(templates),
        bool(_OWN_SIGN.search(tree.text)),
        times,
        numbers=_numbers_in(mask(tree.text)),
    )


def _numbers_in(text: bytes) -> NumberNames:
    found = [(name.decode(), value) for name, value in _DEFINED.findall(text)]
    rewritten = {name for name, value in found if not _NUMERIC.fullmatch(value)}
    makes_types = any(_MAKES_TYPES.search(value) for _, value in found)
    hides_types = any(NUMBER_TYPE.fullmatch(name) for name, _ in found)
    holds = not (makes_types or hides_types or _OWN_TYPE.search(text))
    return NumberNames(
        frozenset(name for name, _ in found) - rewritten, frozenset(rewritten), holds
    )
