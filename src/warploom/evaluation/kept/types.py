"""The types that a check rests on are the original's, but for members that hold no part in it.

A tolerance may be a member's default, and a weight an enumerator. What a transform adds to the
program's own types are windows, communicators and pointers for its kernels.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from difflib import SequenceMatcher

from warploom.evaluation.legality.scopes import Declared, UnbalancedError, members
from warploom.evaluation.legality.tokens import joined

_ENDS_NAME = frozenset({",", "=", "[", "{", ";", ""})
_Change = tuple[int, str]


def type_changes(
    old: Sequence[Declared], new: Sequence[Declared], kept: Set[str], words: Set[str], text: str
) -> Iterator[_Change]:
    """Yield line (0: something is missing) and words for each change of a type that counts.

    Args:
        old: what the original declares.
        new: what the candidate declares, as far as the original's text can mean it.
        kept: the names that fixed statements and heads of functions mention.
        words: all names of the original.
        text: the original's tokens, with blanks between them.
    """
    there = Counter(_whole(item) for item in new if item.kind == "type")
    for item in _that_count(old, kept):
        if there[_whole(item)]:
            continue
        shown = f"type {item.name or 'without a name'}, line {item.line} of the original,"
        others = [one for one in new if one.kind == "type" and _same_head(one, item)]
        if not item.inside or not item.name or item.has("enum") or not others:
            yield 0, f"{shown} is not as it was"
            continue
        try:
            yield from _members(item, others[0], kept, words, text)
        except UnbalancedError:
            yield 0, f"{shown} cannot be read"


def _that_count(old: Sequence[Declared], kept: Set[str]) -> Iterator[Declared]:
    """Yield the types that kept text names, by themselves or through others."""
    names = set(kept)
    left = [item for item in old if item.kind in ("type", "variable")]
    grown = True
    while grown:
        found = [item for item in left if _given(item) & names]
        grown = bool(found)
        left = [item for item in left if not _given(item) & names]
        for item in found:
            names |= {t.text for t in (*item.tokens, *item.inside) if t.kind == "name"}
            if item.kind == "type" and (item.inside or len(item.tokens) > 1):
                yield item


def _given(item: Declared) -> set[str]:
    """Return the names that a declaration gives; those of an enumeration are the scope's."""
    if item.kind == "type" and not item.name:
        return {t.text for t in item.inside if t.kind == "name"}
    if item.kind == "type" and item.has("enum"):
        return {item.name} | {t.text for t in item.inside if t.kind == "name"}
    return {item.name}


def _whole(item: Declared) -> tuple[str, ...]:
    return (item.scope, item.name, joined(item.tokens), joined(item.inside))


def _same_head(one: Declared, item: Declared) -> bool:
    return (one.scope, one.name, joined(one.tokens)) == (item.scope, item.name, joined(item.tokens))


def _members(
    item: Declared, other: Declared, kept: Set[str], words: Set[str], text: str
) -> Iterator[_Change]:
    before = [one for one in members(item.inside) if one.kind != "function"]
    both = members(other.inside)
    after = [one for one in both if one.kind != "function"]
    matcher = SequenceMatcher(
        None, [_member(one) for one in before], [_member(one) for one in after], autojunk=False
    )
    blocks = matcher.get_matching_blocks()
    here = {a + i for a, _, size in blocks for i in range(size)}
    known = {b + i for _, b, size in blocks for i in range(size)}
    # Types within this one are compared as it is: their functions are looked at elsewhere.
    for at, one in enumerate(before):
        if at in here or one.kind != "type" or not one.inside or not one.name or one.has("enum"):
            continue
        twin = next((i for i, o in enumerate(after) if i not in known and _same_head(o, one)), None)
        if twin is not None:
            here.add(at)
            known.add(twin)
            yield from _members(one, after[twin], kept, words, text)
    for at, one in enumerate(before):
        if at not in here and (one.kind != "variable" or _names(one) & kept):
            yield 0, f"{_member(one)} of {item.name}, line {one.line} of the original, is gone"
    last = max(known, default=-1)
    ordered = re.search(rf"(?<!struct )(?<!class )\b{item.name}( \w+)?( =)? {{", text) is not None
    for at, one in enumerate(after):
        if at in known:
            continue
        plain = not one.has("(", "operator", "friend") and not _names(one) & words
        if not plain or (ordered and at < last):
            yield one.line, f"added to {item.name}: {_member(one)}"
    methods = [one for one in members(item.inside) if one.kind == "function"]
    heads = {joined(one.tokens) for one in methods}
    own = {one.name for one in methods}
    for one in both:
        special = one.name in ("operator", item.name) or one.has("~", "operator")
        hides = one.name in words and one.name not in own
        if one.kind == "function" and joined(one.tokens) not in heads and (special or hides):
            yield one.line, f"added to {item.name}: {joined(one.tokens)}"


def _names(item: Declared) -> set[str]:
    """Return the names that a member's declaration gives."""
    found: set[str] = set()
    angle = 0
    tokens = item.tokens
    for at, token in enumerate(tokens):
        angle += (token.text == "<") - (len(token.text) if token.text in (">", ">>") else 0)
        after = tokens[at + 1].text if at + 1 < len(tokens) else ""
        if token.kind == "name" and angle == 0 and after in _ENDS_NAME:
            found.add(token.text)
    return found


def _member(item: Declared) -> str:
    return joined((*item.tokens, *item.inside))
