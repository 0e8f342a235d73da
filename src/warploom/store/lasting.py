"""Transactions that outlast a lost connection: the server restarts, a network fails for a while."""

import time
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from warploom.core.ids import new_token
from warploom.store.errors import is_lost

T = TypeVar("T")
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0  # seconds between tries


class Lasting:
    """Runs transactions on an engine; where the connection is lost, again, for `patience` seconds.

    `note` writes a token where this writer alone writes, and `noted` reads it: so a commit whose
    answer was lost is told from one that did not happen, and nothing is written twice.
    """

    def __init__(
        self,
        engine: Engine,
        patience: float,
        note: Callable[[Connection, str], None],
        noted: Callable[[Connection], str | None],
    ) -> None:
        self.engine = engine
        self._patience = patience
        self._note = note
        self._noted = noted

    @property
    def remote(self) -> bool:
        """Whether the database is a server's."""
        return self.engine.dialect.name != "sqlite"

    def read(self, body: Callable[[Connection], T], *, snapshot: bool = False) -> T:
        """Return what a body reads; `snapshot`: all of it as it was at one moment."""
        level = {"isolation_level": "REPEATABLE READ"} if snapshot and self.remote else {}
        return self._until(lambda: self._read_once(body, level))

    def write(self, body: Callable[[Connection], T]) -> T:
        """Do what a body writes once, whole or not at all."""
        if not self.remote:
            with self.engine.begin() as connection:
                return body(connection)
        token = new_token()
        sent: list[T] = []  # what a body returned whose commit may have happened

        def once() -> T:
            if sent and self.read(self._noted) == token:
                return sent[0]
            sent.clear()
            with self.engine.begin() as connection:
                self._note(connection, token)
                sent.append(body(connection))
            return sent[0]

        return self._until(once)

    def _read_once(self, body: Callable[[Connection], T], level: dict[str, str]) -> T:
        with self.engine.connect() as connection:
            connection = connection.execution_options(**level)
            return body(connection)

    def _until(self, once: Callable[[], T]) -> T:
        end = time.monotonic() + (self._patience if self.remote else 0.0)
        pause = _FIRST_PAUSE
        while True:
            try:
                return once()
            except DBAPIError as error:
                if not is_lost(error) or time.monotonic() + pause > end:
                    raise
            time.sleep(pause)
            pause = min(_LONGEST_PAUSE, 2 * pause)
