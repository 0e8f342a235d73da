"""Reports of runs: what they tell, that no text of anybody becomes HTML, and what is refused."""

import json
import os
import re
import subprocess
import sys
import threading
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from warploom.cli import main
from warploom.reports.formats.markdown import fenced, words
from warploom.reports.html.markup import tag
from warploom.reports.html.run_report import run_html, story_of
from warploom.reports.queries.graph import graph_of
from warploom.reports.queries.opened import OpenRun
from warploom.reports.queries.programs import ProgramFilter
from warploom.reports.queries.runs import find_runs, folder_facts, one_run
from warploom.reports.queries.table import csv_lines
from warploom.reports.queries.views import groups_of, overview_of, progress_of
from warploom.testing.made_run import MadeRun

HOSTILE = "</title></pre><script>alert(1)</script><img src=x onerror=alert(1)>\"'`&\x00\x1b"


class _Seen(HTMLParser):
    """Which elements a browser would see, with their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}


def seen(html: str) -> _Seen:
    found = _Seen()
    found.feed(html)
    return found


@pytest.fixture
def run(tmp_path: Path) -> MadeRun:
    made = MadeRun(tmp_path / "run", paid=True)
    made.begin(40)
    return made


def test_the_report_tells_what_the_run_came_to(run: MadeRun, tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    assert main(["report", str(run.folder), "-o", str(target)]) == 0
    html = target.read_text()
    assert "Program" not in seen(html).names
    assert "programs judged" in html and "<b>40</b>" in html
    assert "Blocks help" in html and "missing_wait" in html
    assert "3 x" in html  # 6 ms of the original against 2 ms


def test_a_report_runs_nothing_and_loads_nothing(run: MadeRun) -> None:
    with OpenRun.open(one_run(run.folder)) as opened:
        html = run_html(story_of(opened))
    assert "script" not in seen(html).names
    assert not re.search(r"""<[^>]*\s(?:src|href)=""", html)
    assert "default-src 'none'" in unescape(html)


def test_hostile_text_in_every_field_stays_text(tmp_path: Path) -> None:
    made = MadeRun(tmp_path / "run", text=HOSTILE, paid=True)
    made.begin(12)
    with OpenRun.open(one_run(made.folder)) as opened:
        story = story_of(opened)
        html = run_html(story)
        lines = list(csv_lines(opened.programs.all(ProgramFilter(), "number", descending=False)))
    found = seen(html)
    assert not found.names & {"script", "img", "iframe", "a"}
    assert not {name for name in found.attributes if name.startswith("on")}
    assert "&lt;script&gt;alert(1)" in html
    html.encode("utf-8")
    "".join(lines).encode("utf-8")


def test_a_transform_has_a_report_and_its_text_stays_text(tmp_path: Path) -> None:
    folder = tmp_path / "moe-device"
    folder.mkdir()
    facts = {
        "verified": False, "source": f"/x/moe{HOSTILE}.cu", "api": "gin", "collectives": [{}, {}],
        "steps": [{"name": f"analyze{HOSTILE}", "status": "done", "seconds": 1.25, "cost": 0.5}],
        "stages": [{"stage": "windows", "passed": False, "attempts": 3, "problem": HOSTILE}],
        "evaluation": {"planned": 9, "runs": [{"timing": "lazy", "seed": 1, "verdict": "ok"}],
                       "comparisons": [{"buffer": HOSTILE, "failed": 2, "passed": False}]},
    }  # fmt: skip
    (folder / "report.json").write_text(json.dumps(facts))
    assert main(["report", str(folder)]) == 0
    html = (folder / "report.html").read_text()
    assert not seen(html).names & {"script", "img"}
    for told in ("not verified", "GIN", "<b>3</b>", "$0.50", "1 of 9 runs", "lazy"):
        assert told in html
    assert main(["report", str(folder), "-o", str(tmp_path / "x.md")]) == 2


def test_markdown_holds_hostile_text_as_text(tmp_path: Path) -> None:
    made = MadeRun(tmp_path / "run", text="<b>|`x`\n# title", paid=True)
    made.begin(6)
    target = tmp_path / "report.md"
    assert main(["report", str(made.folder), "-o", str(target)]) == 0
    told = target.read_text()
    before = told.split("```")[0]
    assert "\\<b\\>\\|\\`x\\` # title" in before
    assert "\n# title" not in before


def test_a_fence_is_longer_than_any_in_the_text() -> None:
    assert fenced("a ```` b")[0] == "`````"
    assert words("- x") == "\\- x"


def test_elements_escape_text_and_attributes() -> None:
    made = tag("p", "<b>", tag("i", "&"), title='"><script>')
    assert made.html == '<p title="&quot;&gt;&lt;script&gt;">&lt;b&gt;<i>&amp;</i></p>'


def test_a_new_best_is_told_once_and_in_order(run: MadeRun) -> None:
    with OpenRun.open(one_run(run.folder)) as opened:
        found = progress_of(opened.marks.marks)
        scores = [one.score for one in found]
        assert scores == sorted(set(scores))
        assert found[-1].number == opened.marks.best.number  # type: ignore[union-attr]


def test_groups_count_every_attempt(run: MadeRun) -> None:
    with OpenRun.open(one_run(run.folder)) as opened:
        marks = opened.marks.marks
        groups = groups_of(marks, "operator")
        assert sum(one.attempts for one in groups) == 40
        assert sum(one.correct for one in groups) == sum(one.correct for one in marks)


def test_the_bandits_index_prefers_what_gained_more() -> None:
    from warploom.reports.queries.marks import Mark
    from warploom.reports.queries.weights import weights_of

    def mark(number: int, model: str, time: float) -> Mark:
        return Mark(number, number, 1 if model else None, None, 0, 1, "diff", "llm", model, True,
                    1.0 / time, time, "modelled", "", 4, 1.0, 0.01, 0.0, 10, 0)  # fmt: skip

    marks = [mark(1, "", 4.0), mark(2, "a", 2.0), mark(3, "b", 4.0)]
    found = weights_of(marks, {})
    assert found["a"] == pytest.approx(found["b"] + 1.0)  # the largest gain counts 1, none 0
    plain = weights_of(marks, {"exploration": 0.0, "cost_weight": 0.0})
    assert plain == {"a": 1.0, "b": 0.0}
    assert weights_of([marks[0]], {}) == {}


def test_marks_read_only_what_is_new(run: MadeRun) -> None:
    with OpenRun.open(one_run(run.folder)) as opened:
        assert not opened.marks.refresh()
        before = opened.marks.marks
        run.grow(41, 3)
        assert opened.marks.refresh()
        assert [one.number for one in opened.marks.marks[-3:]] == [41, 42, 43]
        assert len(before) == 40, "who reads in another thread sees one moment"
        assert overview_of(opened.marks.marks, opened.marks.events, 1.0).attempts == 43


def test_a_large_graph_keeps_the_path_and_the_best(run: MadeRun) -> None:
    with OpenRun.open(one_run(run.folder)) as opened:
        marks, events = opened.marks.marks, opened.marks.events
        graph = graph_of(marks, events, most=12)
        assert graph.left_out == 40 - len(graph.number) > 0
        assert set(graph.path) <= set(graph.number) and graph.best in graph.number
        fresh = graph_of(marks, events, after=38)
        assert fresh.number == [39, 40]


@pytest.mark.parametrize("wanted", ["status", "island", "operator", "search", "number"])
def test_filters_let_through_what_they_say(run: MadeRun, wanted: str) -> None:
    with OpenRun.open(one_run(run.folder)) as opened:
        marks = {one.number: one for one in opened.marks.marks}
        filters = {
            "status": (ProgramFilter(status="failed"), lambda m: not m.correct),
            "island": (ProgramFilter(island=1), lambda m: m.island == 1),
            "operator": (ProgramFilter(operator="single"), lambda m: m.operator == "single"),
            "search": (ProgramFilter(search="BLOCKS=3"), lambda m: m.number % 5 == 3),
            "number": (ProgramFilter(search="#17"), lambda m: m.number == 17),
        }
        chosen, test = filters[wanted]
        page = opened.programs.page(chosen, "score", descending=True, offset=0, limit=500)
        assert {row.number for row in page.rows} == {n for n, m in marks.items() if test(m)}
        assert page.total == len(page.rows) > 0
        known = [row.score for row in page.rows if row.score is not None]
        assert known == sorted(known, reverse=True)


def test_a_search_word_is_no_pattern(run: MadeRun) -> None:
    with OpenRun.open(one_run(run.folder)) as opened:
        page = opened.programs.page(
            ProgramFilter(search="%"), "number", descending=False, offset=0, limit=5
        )
        assert page.total == 0


def test_csv_cells_are_no_formulas(tmp_path: Path) -> None:
    made = MadeRun(tmp_path / "run", text="=cmd()")
    made.begin(3)
    with OpenRun.open(one_run(made.folder)) as opened:
        page = opened.programs.page(ProgramFilter(), "number", descending=False, offset=0, limit=3)
    lines = list(csv_lines(page.rows))
    assert not any(cell.startswith(("=", "+", "@")) for line in lines for cell in line.split(","))


def test_an_empty_run_has_a_report(tmp_path: Path) -> None:
    made = MadeRun(tmp_path / "run")
    made.begin(0, finished=False)
    target = tmp_path / "report.html"
    assert main(["report", str(made.folder), "-o", str(target)]) == 0
    assert "No correct program yet" in target.read_text()


def _newer(made: MadeRun) -> None:
    with create_engine(made.url).begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))


def _broken(made: MadeRun) -> None:
    for path in made.folder.glob("programs.db*"):
        path.unlink()
    (made.folder / "programs.db").write_bytes(b"no database at all" * 99)


def _gone(made: MadeRun) -> None:
    for path in made.folder.glob("programs.db*"):
        path.unlink()


@pytest.mark.parametrize(
    ("harm", "told"),
    [(_newer, "schema 9999"), (_broken, "no warploom database"), (_gone, "there is no database")],
)
def test_a_database_that_cannot_be_read_says_why(
    run: MadeRun, harm: object, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert callable(harm)
    harm(run)
    assert main(["report", str(run.folder), "--json"]) == 2
    assert told in json.loads(capsys.readouterr().out)["error"]["message"]
    assert main(["visualize", str(run.folder), "--port", "0"]) == 2
    assert told in capsys.readouterr().err


def test_bad_places_say_what_is_wrong(
    run: MadeRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cases = [
        (["report", str(tmp_path / "none")], "does not exist"),
        (["report", str(tmp_path / "run" / "run.json")], "is no database file"),
        (["report", str(run.folder), "-o", "x.pdf"], "written as .html or .md"),
        (["report", str(run.folder), "-o", str(tmp_path / "no" / "x.html")], "does not exist"),
        (["plot", "nonsense", str(run.folder)], "there are the plots"),
        (["plot", "lineage", str(run.folder), "-o", "x.gif"], "written as .svg"),
        (["visualize", str(run.folder), "--host", "0.0.0.0"], "needs a --token"),
        (["visualize", str(run.folder), "--token", "short"], "16 characters"),
        (["visualize", str(run.folder), "--db", run.url], "not both"),
    ]
    for line, told in cases:
        assert main(line) == 2, line
        assert told in capsys.readouterr().err, line
    (tmp_path / "empty").mkdir()
    assert main(["report", str(tmp_path / "empty")]) == 2
    assert "holds no run" in capsys.readouterr().err


def test_runs_are_found_below_a_folder_and_in_a_database(run: MadeRun, tmp_path: Path) -> None:
    second = MadeRun(tmp_path / "second", run="evolve-20260102-000000-fedcba")
    second.begin(2)
    assert {one.title for one in find_runs(tmp_path)} == {"run", "second"}
    (of_file,) = find_runs(run.folder / "programs.db")
    (of_url,) = find_runs(None, run.url)
    assert of_file.folder == of_url.folder == run.folder.resolve()


def test_a_run_that_goes_on_is_seen_without_touching_its_lock(run: MadeRun) -> None:
    import fcntl

    source = one_run(run.folder)
    assert folder_facts(source).state == "finished"
    handle = os.open(run.folder / ".lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        assert folder_facts(source).state == "running"
    finally:
        os.close(handle)
    assert folder_facts(source).state == "finished"


def test_reports_load_nothing_heavy() -> None:
    line = (
        "import sys, warploom.cli.app, warploom.reports.html.run_report; "
        "print(sorted({'fastapi', 'uvicorn', 'matplotlib', 'playwright'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("name", "line", "extra"),
    [("fastapi", "visualize", "web"), ("matplotlib", "plot lineage", "plots")],
)
def test_a_missing_extra_is_named(
    run: MadeRun, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    name: str, line: str, extra: str,
) -> None:  # fmt: skip
    import importlib.util

    real = importlib.util.find_spec
    hidden = lambda wanted, *rest: None if wanted == name else real(wanted, *rest)  # noqa: E731
    for module in ("warploom.cli.visualize_command", "warploom.reports.plots.canvas"):
        monkeypatch.setattr(f"{module}.find_spec", hidden)
    assert main([*line.split(), str(run.folder)]) == 3
    assert f"pip install 'warploom[{extra}]'" in capsys.readouterr().err


def test_a_report_is_whole_while_the_run_grows(run: MadeRun, tmp_path: Path) -> None:
    writer = threading.Thread(target=run.grow, args=(41, 20))
    writer.start()
    target = tmp_path / "report.html"
    while writer.is_alive():
        assert main(["report", str(run.folder), "-o", str(target)]) == 0
        assert target.read_text().rstrip().endswith("</html>")
    writer.join()


def test_a_run_that_shares_a_search_is_looked_for_by_the_search_s_name(tmp_path: Path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "run.json").write_text('{"id": "of-this-runner"}')
    (folder / "config.yaml").write_text("database: {url: 'sqlite:////some/where.db', run: all}\n")
    found = one_run(folder)
    assert (found.name, found.url) == ("all", "sqlite:////some/where.db")
    (folder / "config.yaml").write_text("database: [1]\n")
    assert one_run(folder).name == "of-this-runner"


def test_odd_names_of_folders_and_a_damaged_neighbor(tmp_path: Path) -> None:
    for name in ("q?x", "q%20z", "a b#c"):
        made = MadeRun(tmp_path / "runs" / name)
        made.begin(3)
        assert main(["report", str(made.folder)]) == 0, name
        assert (made.folder / "report.html").is_file() and (made.folder / "programs.db").is_file()
    bad = tmp_path / "runs" / "bad"
    bad.mkdir()
    (bad / "run.json").write_text('{"id": ')
    assert {one.title for one in find_runs(bad.parent)} == {"q?x", "q%20z", "a b#c", "bad"}
    assert main(["report", str(bad)]) == 2


def test_a_report_never_takes_the_place_of_a_source(tmp_path: Path) -> None:
    program = tmp_path / "program.cu"
    program.write_text("int main() {}\n")
    for option in ("--html", "--sarif", "--junit"):
        assert main(["check", str(program), option, str(program)]) == 2
    assert program.read_text() == "int main() {}\n"


def test_reports_say_what_the_times_are_of(tmp_path: Path) -> None:
    made = MadeRun(tmp_path / "run")
    made.begin(5)
    target = tmp_path / "r.md"
    assert main(["report", str(made.folder), "-o", str(target)]) == 0
    assert "- times are modelled, of the whole run" in target.read_text()
    from sqlalchemy import create_engine, text

    with create_engine(made.url).begin() as connection:
        public = '{"whole_ms": 9.0, "time_ms": 1.0}'
        connection.execute(text("UPDATE programs SET public = :p"), {"p": public})
    assert main(["report", str(made.folder), "-o", str(target)]) == 0
    assert "of a timed region of the program" in target.read_text()
    (made.folder / "report.json").write_text('{"scored_region": 2}')
    assert main(["report", str(made.folder), "-o", str(target)]) == 0
    assert "of the program's timed region 2" in target.read_text()
    assert "turned away as known: 0" in target.read_text()
    page = tmp_path / "r.html"
    assert main(["report", str(made.folder), "-o", str(page)]) == 0
    assert "those of the program&#x27;s timed region 2" in page.read_text()
