"""Operators and code at load time: what runs without being called by name."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from warploom.evaluation.legality.allowed_names import CONSTANT, TYPES, VECTOR_TYPE
from warploom.evaluation.legality.identifiers import Identifiers
from warploom.evaluation.legality.own_scopes import OwnScopes
from warploom.evaluation.legality.refusals import KEYWORDS, words
from warploom.evaluation.legality.region_rules import Refused
from warploom.evaluation.legality.scopes import Declared
from warploom.evaluation.legality.tokens import Token

_TYPE_WORDS = words(
    "void bool char short int long float double signed unsigned const static_cast "
    "reinterpret_cast const_cast sizeof alignof true false nullptr"
)


def operator_refusals(item: Declared, scopes: OwnScopes) -> Iterator[Refused]:
    """Refuse an operator at namespace scope that takes no type of the candidate's own.

    Of other operands, such as the library's status codes, the frame's expressions would change
    their meaning.
    """
    if item.kind != "function" or item.level == "class" or item.name != "operator":
        return
    if any(t.text == "::" and n.text == "operator" for t, n in pairwise(item.tokens)):
        return  # a member, defined outside of its class
    if not scopes.takes_own(item.tokens):
        yield foreign_operator(item.line)


def foreign_operator(line: int) -> Refused:
    """Return the refusal of an operator whose operands are not the candidate's own."""
    return Refused(
        "redefinition",
        "an operator for types that are not the candidate's own would change the frame",
        line,
        hint="let one operand be a class that the region defines, or write a function",
    )


def initializer_refusals(
    item: Declared, names: Identifiers, constants: frozenset[str]
) -> Iterator[Refused]:
    """Refuse a variable at namespace scope whose initializer names what may be no constant."""
    texts = [token.text for token in item.tokens]
    if item.kind != "variable" or "constexpr" in texts or "constinit" in texts:
        return
    if item.level == "class" and "inline" not in texts:
        return
    depth, value = 0, False
    for at, token in enumerate(item.tokens):
        if token.text in ("=", "{", "(") and depth == 0:
            value = value or token.text != "("
        elif token.text == "," and depth == 0:
            value = False  # the next declarator
        depth += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}"))
        if not value or token.kind != "name" or _is_constant(texts, at, names, constants):
            continue
        yield Refused(
            "static_constructor",
            f"{item.name or 'this'} is initialized by {token.text}, which may be no constant: "
            "code would run before main",
            item.line,
            hint="make it constexpr, or a local variable",
        )
        return


def _is_constant(
    texts: Sequence[str], at: int, names: Identifiers, constants: frozenset[str]
) -> bool:
    word = texts[at]
    if word in _TYPE_WORDS or word in TYPES or VECTOR_TYPE.match(word) or CONSTANT.match(word):
        return True
    if word in KEYWORDS:
        return False
    if word in constants or word.startswith(("cuda", "nccl", "MPI_")):
        return True
    if texts[at - 1] == "." or (at + 1 < len(texts) and texts[at + 1] == "::"):
        return texts[at - 1] == "." or word == "std" or word in names.types
    if texts[at - 1] == "&":
        return True
    return texts[at - 1] == "::" and word in ("nullptr_t", "size_t")


def constants_of(items: Sequence[Declared]) -> frozenset[str]:
    """Return names that mean constants without code: enumerators, functions, arrays, constexpr."""
    found: set[str] = set()
    for item in items:
        enumerator = item.kind == "type" and len(item.tokens) == 1
        fixed = item.kind == "variable" and item.has("constexpr", "const")
        fixed = fixed or (item.kind == "variable" and item.has("["))  # an array is its address
        if enumerator or item.kind == "function" or (fixed and _is_plain(item)):
            found.add(item.name)
            found.update(_declarators(item.tokens))
    return frozenset(found)


def _declarators(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield what follows the first declarator, as b in `const int a = 1, b = 2;`."""
    depth = 0
    for token, after in pairwise(tokens):
        depth += (token.text in ("(", "[", "{", "<")) - (token.text in (")", "]", "}", ">"))
        if token.text == "," and depth == 0 and after.kind == "name":
            yield after.text


def _is_plain(item: Declared) -> bool:
    """Whether a constant has a type without conversions of its own."""
    first = next(
        (
            t.text
            for t in item.tokens
            if t.kind == "name"
            and t.text not in ("static", "inline", "const", "constexpr", "__device__", "extern",
                               "__constant__", "std", "unsigned", "signed", "thread_local")
        ),
        "",
    )  # fmt: skip
    return first in _TYPE_WORDS or first in TYPES or first == item.name
