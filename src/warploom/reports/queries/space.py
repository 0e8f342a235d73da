"""Which directives were tried, and how the programs that have them scored."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from typing import Any

from warploom.reports.queries.clean import clean
from warploom.reports.queries.marks import Mark
from warploom.reports.queries.views import gain_of


@dataclass(frozen=True, slots=True)
class Choice:
    """One value of one lever.

    `programs` have it; `steps` took it, and `mean_gain` is how many times as fast as their parents
    those were on average (of the logarithms). `best` is the best program that has it.
    """

    value: str
    programs: int
    correct: int
    steps: int
    mean_gain: float | None
    best_score: float | None
    best: int | None
    in_leader: bool


@dataclass(frozen=True, slots=True)
class Lever:
    """One lever and the values of it that were tried, the best first."""

    name: str
    choices: list[Choice]


class _Tally:
    def __init__(self) -> None:
        self.programs = self.correct = self.steps = 0
        self.gains: list[float] = []
        self.best: Mark | None = None


def space_of(marks: Sequence[Mark], rows: Sequence[Any], leader: int | None) -> list[Lever]:
    """Return the levers of a run; `rows` are (id, number, directives, changes) of all programs."""
    known = {one.number: one for one in marks}
    tallies: dict[str, dict[str, _Tally]] = defaultdict(lambda: defaultdict(_Tally))
    chosen: Mapping[str, str] = {}
    for _, number, directives, changes in rows:
        one = known.get(number)
        if one is None:
            continue
        if number == leader:
            chosen = directives
        _count(one, directives, changes, gain_of(one, known), tallies)
    levers = [
        Lever(
            clean(name),
            sorted(
                (_choice(value, tally, chosen.get(name) == value)
                 for value, tally in values.items()),
                key=lambda one: -(one.best_score or 0.0),
            ),
        )
        for name, values in sorted(tallies.items())
    ]  # fmt: skip
    return sorted(levers, key=lambda one: (len(one.choices) < 2, one.name))


def _count(
    one: Mark,
    directives: Mapping[str, str],
    changes: Sequence[str],
    gain: float | None,
    tallies: dict[str, dict[str, _Tally]],
) -> None:
    for name, value in directives.items():
        tally = tallies[name][str(value)]
        tally.programs += 1
        tally.correct += one.correct
        best = tally.best
        if one.correct and one.score is not None and one.score > ((best and best.score) or -1e308):
            tally.best = one
    for change in changes:
        name, sign, value = change.partition("=")
        if sign and name in directives:
            tally = tallies[name][value]
            tally.steps += 1
            if gain is not None and gain > 0:
                tally.gains.append(gain)


def _choice(value: str, tally: _Tally, chosen: bool) -> Choice:
    mean = exp(sum(map(log, tally.gains)) / len(tally.gains)) if tally.gains else None
    best = tally.best
    return Choice(
        clean(value), tally.programs, tally.correct, tally.steps, mean,
        None if best is None else best.score, None if best is None else best.number, chosen,
    )  # fmt: skip
