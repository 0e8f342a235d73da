"""`ProgramDatabase`: one run's programs and events, written by one process, read by any.

What selection needs lies in memory, per process; texts, diffs and findings are read when asked for.
An attempt is one transaction: it is in the database whole, or not at all.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Any, Self

from sqlalchemy import RowMapping, Table, bindparam, insert, select, update
from sqlalchemy.exc import IntegrityError

from warploom.core.errors import BadInputError
from warploom.core.records import Json
from warploom.store.archive import Archive, features_of
from warploom.store.config import DatabaseConfig, SelectionConfig
from warploom.store.embeddings import EmbeddingMatrix
from warploom.store.errors import StoreError, store_errors
from warploom.store.fingerprint import CUDA, code_hash, described, normal_hash
from warploom.store.island import Island
from warploom.store.opening import open_engine
from warploom.store.records import Event, StoredProgram, Vector
from warploom.store.rows import event_row, moves_of, program_of, row_of
from warploom.store.schema import EVENTS, PROGRAMS, RUNS
from warploom.store.selection import draw, sample

_TEXTS = ("code", "diff", "findings", "feedback")
_OF_NUMBERS = select(PROGRAMS).where(
    PROGRAMS.c.run_id == bindparam("run"),
    PROGRAMS.c.number.in_(bindparam("numbers", expanding=True)),
)


class ProgramDatabase:
    """The programs of one run.

    `run` names it within the database. The database is made, or upgraded, unless `read_only`.
    `language` is that of the programs: it says which texts are the same.

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
    ) -> None:
        self.language = language
        self.config = config or DatabaseConfig()
        chosen = url or self.config.url or "sqlite:///programs.db"
        self._place = chosen.removeprefix("sqlite:///")
        self._read_only = read_only
        self._engine = open_engine(chosen, read_only=read_only)
        self._light: dict[int, StoredProgram] = {}
        self._roots: dict[int, int] = {}
        self._islands: dict[int, Island] = {}
        self._children: dict[int, int] = {}
        self._archive = Archive(self.config.archive)
        self._embeddings = EmbeddingMatrix()
        self._exact: dict[str, int] = {}
        self._normal: dict[str, int] = {}
        self._all = Island()
        self._clock = ""  # of the times that are ranked
        self._events: list[Event] = []
        self._order: list[int] = []
        with store_errors(self._place):
            self._run, self._facts, self._seconds = self._open_run(run)
            self._load()

    # --- the run ---

    @property
    def facts(self) -> Mapping[str, Json]:
        """What was kept of the run when it began; empty for a new one."""
        return self._facts

    @property
    def seconds(self) -> float:
        """How long the run has taken so far, in all of its processes."""
        return self._seconds

    def begin(self, facts: Mapping[str, Json]) -> None:
        """Keep what the run is about."""
        self._write(update(RUNS).where(RUNS.c.id == self._run), {"facts": dict(facts)})
        self._facts = dict(facts)

    def keep_seconds(self, seconds: float) -> None:
        """Keep how long the run has taken until now."""
        self._write(update(RUNS).where(RUNS.c.id == self._run), {"seconds": seconds})
        self._seconds = seconds

    # --- writing ---

    def add(
        self,
        program: StoredProgram,
        *,
        seconds: float | None = None,
        events: Sequence[Event] = (),
    ) -> StoredProgram:
        """Record a judged program, whole or not at all; returns it with what was computed of it.

        Hashes, complexity and embedding are computed where the program has none. `seconds` is how
        long the run has taken until now; `events` are recorded with the program.

        Raises:
            StoreError: its number is taken, or the database cannot be written.
        """
        whole = described(program)
        if whole.number in self._light:
            raise StoreError(
                f"an attempt is recorded once, and number {whole.number} is there already",
                file=self._place,
            )
        values = {} if seconds is None else {"seconds": seconds}
        with store_errors(self._place):
            self._require_writer()
            try:
                with self._engine.begin() as connection:
                    connection.execute(insert(PROGRAMS), row_of(self._run, whole))
                    for event in events:
                        connection.execute(insert(EVENTS), event_row(self._run, event))
                    if values:
                        connection.execute(update(RUNS).where(RUNS.c.id == self._run), values)
            except IntegrityError:
                raise StoreError(
                    f"number {whole.number} was recorded by another process",
                    file=self._place,
                    hint="a run has one writer: end the other process",
                ) from None
        self._seconds = self._seconds if seconds is None else seconds
        self._take(whole)
        for event in events:
            self._happen(event)
        return whole

    def record(self, event: Event) -> None:
        """Record an event and do what it says to islands."""
        self._write(insert(EVENTS), event_row(self._run, event))
        self._happen(event)

    # --- reading ---

    def __len__(self) -> int:
        return len(self._light)

    @property
    def events(self) -> Sequence[Event]:
        """All events, oldest first."""
        return self._events

    @property
    def numbers(self) -> Sequence[int]:
        """Numbers of all programs in the order in which they were recorded."""
        return self._order

    def brief(self, number: int) -> StoredProgram:
        """Return a program without its texts (code, diff, feedback, findings): from memory."""
        if number not in self._light:
            raise BadInputError(f"the run has no program {number}", file=self._place)
        return self._light[number]

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
        with store_errors(self._place), self._engine.connect() as connection:
            rows = connection.execute(_OF_NUMBERS, asked).mappings().all()
        found = {row["number"]: program_of(_row(row)) for row in rows}
        return [found[number] for number in numbers]

    def programs(self) -> Iterator[StoredProgram]:
        """Yield all programs, whole, in the order in which they were recorded."""
        for number in tuple(self._order):
            yield self.get(number)

    def best(self) -> StoredProgram | None:
        """Return the correct program with the highest score, whole; None without one."""
        return self.get(self._all.member(0)) if len(self._all) else None

    def top(self, count: int) -> list[int]:
        """Return the numbers of the best correct programs, best first."""
        return [self._all.member(at) for at in range(min(count, len(self._all)))]

    def history_of(self, number: int) -> tuple[tuple[int, int, int], ...]:
        """Return a program's migrations: attempts recorded by then, from island, to island."""
        return tuple(
            (event.at, source, target)
            for event in self._events
            for moved, source, target in moves_of(event)
            if moved == number
        )

    # --- selection ---

    @property
    def islands(self) -> Mapping[int, Island]:
        """The islands' correct programs."""
        return self._islands

    @property
    def archive(self) -> Archive:
        """The archive of the run."""
        return self._archive

    def sample_parent(self, island: int, selection: SelectionConfig, rng: Random) -> int:
        """Draw a parent from an island; returns its number.

        Raises:
            BadInputError: the island has no correct program.
        """
        there = self._islands.get(island)
        if there is None or not len(there):
            raise BadInputError(f"island {island} has no correct program to draw a parent from")
        return there.member(draw(selection, there.scores, there.children, rng))

    def inspirations(self, parent: int, rng: Random) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return programs to show beside a parent: drawn from the archive, and the best ones."""
        wanted = self.config.inspirations
        others = [number for number in self._archive.members if number != parent]
        archived = sample(others, wanted.archive, rng)
        seen = {parent, *archived}
        best = [number for number in self.top(wanted.top_k + len(seen)) if number not in seen]
        return archived, tuple(best[: wanted.top_k])

    # --- novelty ---

    def duplicate_of(self, code: str) -> int | None:
        """Return the program with this text, comments and blanks aside; None where there is none.

        Failures count: what failed once would fail again.
        """
        exact = self._exact.get(code_hash(code))
        return exact if exact is not None else self._normal.get(normal_hash(code, self.language))

    def nearest(self, vector: Vector) -> tuple[int, float] | None:
        """Return the program with the most similar embedding, and the cosine similarity."""
        return self._embeddings.nearest(vector)

    # --- the rest ---

    def load_df(self) -> Any:
        """Return all programs as a pandas DataFrame, one row each.

        Raises:
            MissingToolError: pandas is not installed.
        """
        from warploom.store.frame import frame_of

        return frame_of(self)

    def close(self) -> None:
        """Close the database."""
        self._engine.dispose()

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

    def _write(self, statement: Any, values: Mapping[str, Any]) -> None:
        self._require_writer()
        with store_errors(self._place), self._engine.begin() as connection:
            connection.execute(statement, values)

    def _open_run(self, name: str) -> tuple[int, Mapping[str, Json], float]:
        query = select(RUNS).where(RUNS.c.name == name)
        with self._engine.begin() as connection:
            row = connection.execute(query).mappings().first()
            if row is None and self._read_only:
                raise StoreError(f"there is no run {name!r}", file=self._place)
            if row is None:
                fresh: dict[str, Any] = {"name": name, "created": time.time(), "facts": {}}
                connection.execute(insert(RUNS), fresh)
                row = connection.execute(query).mappings().one()
        return row["id"], row["facts"], row["seconds"]

    def _load(self) -> None:
        with self._engine.connect() as connection:
            light = [column for column in PROGRAMS.c if column.name not in _TEXTS]
            empty: dict[str, Any] = {"code": "", "diff": "", "findings": [], "feedback": ""}
            for row in connection.execute(_of_run(PROGRAMS, light, self._run)).mappings():
                self._take(program_of({**_row(row), **empty}))
            for row in connection.execute(_of_run(EVENTS, list(EVENTS.c), self._run)).mappings():
                self._happen(Event(row["kind"], row["at"], row["data"]))

    def _take(self, program: StoredProgram) -> None:
        """Put a recorded program into memory."""
        number, lineage, outcome = program.number, program.lineage, program.outcome
        self._light[number] = replace(
            program, code="", diff="", embedding=None,
            outcome=replace(outcome, feedback="", findings=()),
        )  # fmt: skip
        self._order.append(number)
        self._exact.setdefault(program.code_hash, number)
        self._normal.setdefault(program.normal_hash, number)
        if program.embedding is not None:
            self._embeddings.add(number, program.embedding)
        parent = lineage.parent
        self._roots[number] = number if parent is None else self._roots.get(parent, number)
        self._count_child(parent)
        if not outcome.correct or outcome.score is None:
            return
        self._require_one_clock(outcome.time_source)
        self._islands.setdefault(lineage.island, Island()).add(number, outcome.score)
        self._all.add(number, outcome.score)
        root = self._light[self._roots[number]]
        self._archive.add(number, outcome.score, features_of(program, root))

    def _require_one_clock(self, source: str) -> None:
        """Raise StoreError where a program was timed in another way than those before."""
        if self._all and source != self._clock:
            raise StoreError(
                f"one run ranks one kind of time, {self._clock} so far, got {source}",
                file=self._place,
            )
        self._clock = source

    def _count_child(self, parent: int | None) -> None:
        if parent is None:
            return
        self._children[parent] = self._children.get(parent, 0) + 1
        known = self._light.get(parent)
        if known is None or known.outcome.score is None:
            return
        for island in self._islands.values():
            island.count_child(known.number, known.outcome.score)

    def _happen(self, event: Event) -> None:
        self._events.append(event)
        for number, _, target in moves_of(event):
            score = self._light[number].outcome.score
            island = self._islands.setdefault(target, Island())
            if score is not None and number not in island:
                island.add(number, score, self._children.get(number, 0))


def sqlite_url(path: Path) -> str:
    """Return the URL of the SQLite database at a path."""
    return f"sqlite:///{path.resolve()}"


def _of_run(table: Table, columns: Sequence[Any], run: int) -> Any:
    return select(*columns).where(table.c.run_id == run).order_by(table.c.id)


def _row(row: RowMapping) -> dict[str, Any]:
    return {str(name): value for name, value in row.items()}
