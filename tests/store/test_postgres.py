"""What only a server can do to a store: go away, come back, be opened by many at once."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine, text

from warploom.store import DatabaseConfig, Event, ProgramDatabase, StoredProgram
from warploom.store.errors import ClaimLostError, StaleError, StoreAwayError, StoreError
from warploom.store.opening import SCHEMA_VERSION
from warploom.store.records import Lineage, Outcome
from warploom.store.shared import Crew
from warploom.testing.services import Postgres

QUICK = DatabaseConfig(patience_s=20, lease_s=1)


@pytest.fixture
def url(postgres_server: Postgres) -> str:
    return postgres_server.url(f"store_{uuid4().hex}")


def made(number: int) -> StoredProgram:
    code = f"int a{number};\n"
    return StoredProgram(number, code, Lineage(), Outcome(True, float(number), 1.0, "modelled"))


def schema_of(url: str) -> str:
    engine = create_engine(url, connect_args={"client_encoding": "utf8"})
    with engine.connect() as connection:
        found = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    engine.dispose()
    return str(found)


def test_a_database_of_the_first_schema_is_upgraded(url: str) -> None:
    import warploom.store.opening as opening

    engine = create_engine(url, connect_args={"client_encoding": "utf8"})
    config = Config()
    place = Path(opening.__file__).with_name("migrations")
    config.set_main_option("script_location", str(place))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        connection.execute(text("INSERT INTO runs (name, created, seconds, facts) "
                                "VALUES ('old', 1.0, 2.5, '{\"seed\": \"7\"}')"))  # fmt: skip
    engine.dispose()
    assert schema_of(url) == "0001"
    with ProgramDatabase(url=url, run="old") as store:
        assert store.facts == {"seed": "7"} and store.seconds == 2.5
        store.add(made(1))
    assert int(schema_of(url)) == SCHEMA_VERSION


def test_many_may_open_an_empty_database_at_once(url: str) -> None:
    code = (
        "import sys\nfrom warploom.store import ProgramDatabase\n"
        "ProgramDatabase(url=sys.argv[1], run='one', runner=sys.argv[2]).close()\n"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", code, url, str(at)], stderr=subprocess.PIPE)
        for at in range(4)
    ]
    for process in processes:
        _, said = process.communicate(timeout=60)
        assert process.returncode == 0, said.decode()


def lost_after_commit(store: ProgramDatabase, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Have the answer to the next commit get lost; returns a list that tells of each."""
    told: list[int] = []
    commit = store.lasting.engine.dialect.do_commit

    def lose(connection: object) -> None:
        commit(connection)  # type: ignore[arg-type]
        if not told:
            told.append(1)
            raise psycopg.OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(store.lasting.engine.dialect, "do_commit", lose)
    return told


