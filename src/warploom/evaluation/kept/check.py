"""A rewritten program must keep the original's own check: its verdict, inputs, timers and loops.

A transform changes how ranks exchange data: communication, the memory for it, and the pipeline
between. All other host code of the original must be there, token for token and in its order; what
is added may not name what the check rests on. So what a program prints of itself after a transform
means what it meant before.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from difflib import SequenceMatcher

from warploom.core.records import Finding, Severity
from warploom.evaluation.kept.buffers import declares_kept, head_of, is_pinned, read_back
from warploom.evaluation.kept.data import Functions, const_methods, parameters
from warploom.evaluation.kept.endings import ends_well, says
from warploom.evaluation.kept.statements import Sides, added_refusals, is_teardown, is_transforms
from warploom.evaluation.kept.text import (
    Text,
    allocating,
    is_device,
    macros,
    only_after,
    partner_of,
    reaching,
    read_text,
    tail_of,
)
from warploom.evaluation.kept.types import type_changes
from warploom.evaluation.kept.worlds import UntoldError, pairs
from warploom.evaluation.legality.expanded_rules import Given
from warploom.evaluation.legality.scopes import Declared, UnbalancedError, declarations, skip_round
from warploom.evaluation.legality.statements import Statement, statements
from warploom.evaluation.legality.tokens import Token, joined, scan
from warploom.source.regions import Program

_LEAVES = re.compile(r"\b(?:break|continue|goto)\b|\breturn (?:0|EXIT_SUCCESS) ;?")
_LOOPS = re.compile(r"\b(?:for|while|switch)\b")
_WRITES = re.compile(r"(?:^|[;{}()] |\belse )(\w+) (?:[-+*/%&|^]?=|\+\+|--)(?: |$)")


@dataclass(frozen=True, slots=True)
class _Change:
    """What is wrong: `line` of the candidate, 0 where something of the original is missing."""

    line: int
    what: str


def kept_check_findings(
    candidate: Program, original: Program, name: str, given: Given | None = None
) -> list[Finding]:
    """Return an error for each change of the original's own check in `candidate`.

    Args:
        candidate: the rewritten program.
        original: what it was made from.
        name: how messages call the candidate.
        given: the macros and headers of the build.
    """
    found = _told(scan(candidate.text).tokens, scan(original.text).tokens, given or Given())
    return [
        Finding(
            kind="edited_check",
            severity=Severity.ERROR,
            message=f"not verified: the program's own check was changed: {change.what}",
            hint="a transform changes communication, its memory and the pipeline; leave verdict, "
            "inputs, loops and timers as they are",
            file=name,
            line=change.line or None,
        )
        for change in dict.fromkeys(found)
    ]


def _told(
    candidate: tuple[Token, ...], original: tuple[Token, ...], given: Given
) -> Iterator[_Change]:
    """Yield what was changed in any of the forms that a build may give the text."""
    try:
        for pair in pairs(candidate, original, given):
            try:
                old = read_text(pair.original, original)
            except UnbalancedError:
                continue  # conditions that exclude each other
            try:
                new = read_text(pair.candidate, candidate)
            except UnbalancedError as error:
                yield _Change(error.line, "brackets do not match in a form of the text")
                continue
            yield from _changes(new, old)
    except UntoldError as error:
        yield _Change(error.line, f"{error.what}: it cannot be judged")


def _changes(new: Text, old: Text) -> Iterator[_Change]:
    communicates = reaching(old)
    changeable = communicates | allocating(old)
    tail_only = only_after(old, communicates)
    results = read_back([statements(i) for items in old.functions.values() for i in items])
    kept: set[str] = set()
    paired: set[int] = set()
    for name, items in old.functions.items():
        host = not all(is_device(item) for item in items) or name in tail_only
        for item in items:
            partner = partner_of(item, old, new)
            paired.add(id(partner))
            if not host:
                continue
            before = statements(item)
            tail = 0 if name in tail_only else tail_of(before, communicates)
            free = {
                at
                for at, one in enumerate(before)
                if (at < tail and is_transforms(one, changeable)) or is_teardown(one, old.checks)
            }
            whole = not free
            fixed = set(range(len(before))) - free
            pipeline = name in changeable or name == "main"
            free -= {
                at
                for at in free
                if at < tail
                and is_pinned(before[at], before, fixed, results, old.declared, pipeline=pipeline)
            }
            kept.update(w for at, s in enumerate(before) if at not in free for w in s.names)
            if partner is None:
                yield _Change(0, f"function {name}, line {item.line} of the original, is gone")
                continue
            pair = _Pair(item, partner, old, new)
            yield from _compared(pair, before, free, tail, whole=whole)
    yield from _added(new, old, paired)
    yield from _outer(new, old, kept)


def _added(new: Text, old: Text, paired: Set[int]) -> Iterator[_Change]:
    """What text that the original has no place for does in place of the check."""
    known = {joined(item.tokens) for item in old.items}
    for item in new.items:
        if item.kind == "function" and id(item) not in paired:
            for one in statements(item):
                ends = not is_device(item) and ends_well(one.tokens)
                if ends or says(one.tokens, in_check=False):
                    yield _Change(one.line, f"added: {one.shown}")
        if joined(item.tokens) in known or item.kind not in ("function", "variable", "statement"):
            continue
        if ends_well(item.tokens) or says(item.tokens, in_check=False):
            yield _Change(item.line, f"added: {joined(item.tokens)[:80]}")


@dataclass(frozen=True, slots=True)
class _Pair:
    """A function of the original and the candidate's of that name, in their programs."""

    old: Declared
    new: Declared
    original: Text
    candidate: Text


