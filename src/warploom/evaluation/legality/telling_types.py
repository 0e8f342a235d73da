"""Shared variables are references in the emulator: what asks for their declared type could see it.

In all other uses a reference to T is an lvalue of type T, as the variable is on a GPU.
"""

from collections.abc import Iterator, Sequence

from warploom.evaluation.legality.identifiers import Identifiers
from warploom.evaluation.legality.region_rules import Refused
from warploom.evaluation.legality.scopes import Declared
from warploom.evaluation.legality.tokens import Token

_SIZES = frozenset({"blockDim", "gridDim"})
"""Variables on a GPU, and values that are made anew here."""
_ASKS = frozenset({"decltype", "typeof", "__typeof__", "__typeof", "typeof_unqual"})


def shared_type_refusals(
    tokens: Sequence[Token], names: Identifiers, items: Sequence[Declared]
) -> Iterator[Refused]:
    """Refuse untrusted text that asks for the declared type of a shared variable."""
    shared = frozenset(_shared(tokens, names)) | _SIZES
    for at, token in enumerate(tokens):
        if token.text in _ASKS and not token.trusted and names.text(at + 1) == "(":
            inside = tokens[at + 2 : names.match.get(at + 1, at + 2)]
            if len(inside) == 1 and inside[0].text in shared:
                yield _refused(inside[0].text, token)
    for item in items:
        everything = (*item.tokens, *item.body)
        used = next((t.text for t in item.body if t.text in shared), "")
        for token, after, last in zip(everything, everything[1:], everything[2:], strict=False):
            deduced = (token.text, after.text, last.text) == ("decltype", "(", "auto")
            if used and deduced and not token.trusted:
                yield _refused(used, token)


def _shared(tokens: Sequence[Token], names: Identifiers) -> Iterator[str]:
    """Yield the names that declarations with `__shared__` make."""
    for at, token in enumerate(tokens):
        if token.text != "__shared__":
            continue
        end = at
        while names.text(end) not in (";", ""):
            end = names.match.get(end, end) + 1 if names.text(end) in ("(", "[", "{") else end + 1
        yield from (name for place, name in names.places.items() if at < place < end)


def _refused(name: str, token: Token) -> Refused:
    return Refused(
        "forbidden_call",
        f"the declared type of {name} is a reference in the emulator",
        token.line,
        hint=f"name its type, or write decltype(({name})) for a reference to it",
    )
