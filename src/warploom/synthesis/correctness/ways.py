"""Conditions of a candidate, and those of which no case took one of the ways.

A kernel that is wrong only for sizes of which `n * 7 % 1013 == 5` is right wherever it is tried.
So each condition is watched: where no case took one of its ways, nothing is known of what happens
then.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from warploom.core.records import Finding, Severity
from warploom.emulator import WayTaken
from warploom.synthesis.correctness.frame import first_line_of_body

_CURE = (
    "remove the branch; or name the size or value that it waits for as a number, which is tried "
    "then; or let it end in `return 1;` of warploom_forward or in `__trap();`"
)
_ONE_TURN = "let no thread take a second turn"
_CURE_TURN = (
    "bound how many blocks or threads take turns by min(..., a number): such a bound is moved; or "
    "remove the loop"
)


class UnwatchedError(ValueError):
    """Text whose conditions cannot be watched: where, and what it is."""

    def __init__(self, what: str, line: int) -> None:
        super().__init__(what)
        self.what, self.line = what, line


@dataclass(frozen=True, slots=True)
class Condition:
    """Something that decides what runs next, with the ways that need not be shown.

    `labels`: it is one of these, of a switch, which all have to be taken once it is come to. A
    function without a name is a label by itself. Of a joined condition `parts` are the numbers of
    its parts, each with the way on which it holds; `joined` is the way of a part that decides it.
    A `bound` is no condition: it takes the smaller or the larger of two values. A loop `goes_on` on
    this way of its condition, which some thread has to take twice in a row.
    """

    number: int
    line: int
    text: str
    free: frozenset[bool]
    labels: range | None = None
    parts: tuple[tuple[int, bool], ...] = ()
    joined: bool = False
    bound: bool = False
    goes_on: bool | None = None


@dataclass(frozen=True, slots=True)
class Watched:
    """A candidate whose conditions tell which way they go, each on the line where it was."""

    text: str
    conditions: tuple[Condition, ...]


def unshown(
    conditions: Sequence[Condition], taken: Iterable[WayTaken]
) -> list[tuple[Condition, str]]:
    """Return the conditions of which a way was never taken, each with the words for that.

    Conditions that were never come to are left out: those around them tell it. So are those that
    the compiler decides, and comparisons that were one step from turning out otherwise each time:
    they guard against a launch that has no threads too many.
    """
    known = {one.number: one for one in taken}
    every = {one.number: one for one in conditions}
    found: list[tuple[Condition, str]] = []
    for one in conditions:
        if one.bound:
            continue
        if one.labels is not None:
            others = [known[number] for number in one.labels if number in known]
            decided = len(one.labels) > 1 and all(other.constant for other in others)
            if one.number not in known and not decided and True not in one.free:
                found.append((one, "was never come to"))
            continue
        way_taken = known.get(one.number)
        if way_taken is not None and _took_one_turn(one, way_taken):
            found.append((one, _ONE_TURN))
        for way, words in ((True, "was never true"), (False, "was always true")):
            if one.number in known and not _is_shown(one, way, known, every):
                found.append((one, words))
    return found


def _took_one_turn(one: Condition, taken: WayTaken) -> bool:
    """Whether it is a loop's that was entered, in which no thread came to a second turn."""
    entered = {True: taken.held, False: taken.failed, None: False}[one.goes_on]
    return entered and not (taken.turned or taken.constant)


def joined_ways(runs: Sequence[Iterable[WayTaken]]) -> list[WayTaken]:
    """Return what conditions did in several runs of one program, as if it were one."""
    known: dict[int, WayTaken] = {}
    for way in (way for run in runs for way in run):
        other = known.get(way.number)
        if other is not None:
            way = replace(
                other, held=other.held or way.held, failed=other.failed or way.failed,
                constant=other.constant and way.constant, tight=other.tight and way.tight,
                turned=other.turned or way.turned,
            )  # fmt: skip
        known[way.number] = way
    return list(known.values())


def _is_shown(
    one: Condition, way: bool, known: Mapping[int, WayTaken], every: Mapping[int, Condition]
) -> bool:
    """Whether a condition took a way, or need not: for its own sake, or for its parts'."""
    taken = known.get(one.number)
    if taken is not None and (taken.held if way else taken.failed):
        return True
    if way in one.free or (taken is not None and (taken.constant or taken.tight)):
        return True
    if not one.parts:
        return False
    needed = [(every[number], way == holds) for number, holds in one.parts]
    missing = [(part, wanted) for part, wanted in needed if not _took(part, wanted, known)]
    shown = [_is_shown(part, wanted, known, every) for part, wanted in missing]
    # One part that cannot is enough where all are needed; all of them where one would be.
    return bool(shown) and (all(shown) if one.joined == way else any(shown))


def _took(part: Condition, way: bool, known: Mapping[int, WayTaken]) -> bool:
    taken = known.get(part.number)
    return taken is not None and (taken.held if way else taken.failed)


def way_finding(condition: Condition, words: str, cases: int) -> Finding:
    """Return what to say of a way that no case took."""
    one_turn = words == _ONE_TURN
    return Finding(
        "way_not_shown", Severity.ERROR,
        f"`{condition.text}` {words} in {cases} cases: what is done otherwise is not shown"
        if words == "was always true"
        else
        f"`{condition.text}` {words} in any of {cases} cases: what is done then is not shown",
        _CURE_TURN if one_turn else _CURE, "kernel.cu", condition.line + first_line_of_body() - 1,
    )  # fmt: skip
