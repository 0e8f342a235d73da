"""Databases and folders that hold what no warploom writes: told, never a crash of the server."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from test_web_api import asked, told
from web_server import serving

from warploom.reports.queries.opened import OpenRun
from warploom.reports.queries.runs import find_runs
from warploom.store.errors import StoreError
from warploom.testing.made_run import MadeRun

PARTS = ("", "programs", "graph", "islands", "failures", "findings", "proposers", "space", "plane")
VIEWS = (*(f"/{part}".rstrip("/") for part in PARTS), "/similarity", "/summaries",
         *(f"/programs/{at}" for at in range(1, 8)))  # fmt: skip


def spoil(made: MadeRun, changes: Sequence[str]) -> None:
    engine = create_engine(made.url)
    with engine.begin() as connection:
        for change in changes:
            connection.execute(text(change))
    engine.dispose()


def test_odd_values_are_told_as_damage_and_other_runs_stay_readable(tmp_path: Path) -> None:
    good, odd, typed = (
        MadeRun(tmp_path / name, run=f"evolve-20260101-000000-{name}")
        for name in ("good", "odd", "typed")
    )
    for made in (good, odd, typed):
        made.begin(12)
    spoil(odd, [
        "UPDATE programs SET score = 9e999 WHERE number = 1",
        "UPDATE programs SET public = '{\"time_ms\"\\: NaN, \"x\"\\: Infinity}' WHERE number = 2",
        "UPDATE programs SET findings = '[5, null]' WHERE number = 3",
        "UPDATE programs SET changes = '[5]', directives = '{\"a\"\\: null}' WHERE number = 4",
        "UPDATE programs SET embedding = x'010203' WHERE number = 5",
        "UPDATE programs SET changes = 'no JSON' WHERE number = 6",
    ])  # fmt: skip
    spoil(typed, ["UPDATE programs SET score = 'abc' WHERE number = 1"])
    with serving(tmp_path) as address:
        runs = {one["title"]: one for one in told(address, "/api/runs")}
        assert runs["good"]["attempts"] == 12 and not runs["good"]["error"]
        assert "score is no number in row 1" in runs["typed"]["error"]
        failed: dict[str, str] = {}
        for name in ("odd", "typed"):
            for view in VIEWS:
                status, answer, body = asked(address, f"/api/runs/{runs[name]['key']}{view}")
                assert answer.headers["Content-Security-Policy"]
                assert status in (200, 500), (view, body)
                if status == 500:
                    assert set(json.loads(body)) == {"error", "hint"}, view
                    failed[name + view] = json.loads(body)["error"]
        assert "no warploom has written" in failed["odd/programs/3"]
        assert "a value in it is no JSON" in failed["odd/programs/6"]
        assert {"odd/graph", "odd/programs/1", "odd/plane", "odd/programs/7"}.isdisjoint(failed)
        assert all(asked(address, f"/api/runs/{runs['good']['key']}{view}")[0] == 200
                   for view in VIEWS)  # fmt: skip


def test_a_database_that_was_replaced_by_an_empty_one_is_no_empty_run(tmp_path: Path) -> None:
    made = MadeRun(tmp_path / "run")
    made.begin(3)
    (made.folder / "programs.db").write_bytes(b"")
    (source,) = find_runs(made.folder)
    with pytest.raises(StoreError, match="the database has no run"):
        OpenRun.open(source)
