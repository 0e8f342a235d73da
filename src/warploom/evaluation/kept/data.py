"""What the check reads of the host's data: added text may upload it, and nothing else."""

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from warploom.evaluation.legality.refusals import words
from warploom.evaluation.legality.scopes import Declared
from warploom.evaluation.legality.tokens import Token, joined

_SOURCE = {
    "cudaMemcpy": 1, "cudaMemcpyAsync": 1, "cudaMemcpyToSymbol": 1, "cudaMemcpyToSymbolAsync": 1,
    "cudaMemcpy2D": 2, "cudaMemcpy2DAsync": 2, "MPI_Send": 0, "MPI_Isend": 0,
}  # fmt: skip
"""Which argument of a call is only read."""
_SIZES = words("size length empty")
_ASKS = words("sizeof decltype")
_PLAIN_STEPS = words("data begin cbegin c_str")
ASSIGNS = words("= += -= *= /= %= &= |= ^= <<= >>= ++ --")
"""What changes the operand beside it."""
_WRITERS = re.compile(
    r"(?:swap|exchange|ref|tie|forward\w*|move\w*|iota|fill\w*|generate\w*|transform|copy\w*|sort"
    r"|mem(?:cpy|set|move)|addressof|as_writable_bytes|span|MPI_(?:I?[Rr]ecv(?:_init)?|Sendrecv\w*|Bcast)|partial_sum)\Z"
)
_CAST_AWAY = words("const_cast reinterpret_cast bit_cast asm __asm__ volatile memcpy memmove union")
_C_CAST = re.compile(r"[*&] \) (?:[\w&(*])")


@dataclass(frozen=True, slots=True)
class Functions:
    """The functions of the candidate: which of their parameters they only upload.

    `steps` are methods that leave their object as it is, as the original declares them.
    """

    by_name: Mapping[str, tuple[Declared, ...]]
    steps: Set[str] = frozenset()

    def only_uploads(self, name: str, place: int, depth: int = 0) -> bool:
        """Whether each function of this name only reads and uploads its argument `place`."""
        found = self.by_name.get(name, ())
        return bool(found) and depth < 4 and all(self._reads(one, place, depth) for one in found)

    def by_reference(self, name: str, place: int) -> bool:
        """Whether a function of this name may change what it gets as argument `place`."""
        for one in self.by_name.get(name, ()):
            texts = {token.text for token in _parameter(one, place)}
            if texts & {"&", "&&"} and "const" not in texts:
                return True
        return False

    def _reads(self, function: Declared, place: int, depth: int) -> bool:
        given = _parameter(function, place)
        names = [token.text for token in given if token.kind == "name"]
        texts = {token.text for token in given}
        if not names or ("const" not in texts and texts & {"&", "&&", "*", "["}):
            return False
        body = joined(function.body)
        if _C_CAST.search(body) or any(t.text in _CAST_AWAY for t in function.body):
            return False
        return all(
            is_upload(function.body, at, self, depth + 1) or _is_value(function.body, at)
            for at in mentions(function.body, names[-1])
        )


def const_methods(by_name: Mapping[str, tuple[Declared, ...]]) -> frozenset[str]:
    """Return the names that only methods have, each of them `const`."""
    return frozenset(
        name
        for name, found in by_name.items()
        if all(one.level == "class" and _is_const(one) for one in found)
    )


def _is_const(method: Declared) -> bool:
    head = method.tokens
    for at, token in enumerate(head[:-1]):
        if token.text == method.name and head[at + 1].text == "(":
            return _text(head, _closing(head, at + 1) + 1) == "const"
    return False


def mentions(tokens: Sequence[Token], name: str) -> Iterator[int]:
    """Yield where `name` stands for itself: no member of something else has that name."""
    for at, token in enumerate(tokens):
        before = tokens[at - 1].text if at else ""
        if token.text == name and token.kind == "name" and before not in (".", "->", "::"):
            yield at


def is_upload(tokens: Sequence[Token], at: int, functions: Functions, depth: int = 0) -> bool:
    """Whether a name is a whole argument that is only read, or asked for its size."""
    end = at + 1
    if _text(tokens, end) == "." and _text(tokens, end + 2) == "(":
        if _text(tokens, end + 1) in _SIZES:
            return True
        if _text(tokens, end + 1) in _PLAIN_STEPS and _text(tokens, end + 3) == ")":
            end += 4
    before, after = _text(tokens, at - 1), _text(tokens, end)
    if before not in ("(", ",") or after not in (",", ")"):
        return False
    called, place = _call_around(tokens, at)
    if called in _ASKS:
        return True
    return _SOURCE.get(called) == place or functions.only_uploads(called, place, depth)