def _compared(
    pair: _Pair, before: Sequence[Statement], free: set[int], tail: int, *, whole: bool
) -> Iterator[_Change]:
    """Compare one function of the original with the candidate's."""
    old, new = pair.old, pair.new
    after = statements(new)
    if whole and joined(old.tokens) != joined(new.tokens):
        yield _Change(new.line, f"the head of {old.name}")
    matcher = SequenceMatcher(
        None, [s.text for s in before], [s.text for s in after], autojunk=False
    )
    added: set[int] = set(range(len(after)))
    last = 0  # where the candidate's tail begins
    for a, b, size in matcher.get_matching_blocks():
        added -= set(range(b, b + size))
        for i in range(size):
            if a + i >= tail and not last:
                last = b + i
    here = {a + i for a, _, size in matcher.get_matching_blocks() for i in range(size)}
    for at, one in enumerate(before):
        if at not in here and at not in free:
            yield _Change(0, f"line {one.line} of the original is not there as it was: {one.shown}")
    if whole:
        for at in sorted(added):
            yield _Change(after[at].line, f"added: {after[at].shown}")
        return
    yield from _types_of_variables(pair, before, after, free)
    last = (last or len(after)) if tail else 0
    fixed = [one for at, one in enumerate(before) if at not in free]
    moved = [one for at, one in enumerate(before) if at in free]
    functions = Functions(pair.candidate.functions, const_methods(pair.original.functions))
    sides = Sides(
        fixed, moved, pair.original.checks, _variables(pair), pair.candidate.declared,
        functions, {token.text for token in new.tokens},
    )  # fmt: skip
    gone = [one for at, one in enumerate(before) if at in free and at not in here]
    for one in _with_steps([after[at] for at in sorted(added)], gone, pair.original, sides.own):
        yield _Change(one.line, f"added: {one.shown}")
    for line, shown in added_refusals(after, added, last, sides):
        yield _Change(line, f"added: {shown}")


def _with_steps(
    added: Sequence[Statement], gone: Sequence[Statement], original: Text, own: Set[str]
) -> Iterator[Statement]:
    """Yield the added statements with a macro of the original that leaves a loop or writes.

    What was written by the macros of statements that are gone may be written as often: a macro
    before a call may keep its result.
    """
    leaving, writing = _stepping(original, own)
    left = Counter(name for one in gone for name in one.names & writing)
    for one in added:
        used = one.names & writing
        if one.names & leaving or any(not left[name] for name in used):
            yield one
        left.subtract(used)


