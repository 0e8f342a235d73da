"""The store: what is added comes back, whole or not at all, also in another process."""

import math
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from uuid import uuid4

import numpy as np
import pytest
from sqlalchemy import event

from warploom.core.errors import BadInputError, MissingToolError
from warploom.store import DatabaseConfig, Event, ProgramDatabase, StoredProgram
from warploom.store.config import SelectionConfig
from warploom.store.database import sqlite_url
from warploom.store.errors import StoreError, StoreVersionError, StoreWriteError
from warploom.store.opening import SCHEMA_VERSION
from warploom.store.records import Complexity, Lineage, Outcome
from warploom.testing.services import Postgres

FILES = Path(__file__).parent / "files"


def made(number: int, score: float | None = None, **changes: object) -> StoredProgram:
    """Return a program; without a score it has failed."""
    outcome = Outcome(False, failure="data_race", feedback="data_race: two writes")
    if score is not None:
        time = 10000.0 / score - 1.0
        outcome = Outcome(True, score, time, "modelled", {"time_ms": time}, {"runs": 4.0}, level=4)
    code = f"int a{number};\nint main() {{ return {number}; }}\n"
    return replace(StoredProgram(number, code, Lineage(), outcome), **changes)  # type: ignore[arg-type]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "programs.db"


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, place: Path) -> str:
    """An empty database, of each kind in turn."""
    if request.param == "sqlite":
        return sqlite_url(place)
    server: Postgres = request.getfixturevalue("postgres_server")
    return server.url(f"store_{uuid4().hex}")


@pytest.fixture
def store(url: str) -> Iterator[ProgramDatabase]:
    with ProgramDatabase(url=url) as found:
        yield found


@pytest.fixture
def file(place: Path) -> Iterator[ProgramDatabase]:
    """A store in a file."""
    with ProgramDatabase(url=sqlite_url(place)) as found:
        yield found


def test_a_program_comes_back_as_it_was(store: ProgramDatabase, url: str) -> None:
    lineage = Lineage(
        1, 2, (1,), (2,), 3, 4, "crossover", "rules", "m", ("blocks=4",), {"blocks": "4"}, 5
    )
    finding = {"kind": "data_race", "line": 4, "block": [0, 0, 0]}
    outcome = Outcome(
        True, 900.0, 10.1, "modelled", {"time_ms": 10.1}, {"runs": 3.0}, "words", "", (finding,), 4,
        1.5,
    )  # fmt: skip
    code = "int main() {} // \udc80 \0 ü\n"
    program = StoredProgram(
        1, code, lineage, outcome, diff="-a\n+b\n", cost=0.25, complexity=Complexity(1, 1, 1),
        projection=(0.5, 1.0), cluster=2,
    )  # fmt: skip
    added = store.add(program, seconds=12.5)
    with ProgramDatabase(url=url, read_only=True) as other:
        found = other.get(1)
        assert found == added
        assert found.code == code
        assert found.embedding is not None and added.embedding is not None
        np.testing.assert_array_equal(found.embedding, added.embedding)
        assert other.seconds == 12.5
        assert other.brief(1).code == ""
        with pytest.raises(StoreError, match="opened to be read"):
            other.add(made(2))
        with pytest.raises(BadInputError, match="the run has no program 2"):
            other.get(2)


def test_complexity_and_hashes_are_computed(store: ProgramDatabase) -> None:
    code = "int f(int a) { if (a) return 1; return 2; }\nint main() { return f(1); }\n"
    found = store.add(StoredProgram(1, code, Lineage(), Outcome(False)))
    assert found.complexity == Complexity(2, 2, 3)
    assert found.embedding is not None
    assert math.isclose(float(np.linalg.norm(found.embedding)), 1.0, rel_tol=1e-5)


def test_a_number_is_recorded_once(store: ProgramDatabase, url: str) -> None:
    store.add(made(1))
    with pytest.raises(StoreError, match="number 1 is there already"):
        store.add(made(1))
    with ProgramDatabase(url=url) as other:
        store.add(made(2, 5.0))
        with pytest.raises(StoreError, match="number 2 was recorded by another process"):
            other.add(made(2, 6.0))
        other.add(made(3, 6.0))