def test_what_was_committed_is_not_written_again(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An event has no number of its own: only the token tells that it is there."""
    with ProgramDatabase(QUICK, url=url) as store:
        store.add(made(1))
        told = lost_after_commit(store, monkeypatch)
        store.record(Event("champion", 1, {"number": 1, "accepted": False}))
        assert told
    with ProgramDatabase(QUICK, url=url) as store:
        assert [event.kind for event in store.events] == ["champion"]
        told = lost_after_commit(store, monkeypatch)
        store.add(made(2))
        assert told
        assert list(store.numbers) == [1, 2]


def test_a_server_that_comes_back_is_waited_for(url: str, postgres_server: Postgres) -> None:
    with ProgramDatabase(QUICK, url=url) as store:
        store.add(made(1))
        postgres_server.stop()
        later = threading.Timer(1.5, postgres_server.start)
        later.start()
        try:
            store.add(made(2))
            assert [one.number for one in store.programs()] == [1, 2]
        finally:
            later.join()


def test_a_server_that_stays_away_is_told(url: str, postgres_server: Postgres) -> None:
    with ProgramDatabase(QUICK.model_copy(update={"patience_s": 0.5}), url=url) as store:
        store.add(made(1))
        postgres_server.stop()
        try:
            with pytest.raises(StoreAwayError, match="does not answer") as failure:
                store.add(made(2))
            assert failure.value.exit_code == 3
        finally:
            postgres_server.start()
        store.add(made(2))


def test_a_database_that_is_not_there_is_told(postgres_server: Postgres, url: str) -> None:
    with pytest.raises(StoreError, match="the server has no such database") as failure:
        ProgramDatabase(url=url + "x")
    assert "createdb" in failure.value.hint


def pair(url: str, act: Callable[[Crew, Crew], None]) -> None:
    with (
        ProgramDatabase(QUICK, url=url, run="r", runner="one") as one,
        ProgramDatabase(QUICK, url=url, run="r", runner="two") as two,
    ):
        first, second = Crew(one), Crew(two)
        first.start()
        second.start()
        try:
            first.sync()
            second.sync()
            act(first, second)
        finally:
            first.close()
            second.close()


def test_what_was_decided_without_knowing_all_is_refused(url: str) -> None:
    def act(first: Crew, second: Crew) -> None:
        first.database.add(made(1))
        with pytest.raises(StaleError):
            second.database.record(Event("migration", 0, {"moves": []}))
        second.sync()
        assert list(second.database.numbers) == [1]
        second.database.record(Event("migration", 1, {"moves": []}))
        second.database.add(made(2))
        first.database.add(made(3))  # what was judged is always taken
        second.sync()
        assert list(first.database.numbers) == list(second.database.numbers) == [1, 2, 3]
        assert list(first.database.events) == list(second.database.events)

    pair(url, act)


def test_nobody_has_the_same_attempt_or_text(url: str) -> None:
    def act(first: Crew, second: Crew) -> None:
        assert first.claim("attempt", 1, {"a": 1}, "h1")
        assert not second.claim("attempt", 1, {}, "h2")
        assert not second.claim("attempt", 2, {}, "h1")
        assert second.claim("attempt", 2, {}, "h2")
        first.sync()
        assert [(one.number, one.mine) for one in first.claims] == [(1, True), (2, False)]
        assert second.adopt() is None  # the other one is there
        first.database.add(made(1), also=first.done("attempt", 1))
        second.sync()
        assert [one.number for one in second.claims] == [2]

    pair(url, act)


def test_what_a_runner_that_is_gone_had_begun_is_taken_over_once(url: str) -> None:
    def act(first: Crew, second: Crew) -> None:
        for number in (1, 2):
            assert first.claim("attempt", number, {"number": number}, f"h{number}")
        first._over.set()  # it says no more that it is there, as a process that was stopped
        end = threading.Event()
        taken = []
        while len(taken) < 2 and not end.wait(0.2):
            found = second.adopt()
            taken += [] if found is None else [found]
        assert [(one.number, dict(one.data), one.mine) for one in taken] == [
            (1, {"number": 1}, True), (2, {"number": 2}, True),
        ]  # fmt: skip
        with pytest.raises(ClaimLostError):  # it goes on, and is too late
            first.database.add(made(1), also=first.done("attempt", 1))
        second.database.add(made(1), also=second.done("attempt", 1))
        for _ in ("recorded, and not known", "recorded, and known"):
            with pytest.raises(ClaimLostError):
                first.database.add(made(1), also=first.done("attempt", 1))
            first.sync()
        assert list(first.database.numbers) == [1]

    pair(url, act)


def test_while_the_server_is_away_nobody_is_gone(url: str, postgres_server: Postgres) -> None:
    def act(first: Crew, second: Crew) -> None:
        assert first.claim("attempt", 1, {}, "h1")
        second.sync()
        assert second.claim("attempt", 2, {}, "h2")
        for _ in range(2):
            postgres_server.stop()
            time.sleep(1.5 * QUICK.lease_s)
            postgres_server.start()
            for crew in (first, second) * 5:
                assert crew.adopt() is None
                time.sleep(QUICK.lease_s / 10)

    pair(url, act)