def _stepping(text: Text, variables: Set[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the original's macros that leave a loop, and the others that write a variable."""
    leaving: set[str] = set()
    writing: set[str] = set()
    for _, words, name in macros(text.raw):
        body = words.partition(f" {name} ")[2]
        if _LEAVES.search(body) is not None and _LOOPS.search(body) is None:
            leaving.add(name)
        elif set(_WRITES.findall(body)) & variables:
            writing.add(name)
    return frozenset(leaving), frozenset(writing)


def _types_of_variables(
    pair: _Pair, before: Sequence[Statement], after: Sequence[Statement], free: set[int]
) -> Iterator[_Change]:
    """What fixed statements name has the original's type, wherever its value comes from."""
    rest = [one for at, one in enumerate(before) if at not in free]
    texts = [f"{one.text} " for one in after]
    for at in sorted(free):
        name = declares_kept(before[at], rest, pair.original.declared)
        head = head_of(before[at], name) + " "
        if name and not any(text.startswith(head) for text in texts):
            line = before[at].line
            yield _Change(0, f"{name}, line {line} of the original, has another type")
    theirs = [_named_types(given) for given in parameters(pair.new)]
    for given in parameters(pair.old):
        names = [token.text for token in given if token.kind == "name"]
        named = names and any(names[-1] in one.names for one in rest)
        if named and _named_types(given) not in theirs:
            yield _Change(pair.new.line, f"parameter {names[-1]} of {pair.old.name}")


def _named_types(given: Sequence[Token]) -> tuple[str, ...]:
    return tuple(token.text for token in given if token.kind == "name" and token.text != "const")


def _variables(pair: _Pair) -> frozenset[str]:
    """Return the names of the variables that a function of the original may have changed."""
    outer = {
        item.name
        for item in pair.original.items
        if item.kind == "variable" and not item.has("const", "constexpr")
    }
    here = {
        token.text
        for token in (*pair.old.tokens, *pair.old.body)
        if id(token) in pair.original.declared
    }
    return frozenset(outer | here)


def _outer(new: Text, old: Text, kept: set[str]) -> Iterator[_Change]:
    """Constants, macros and what else the check's names mean at namespace scope."""
    there = Counter(joined(item.tokens) for item in new.items)
    for item in old.items:
        if item.kind != "variable" or item.level != "namespace" or item.has("__device__"):
            continue
        if not there[joined(item.tokens)]:
            yield _Change(0, f"{item.name}, line {item.line} of the original, is not as it was")
    spaces = {item.name for item in old.items if item.kind == "namespace"}
    outside = list(_seen_from_outside(new.tokens, spaces))
    seen = declarations(outside)
    types = {item.name for item in old.items if item.kind == "type"} & kept
    known = {joined(item.tokens) for item in old.items if item.kind == "function"}
    for item in seen:
        operator = item.kind == "function" and item.name == "operator" and not is_device(item)
        if operator and item.has(*types) and item.level == "namespace":
            if joined(item.tokens) not in known:
                yield _Change(item.line, "an operator for a type of its own was added")
            continue
        named = item.level == "namespace" and item.name in kept and item.kind != "statement"
        if not named or item.name in ("operator", "main"):
            continue
        same = sum(one.name == item.name and one.kind == item.kind for one in old.items)
        if sum(one.name == item.name and one.kind == item.kind for one in seen) > same:
            yield _Change(item.line, f"{item.name} has another meaning")
    usings = Counter(_line_from(old.tokens, one) for one in _brings_names(old.tokens, kept))
    for one in _brings_names(outside, kept):
        text = _line_from(new.tokens, one)
        if not usings[text]:
            yield _Change(one.line, f"added: {text}")
    yield from _types_and_macros(new, old, seen, kept)


def _types_and_macros(
    new: Text, old: Text, seen: Sequence[Declared], kept: Set[str]
) -> Iterator[_Change]:
    """What types and macros the check's names mean; `seen` is what its text can mean by them."""
    words = {token.text for token in old.tokens if token.kind == "name"}
    heads = {t.text for i in old.items if i.kind == "function" and not is_device(i)
             for t in i.tokens}  # fmt: skip
    for line, what in type_changes(old.items, seen, kept | heads, words, joined(old.tokens)):
        yield _Change(line, what)
    asked = {token.text for token in old.raw if token.directive}
    defined = Counter(text for _, text, _ in macros(old.raw))
    for line, text, name in macros(new.raw):
        if defined[text]:
            defined[text] -= 1
        elif name in kept or name in asked:
            yield _Change(line, f"macro {name} is another one")
    for text in defined.elements():
        yield _Change(0, f"#{text} of the original is gone")


def _line_from(tokens: Sequence[Token], first: Token) -> str:
    return joined([token for token in tokens if token.line == first.line])


def _seen_from_outside(tokens: Sequence[Token], spaces: set[str]) -> Iterator[Token]:
    """Yield the tokens outside of named namespaces that the original has not."""
    live = [token for token in tokens if not token.directive]
    at = 0
    while at < len(live):
        head = at + 1
        while head < len(live) and (live[head].kind == "name" or live[head].text == "::"):
            head += 1
        named = live[at].text == "namespace" and head > at + 1 and live[head].text == "{"
        named = named and not (at and live[at - 1].text == "inline")
        if named and live[head - 1].text not in spaces:
            at = skip_round(live, head, "{", "}")
        else:
            yield live[at]
        at += 1


def _brings_names(tokens: Sequence[Token], kept: set[str]) -> Iterator[Token]:
    """Yield the `using` by which names of such a namespace could get into the check."""
    for at, token in enumerate(tokens):
        if token.text != "using" or token.directive:
            continue
        end = next((i for i in range(at, len(tokens)) if tokens[i].text in (";", "=")), at)
        if tokens[at + 1].text == "namespace" or tokens[end - 1].text in kept:
            yield token
