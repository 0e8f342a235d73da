"""`ProgramDatabase`: one run's programs and events, read by any process.

It is written by one process, or by several runners that share it (`shared.py`). What selection
needs lies in memory (`memory.py`); texts, diffs and findings are read when asked for. An attempt is
one transaction: it is in the database whole, or not at all.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from sqlalchemy import Connection, RowMapping, Table, bindparam, case, insert, select, update
from sqlalchemy.engine import URL
from sqlalchemy.exc import IntegrityError

from warploom.core.records import Json
from warploom.store.config import DatabaseConfig
from warploom.store.errors import StaleError, StoreError, TakenError, store_errors
from warploom.store.fingerprint import CUDA, described
from warploom.store.lasting import Lasting
from warploom.store.memory import RunMemory
from warploom.store.opening import open_engine
from warploom.store.records import Event, StoredProgram
from warploom.store.rows import event_row, program_of, row_of
from warploom.store.schema import EVENTS, PROGRAMS, RUNNERS, RUNS

T = TypeVar("T")
Also = Callable[[Connection], None]
"""What else a transaction does, whole or not at all with the rest."""

_TEXTS = ("code", "diff", "findings", "feedback")
_OF_NUMBERS = select(PROGRAMS).where(
    PROGRAMS.c.run_id == bindparam("run"),
    PROGRAMS.c.number.in_(bindparam("numbers", expanding=True)),
)


class ProgramDatabase(RunMemory):
    """The programs of one run.

    `run` names it within the database. The database is made, or upgraded, unless `read_only`.
    `language` is that of the programs: it says which texts are the same. `runner` names this
    process where others write to the run as well: then `refresh` takes in what they recorded, and
    events are refused (StaleError) that were decided without knowing it.

    Raises:
        StoreError: the database or its place cannot be used; the message says why.
    """

    def __init__(
        self,
        config: DatabaseConfig | None = None,
        *,
        url: str | None = None,
        run: str = "run",
        read_only: bool = False,
        language: str = CUDA,
        runner: str = "",
    ) -> None:
        config = config or DatabaseConfig()
        chosen = url or config.url or "sqlite:///programs.db"
        self._read_only = read_only
        engine = open_engine(chosen, read_only=read_only)
        is_file = engine.dialect.name == "sqlite" and engine.url.database
        place = engine.url.database if is_file else engine.url.render_as_string()
        super().__init__(config, place or chosen, language)
        self._shared = bool(runner)
        self._version = self._last_program = self._last_event = 0
        self._runner = 0
        self.lasting = Lasting(engine, config.patience_s, self._note, self._noted)
        try:
            with store_errors(self._place):
                self._run, self._facts, self._seconds = self._open_run(run)
                if not read_only:
                    self._runner = self._open_runner(runner)
                self.refresh()
        except BaseException:
            engine.dispose()
            raise

    # --- the run ---

    @property
    def place(self) -> str:
        """What the database is called in messages."""
        return self._place

    @property
    def run(self) -> int:
        """The run's number within the database."""
        return self._run

    @property
    def runner(self) -> int:
        """This process's number among those that have written to the run."""
        return self._runner

    @property
    def facts(self) -> Mapping[str, Json]:
        """What was kept of the run when it began; empty for a new one."""
        return self._facts

    @property
    def seconds(self) -> float:
        """How long the run has taken so far, in all of its processes."""
        return self._seconds

    def begin(self, facts: Mapping[str, Json], also: Also | None = None) -> None:
        """Keep what the run is about.

        Raises:
            StaleError: another runner recorded something meanwhile.
        """
        change = update(RUNS).where(RUNS.c.id == self._run).values(facts=dict(facts))
        self.write(lambda connection: _do(connection, change, also), current=True)
        self._facts = dict(facts)

    def keep_seconds(self, seconds: float) -> None:
        """Keep how long the run has taken until now: the most that any runner says."""
        self.write(lambda connection: _do(connection, self._taken(seconds)))
        self._seconds = max(seconds, self._seconds)

    def _taken(self, seconds: float) -> Any:
        longest = case((RUNS.c.seconds < seconds, seconds), else_=RUNS.c.seconds)
        return update(RUNS).where(RUNS.c.id == self._run).values(seconds=longest)

    # --- writing ---

    def add(
        self,
        program: StoredProgram,
        *,
        seconds: float | None = None,
        events: Sequence[Event] = (),
        also: Also | None = None,
    ) -> StoredProgram:
        """Record a judged program, whole or not at all; returns it with what was computed of it.

        Hashes, complexity and embedding are computed where the program has none. `seconds` is how
        long the run has taken until now; `events` are recorded with the program, `also` is done.

        Raises:
            ClaimLostError: `also` ends this runner's claim, and another runner has taken it over.
            StoreError: its number is taken, or the database cannot be written.
        """
        whole = described(program)
        if whole.number in self._light and not self._shared:
            raise StoreError(
                f"an attempt is recorded once, and number {whole.number} is there already",
                file=self._place,
            )

        def body(connection: Connection) -> None:
            if also is not None:
                also(connection)  # first: who lost the claim finds the number taken
            connection.execute(insert(PROGRAMS), row_of(self._run, whole))
            for event in events:
                connection.execute(insert(EVENTS), event_row(self._run, event))
            if seconds is not None:
                connection.execute(self._taken(seconds))

        try:
            self.write(body)
        except TakenError:
            raise StoreError(
                f"number {whole.number} was recorded by another process",
                file=self._place,
                hint="a run has one writer: end the other process",
            ) from None
        self._seconds = max(self._seconds, seconds or 0.0)
        self._recorded(lambda: self._take_all(whole, events))
        return whole

    def record(self, event: Event, also: Also | None = None) -> None:
        """Record an event and do what it says to islands.

        Raises:
            StaleError: another runner recorded something meanwhile: refresh, and decide again.
        """
        statement = insert(EVENTS).values(event_row(self._run, event))
        self.write(lambda connection: _do(connection, statement, also), current=True)
        self._recorded(lambda: self._happen(event))

    def _take_all(self, program: StoredProgram, events: Sequence[Event]) -> None:
        self._take(program)
        for event in events:
            self._happen(event)

    def _recorded(self, take: Callable[[], None]) -> None:
        """Take what was recorded into memory: where others record too, in the database's order."""
        if self._shared:
            self.refresh()
        else:
            take()

    # --- other processes ---

    def refresh(self) -> None:
        """Take in what was recorded since: by other runners of the run, or before it was opened.

        Raises:
            StoreError: the database cannot be read.
        """
        light = [column for column in PROGRAMS.c if column.name not in _TEXTS]

        def body(connection: Connection) -> tuple[RowMapping, list[RowMapping], list[RowMapping]]:
            run = connection.execute(select(RUNS).where(RUNS.c.id == self._run)).mappings().one()
            if self._version and run["version"] == self._version:
                return run, [], []
            programs = _after(PROGRAMS, light, self._run, self._last_program)
            events = _after(EVENTS, list(EVENTS.c), self._run, self._last_event)
            return (
                run,
                list(connection.execute(programs).mappings()),
                list(connection.execute(events).mappings()),
            )

        with store_errors(self._place):
            run, programs, events = self.lasting.read(body, snapshot=True)
        self._version, self._facts = run["version"], run["facts"]
        self._seconds = max(self._seconds, run["seconds"])
        empty: dict[str, Any] = {"code": "", "diff": "", "findings": [], "feedback": ""}
        for row in programs:
            self._last_program = row["id"]
            self._take(program_of({**_row(row), **empty}))
        for row in events:
            self._last_event = row["id"]
            self._happen(Event(row["kind"], row["at"], row["data"]))

    def write(self, body: Callable[[Connection], T], *, current: bool = False) -> T:
        """Do a transaction of this run; `current`: only where this process knows all of it.

        Raises:
            StaleError: another runner recorded something that this process does not know.
            StoreError: the database cannot be written.
        """

        def whole(connection: Connection) -> T:
            if self._shared:
                self._come_next(connection, current=current)
            return body(connection)

        with store_errors(self._place):
            self._require_writer()
            return self.lasting.write(whole)

    def _come_next(self, connection: Connection, *, current: bool) -> None:
        """Wait for the other writers of the run: what is recorded is seen in one order by all."""
        found = update(RUNS).where(RUNS.c.id == self._run).values(version=RUNS.c.version + 1)
        if current:
            found = found.where(RUNS.c.version == self._version)
        if connection.execute(found).rowcount != 1:
            raise StaleError("another runner recorded something meanwhile", file=self._place)

    def _note(self, connection: Connection, token: str) -> None:
        connection.execute(update(RUNNERS).where(RUNNERS.c.id == self._runner).values(token=token))

    def _noted(self, connection: Connection) -> str | None:
        return connection.execute(
            select(RUNNERS.c.token).where(RUNNERS.c.id == self._runner)
        ).scalar()

    # --- reading ---

    def get(self, number: int) -> StoredProgram:
        """Return a program, whole.

        Raises:
            BadInputError: there is none of this number.
        """
        return self.get_all((number,))[0]

    def get_all(self, numbers: Sequence[int]) -> list[StoredProgram]:
        """Return programs, whole, in the order of their numbers as given: one query.

        Raises:
            BadInputError: there is none of one of the numbers.
        """
        for number in numbers:
            self.brief(number)
        asked = {"run": self._run, "numbers": list(numbers)}
        with store_errors(self._place):
            rows = self.lasting.read(lambda c: c.execute(_OF_NUMBERS, asked).mappings().all())
        found = {row["number"]: program_of(_row(row)) for row in rows}
        return [found[number] for number in numbers]

    def programs(self) -> Iterator[StoredProgram]:
        """Yield all programs, whole, in the order in which they were recorded."""
        for number in tuple(self._order):
            yield self.get(number)

    def best(self) -> StoredProgram | None:
        """Return the correct program with the highest score, whole; None without one."""
        return self.get(self._all.member(0)) if len(self._all) else None

    # --- the rest ---

    def load_df(self) -> Any:
        """Return all programs as a pandas DataFrame, one row each.

        Raises:
            MissingToolError: pandas is not installed.
        """
        from warploom.store.frame import frame_of

        return frame_of(self.programs(), self.history_of)

    def close(self) -> None:
        """Close the database."""
        self.lasting.engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _require_writer(self) -> None:
        if self._read_only:
            raise StoreError("the database was opened to be read", file=self._place)

    def _open_run(self, name: str) -> tuple[int, Mapping[str, Json], float]:
        query = select(RUNS).where(RUNS.c.name == name)

        def find(connection: Connection) -> RowMapping | None:
            return connection.execute(query).mappings().first()

        row = self.lasting.read(find)
        if row is None and self._read_only:
            raise StoreError(f"there is no run {name!r}", file=self._place)
        if row is None:
            fresh: dict[str, Any] = {"name": name, "created": time.time(), "facts": {}}
            self._insert_once(insert(RUNS).values(fresh))
            row = self.lasting.read(find)
        assert row is not None
        return row["id"], row["facts"], row["seconds"]

    def _open_runner(self, name: str) -> int:
        query = select(RUNNERS.c.id).where(RUNNERS.c.run_id == self._run, RUNNERS.c.name == name)

        def find(connection: Connection) -> int | None:
            return connection.execute(query).scalar()

        found = self.lasting.read(find)
        if found is None:
            self._insert_once(insert(RUNNERS).values(run_id=self._run, name=name, token=""))
            found = self.lasting.read(find)
        assert found is not None
        return found

    def _insert_once(self, statement: Any) -> None:
        """Insert a row that another process may insert at the same moment."""
        try:
            with self.lasting.engine.begin() as connection:
                connection.execute(statement)
        except IntegrityError:
            return


def sqlite_url(path: Path) -> str:
    """Return the URL of the SQLite database at a path."""
    return URL.create("sqlite", database=str(path.resolve())).render_as_string()


def _do(connection: Connection, statement: Any, also: Also | None = None) -> None:
    connection.execute(statement)
    if also is not None:
        also(connection)


def _after(table: Table, columns: Sequence[Any], run: int, last: int) -> Any:
    return select(*columns).where(table.c.run_id == run, table.c.id > last).order_by(table.c.id)


def _row(row: RowMapping) -> dict[str, Any]:
    return {str(name): value for name, value in row.items()}
