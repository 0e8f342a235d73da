"""Databases that are read where nothing can, or may, be written."""

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from warploom.reports.queries.opened import OpenRun
from warploom.reports.queries.runs import find_runs
from warploom.store import reading
from warploom.store.database import ProgramDatabase
from warploom.store.errors import StoreError
from warploom.testing.made_run import MadeRun

_OLD = Path(__file__).with_name("files") / "version-1.db"


def read(place: Path) -> list[int]:
    """Return the numbers of the programs of a place's only run."""
    (source,) = find_runs(place)
    with OpenRun.open(source) as run:
        programs = run.programs.get_all([one.number for one in run.marks.marks])
        return [one.number for one in programs]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_an_older_schema_is_read_and_stays_as_it_is(tmp_path: Path) -> None:
    shutil.copy(_OLD, tmp_path / "programs.db")
    before = contents(tmp_path)
    assert read(tmp_path / "programs.db") == [1, 2, 3]
    assert contents(tmp_path) == before


def test_an_older_schema_in_a_read_only_place_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(_OLD, tmp_path / "programs.db")
    monkeypatch.setattr(reading, "is_writable", lambda _: False)
    monkeypatch.setattr("warploom.store.opening.is_writable", lambda _: False)
    before = contents(tmp_path)
    assert read(tmp_path / "programs.db") == [1, 2, 3]
    assert contents(tmp_path) == before


@pytest.mark.parametrize("state", ["closed", "open", "log without its index"])
def test_a_read_only_place_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    made = MadeRun(tmp_path / "run")
    made.begin(3)
    place = tmp_path / "seen"
    with closing(sqlite3.connect(made.folder / "programs.db")) as writer:
        if state != "closed":  # what it writes stays in the log while it is there
            writer.execute("PRAGMA journal_mode=WAL")
            writer.execute("UPDATE programs SET feedback = 'new' WHERE number = 2")
            writer.commit()
        shutil.copytree(made.folder, place)
        if state == "log without its index":
            (place / "programs.db-shm").unlink()
        monkeypatch.setattr("warploom.store.opening.is_writable", lambda _: False)
        monkeypatch.setattr(reading, "is_writable", lambda _: False)
        before = contents(place)
        (source,) = find_runs(place)
        with OpenRun.open(source) as run:
            assert len(run.marks.marks) == 3
            assert run.programs.get(2).outcome.feedback == ("" if state == "closed" else "new")
        after = contents(place)
        after.pop("programs.db-shm", None)  # who reads leaves a mark in the index
        before.pop("programs.db-shm", None)
        assert after == before


def test_on_a_file_system_that_is_read_only_a_report_is_written_elsewhere(tmp_path: Path) -> None:
    tool = shutil.which("bwrap")
    if tool is None:
        pytest.skip("needs bubblewrap to make a read-only file system (apt install bubblewrap)")
    made, out = MadeRun(tmp_path / "run"), tmp_path / "out"
    made.begin(5)
    out.mkdir()
    box = [tool, "--ro-bind", "/", "/", "--dev-bind", "/dev", "/dev", "--bind", str(out), str(out),
           "--setenv", "TMPDIR", str(out)]  # fmt: skip
    probe = subprocess.run([*box, "true"], capture_output=True, text=True, check=False)
    if probe.returncode:
        pytest.skip(f"bubblewrap cannot be used here: {probe.stderr.strip()}")
    code = "import sys; from warploom.cli import main; sys.exit(main(sys.argv[1:]))"
    line = [sys.executable, "-c", code, "report", str(made.folder), "-o", str(out / "r.md")]
    done = subprocess.run([*box, *line], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "programs judged: 5" in (out / "r.md").read_text()


def test_what_is_no_database_is_said_and_no_copy_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "programs.db").write_bytes(b"nothing of ours" * 100)
    (tmp_path / "programs.db-wal").write_bytes(b"nothing" * 10)
    monkeypatch.setattr("warploom.store.opening.is_writable", lambda _: False)
    monkeypatch.setattr(reading, "is_writable", lambda _: False)
    monkeypatch.setattr(reading.tempfile, "tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    with pytest.raises(StoreError, match="no warploom database"):
        find_runs(tmp_path / "programs.db")
    assert list((tmp_path / "tmp").iterdir()) == []


def test_who_reads_what_it_could_write_leaves_no_file_beside_it(tmp_path: Path) -> None:
    made = MadeRun(tmp_path / "run")
    made.begin(3)
    before = contents(made.folder)
    (source,) = find_runs(made.folder)
    with OpenRun.open(source) as run:
        assert run.programs.get(2).number == 2
        assert contents(made.folder) == before  # also while it is open: it may be killed
    assert contents(made.folder) == before


def test_a_reader_and_a_search_that_writes_do_not_disturb_each_other(tmp_path: Path) -> None:
    made = MadeRun(tmp_path / "run")
    made.begin(3)
    (source,) = find_runs(made.folder)
    with OpenRun.open(source) as run:
        with ProgramDatabase(url=made.url, run=made.run) as store:
            for number in range(4, 9):
                store.add(made.program(number))
                assert run.marks.refresh()
                assert run.marks.marks[-1].number == number
        assert {path.name for path in made.folder.glob("programs.db*")} == {"programs.db"}
        made.grow(9, 1)
        assert run.marks.refresh()
    with closing(sqlite3.connect(made.folder / "programs.db")) as after:
        assert after.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert after.execute("SELECT count(*) FROM programs").fetchone() == (9,)