def may_change(tokens: Sequence[Token], at: int, functions: Functions) -> bool:
    """Whether what stands around a name can give it another value, or lend it to who can."""
    before, after = _text(tokens, at - 1), _text(tokens, at + 1)
    if before == "(" and after == ")":  # (name) = 1, (name)++
        called, _ = _call_around(tokens, at)
        if not called and _text(tokens, at + 2) in ASSIGNS:
            return True
    if after in ASSIGNS or before in ("++", "--"):
        return True
    if after == "[":
        end = _closing(tokens, at + 1)
        taken = before in ("&", "++", "--") or _text(tokens, end + 1) in ASSIGNS
        return taken or _binds(tokens, at)
    if after == "." and _text(tokens, at + 3) == "(":
        known = functions.steps | _PLAIN_STEPS
        return _text(tokens, at + 2) not in _SIZES and _binds_or_steps(tokens, at, known)
    called, place = _call_around(tokens, at)
    whole = before in ("(", ",") and after in (",", ")")
    if whole and (_WRITERS.match(called) or functions.by_reference(called, place)):
        return True
    return _binds(tokens, at) and after in (";", ")", ",", "}", "")


def _binds(tokens: Sequence[Token], at: int) -> bool:
    """Whether a reference is bound to what begins at `at`: `auto& a = name`, `T& a : name`."""
    if _text(tokens, at - 1) not in ("=", ":", "{", "("):
        return False
    i = at - 2
    return i >= 1 and tokens[i].kind == "name" and _text(tokens, i - 1) in ("&", "&&")


def _binds_or_steps(tokens: Sequence[Token], at: int, known: Set[str]) -> bool:
    """Whether a method's value is stored through, or the method is none of the `known` ones."""
    if _text(tokens, at + 2) not in known:
        return True
    end = _closing(tokens, at + 3) + 1
    if _text(tokens, end) == "[":
        end = _closing(tokens, end) + 1
    return _text(tokens, end) in ASSIGNS or _binds(tokens, at)


def _is_value(tokens: Sequence[Token], at: int) -> bool:
    """Whether an element, or a number, is read: of what is constant, the compiler sees to that."""
    after = _text(tokens, at + 1)
    if after == "[":
        return _text(tokens, at - 1) != "&"
    return after not in (".", "->") and _text(tokens, at - 1) not in ("&", "(", ",", "=", "{")


def _call_around(tokens: Sequence[Token], at: int) -> tuple[str, int]:
    """Return the function that a token is an argument of, and which one; "" for plain brackets."""
    depth = place = 0
    for i in range(at - 1, -1, -1):
        word = tokens[i].text
        if word in (")", "]", "}"):
            depth += 1
        elif word in ("(", "[", "{"):
            if depth == 0:
                called = i and tokens[i - 1].kind == "name" and word == "("
                return (tokens[i - 1].text if called else ""), place
            depth -= 1
        elif word == "," and depth == 0:
            place += 1
    return "", place


def _closing(tokens: Sequence[Token], at: int) -> int:
    depth = 0
    for i in range(at, len(tokens)):
        depth += (tokens[i].text in ("(", "[")) - (tokens[i].text in (")", "]"))
        if depth == 0:
            return i
    return len(tokens)


def _parameter(function: Declared, place: int) -> Sequence[Token]:
    """Return the tokens of a function's parameter number `place`; its default is left out."""
    found = parameters(function)
    return found[place] if place < len(found) else ()


def parameters(function: Declared) -> list[Sequence[Token]]:
    """Return the tokens of each parameter of a function, without defaults."""
    head = function.tokens
    start = next(
        (i + 1 for i, t in enumerate(head[:-1]) if t.text == function.name
         and head[i + 1].text == "("),
        len(head),
    )  # fmt: skip
    found: list[list[Token]] = [[]]
    depth = angle = 0
    for token in head[start + 1 :]:
        depth += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}"))
        angle += (token.text == "<") - (len(token.text) if token.text in (">", ">>") else 0)
        if depth < 0:
            break
        if token.text == "," and depth == 0 and angle == 0:
            found.append([])
        else:
            found[-1].append(token)
    return [
        one[: next((i for i, token in enumerate(one) if token.text == "="), len(one))]
        for one in found
    ]


def _text(tokens: Sequence[Token], at: int) -> str:
    return tokens[at].text if 0 <= at < len(tokens) else ""


def guarded_names(
    data: Set[str], moved: Sequence[Sequence[Token]], functions: Functions
) -> frozenset[str]:
    """Return those of `data` that the statements a transform may change do nothing but upload."""
    changed = {
        name
        for tokens in moved
        for name in {token.text for token in tokens} & data
        if any(not is_upload(tokens, at, functions) for at in mentions(tokens, name))
    }
    return frozenset(data - changed)
