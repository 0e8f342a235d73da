"""Programs of a run: a page of them by filters and order, one with all of its texts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import ColumnElement, Engine, String, and_, cast, func, or_, select

from warploom.core.errors import BadInputError
from warploom.source import unified_diff
from warploom.store.errors import store_errors
from warploom.store.records import StoredProgram
from warploom.store.rows import program_of
from warploom.store.schema import PROGRAMS

MOST_ON_A_PAGE = 500
_CSV_PAGE = 500
SortKey = Literal[
    "number", "score", "time_ms", "generation", "island", "operator", "model", "failure", "cost",
    "seconds", "nloc", "cyclomatic", "level", "parent",
]  # fmt: skip
Status = Literal["all", "correct", "failed"]
_SHOWN = (
    "number", "parent", "partner", "island", "generation", "operator", "proposer", "model",
    "changes", "correct", "score", "time_ms", "time_source", "failure", "level", "seconds", "cost",
    "nloc", "functions", "cyclomatic", "created",
)  # fmt: skip
_LIGHT = [PROGRAMS.c[name] for name in _SHOWN]
_SEARCHED = ("operator", "proposer", "model", "failure", "feedback")


class NoProgramError(BadInputError):
    """A run has no program of this number."""


@dataclass(frozen=True, slots=True)
class ProgramFilter:
    """Which programs are wanted; a field that is None or empty asks for nothing."""

    status: Status = "all"
    island: int | None = None
    operator: str = ""
    proposer: str = ""
    model: str = ""
    failure: str = ""
    generation: int | None = None
    search: str = ""


@dataclass(frozen=True, slots=True)
class ProgramRow:
    """One line of the table of programs."""

    number: int
    parent: int | None
    partner: int | None
    island: int
    generation: int
    operator: str
    proposer: str
    model: str
    changes: list[str]
    correct: bool
    score: float | None
    time_ms: float | None
    time_source: str
    failure: str
    level: int
    seconds: float
    cost: float
    nloc: int
    functions: int
    cyclomatic: int
    created: float


@dataclass(frozen=True, slots=True)
class ProgramPage:
    """Some programs, and how many the filter lets through."""

    total: int
    offset: int
    rows: list[ProgramRow]


class ProgramQueries:
    """Reads the programs of one run."""

    def __init__(self, engine: Engine, run_id: int, place: str) -> None:
        self._engine = engine
        self._run = run_id
        self._place = place

    def page(
        self, wanted: ProgramFilter, sort: SortKey, *, descending: bool, offset: int, limit: int
    ) -> ProgramPage:
        """Return a page of programs; those without a value of the sort key come last."""
        where = self._where(wanted)
        key = PROGRAMS.c[sort]
        order = (key.is_(None), key.desc() if descending else key.asc(), PROGRAMS.c.number.asc())
        query = select(*_LIGHT).where(where).order_by(*order).offset(offset).limit(limit)
        with store_errors(self._place), self._engine.connect() as connection:
            total = connection.execute(select(func.count()).select_from(PROGRAMS).where(where))
            rows = connection.execute(query).all()
            return ProgramPage(total.scalar_one(), offset, [ProgramRow(*row) for row in rows])

    def rows(self, numbers: Sequence[int]) -> list[ProgramRow]:
        """Return the lines of those programs that there are, in the order that is asked for."""
        query = select(*_LIGHT).where(
            PROGRAMS.c.run_id == self._run, PROGRAMS.c.number.in_(numbers)
        )
        with store_errors(self._place), self._engine.connect() as connection:
            found = {row.number: ProgramRow(*row) for row in connection.execute(query)}
        return [found[number] for number in numbers if number in found]

    def all(
        self, wanted: ProgramFilter, sort: SortKey, *, descending: bool
    ) -> Iterator[ProgramRow]:
        """Yield all programs that a filter lets through, read page by page."""
        offset = 0
        while rows := self.page(
            wanted, sort, descending=descending, offset=offset, limit=_CSV_PAGE
        ).rows:
            yield from rows
            offset += len(rows)

    def get(self, number: int) -> StoredProgram:
        """Return a program, whole.

        Raises:
            NoProgramError: the run has none of this number.
        """
        found = self.get_all((number,))
        if not found:
            raise NoProgramError(f"the run has no program {number}", file=self._place)
        return found[0]

    def get_all(self, numbers: Sequence[int]) -> list[StoredProgram]:
        """Return those programs that there are, whole, in the order in which they are asked for."""
        if not numbers:
            return []
        query = select(PROGRAMS).where(
            PROGRAMS.c.run_id == self._run, PROGRAMS.c.number.in_(numbers)
        )
        with store_errors(self._place), self._engine.connect() as connection:
            rows = connection.execute(query).mappings().all()
        found = {row["number"]: program_of(dict(row)) for row in rows}  # pyright: ignore[reportArgumentType,reportCallIssue]
        return [found[number] for number in numbers if number in found]

    def columns(self, names: Sequence[str], after: int = 0) -> list[Any]:
        """Return some columns of all programs whose row id is above `after`, in order."""
        query = (
            select(PROGRAMS.c.id, *(PROGRAMS.c[name] for name in names))
            .where(PROGRAMS.c.run_id == self._run, PROGRAMS.c.id > after)
            .order_by(PROGRAMS.c.id)
        )
        with store_errors(self._place), self._engine.connect() as connection:
            return list(connection.execute(query).all())

    def diff(self, before: int, after: int) -> str:
        """Return the unified difference of two programs' texts."""
        old, new = self.get(before), self.get(after)
        return unified_diff(old.code, new.code)

    def _where(self, wanted: ProgramFilter) -> ColumnElement[bool]:
        column = PROGRAMS.c
        tests: list[ColumnElement[bool]] = [column.run_id == self._run]
        if wanted.status != "all":
            tests.append(column.correct.is_(wanted.status == "correct"))
        for name in ("island", "generation"):
            value: int | None = getattr(wanted, name)
            if value is not None:
                tests.append(column[name] == value)
        for name in ("operator", "proposer", "model", "failure"):
            word: str = getattr(wanted, name)
            if word:
                tests.append(column[name] == word)
        words = wanted.search.strip()
        if words:
            tests.append(or_(*_matches(words)))
        return and_(*tests)


def _matches(words: str) -> Iterator[ColumnElement[bool]]:
    if words.removeprefix("#").isdecimal() and len(words) < 10:
        yield PROGRAMS.c.number == int(words.removeprefix("#"))
    for name in _SEARCHED:
        yield PROGRAMS.c[name].icontains(words, autoescape=True)
    for name in ("changes", "directives"):
        yield cast(PROGRAMS.c[name], String).icontains(words, autoescape=True)
