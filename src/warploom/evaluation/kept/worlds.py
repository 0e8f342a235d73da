"""The original and a candidate as the compiler gets them, side by side in every world.

The original's own macros stay as they are spelled, where both programs define them once and alike:
statements can then be compared as people wrote them. All else is expanded, and of each conditional
every arm is looked at, since what a build defines (`-D`, nvcc, a version) is not the text's to say.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from warploom.evaluation.kept.apart import balanced, conditions_apart
from warploom.evaluation.legality.conditions import OpenError, condition_names, holds
from warploom.evaluation.legality.expanded_rules import Given, is_system_macro
from warploom.evaluation.legality.macros import UnjudgedError
from warploom.evaluation.legality.preprocessed import (
    BEGIN,
    MOST_WORLDS,
    NEXT,
    THRESHOLD,
    Known,
    Line,
    Pass,
    condition_text,
    further_worlds,
    lines_of,
    version_worlds,
)
from warploom.evaluation.legality.tokens import Token, joined, scan

NOT_LIVE = "\0"
"""Follows the name of a macro that is not defined where it stands."""


@dataclass(frozen=True, slots=True)
class Pair:
    """What the compiler gets of both programs in one world."""

    candidate: tuple[Token, ...]
    original: tuple[Token, ...]


class UntoldError(ValueError):
    """The candidate's text cannot be told in every world; `line` is where, 0 if nowhere."""

    def __init__(self, what: str, line: int = 0) -> None:
        super().__init__(what)
        self.what = what
        self.line = line


def pairs(candidate: Sequence[Token], original: Sequence[Token], given: Given) -> Iterator[Pair]:
    """Yield both programs, preprocessed, in each world that differs from those before.

    Raises:
        UntoldError: the candidate's macros or conditionals cannot be judged.
    """
    new, old = tuple(lines_of(candidate)), tuple(lines_of(original))
    plain = plain_macros(original) - _defined_more(candidate, original)
    plain |= header_macros(candidate, original, given)
    known = Known(given.defines, given.headers, is_system_macro)
    matters = _that_matter(new) | _that_matter(old)
    fixed = frozenset(key for key in matters if THRESHOLD.match(key))
    waiting = version_worlds(matters)
    theirs = _conditions(original)
    tried: set[frozenset[str]] = set()
    seen: set[tuple[str, str]] = set()
    while waiting:
        false = waiting.pop(0)
        if false in tried:
            continue
        if len(tried) >= MOST_WORLDS:
            apart = conditions_apart(candidate, original, given)
            more = _conditions(candidate) - theirs - apart
            if any(key in matters for key in more):
                raise UntoldError(
                    f"conditions that leave more than {MOST_WORLDS} forms of the text"
                )
            return
        tried.add(false)
        before = _Reading(known, false, matters, plain)
        after = _Reading(known, false, matters, plain)
        try:
            before.text(old)
        except UnjudgedError:
            before.out = [token for token in original if not token.directive]
        try:
            after.text(new)
        except UnjudgedError as error:
            raise UntoldError(error.what, error.line) from None
        asked = [k for k in (before.open | after.open) if k not in fixed]
        # The candidate's own first: there may be more of the original's than can be tried.
        waiting += further_worlds(false, sorted(asked, key=theirs.__contains__))
        texts = (joined(after.out), joined(before.out))
        if texts not in seen:
            seen.add(texts)
            yield Pair(tuple(after.out), tuple(before.out))


def plain_macros(tokens: Sequence[Token]) -> frozenset[str]:
    """Return the macros that a text defines once, with brackets that match: they are kept."""
    found: Counter[str] = Counter()
    odd: set[str] = set()
    for line in lines_of(tokens):
        if line.keyword in ("define", "undef") and line.words:
            name = line.words[0].text
            found[name] += 1
            if line.keyword == "undef" or not balanced(line.words):
                odd.add(name)
    return frozenset(name for name, count in found.items() if count == 1) - odd