def test_an_attempt_is_written_whole_or_not_at_all(url: str) -> None:
    code = (
        "import os, sys\n"
        "from sqlalchemy import event\n"
        "from warploom.store import ProgramDatabase, StoredProgram\n"
        "from warploom.store.records import Lineage, Outcome\n"
        "store = ProgramDatabase(url=sys.argv[1])\n"
        "store.add(StoredProgram(1, 'int a;', Lineage(), Outcome(False)), seconds=1.0)\n"
        "@event.listens_for(store.lasting.engine, 'before_cursor_execute')\n"
        "def stop(connection, cursor, statement, *_):\n"
        "    if statement.startswith('UPDATE'): os._exit(9)\n"
        "store.add(StoredProgram(2, 'int b;', Lineage(), Outcome(False)), seconds=2.0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, url], check=False)
    assert done.returncode == 9
    with ProgramDatabase(url=url) as store:
        assert list(store.numbers) == [1]
        assert store.seconds == 1.0
        store.add(made(2))


def test_islands_archive_and_events_are_the_same_after_opening(
    store: ProgramDatabase, url: str
) -> None:
    rng = Random(3)
    for number in range(1, 60):
        parent = None if number < 3 else rng.randrange(1, number)
        lineage = Lineage(
            parent, island=number % 2, changes=("x=1",), directives={"a": str(rng.randrange(3))}
        )
        score = None if number % 7 == 0 else rng.random() * 100 + 1
        public = {"time_ms": 1.0, "exposed_ms": rng.random()}
        program = made(number, score, lineage=lineage, complexity=Complexity(9, 1, 9 + number % 4))
        if score is not None:
            program = replace(program, outcome=replace(program.outcome, public=public))
        store.add(program)
        if number == 30:
            moves = [[store.top(1)[0], 0, 2], [store.top(2)[1], 1, 2]]
            store.record(Event("migration", 30, {"moves": moves}))
    with ProgramDatabase(url=url) as other:
        assert other.archive.cells == store.archive.cells
        assert other.top(99) == store.top(99)
        assert list(other.events) == list(store.events)
        assert set(other.islands) == {0, 1, 2}
        for at, island in store.islands.items():
            assert other.islands[at].members == island.members
            np.testing.assert_array_equal(other.islands[at].scores, island.scores)
            np.testing.assert_array_equal(other.islands[at].children, island.children)
        assert other.history_of(moves[0][0]) == ((30, 0, 2),)


def test_runs_of_one_database_do_not_see_each_other(url: str) -> None:
    with ProgramDatabase(url=url, run="a") as first:
        first.begin({"seed": "7"})
        first.add(made(1, 5.0))
    with ProgramDatabase(url=url, run="b") as second:
        assert len(second) == 0
        second.add(made(1, 6.0))
    with ProgramDatabase(url=url, run="a") as first:
        assert first.facts == {"seed": "7"}
        assert first.get(1).outcome.score == 5.0
    with pytest.raises(StoreError, match="there is no run 'c'"):
        ProgramDatabase(url=url, run="c", read_only=True)


# --- novelty, parents ---


def test_duplicates_are_found_by_their_tokens(store: ProgramDatabase) -> None:
    code = '#define N 4\nint main() {\n  puts("a  b");  // words\n  return a+ +b;\n}\n'
    store.add(StoredProgram(1, code, Lineage(), Outcome(False)))
    same = (
        code, code.replace("// words", "/* other\n words */"), code.replace("  return", "return"),
        code.replace("a+ +b", "a + +b"), code.replace("\n", "\r\n"),
    )  # fmt: skip
    assert [store.duplicate_of(one) for one in same] == [1] * 5
    other = (
        code.replace("a  b", "a b"), code.replace("N 4", "N 8"), code.replace("a+ +b", "a++b"),
        code.replace("#define N 4\n", "#define N 4 "), code.replace("main", "mai n"),
    )  # fmt: skip
    assert [store.duplicate_of(one) for one in other] == [None] * 5


def test_likeness_is_to_programs_with_the_same_directives_and_never_falls(
    store: ProgramDatabase,
) -> None:
    rows = np.eye(3, dtype=np.float32)
    blocks = [{"blocks": "1"}, {"blocks": "2"}]
    assert store.alike(blocks[0], rows[0]) == 0.0
    for number, (row, directives) in enumerate(zip(rows, [*blocks, blocks[0]], strict=True), 1):
        store.add(made(number, embedding=row, lineage=Lineage(directives=directives)))
    probe = rows[0] + 0.1 * rows[1]
    alike = store.alike(blocks[0], probe)
    assert alike == pytest.approx(1 / math.sqrt(1.01))
    assert store.alike(blocks[1], probe) == pytest.approx(0.1 / math.sqrt(1.01))
    # Then another one is nearer, with other directives.
    store.add(made(4, embedding=probe, lineage=Lineage(directives=blocks[1])))
    assert (store.nearest(probe) or (0, 0.0))[0] == 4
    assert store.alike(blocks[0], probe) == alike


def test_the_nearest_program_is_found(store: ProgramDatabase) -> None:
    rng = np.random.default_rng(4)
    rows = rng.standard_normal((200, 16)).astype(np.float32)
    assert store.nearest(rows[0]) is None
    for number, row in enumerate(rows, 1):
        store.add(made(number, embedding=row))
    for number in (1, 77, 200):
        found = store.nearest(rows[number - 1] * 3)
        assert found is not None
        assert found[0] == number
        assert found[1] == pytest.approx(1.0, abs=1e-5)
    probe = rng.standard_normal(16).astype(np.float32)
    cosines = rows @ probe / np.linalg.norm(rows, axis=1) / np.linalg.norm(probe)
    found = store.nearest(probe)
    assert found is not None
    assert found[0] == int(np.argmax(cosines)) + 1
    assert found[1] == pytest.approx(float(cosines.max()), abs=1e-5)
    with pytest.raises(BadInputError, match="one width, 16 so far, got 8"):
        store.add(made(201, embedding=np.ones(8, dtype=np.float32)))


def test_inspirations_are_others(store: ProgramDatabase) -> None:
    for number in range(1, 20):
        lineage = Lineage(None if number == 1 else 1, directives={"a": str(number % 4)})
        store.add(made(number, float(number), lineage=lineage))
    archive, top_k = store.inspirations(19, Random(1))
    assert len(archive) <= 2
    assert len(top_k) == 2
    assert 19 not in (*archive, *top_k)
    assert not set(archive) & set(top_k)
    assert set(archive) <= set(store.archive.members)
    with pytest.raises(BadInputError, match="island 5 has no correct program"):
        store.sample_parent(5, SelectionConfig(), Random(1))


# --- tables for people ---


def test_load_df(store: ProgramDatabase) -> None:
    pandas = pytest.importorskip("pandas")
    store.add(made(1, 100.0))
    store.add(made(2))
    store.record(Event("migration", 2, {"moves": [[1, 0, 1]]}))
    frame = store.load_df()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame["number"]) == [1, 2]
    assert list(frame["correct"]) == [True, False]
    assert frame["public_time_ms"][0] == pytest.approx(99.0)
    assert frame["migrations"][0] == ((2, 0, 1),)
    assert frame["code"][1].startswith("int a2;")


