"""A program as the check's comparison sees it: its functions, and how they reach each other."""

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from warploom.evaluation.kept.statements import moves_data
from warploom.evaluation.kept.worlds import NOT_LIVE
from warploom.evaluation.legality.identifiers import Identifiers
from warploom.evaluation.legality.refusals import KEYWORDS, words
from warploom.evaluation.legality.scopes import Declared, declarations
from warploom.evaluation.legality.statements import Statement, statements
from warploom.evaluation.legality.tokens import Token, joined

_LIBRARY = re.compile(r"(?:cuda|nccl)[A-Z]|MPI_")
_NO_WRAPPERS = KEYWORDS | words("exit _exit _Exit quick_exit abort MPI_Abort")


@dataclass(frozen=True)
class Text:
    """The functions of a program, by name, and all that it declares at namespace scope.

    `tokens` are what the compiler gets in one world, `raw` those of the text.
    """

    functions: Mapping[str, tuple[Declared, ...]]
    items: tuple[Declared, ...]
    tokens: tuple[Token, ...]
    raw: tuple[Token, ...]

    @functools.cached_property
    def declared(self) -> frozenset[int]:
        """The tokens that declare a name, in any scope, by identity."""
        live = [token for token in self.tokens if not token.directive]
        return frozenset(id(live[at]) for at in Identifiers(live).places)

    @functools.cached_property
    def checks(self) -> frozenset[str]:
        """What may be wrapped around a call: macros, functions, and what wraps one here."""
        named = set(self.functions) | {name for _, _, name in macros(self.raw)}
        named.update(_wrappers(self.raw))
        return frozenset(named | {f"{name}{NOT_LIVE}" for name in named})


def read_text(tokens: tuple[Token, ...], raw: tuple[Token, ...]) -> Text:
    """Read the functions and declarations of `tokens`, made of the text's `raw` ones.

    Raises:
        UnbalancedError: brackets do not match.
    """
    items = declarations(tokens)
    functions: dict[str, tuple[Declared, ...]] = {}
    for item in items:
        if item.kind == "function":
            functions[item.name] = (*functions.get(item.name, ()), item)
    return Text(functions, items, tokens, raw)


def _wrappers(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield what calls of CUDA, NCCL and MPI are handed to, as in `check(cudaFree(x))`."""
    live = [token for token in tokens if not token.directive]
    for at, token in enumerate(live[:-3]):
        called = live[at + 2]
        handed = token.kind == "name" and live[at + 1].text == live[at + 3].text == "("
        if handed and token.text not in _NO_WRAPPERS and _LIBRARY.match(called.text):
            yield token.text


def partner_of(item: Declared, old: Text, new: Text) -> Declared | None:
    """Return the candidate's function for one of the original, of the same scope."""
    ours = [one for one in old.functions[item.name] if one.scope == item.scope]
    theirs = [one for one in new.functions.get(item.name, ()) if one.scope == item.scope]
    heads = {joined(one.tokens) for one in ours}
    alike = joined(item.tokens) in {joined(one.tokens) for one in theirs}
    if alike:
        ours = [one for one in ours if joined(one.tokens) == joined(item.tokens)]
        theirs = [one for one in theirs if joined(one.tokens) == joined(item.tokens)]
    else:
        there = {joined(one.tokens) for one in theirs}
        ours = [one for one in ours if joined(one.tokens) not in there]
        theirs = [one for one in theirs if joined(one.tokens) not in heads]
    number = next(at for at, one in enumerate(ours) if one is item)
    return theirs[number] if number < len(theirs) else None


def macros(tokens: Sequence[Token]) -> Iterator[tuple[int, str, str]]:
    """Yield line, text and name of each `#define` and `#undef`."""
    at = 0
    while at < len(tokens):
        first = tokens[at]
        end = at + 1
        if first.kind == "directive" and first.text in ("define", "undef"):
            while end < len(tokens) and tokens[end].directive and tokens[end].kind != "directive":
                end += 1
            words = tokens[at + 1 : end]
            yield first.line, joined(words), words[1].text if len(words) > 1 else ""
        at = end


def reaching(text: Text) -> frozenset[str]:
    """Return the functions that move data from rank to rank, by themselves or by others."""
    found: set[str] = set()
    grown = True
    while grown:
        more = {
            name
            for name, items in text.functions.items()
            if name not in found | {"main"}
            and any(moves_data(t.text) or t.text in found for i in items for t in i.body)
        }
        grown = bool(more)
        found |= more
    return frozenset(found)


def allocating(text: Text) -> frozenset[str]:
    """Return the names of functions that allocate memory of the device."""
    return frozenset(
        name
        for name, items in text.functions.items()
        if name != "main" and any(t.text.startswith("cudaMalloc") for i in items for t in i.body)
    )


def tail_of(body: Sequence[Statement], communicates: frozenset[str]) -> int:
    """Return the first statement after all communication, at the outermost level of the body."""
    moving = [
        at
        for at, one in enumerate(body)
        if any(moves_data(word) or word in communicates for word in one.names)
    ]
    if not moving:
        return len(body)
    at = moving[-1] + 1
    depth = sum((s.text == "{") - (s.text == "}") for s in body[:at])
    while at < len(body) and depth > 0:
        depth += (body[at].text == "{") - (body[at].text == "}")
        at += 1
    return at


def only_after(text: Text, communicates: frozenset[str]) -> frozenset[str]:
    """Return the functions that the program reaches only after its last communication."""
    tail: set[str] = set()
    rest: set[str] = set()
    for item in text.functions.get("main", ()):
        body = statements(item)
        cut = tail_of(body, communicates)
        if cut < len(body):
            tail.update(word for s in body[cut:] for word in s.names)
            rest.update(word for s in body[:cut] for word in s.names)
    return frozenset(_closure(text, tail) - _closure(text, rest))


def _closure(text: Text, names: set[str]) -> set[str]:
    found: set[str] = set()
    waiting = [name for name in names if name in text.functions]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        words = {t.text for item in text.functions[name] for t in item.body}
        waiting += [word for word in words if word in text.functions]
    return found


def is_device(item: Declared) -> bool:
    """Whether a function is compiled for the device alone."""
    return item.has("__global__", "__device__") and not item.has("__host__")
