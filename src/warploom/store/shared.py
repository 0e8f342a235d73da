"""A run that several runners share: who works on what, and who takes over from those that are gone.

Each decision is a transaction that is refused where it was made without knowing all that others
have recorded (`StaleError`, `runs.version`). What a runner works on is a row that no other runner
can have: not for the same attempt, and not for the same text. A runner is seen as long as it says
so; then any other takes its work, one each, by rows that are locked and skipped.
"""

import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

from sqlalchemy import Connection, delete, func, insert, select, text, update

from warploom.core.records import Json
from warploom.store.database import Also, ProgramDatabase
from warploom.store.errors import ClaimLostError, StaleError, StoreError, TakenError, store_errors
from warploom.store.schema import CLAIMS, RUNNERS

_BEATS = 4  # signs of life in the time after which a runner counts as gone


@dataclass(frozen=True, slots=True)
class Claim:
    """What a runner works on: a number of a kind of work, and all that is needed to do it."""

    kind: str
    number: int
    data: Mapping[str, Json]
    mine: bool


class Crew:
    """This process's place among the runners of a run.

    Once `start` was called, a thread says that this runner is there, until `close`.
    """

    def __init__(self, database: ProgramDatabase) -> None:
        self.database = database
        self.claims: list[Claim] = []
        self._lease = database.config.lease_s
        self._beaten = self._steady_since = 0.0  # by the monotonic clock
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Be seen from now on.

        Raises:
            StoreError: the database cannot be written.
        """
        self._beat()
        self._thread = threading.Thread(target=self._go_on_beating, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Be gone: what this runner works on is free for others at once."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
            with suppress(StoreError):
                self._write(lambda c: self._be_seen(c, None))

    def sync(self) -> None:
        """Take in what others have recorded, and what they work on now."""
        self.database.refresh()
        query = select(CLAIMS).where(CLAIMS.c.run_id == self.database.run).order_by(CLAIMS.c.id)
        with store_errors(self.database.place):
            rows = self.database.lasting.read(lambda c: c.execute(query).mappings().all())
        self.claims = [_claim(row, self.database.runner) for row in rows]

    def claim(
        self, kind: str, number: int, data: Mapping[str, Json], normal_hash: str | None = None
    ) -> bool:
        """Have a piece of work for this runner alone.

        Returns:
            Whether it is ours: not where another runner has it, or has recorded something that
            we do not know.
        """
        row: dict[str, Any] = {
            "run_id": self.database.run, "kind": kind, "number": number, "data": dict(data),
            "normal_hash": normal_hash, "runner_id": self.database.runner,
        }  # fmt: skip
        try:
            self.database.write(lambda c: c.execute(insert(CLAIMS), row), current=True)
        except (StaleError, TakenError):
            self.sync()
            return False
        self.sync()
        return True

    def adopt(self) -> Claim | None:
        """Take over one piece of work of a runner that is gone; None where there is none.

        A runner that was not seen counts as gone only where we were, all the time: while the server
        was away, nobody could be seen.
        """
        gone = RUNNERS.c.seen.is_(None)
        if self._steady:
            old = func.now() - text(f"interval '{self._lease:f} seconds'")
            gone = gone | (RUNNERS.c.seen < old)
        theirs = CLAIMS.c.runner_id != self.database.runner
        query = (
            select(CLAIMS)
            .join(RUNNERS, RUNNERS.c.id == CLAIMS.c.runner_id)
            .where(CLAIMS.c.run_id == self.database.run, gone, theirs)
            .order_by(CLAIMS.c.id)
            .limit(1)
            .with_for_update(of=CLAIMS, skip_locked=True)
        )

        def take(connection: Connection) -> Mapping[str, Any] | None:
            row = connection.execute(query).mappings().first()
            if row is not None:
                mine = update(CLAIMS).where(CLAIMS.c.id == row["id"])
                connection.execute(mine.values(runner_id=self.database.runner))
            return None if row is None else dict(row)

        with store_errors(self.database.place):
            row = self.database.lasting.write(take)
        if row is None:
            return None
        self.sync()
        return _claim({**row, "runner_id": self.database.runner}, self.database.runner)

    def done(self, kind: str, number: int) -> Also:
        """Return what ends a piece of work, in the transaction that records what came of it.

        That transaction raises ClaimLostError where another runner has taken the work over.
        """

        def drop(connection: Connection) -> None:
            ours = (
                (CLAIMS.c.run_id == self.database.run)
                & (CLAIMS.c.kind == kind)
                & (CLAIMS.c.number == number)
                & (CLAIMS.c.runner_id == self.database.runner)
            )
            if cast("Any", connection.execute(delete(CLAIMS).where(ours))).rowcount != 1:
                raise ClaimLostError(f"another runner has taken {kind} {number} over")

        return drop

    @property
    def _steady(self) -> bool:
        """Whether the server has seen us for as long as a runner may be silent."""
        now = time.monotonic()
        return now - self._beaten <= self._longest_gap and now - self._steady_since >= self._lease

    @property
    def _longest_gap(self) -> float:
        return 2 * self._lease / _BEATS

    def _go_on_beating(self) -> None:
        while not self._over.wait(self._lease / _BEATS):
            with suppress(StoreError):  # a server that is away knows of nobody
                self._beat()

    def _beat(self) -> None:
        self._write(lambda c: self._be_seen(c, func.now()))
        now = time.monotonic()
        if now - self._beaten > self._longest_gap:
            self._steady_since = now
        self._beaten = now

    def _be_seen(self, connection: Connection, when: Any) -> None:
        mine = RUNNERS.c.id == self.database.runner
        connection.execute(update(RUNNERS).where(mine).values(seen=when))

    def _write(self, body: Also) -> None:
        """Write to our own row, without a word in the run's history: by this thread alone."""
        with store_errors(self.database.place), self.database.lasting.engine.begin() as connection:
            body(connection)


def _claim(row: Mapping[Any, Any], runner: int) -> Claim:
    return Claim(row["kind"], row["number"], row["data"], row["runner_id"] == runner)
