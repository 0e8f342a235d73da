"""The statements of a function, read from its tokens."""

from collections.abc import Sequence
from dataclasses import dataclass

from warploom.evaluation.legality.refusals import words
from warploom.evaluation.legality.scopes import Declared
from warploom.evaluation.legality.tokens import Token, joined

_AFTER_PARAMETERS = words("mutable constexpr noexcept static consteval")


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement, the head of one (`for (...)`), or a brace."""

    text: str
    line: int
    names: frozenset[str]
    tokens: tuple[Token, ...]

    @property
    def shown(self) -> str:
        """The text for a message."""
        return self.text if len(self.text) <= 80 else self.text[:77] + "..."


def statements(item: Declared) -> list[Statement]:
    """Return the statements of a function's body, in order, with those of lambdas in it."""
    found: list[Statement] = []
    current: list[Token] = []
    depth = 0  # of brackets
    bodies: list[list[int]] = []  # of lambdas among arguments: depth outside, blocks inside
    control = False
    for token in item.body:
        if token.text == "{" and depth > 0 and _is_lambda(current):
            found.append(_made(current))
            found.append(_made([token]))
            bodies.append([depth, 0])
            current, control, depth = [], False, 0
            continue
        if bodies and depth == 0 and token.text in ("{", "}"):
            bodies[-1][1] += 1 if token.text == "{" else -1
            if bodies[-1][1] < 0:
                found += [_made(part) for part in (current, [token]) if part]
                depth = bodies.pop()[0]
                current, control = [], False
                continue
        current.append(token)
        depth += (token.text in ("(", "[")) - (token.text in (")", "]"))
        if len(current) == 1:
            control = token.text in ("if", "for", "while", "switch", "catch")
        ends = token.text in (";", "{", "}") or (control and token.text == ")")
        lone = len(current) == 1 and token.text in ("else", "do", "try")
        if depth == 0 and (ends or lone):
            if token.text in ("{", "}") and len(current) > 1:
                found.append(_made(current[:-1]))
                current = [token]
            found.append(_made(current))
            current, control = [], False
    if current:
        found.append(_made(current))
    return found


def _is_lambda(head: Sequence[Token]) -> bool:
    """Whether the tokens end with what stands before a lambda's body."""
    texts = [token.text for token in head]
    if "->" in texts:  # what it returns
        texts = texts[: len(texts) - 1 - texts[::-1].index("->")]
    while texts and texts[-1] in _AFTER_PARAMETERS:
        texts.pop()
    if texts and texts[-1] == ")":
        depth = 0
        while texts:
            last = texts.pop()
            depth += (last == ")") - (last == "(")
            if depth == 0:
                break
    return bool(texts) and texts[-1] == "]"


def _made(tokens: Sequence[Token]) -> Statement:
    return Statement(
        joined(tokens),
        tokens[0].line,
        frozenset(token.text for token in tokens if token.kind == "name"),
        tuple(tokens),
    )
