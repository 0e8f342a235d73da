"""Preprocessor conditionals of untrusted text: every branch is looked at, in some choice."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from warploom.evaluation.legality.tokens import Token

_BEGIN = frozenset({"if", "ifdef", "ifndef"})
_NEXT = frozenset({"elif", "elifdef", "elifndef", "else"})
_Choice = dict[int, int]


@dataclass(frozen=True, slots=True)
class _Branch:
    group: int
    index: int
    line: int
    parents: tuple[tuple[int, int], ...]


def choices(tokens: Sequence[Token], lines: Sequence[range]) -> Iterator[tuple[Token, ...]]:
    """Yield tokens without directives, so that each branch within `lines` appears at least once.

    The first choice takes the first branch of every conditional; each further one reaches one
    other branch that begins within `lines`.
    """
    branches = list(_branches(tokens))
    yield _select(tokens, {})
    for branch in branches:
        if branch.index and any(branch.line in span for span in lines):
            yield _select(tokens, dict((*branch.parents, (branch.group, branch.index))))
        elif branch.parents and any(branch.line in span for span in lines):
            yield _select(tokens, dict(branch.parents))


def conditionals_balanced(tokens: Sequence[Token]) -> bool:
    """Whether every conditional that begins in `tokens` ends there, and none ends too much."""
    depth = 0
    for token in tokens:
        if token.kind == "directive":
            depth += (token.text in _BEGIN) - (token.text == "endif")
            if depth < 0 or (depth == 0 and token.text in _NEXT):
                return False
    return depth == 0


def _branches(tokens: Sequence[Token]) -> Iterator[_Branch]:
    stack: list[tuple[int, int]] = []
    groups = 0
    for token in tokens:
        if token.kind != "directive":
            continue
        if token.text in _BEGIN:
            yield _Branch(groups, 0, token.line, tuple(stack))
            stack.append((groups, 0))
            groups += 1
        elif token.text in _NEXT and stack:
            group, index = stack.pop()
            yield _Branch(group, index + 1, token.line, tuple(stack))
            stack.append((group, index + 1))
        elif token.text == "endif" and stack:
            stack.pop()


def _select(tokens: Sequence[Token], choice: _Choice) -> tuple[Token, ...]:
    kept: list[Token] = []
    stack: list[tuple[int, int]] = []
    groups = 0
    for token in tokens:
        if token.kind == "directive":
            if token.text in _BEGIN:
                stack.append((groups, 0))
                groups += 1
            elif token.text in _NEXT and stack:
                stack[-1] = (stack[-1][0], stack[-1][1] + 1)
            elif token.text == "endif" and stack:
                stack.pop()
        elif not token.directive and all(choice.get(g, 0) == i for g, i in stack):
            kept.append(token)
    return tuple(kept)
