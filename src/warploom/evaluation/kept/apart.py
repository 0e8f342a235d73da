"""Conditionals of a candidate's own namespace, which change nothing outside of it.

The layer that a transform adds asks for NCCL's version here and there. Whatever such a question
gives, what the original has is the same: so these conditions need not be tried together with the
original's own, of which there may be many.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from warploom.evaluation.legality.expanded_rules import Given
from warploom.evaluation.legality.preprocessed import BEGIN, NEXT, Line, condition_text, lines_of
from warploom.evaluation.legality.tokens import Token, scan

_OPEN = {"(": ")", "[": "]", "{": "}"}


def balanced(words: Sequence[Token]) -> bool:
    """Whether brackets match."""
    waiting: list[str] = []
    for word in words:
        if word.text in _OPEN:
            waiting.append(_OPEN[word.text])
        elif word.text in _OPEN.values() and (not waiting or waiting.pop() != word.text):
            return False
    return not waiting


def conditions_apart(
    candidate: Sequence[Token], original: Sequence[Token], given: Given
) -> Counter[str]:
    """Return the conditions of groups that lie within namespaces which the original has not.

    Such a namespace stands in no conditional, names no macro with brackets that do not match and
    includes nothing; each arm of its groups has brackets that match, and defines nothing.
    """
    odd = _odd_macros([candidate, original], given)
    found: Counter[str] = Counter()
    for lines in _own_namespaces(tuple(lines_of(candidate)), _namespaces(original)):
        words = {word.text for line in lines for word in line.words}
        if not words & odd and not any(line.keyword.startswith("include") for line in lines):
            found.update(_whole_groups(lines))
    return found


def _odd_macros(texts: Sequence[Sequence[Token]], given: Given) -> set[str]:
    known = (scan(text).tokens for text in set(given.headers.values()))
    odd = {
        line.words[0].text
        for tokens in (*texts, *known)
        for line in lines_of(tokens)
        if line.keyword == "define" and line.words and not balanced(line.words)
    }
    return odd | {name for name, body in given.defines.items() if not balanced(scan(body).tokens)}


def _namespaces(tokens: Sequence[Token]) -> set[str]:
    return {after.text for token, after in pairwise(tokens) if token.text == "namespace"}


def _own_namespaces(lines: Sequence[Line], theirs: set[str]) -> Iterator[tuple[Line, ...]]:
    """Yield what stands within each `namespace NAME { }`, NAME being none of `theirs`."""
    depth = 0  # of braces
    asked = 0  # of conditionals
    inside: list[Line] | None = None
    start = 0
    for line in lines:
        if line.keyword:
            asked += (line.keyword in BEGIN) - (line.keyword == "endif")
            if inside is not None:
                inside.append(line)
            continue
        begin = 0
        for at, word in enumerate(line.words):
            depth += (word.text == "{") - (word.text == "}")
            if inside is None and not asked and _opens(line.words, at, theirs):
                inside, start, begin = [], depth, at + 1
            elif inside is not None and depth < start:
                inside.append(_part(line, begin, at))
                yield tuple(inside)
                inside = None
        if inside is not None:
            inside.append(_part(line, begin, len(line.words)))


def _part(line: Line, begin: int, end: int) -> Line:
    return Line("", line.words[begin:end], line.line, line.trusted)


def _opens(words: Sequence[Token], at: int, theirs: set[str]) -> bool:
    """Whether the brace at `at` opens a named namespace that is none of `theirs`."""
    if words[at].text != "{" or at < 2 or words[at - 2].text != "namespace":
        return False
    inline = at > 2 and words[at - 3].text == "inline"
    return words[at - 1].kind == "name" and words[at - 1].text not in theirs and not inline


def _whole_groups(lines: Sequence[Line]) -> Iterator[str]:
    """Yield the conditions of groups whose arms have brackets that match and define nothing."""
    keys: list[str] = []
    arm: list[Token] = []
    level = 0
    whole = True
    for line in lines:
        if line.keyword in BEGIN:
            level += 1
            whole = whole and level == 1  # groups within groups are left to be tried
        if line.keyword in (*BEGIN, *NEXT) and level == 1:
            keys.append(condition_text(line.keyword, line.words))
        if line.keyword in (*NEXT, "else", "endif"):
            whole = whole and balanced(arm)
            arm = []
        elif not line.keyword and level:
            arm += line.words
        elif line.keyword not in BEGIN and level:
            whole = False
        if line.keyword == "endif":
            level -= 1
            if level == 0:
                yield from keys if whole else ()
                keys, whole = [], True
