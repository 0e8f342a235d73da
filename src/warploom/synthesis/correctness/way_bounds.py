"""Bounds: the smaller or the larger of two values, by name or in other words.

A bound is no choice between two things to do, so that no case needs to show each of its sides. But
one that no case reaches may hide a size: `min(n, kMost)`. So both values are watched. Where one
never decided, the bound is moved until it does, and the results must stay right.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from warploom.core.records import Finding, Severity
from warploom.emulator import WayTaken
from warploom.source.syntax import SourceFile
from warploom.synthesis.correctness.frame import first_line_of_body
from warploom.synthesis.correctness.way_exits import bare, joined
from warploom.synthesis.correctness.ways import Condition, UnwatchedError

_NAMES = re.compile(
    r"(?:(?:std)?::)?((?:f|u|ll|ull|__h)?(?:min|max)|f(?:min|max)[fl]|__h(?:min|max)_nan)(?:<.*>)?"
)
_REAL = re.compile(r"(?<![\w.])(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_CHANGING = re.compile(r"\+\+|--|(?<![=!<>])=(?!=)|<<=|>>=")
_CAST = re.compile(
    r"static_cast(?=\()|\((?:unsigned|int|long|short|char|float|double|size_t|u?int\d+_t)+\)"
)
_MOST_TWO_SIDED = 6
_CLOSE = 1e-6  # a float that is written with nine digits, of itself
_CURE = (
    "remove the bound, or write it as a number: sizes that a kernel names are tried, where all "
    "tensors together have at most 655,360 elements then"
)


@dataclass(frozen=True, slots=True)
class Bound:
    """The smaller (`least`) or the larger of two values.

    `choice` is what makes one of `_Wp` and `_Wq`; `target` is the variable that is set, if any.
    """

    least: bool
    left: Node
    right: Node
    choice: str
    target: str = ""


def called_bound(tree: SourceFile, call: Node) -> Bound | None:
    """Return what a call bounds, if it does.

    Raises:
        UnwatchedError: it bounds something else than one of two values by the other.
    """
    function, given = (call.child_by_field_name(n) for n in ("function", "arguments"))
    if function is None or given is None:
        return None
    text = joined(tree.node_text(function))
    line = tree.line_of(call.start_byte)
    if re.fullmatch(r"(?:std::)?clamp(?:<.*>)?", text):
        raise UnwatchedError("clamp (min and max can)", line)
    found = _NAMES.fullmatch(text)
    if found is None:
        return None
    values = [one for one in given.named_children if one.type != "comment"]
    if len(values) != 2:
        raise UnwatchedError(f"{found[1]} of other than two values", line)
    choice = f"{' '.join(tree.node_text(function).split())}(_Wp, _Wq)"
    return Bound("min" in found[1], values[0], values[1], choice)


def chosen_bound(tree: SourceFile, node: Node) -> Bound | None:
    """Return what `a < b ? a : b` bounds."""
    compared = _comparison(tree, node)
    arms = [node.child_by_field_name(name) for name in ("consequence", "alternative")]
    if compared is None or arms[0] is None or arms[1] is None:
        return None
    left, sign, right = compared
    sides = [_uncast(tree.node_text(side)) for side in (left, right)]
    words = [_uncast(tree.node_text(arm)) for arm in arms if arm is not None]
    if words not in (sides, sides[::-1]):
        return None
    return _of(left, sign, right, takes_left=words == sides)


def assigned_bound(tree: SourceFile, node: Node) -> Bound | None:
    """Return what `if (a > b) a = b;` bounds."""
    compared = _comparison(tree, node)
    body = node.child_by_field_name("consequence")
    if compared is None or body is None or node.child_by_field_name("alternative") is not None:
        return None
    left, sign, right = compared
    sides = [bare(tree.node_text(side)) for side in (left, right)]
    given = joined(tree.node_text(body)).strip("{};").split("=")
    words = [bare(word) for word in given]
    if words not in (sides, sides[::-1]):
        return None
    target = left if words == sides else right
    bound = _of(left, sign, right, takes_left=words != sides)
    return Bound(bound.least, left, right, bound.choice, tree.node_text(target))


def _uncast(text: str) -> str:
    """Return a side or an arm without blanks, brackets and casts of the whole of it."""
    text = bare(text)
    while found := _CAST.match(text):
        text = bare(text[found.end() :])
    return text


def _of(left: Node, sign: str, right: Node, *, takes_left: bool) -> Bound:
    arms = "_Wp : _Wq" if takes_left else "_Wq : _Wp"
    return Bound(sign.startswith("<") == takes_left, left, right, f"_Wp {sign} _Wq ? {arms}")


def _comparison(tree: SourceFile, node: Node) -> tuple[Node, str, Node] | None:
    """Return the sides of what a statement or `?:` compares; None where one is not plain."""
    inner = node.child_by_field_name("condition")
    if inner is not None and inner.type == "condition_clause":
        if inner.child_by_field_name("initializer") is not None:
            return None
        inner = inner.child_by_field_name("value")
    while inner is not None and inner.type == "parenthesized_expression":
        inner = inner.named_children[0]
    if inner is None or inner.type != "binary_expression":
        return None
    left, sign, right = (inner.child_by_field_name(n) for n in ("left", "operator", "right"))
    if left is None or sign is None or right is None:
        return None
    word = tree.node_text(sign)
    texts = [joined(tree.node_text(side)) for side in (left, right)]
    plain = not any(_CHANGING.search(text) for text in texts)
    return (left, word, right) if plain and word in ("<", "<=", ">", ">=") else None


def one_sided(
    conditions: Sequence[Condition], taken: Iterable[WayTaken]
) -> list[tuple[Condition, str]]:
    """Return the bounds of which one value never decided, with which.

    Those are left out that the compiler decides.
    """
    known = {one.number: one for one in taken}
    found: list[tuple[Condition, str]] = []
    for one in (condition for condition in conditions if condition.bound):
        way = known.get(one.number)
        if way is not None and way.held != way.failed and not way.constant:
            found.append((one, "second" if way.held else "first"))
    return found


def two_sided(
    conditions: Sequence[Condition], taken: Iterable[WayTaken]
) -> list[tuple[Condition, str]]:
    """Return the first few bounds of whole numbers of which each value decided."""
    known = {one.number: one for one in taken}
    bounds = [one for one in conditions if one.bound and one.number in known]
    ways = [(one, known[one.number]) for one in bounds]
    found = [(one, "") for one, way in ways if way.held and way.failed and math.isnan(way.other)]
    return found[:_MOST_TWO_SIDED]


def bounds_by_named(taken: Iterable[WayTaken], text: str) -> dict[int, int]:
    """Return the bounds whose value that did not decide is a real number which the text names.

    The digest of what decided is told for each number of such a bound. Where it depends on the
    values of inputs, the bound needs not be shown: values of all magnitudes are tried.
    """
    named = [0.0, *(float(word) for word in _REAL.findall(text))]
    return {
        way.number: way.digest
        for way in taken
        if any(abs(abs(way.other) - n) <= _CLOSE * n for n in named)
    }


def bound_finding(condition: Condition, side: str, cases: int, *, alone: bool) -> Finding:
    """Return what to say of a bound that no case reached, and that matters."""
    reason = "where it does" if alone else "where it and other bounds do"
    return Finding(
        "way_not_shown", Severity.ERROR,
        f"the {side} value of `{condition.text}` decided in none of {cases} cases, and {reason}, "
        "the results are wrong, or it fails",
        _CURE, "kernel.cu", condition.line + first_line_of_body() - 1,
    )  # fmt: skip
