"""Statements that look like a transform's own, by what they call, and are part of the check.

What poisons or reads a buffer of results, and what gives a type to a variable of the check, stays.
"""

from collections.abc import Iterator, Sequence, Set

from warploom.evaluation.kept.statements import moves_data
from warploom.evaluation.legality.refusals import words
from warploom.evaluation.legality.statements import Statement
from warploom.evaluation.legality.tokens import Token, arguments_of, joined

_TO_HOST = words("cudaMemcpyDeviceToHost cudaMemcpyDefault")
_CASTS = words("void char float double int const unsigned static_cast reinterpret_cast size_t")


def read_back(bodies: Sequence[Sequence[Statement]]) -> frozenset[str]:
    """Return the buffers that the original copies to the host, as it spells them."""
    return frozenset(
        chain
        for body in bodies
        for one in body
        for _, arguments in _copies(one)
        if one.names & _TO_HOST
        for chain in [_chain(arguments[_source(one)])] * bool(len(arguments) > _source(one))
        if chain
    )


def is_pinned(
    one: Statement, before: Sequence[Statement], fixed: Set[int], results: Set[str],
    declared: Set[int], *, pipeline: bool,
) -> bool:  # fmt: skip
    """Whether a statement that a transform might change belongs to the check after all.

    `before` are all statements of the function and `fixed` those that must stay; `results` are the
    buffers that are read back; `pipeline` says that the function moves data or gets memory.
    """
    rest = [before[at] for at in fixed]
    if declares_kept(one, rest, declared) and not any(token.text == "(" for token in one.tokens):
        return True
    exchanged = {
        chain for other in before if any(moves_data(n) for n in other.names)
        for chain in _chains(other.tokens)
    }  # fmt: skip
    for called, arguments in _copies(one):
        if not pipeline:
            return True
        if one.names & _TO_HOST:
            root = _chain(arguments[0]).split(" ")[0]
            if any(root in o.names and not _declares(o, root, declared) for o in rest):
                return True
            continue
        filled = _chain(arguments[0])
        if filled in results and (called.startswith("cudaMemset") or filled not in exchanged):
            return True
    return False


def declares_kept(one: Statement, rest: Sequence[Statement], declared: Set[int]) -> str:
    """Return a variable that a statement declares and the fixed ones name, or ""."""
    names = [token.text for token in one.tokens if id(token) in declared]
    return next((name for name in names if any(name in other.names for other in rest)), "")


def head_of(one: Statement, name: str) -> str:
    """Return a declaration's text up to what it declares: its type, and the name."""
    at = next((i for i, token in enumerate(one.tokens) if token.text == name), 0)
    return joined(one.tokens[: at + 1])


def _declares(one: Statement, name: str, declared: Set[int]) -> bool:
    return any(token.text == name and id(token) in declared for token in one.tokens)


def _copies(one: Statement) -> Iterator[tuple[str, list[list[Token]]]]:
    """Yield the copies and fills of memory that a statement asks for, with their arguments."""
    for at, token in enumerate(one.tokens[:-1]):
        if token.text.startswith(("cudaMemset", "cudaMemcpy")) and one.tokens[at + 1].text == "(":
            yield token.text, arguments_of(one.tokens, at + 1)


def _source(one: Statement) -> int:
    return 2 if any("2D" in name for name in one.names if name.startswith("cudaMemcpy")) else 1


def _chain(tokens: Sequence[Token]) -> str:
    """Return the variable that an argument begins with, members included: `layer . output`."""
    return next(iter(_chains(tokens)), "")


def _chains(tokens: Sequence[Token]) -> Iterator[str]:
    at = 0
    while at < len(tokens):
        end = at
        if tokens[at].kind == "name" and tokens[at].text not in _CASTS:
            while end + 2 < len(tokens) and tokens[end + 1].text in (".", "->", "::"):
                end += 2
            follows = tokens[end + 1].text if end + 1 < len(tokens) else ""
            if follows != "(" or end > at:
                yield joined(tokens[at : end + 1])
        at = end + 1
