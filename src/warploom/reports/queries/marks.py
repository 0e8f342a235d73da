"""The scalars of a run's programs in memory, kept up to date by reading only what is new.

The store is only ever appended to, so that a row that was read once stays true.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Engine, select

from warploom.core.records import Json
from warploom.reports.queries.clean import clean
from warploom.store.errors import StoreError, store_errors
from warploom.store.records import Event
from warploom.store.rows import moves_of
from warploom.store.schema import EVENTS, PROGRAMS, RUNS


class Mark(NamedTuple):
    """What all views need of a program; `id` is its row's, the rest as in `StoredProgram`."""

    id: int
    number: int
    parent: int | None
    partner: int | None
    island: int
    generation: int
    operator: str
    proposer: str
    model: str
    correct: bool
    score: float | None
    time_ms: float | None
    time_source: str
    failure: str
    level: int
    seconds: float
    cost: float
    created: float
    nloc: int
    rejected: int


_COLUMNS = [PROGRAMS.c[name] for name in Mark._fields]
_TEXTS = frozenset(("operator", "proposer", "model", "failure", "time_source"))
_NUMBERS = frozenset(("score", "time_ms", "seconds", "cost", "created"))
_NUMBER_PLACES = tuple(at for at, name in enumerate(Mark._fields) if name in _NUMBERS)
_NUMERIC = frozenset((float, int, type(None)))
_TEXT_PLACES = tuple(at for at, name in enumerate(Mark._fields) if name in _TEXTS)


class RunMarks:
    """The marks and events of one run. `refresh` reads what was appended since."""

    def __init__(self, engine: Engine, name: str, place: str) -> None:
        self._engine = engine
        self._place = place
        self._last_event = 0
        self.name = name
        self.marks: list[Mark] = []
        self.events: list[Event] = []
        self.seconds = 0.0
        self.created = 0.0
        self.facts: Mapping[str, Json] = {}
        self.run_id = 0

    @property
    def best(self) -> Mark | None:
        """The correct program with the highest score, the first of several."""
        scored = [one for one in self.marks if one.correct and one.score is not None]
        return max(scored, key=lambda one: (one.score or 0.0, -one.number), default=None)

    def refresh(self) -> bool:
        """Read what is new; returns whether anything was."""
        with store_errors(self._place), self._engine.connect() as connection:
            run = connection.execute(select(RUNS).where(RUNS.c.name == self.name)).one_or_none()
            if run is None:
                return False
            self.run_id, self.seconds = run.id, run.seconds
            self.created, self.facts = run.created, run.facts
            last = self.marks[-1].id if self.marks else 0
            rows = connection.execute(
                select(*_COLUMNS)
                .where(PROGRAMS.c.run_id == run.id, PROGRAMS.c.id > last)
                .order_by(PROGRAMS.c.id)
            ).all()
            events = connection.execute(
                select(EVENTS)
                .where(EVENTS.c.run_id == run.id, EVENTS.c.id > self._last_event)
                .order_by(EVENTS.c.id)
            ).all()
        # New lists: who reads the old ones in another thread sees one moment of the run.
        if rows:
            self.marks = [*self.marks, *(_mark(tuple(row)) for row in rows)]
        if events:
            self.events = [*self.events, *(Event(row.kind, row.at, row.data) for row in events)]
        if events:
            self._last_event = events[-1].id
        return bool(rows or events)


def _mark(row: Sequence[object]) -> Mark:
    values = list(row)
    for at in _NUMBER_PLACES:  # SQLite keeps any value in any column
        if type(values[at]) not in _NUMERIC:
            raise StoreError(
                f"the database is corrupted: {Mark._fields[at]} is no number in row {values[0]}",
                hint="restore a backup of the file",
            )
    for at in _TEXT_PLACES:
        values[at] = clean(str(values[at]))
    return Mark._make(values)


def champion_of(events: Sequence[Event]) -> Event | None:
    """Return the event that made the champion of now: one that a second judgment confirmed."""
    found = [one for one in events if one.kind == "champion" and one.data.get("accepted")]
    return found[-1] if found else None


def champion_number(events: Sequence[Event]) -> int | None:
    """Return the champion's number."""
    found = champion_of(events)
    number = None if found is None else found.data.get("number")
    return number if isinstance(number, int) else None


def migrated(events: Sequence[Event]) -> frozenset[int]:
    """Return the numbers of programs that were copied to another island."""
    return frozenset(number for event in events for number, _, _ in moves_of(event))
