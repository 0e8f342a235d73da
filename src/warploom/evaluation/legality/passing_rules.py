"""Arguments of kernels: a GPU gets their bytes, and the emulator's threads get values.

A launch converts and copies what is passed once, on the host. Here each thread converts and copies
its own, in device code, so functions of a class that do this would run more often, elsewhere and
later than on a GPU. Untrusted text may define none.
"""

from collections.abc import Iterator, Sequence

from warploom.evaluation.legality.region_rules import Refused
from warploom.evaluation.legality.tokens import Token

_NO_CONVERSION = frozenset({"new", "delete", "co_await"})
_BEGINS_BODY = frozenset({"{", ":", "noexcept", "try"})


def passing_refusals(tokens: Sequence[Token]) -> Iterator[Refused]:
    """Refuse conversion functions and copy constructors with a body."""
    plain = [token for token in tokens if not token.directive]
    texts = [token.text for token in plain]
    for at, token in enumerate(plain):
        if token.trusted:
            continue
        if token.text == "operator" and _converts(plain, at):
            yield Refused(
                "redefinition",
                "a conversion of a class to another type may run for arguments of kernels, and "
                "does so elsewhere than on a GPU",
                token.line,
                hint="write a function with a name, and call it",
            )
        elif token.kind == "name" and _copies(texts, at):
            yield Refused(
                "redefinition",
                f"the copy constructor of {token.text} may run for arguments of kernels, and does "
                "so more often than on a GPU",
                token.line,
                hint="let the compiler make it (= default), or write a function with a name",
            )


def _converts(tokens: Sequence[Token], at: int) -> bool:
    """Whether a conversion function begins at `operator`; `explicit` ones take a cast."""
    after = tokens[at + 1] if at + 1 < len(tokens) else None
    if after is None or after.kind != "name" or after.text in _NO_CONVERSION:
        return False
    before = [token.text for token in tokens[max(0, at - 4) : at]]
    return "explicit" not in before


def _copies(texts: Sequence[str], at: int) -> bool:
    """Whether `T(const T& other) ... {` begins at a word."""
    if texts[at + 1 : at + 2] != ["("]:
        return False
    inside = texts[at + 2 : at + 4]
    words = inside[1:] if inside[:1] in (["const"], ["volatile"]) else inside[:1]
    if words != [texts[at]]:
        return False
    end = at + 2
    while end < len(texts) and texts[end] != ")":
        end += 1
    passed = texts[at + 2 : end]
    return (
        "&" in passed
        and "," not in passed
        and not _BEGINS_BODY.isdisjoint(texts[end + 1 : end + 2])
    )