def test_load_df_names_the_extra(store: ProgramDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingToolError, match="load_df needs pandas") as failure:
        store.load_df()
    assert "warploom[plots]" in failure.value.hint


# --- databases that cannot be used ---


@pytest.mark.parametrize("version", [1, 2])
def test_databases_of_all_versions_are_opened(tmp_path: Path, version: int) -> None:
    """The files were written by these schemas; later schemas must upgrade them."""
    place = tmp_path / "programs.db"
    place.write_bytes((FILES / f"version-{version}.db").read_bytes())
    with ProgramDatabase(url=sqlite_url(place)) as store:
        assert list(store.numbers) == [1, 2, 3]
        best = store.best()
        assert best is not None
        assert best.number == 2
        assert best.lineage.changes == ("blocks=8",)
        assert store.get(3).outcome.failure == "data_race"
        assert store.get(3).outcome.findings[0]["line"] == 12
        assert [one.kind for one in store.events] == ["champion", "migration"]
        assert store.islands[1].members == [2]
        store.add(made(4, 50.0))
    connection = sqlite3.connect(place)
    version = connection.execute("SELECT version_num FROM alembic_version").fetchone()[0]
    connection.close()
    assert int(version) == SCHEMA_VERSION


def test_migrations_make_the_tables_that_we_use(url: str) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    from warploom.store.schema import METADATA

    with ProgramDatabase(url=url) as store, store.lasting.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, METADATA) == []


