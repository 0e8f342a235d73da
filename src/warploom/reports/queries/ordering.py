"""Programs in an order, from the marks in memory: a database would sort all for each page."""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter

from warploom.reports.queries.marks import Mark
from warploom.reports.queries.programs import ProgramFilter, SortKey

_WORDS = ("operator", "proposer", "model", "failure")


@dataclass(frozen=True, slots=True)
class Order:
    """Which programs, in which order."""

    filter: ProgramFilter
    sort: SortKey
    descending: bool

    @property
    def from_marks(self) -> bool:
        """Whether the marks suffice: texts are searched in the database."""
        return not self.filter.search.strip() and self.sort in Mark._fields


def ordered(marks: Sequence[Mark], wanted: Order) -> list[int]:
    """Return the numbers of the programs that are wanted; those without a value come last."""
    rows = sorted(_let_through(marks, wanted.filter), key=attrgetter("number"))
    value = attrgetter(wanted.sort)
    known = [one for one in rows if value(one) is not None]
    known.sort(key=value, reverse=wanted.descending)  # equal ones stay in the order of numbers
    return [one.number for one in (*known, *(one for one in rows if value(one) is None))]


def _let_through(marks: Sequence[Mark], wanted: ProgramFilter) -> Sequence[Mark]:
    if wanted.status != "all":
        marks = [one for one in marks if one.correct == (wanted.status == "correct")]
    if wanted.island is not None:
        marks = [one for one in marks if one.island == wanted.island]
    if wanted.generation is not None:
        marks = [one for one in marks if one.generation == wanted.generation]
    for name in _WORDS:
        word: str = getattr(wanted, name)
        if word:
            marks = [one for one in marks if getattr(one, name) == word]
    return marks
