"""What an outsider met: broken reports, orders of the table, results that are missing, cut text."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import get_args

import pytest

from warploom.cli import main
from warploom.core.errors import BadInputError
from warploom.reports.html.check_page import check_html
from warploom.reports.plots import keeping, timing
from warploom.reports.plots.moving import window_of
from warploom.reports.plots.player import Step
from warploom.reports.queries.checked import not_built
from warploom.reports.queries.opened import OpenRun
from warploom.reports.queries.ordering import Order, ordered
from warploom.reports.queries.programs import ProgramFilter, SortKey
from warploom.reports.queries.replays import finding_page
from warploom.reports.queries.runs import find_runs, one_run
from warploom.testing.made_run import MadeRun

_TRACE = (
    '{"traceEvents": [{"ph": "X", "name": "work", "cat": "kernel", "pid": 0, "tid": 1, "ts": 0, '
    '"dur": 8.0, "args": {"compute_us": 4.0, "communication_us": 3.0, "waiting_us": 1.0}}]}'
)


@pytest.fixture
def run(tmp_path: Path) -> MadeRun:
    made = MadeRun(tmp_path / "run", paid=True)
    made.begin(40)
    return made


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b'{"stages": [', "broken at line 1, column 13"),
        (b"\xff{}", "no UTF-8"),
        (b"[]", "holds no object"),
        (b"[" * 200_000, "nested too deeply"),
    ],
)
@pytest.mark.parametrize("command", ["report", "visualize"])
def test_a_broken_report_of_a_transform_is_told_as_that(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, content: bytes, told: str
) -> None:
    (tmp_path / "moved").mkdir()
    (tmp_path / "moved" / "report.json").write_bytes(content)
    for place in (tmp_path / "moved", tmp_path):
        assert main([command, str(place)]) == 2
        said = capsys.readouterr().err
        assert told in said and "report.json" in said and "no run" not in said


def test_of_a_search_the_store_counts_and_not_its_report(run: MadeRun) -> None:
    (run.folder / "report.json").write_text("{")
    assert find_runs(run.folder)[0].folder == run.folder


def test_an_order_from_memory_is_that_of_the_database(run: MadeRun) -> None:
    with OpenRun.open(one_run(run.folder)) as opened:
        marks, database = opened.marks.marks, opened.programs
        filters = [ProgramFilter(), ProgramFilter(status="correct"), ProgramFilter(island=1),
                   ProgramFilter(failure="build", status="failed"), ProgramFilter(generation=2),
                   ProgramFilter(operator="single", proposer="rules")]  # fmt: skip
        for wanted in filters:
            for sort in get_args(SortKey):
                for descending in (False, True):
                    order = Order(wanted, sort, descending)
                    if not order.from_marks:
                        assert sort == "cyclomatic"
                        continue
                    page = database.page(wanted, sort, descending=descending, offset=0, limit=500)
                    assert ordered(marks, order) == [row.number for row in page.rows], order
                    assert database.rows(ordered(marks, order)) == page.rows
        assert not Order(ProgramFilter(search="x"), "score", True).from_marks


def test_a_result_that_is_missing_is_told_with_its_cure(run: MadeRun) -> None:
    finding = {"kind": "missing_result", "severity": "error", "message": "read-back 1 is missing",
               "hint": "", "file": "program.cu", "line": 3}  # fmt: skip
    one = run.program(99)
    one = replace(one, outcome=replace(one.outcome, findings=(finding,)))
    page = finding_page(one, 1, None)
    assert page is not None
    assert "have the host read that result back" in page.cure
    assert page.finding.of_original and not page.finding.here  # line 3 is not one of this program


def test_what_a_film_leaves_out_is_told() -> None:
    lines = [" same"] * 30 + [f"+new {at}" for at in range(60)] + ["+" + "x" * 300]
    shown = window_of(Step("", "", "diff", "\n".join(["--- a", "+++ b", *lines])))
    assert shown[0] == "... 25 lines above"
    hidden = 91 - 25 - (len(shown) - 2)
    assert shown[-1] == f"... {hidden} more lines, {hidden} changed lines among them"
    assert shown[6] == "+new 0"
    (wide,) = window_of(Step("", "", "diff", "+" + "x" * 300))
    assert wide.endswith("x ...") and len(wide) == 118
    assert window_of(Step("", "", "diff", "+a\n+b")) == ["+a", "+b"]


def test_a_timeline_of_a_run_that_cannot_be_written_is_drawn(
    run: MadeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timing, "_model", lambda *_: _TRACE)
    before = sorted(run.folder.rglob("*"))
    with OpenRun.open(one_run(run.folder)) as opened:
        opened.programs.get(1)
        monkeypatch.setattr(keeping, "os", SimpleNamespace(access=lambda *_: False, W_OK=2))
        shown = timing.kept_timeline(opened, 1, lambda *_: None)
    assert [one.name for one in shown.spans] == ["work"]
    assert sorted(run.folder.rglob("*")) == before
    monkeypatch.undo()
    monkeypatch.setattr(timing, "_model", lambda *_: _TRACE)
    with OpenRun.open(one_run(run.folder)) as opened:
        timing.kept_timeline(opened, 1, lambda *_: None)
    assert (run.folder / "timelines" / "1.json").is_file()


def test_the_page_of_a_program_that_does_not_compile_says_so_first(tmp_path: Path) -> None:
    program = tmp_path / "p.cu"
    program.write_text("int main() { return x; }\n")
    error = BadInputError("use of undeclared identifier 'x'", file=str(program), line=1)
    page = check_html(not_built(error, program, 2, "2.30.7"))
    assert "<h1>p.cu does not compile</h1>" in page and "<title>p.cu does not compile" in page
    assert "use of undeclared identifier" in page and "Checked by" not in page
    assert ">runs<" not in page and "No defect was found" not in page
