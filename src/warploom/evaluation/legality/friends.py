"""Friends with a body: a class may define functions of the namespace around it.

`struct A { friend cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { ... } };` defines the
library's function. It is read from the tokens alone, wherever the class stands.
"""

from collections.abc import Iterator, Sequence

from warploom.evaluation.legality.identifiers import Identifiers
from warploom.evaluation.legality.operators import foreign_operator
from warploom.evaluation.legality.own_scopes import OwnScopes
from warploom.evaluation.legality.region_rules import Refused
from warploom.evaluation.legality.scopes import skip_angles
from warploom.evaluation.legality.tokens import Token


def friend_refusals(
    tokens: Sequence[Token], names: Identifiers, scopes: OwnScopes
) -> Iterator[Refused]:
    """Refuse functions that a class defines as friends, unless they are operators of own types."""
    for at, token in enumerate(tokens):
        if token.text != "friend" or token.trusted:
            continue
        start = _start(tokens, at, names)
        end, has_body = _end(tokens, at, names)
        if not has_body:
            continue
        head = tokens[start:end]
        if any(word.text == "operator" for word in head):
            if not scopes.takes_own(head):
                yield foreign_operator(token.line)
            continue
        yield Refused(
            "redefinition",
            "a friend with a body is a function of the namespace around its class, which the "
            "frame may call",
            token.line,
            hint="define it outside of the class, and declare it as a friend",
        )


def _start(tokens: Sequence[Token], at: int, names: Identifiers) -> int:
    """Return the first token of the declaration that holds `at`."""
    while at > 0 and tokens[at - 1].text not in (";", "{", "}", ":"):
        at = names.match.get(at - 1, at - 1) if tokens[at - 1].text in (")", "]") else at - 1
    return at


def _end(tokens: Sequence[Token], at: int, names: Identifiers) -> tuple[int, bool]:
    """Return where the declaration ends, and whether with a body."""
    while at < len(tokens):
        text = tokens[at].text
        if text in ("(", "["):
            at = names.match.get(at, at)
        elif text == "<" and tokens[at - 1].text in ("template", "requires"):
            at = skip_angles(tokens, at)
        elif text in ("{", ";"):
            return at, text == "{"
        at += 1
    return at, False