def header_macros(
    candidate: Sequence[Token], original: Sequence[Token], given: Given
) -> frozenset[str]:
    """Return the macros of the workload's headers that mean the same in both programs.

    These are the ones that neither text defines, of headers that mention no macro which the
    candidate's text defines in addition.
    """
    own = {
        line.words[0].text
        for tokens in (candidate, original)
        for line in lines_of(tokens)
        if line.keyword in ("define", "undef") and line.words
    }
    more = _defined_more(candidate, original)
    found: set[str] = set()
    odd: set[str] = set()
    for text in set(given.headers.values()):
        tokens = scan(text).tokens
        touched = any(token.text in more for token in tokens)
        for line in lines_of(tokens):
            if line.keyword == "define" and line.words:
                name = line.words[0].text
                (odd if touched or not balanced(line.words) else found).add(name)
    return frozenset(found - odd - own)


def _defined_more(candidate: Sequence[Token], original: Sequence[Token]) -> frozenset[str]:
    """Return the macros that the candidate defines otherwise than the original, or once more."""
    return frozenset(
        text.split(" ", 2)[1] for text in (_defines(candidate) - _defines(original)) if " " in text
    )


def _defines(tokens: Sequence[Token]) -> Counter[str]:
    return Counter(
        " ".join([line.keyword, *(word.text for word in line.words)])
        for line in lines_of(tokens)
        if line.keyword in ("define", "undef")
    )


def _conditions(tokens: Sequence[Token]) -> Counter[str]:
    return Counter(
        condition_text(line.keyword, line.words)
        for line in lines_of(tokens)
        if line.keyword in (*BEGIN, *NEXT)
    )


def _that_matter(lines: Sequence[Line]) -> frozenset[str]:
    """Return the conditions whose arms hold more than a default for the macro that they ask for.

    `#ifndef N`, `#define N 4`, `#endif` gives no second form of the text.
    """
    found: set[str] = set()
    stack: list[list[Line]] = []
    for line in lines:
        if line.keyword in BEGIN:
            stack.append([])
        if line.keyword in (*BEGIN, *NEXT):
            for asked in stack[-1:]:
                asked.append(line)
        elif line.keyword == "endif" and stack:
            stack.pop()
        elif line.keyword != "else":
            found.update(
                condition_text(one.keyword, one.words)
                for asked in stack
                for one in asked
                if not _is_default(line, one) and condition_names(one.words)
            )
    return frozenset(found)


def _is_default(line: Line, asked: Line) -> bool:
    names = frozenset(word.text for word in line.words[:1])
    return line.keyword == "define" and names == condition_names(asked.words)


class _Reading(Pass):
    """One reading that leaves `plain` macros alone, and takes no condition for settled."""

    def __init__(
        self, known: Known, false: frozenset[str], matters: frozenset[str], plain: frozenset[str]
    ) -> None:
        super().__init__(known, false, matters)
        self.plain = plain

    def inner(self) -> "Pass":
        """Return a reading of a header in the same world."""
        return _Reading(self.known, self.false, self.matters, self.plain)

    def expand(self, tokens: Sequence[Token]) -> list[Token]:
        """Expand all macros but those that stay as they are spelled."""
        expander = self.expander
        kept = self.plain | frozenset(self.known.defines)
        live = {name: macro for name, macro in expander.macros.items() if name in kept}
        shown = [
            Token(t.kind, t.text + NOT_LIVE, t.line, t.directive, t.spaced, t.trusted)
            if t.kind == "name" and t.text in self.plain and t.text not in live
            else t
            for t in tokens
        ]
        for name in live:
            del expander.macros[name]
        try:
            return expander.expand(shown)
        finally:
            expander.macros.update(live)

    def holds(self, line: Line) -> bool:
        """Return whether a condition holds in this world."""
        key = condition_text(line.keyword, line.words)
        if key not in self.matters:
            try:
                return holds(line.keyword, line.words, self.expander, self.known.is_system)
            except OpenError:
                pass
        self.open[key] = None
        return (key not in self.false) != (line.keyword in ("ifndef", "elifndef"))
