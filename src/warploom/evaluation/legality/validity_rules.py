"""Questions that only a compiler answers: whether an expression compiles, and what it would be.

The emulator's headers stand in for CUDA's and NCCL's. They give the same types and overloads where
programs use them rightly; what they refuse is another matter, and so is what g++ accepts and nvcc
does not. A text that chooses its meaning by such an answer (SFINAE, `requires`, the operator
`noexcept`) can be one program here and another one on a GPU, so untrusted text may not ask. What is
a constant is such a question too: `warpSize` and many functions are one for the emulator's headers
and none for CUDA's, which a template's signature can tell.
"""

import re
from collections.abc import Iterator, Sequence

from warploom.evaluation.legality.refusals import words
from warploom.evaluation.legality.region_rules import Refused
from warploom.evaluation.legality.tokens import Token

_REAL = re.compile(
    r"0[xX][0-9A-Fa-f'.]*[pP][+-]?[0-9']+|[0-9][0-9'.]*(?:[eE][+-]?[0-9']+)?|\.[0-9']+(?:[eE][+-]?[0-9']+)?"
)
_OPEN, _CLOSE = "([{", ")]}"
_OPERANDS = frozenset({"sizeof", "alignof", "typeid", "__alignof__"})
_TYPES = frozenset({"decltype", "typeof", "__typeof__", "__typeof", "typeof_unqual"})
_CALLS = words("( { . -> + - / % == != <= >= <=> ! ~ | ^ && || ? = ++ -- <<")
_DEVICE = words("warpSize threadIdx blockIdx blockDim gridDim")
_NOT_CALLED = frozenset({*_OPERANDS, *_TYPES}) | words(
    "void bool char short int long float double unsigned signed const auto noexcept alignas"
)
_BEFORE_BODY = frozenset({"const", "volatile", "noexcept", "override", "final", "mutable", "try"})


def validity_refusals(tokens: Sequence[Token]) -> Iterator[Refused]:
    """Refuse what asks, in untrusted text, whether an expression is valid; and `long double`."""
    plain = [token for token in tokens if not token.directive]
    bodies = _in_bodies(plain)
    for at, token in enumerate(plain):
        if token.trusted:
            continue
        if token.text in ("requires", "concept"):
            yield _asks(token, token.text)
        elif token.text == "noexcept" and len(_operand(plain, at)) > 1:
            yield _asks(token, "noexcept(...)")
        elif token.text in _TYPES | _OPERANDS and _selects(plain, at, bodies[at]):
            yield _asks(token, f"{token.text} of an expression in a signature")
        yield from _long_double(plain, at)
    for begin, end in _template_heads(plain, bodies):
        yield from _computes(plain, begin, end)


def _template_heads(tokens: Sequence[Token], bodies: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """Yield where what is declared of a template begins and ends: before its body, or with it."""
    for at, token in enumerate(tokens):
        if token.text == "template" and not token.trusted and not bodies[at]:
            depth, end = 0, at + 1
            while end < len(tokens):
                text = tokens[end].text
                depth += (text in "([") - (text in ")]")
                if depth <= 0 and text in (";", "{", "template"):
                    break
                end += 1
            yield at, end


def _computes(tokens: Sequence[Token], begin: int, end: int) -> Iterator[Refused]:
    """Refuse calls, and variables of the device, in the brackets of a template's signature."""
    angles = brackets = 0
    for at in range(begin + 1, end):
        text, before = tokens[at].text, tokens[at - 1]
        if brackets == 0 and text in ("<", ">", ">>"):
            angles = max(angles + {"<": 1, ">": -1, ">>": -2}[text], 0)
        inside = angles > 0 or brackets > 0
        if inside and text in _DEVICE:
            yield _asks(tokens[at], f"{text} in the signature of a template")
        called = (before.kind == "name" and before.text not in _NOT_CALLED) or before.text == ">"
        declares = tokens[at + 1 : at + 2] and tokens[at + 1].text in ("*", "&", "&&")
        if inside and text == "(" and called and not declares:
            yield _asks(before, f"a call of {before.text} in the signature of a template")
        brackets += (text in _OPEN) - (text in _CLOSE)


def _selects(tokens: Sequence[Token], at: int, in_body: bool) -> bool:
    """Whether the operand at `at` takes part in choosing between overloads or specializations."""
    inside = _operand(tokens, at)
    if tokens[at].text in _TYPES:
        expression = len(inside) > 1
    else:
        expression = any(token.text in _CALLS for token in inside)
    if not expression:
        return False
    return not in_body or (at > 0 and tokens[at - 1].text == "->") or _in_generic_list(tokens, at)


def _in_generic_list(tokens: Sequence[Token], at: int) -> bool:
    """Whether a list of parameters with `auto` holds `at`, or a list of template parameters."""
    depth = 0
    for before in range(at - 1, -1, -1):
        text = tokens[before].text
        if text in _CLOSE:
            depth += 1
        elif text in _OPEN:
            depth -= 1
            if depth < 0:
                return text == "(" and any(token.text == "auto" for token in tokens[before:at])
        elif text == "template" and depth == 0:
            return True
        elif text == ";" and depth == 0:
            return False
    return False


def _operand(tokens: Sequence[Token], at: int) -> Sequence[Token]:
    """Return what stands in the brackets behind `at`; nothing without brackets."""
    if at + 1 >= len(tokens) or tokens[at + 1].text != "(":
        return ()
    depth = 0
    for end in range(at + 1, len(tokens)):
        depth += (tokens[end].text in _OPEN) - (tokens[end].text in _CLOSE)
        if depth == 0:
            return tokens[at + 2 : end]
    return tokens[at + 2 :]


def _in_bodies(tokens: Sequence[Token]) -> list[bool]:
    """Say of each token whether the body of a function holds it."""
    found: list[bool] = []
    stack: list[bool] = []
    for at, token in enumerate(tokens):
        if token.text == "{":
            before = tokens[at - 1].text if at else ""
            stack.append((bool(stack) and stack[-1]) or before == ")" or before in _BEFORE_BODY)
        found.append(bool(stack) and stack[-1])
        if token.text == "}" and stack:
            stack.pop()
    return found


def _long_double(tokens: Sequence[Token], at: int) -> Iterator[Refused]:
    """Refuse a type that device code of CUDA has not: nvcc takes it for `double` there."""
    token = tokens[at]
    after = tokens[at + 1].text if at + 1 < len(tokens) else ""
    pair = {token.text, after} == {"long", "double"}
    ending = ""
    if token.kind == "number" and _is_real(token.text):
        ending = _REAL.sub("", token.text, count=1)
    if ending and ending not in "fFlL" and not ending.startswith("_"):
        yield Refused(
            "forbidden_call",
            f"{token.text} is a number that CUDA's device code has not, for its {ending}",
            token.line,
            hint="use double",
        )
    elif pair or ending in ("l", "L"):
        yield Refused(
            "forbidden_call",
            "long double is double in CUDA's device code, and more than that here",
            token.line,
            hint="use double",
        )


def _is_real(number: str) -> bool:
    if number[:2] in ("0x", "0X"):
        return "p" in number.lower()
    return "." in number or "e" in number.lower()


def _asks(token: Token, what: str) -> Refused:
    return Refused(
        "forbidden_call",
        f"{what} asks the compiler whether something compiles: nvcc with CUDA's headers may "
        "answer otherwise than the emulator's",
        token.line,
        hint="name the types that are meant, or write one version for each",
    )