def test_a_newer_database_is_refused(file: ProgramDatabase, place: Path) -> None:
    file.close()
    connection = sqlite3.connect(place)
    connection.execute("UPDATE alembic_version SET version_num = '0099'")
    connection.commit()
    connection.close()
    with pytest.raises(StoreVersionError, match=r"has schema 99, and this warploom knows up to 2"):
        ProgramDatabase(url=sqlite_url(place))


def test_a_file_of_something_else_is_refused(place: Path) -> None:
    place.write_text("dear diary\n" * 1000)
    with pytest.raises(StoreError, match="is no warploom database") as failure:
        ProgramDatabase(url=sqlite_url(place))
    assert failure.value.file == str(place)
    place.unlink()
    connection = sqlite3.connect(place)
    connection.execute("CREATE TABLE cats (name TEXT)")
    connection.commit()
    connection.close()
    with pytest.raises(StoreError, match="of something else: it has the tables cats"):
        ProgramDatabase(url=sqlite_url(place))


def test_a_corrupted_file_is_told(file: ProgramDatabase, place: Path) -> None:
    for number in range(1, 50):
        file.add(made(number, 1.0))
    file.close()
    data = bytearray(place.read_bytes())
    data[4096:] = bytes(len(data) - 4096)
    place.write_bytes(data)
    with pytest.raises(StoreError, match=r"corrupted|no warploom database"):
        ProgramDatabase(url=sqlite_url(place))


def test_a_full_disk_is_told_and_loses_nothing(file: ProgramDatabase, place: Path) -> None:
    file.add(made(1, 5.0))

    @event.listens_for(file.lasting.engine, "connect")
    def limit(connection: sqlite3.Connection, _: object) -> None:
        connection.execute("PRAGMA max_page_count = 1")  # the pages that there are, in effect

    file.lasting.engine.dispose()
    with pytest.raises(StoreWriteError, match="the disk is full"):
        for number in range(2, 50):
            file.add(made(number, 5.0, code=f"int a{number};" * 2000))
    count = len(file)
    with ProgramDatabase(url=sqlite_url(place)) as other:
        assert len(other) == count
        other.add(made(count + 1, 6.0))


def test_places_that_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StoreWriteError, match="the folder of the database does not exist"):
        ProgramDatabase(url=sqlite_url(tmp_path / "none" / "a.db"))
    with pytest.raises(StoreError, match="must be a file, but is a folder"):
        ProgramDatabase(url=sqlite_url(tmp_path))
    with pytest.raises(StoreError, match="there is no database"):
        ProgramDatabase(url=sqlite_url(tmp_path / "a.db"), read_only=True)
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK)
    with pytest.raises(StoreWriteError, match="the folder of the database cannot be written"):
        ProgramDatabase(url=sqlite_url(tmp_path / "a.db"))


def test_wrong_urls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StoreError, match="must be an SQLAlchemy URL, got 'here'"):
        ProgramDatabase(DatabaseConfig(url="here"))
    for kind in ("nonesuch", "mysql"):
        with pytest.raises(StoreError, match=f"of SQLite or PostgreSQL, got one of {kind}"):
            ProgramDatabase(url=f"{kind}://a/b")
    with pytest.raises(StoreError, match=r"the database of 'sqlite\+none://' is not known"):
        ProgramDatabase(url="sqlite+none://")
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingToolError, match="the database driver psycopg") as failure:
        ProgramDatabase(url="postgresql://user@localhost/a")
    assert "warploom[postgres]" in failure.value.hint
