"""Transforms, syntheses and findings in a real Chromium: stages, attempts, proofs, replays."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_web_pages import HOSTILE, serious_problems
from web_server import Watched, serving

from warploom.cli import main
from warploom.reports.queries.runs import one_run
from warploom.reports.queries.staged import find_staged, staged_run, staged_text
from warploom.store.database import ProgramDatabase
from warploom.store.records import Lineage, Outcome, StoredProgram
from warploom.testing.made_run import MadeRun

VIEWS = ("result", "stages", "correctness", "roofline", "texts")


def keep_transform(folder: Path, text: str = "") -> None:
    """Write a transform's folder as the command does."""
    (folder / "stages").mkdir(parents=True)
    compared = {
        "buffer": f"out{text}", "dtype": "float32", "rtol": 1e-4, "atol": 1e-5, "compared": 4,
        "elements": 512, "failed": 0, "max_error": 0.0, "passed": True,
    }  # fmt: skip
    run = {"seed": 7, "timing": f"lazy{text}", "verdict": "ok", "state": "finished", "seconds": 0.5}
    judged = {
        "comparisons": [compared], "runs": [run], "planned": 1, "ranks": 4, "nccl": "2.30.7",
        "sandbox": "bubblewrap", "findings": [{"kind": f"early_wait{text}", "line": 3,
        "message": f"it waits early{text}", "file": "p.cu", "severity": "warning"}],
    }  # fmt: skip
    stages = [
        {"stage": f"windows{text}", "passed": True, "attempts": 1, "summary": f"two windows{text}",
         "origin": "rules", "seconds": 3.0},
        {"stage": "device", "passed": False, "attempts": 2, "problem": f"it does not compile{text}",
         "origin": f"llm{text}", "seconds": 9.0, "cost": 0.02},
    ]  # fmt: skip
    report = {"verified": False, "source": f"/w/p.cu{text}", "api": "gin", "collectives": [{}],
              "stages": stages, "steps": [], "evaluation": judged, "seconds": 12.5}  # fmt: skip
    (folder / "report.json").write_text(json.dumps(report))
    (folder / "p.diff").write_text(f"--- a\n+++ b\n@@ -1,2 +1,2 @@\n-old{text}\n+new{text}\n")
    (folder / "p.cu").write_text(f"int main() {{}} // {text}\n")


def keep_synthesis(folder: Path, text: str = "") -> None:
    """Write a synthesis's folder as the command does."""
    (folder / "attempts").mkdir(parents=True)
    good = {"name": f"build{text}", "passed": True, "times": 1, "detail": ""}
    bad = {"name": "odd-sizes", "passed": False, "times": 2, "detail": f"element 3 is off{text}"}
    for name, checks in (("001", [good, bad]), ("002", [good])):
        passed = bad not in checks
        (folder / "attempts" / f"{name}.json").write_text(
            json.dumps({"passed": passed, "checks": checks})
        )
        (folder / "attempts" / f"{name}.cu").write_text(f"// attempt {name}{text}\n")
    stage = {"stage": f"codegen{text}", "status": "done", "attempts": 2, "seconds": 4.0,
             "notes": [f"rows{text}"], "dollars": 0.0}  # fmt: skip
    timed = {
        "time_source": "modelled", "machine": "h100-8", "time_ms": 0.002, "floor_ms": 0.001,
        "baseline_ms": 0.01, "bytes_moved": 3_000_000, "kernels": 1,
        "bottleneck": f"latency{text}", "note": f"no GPU has measured it{text}", "tried": 2,
    }  # fmt: skip
    report = {
        "run": f"synthesize-1{text}", "verified": True, "reference": f"/w/r.py{text}",
        "spec": {"name": f"norm{text}", "prompt": text}, "kernel": {"text": "x"},
        "stages": [stage], "performance": timed, "seconds": 9.0,
        "correctness": {"checks": [good], "cases": 5, "seed": 3, "skipped": [f"halves{text}"]},
    }  # fmt: skip
    (folder / "report.json").write_text(json.dumps(report))
    (folder / "kernel.cu").write_text(f"__global__ void norm() {{}} // {text}\n")


def keep_all(top: Path, text: str = "") -> Path:
    keep_transform(top / "moved", text)
    keep_synthesis(top / "made", text)
    made = MadeRun(top / "searched", text=text)
    made.begin(12)
    return top


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    top = keep_all(tmp_path_factory.mktemp("three"))
    with serving(top) as address:
        yield top, address


def keys(top: Path) -> dict[str, str]:
    return {one.kind: one.key for one in find_staged(top)}


def shown(watched: Watched, address: str, path: str) -> Any:
    watched.page.goto(f"{address}/#/{path}")
    watched.page.wait_for_selector("main[aria-busy=false] h1")
    watched.page.wait_for_timeout(120)
    return watched.page


@pytest.mark.parametrize("kind", ["transform", "synthesis"])
def test_each_view_of_a_staged_run_is_shown(
    watched: Watched, three: tuple[Path, str], kind: str
) -> None:
    top, address = three
    words = {
        "result": "not verified" if kind == "transform" else "modelled on h100-8",
        "stages": "it does not compile" if kind == "transform" else "element 3 is off",
        "correctness": "happens-before" if kind == "transform" else "Not tried: halves",
        "roofline": "not timed" if kind == "transform" else "1500 GB/s",
        "texts": "new" if kind == "transform" else "__global__",
    }
    for at, view in enumerate(VIEWS):  # over both kinds each view is seen in light and dark
        theme = ("light", "dark")[(at + (kind == "transform")) % 2]
        watched.page.emulate_media(color_scheme=theme)
        page = shown(watched, address, f"{keys(top)[kind]}/{view}")
        assert words[view] in page.inner_text("main"), view
        watched.kept(f"{kind}-{view}-{theme}")
        assert serious_problems(page) == [], (view, theme)
    assert watched.complaints == []


def test_the_list_leads_to_each_kind_of_run(watched: Watched, three: tuple[Path, str]) -> None:
    _, address = three
    page = watched.page
    page.goto(address)
    page.wait_for_selector("tbody tr")
    assert page.locator("tbody tr").count() == 3
    for name, heading in (("moved", "moved"), ("made", "made"), ("searched", "searched")):
        page.goto(address)
        page.click(f"tbody a:text-is('{name}')")
        page.wait_for_selector(f"h1:has-text('{heading}')")
    assert watched.complaints == []


def test_an_attempt_leads_to_its_text(watched: Watched, three: tuple[Path, str]) -> None:
    top, address = three
    page = shown(watched, address, f"{keys(top)['synthesis']}/stages")
    page.click("td a:text-is('1')")
    page.wait_for_selector(".code:has-text('attempt 001')")
    page.select_option("select", "attempts/002.cu")
    page.wait_for_selector(".code:has-text('attempt 002')")


def test_a_folder_hands_out_its_own_texts_only(tmp_path: Path) -> None:
    keep_transform(tmp_path / "run")
    (tmp_path / "secret.cu").write_text("secret")
    (tmp_path / "run" / "link.cu").symlink_to(tmp_path / "secret.cu")
    (source,) = find_staged(tmp_path / "run")
    assert staged_run(source).texts == ["p.cu", "p.diff"]
    for name in ("../secret.cu", "link.cu", "/etc/passwd", "report.json"):
        assert staged_text(source, name) is None


def test_a_synthesis_has_a_report_in_html(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep_synthesis(tmp_path / "made", HOSTILE)
    target = tmp_path / "r.html"
    assert main(["report", str(tmp_path / "made"), "-o", str(target)]) == 0
    text = target.read_text()
    for words in ("element 3 is off", "1500", "not tried".capitalize(), "__global__ void norm()"):
        assert words in text
    assert "<script" not in text and "&lt;script&gt;" in text
    assert main(["report", str(tmp_path / "made"), "-o", str(tmp_path / "r.md")]) == 2
    assert "written as .html" in capsys.readouterr().err


def test_damaged_reports_are_no_runs_or_shown_as_far_as_they_go(tmp_path: Path) -> None:
    for name, content in (("a", "{"), ("b", "[]"), ("c", "{}"),
                          ("d", '{"stages": [1, {"stage": 3}], "collectives": 0}')):  # fmt: skip
        (tmp_path / name).mkdir()
        (tmp_path / name / "report.json").write_text(content)
    (source,) = find_staged(tmp_path)
    run = staged_run(source)
    assert [one.name for one in run.stages] == ["3"] and not run.verified


def test_script_in_any_field_of_a_folder_stays_text(watched: Watched, tmp_path: Path) -> None:
    top = keep_all(tmp_path, HOSTILE)
    made = MadeRun(top / "searched", text=HOSTILE)
    number = keep_replay(made, HOSTILE)
    with serving(top) as address:
        pages = [f"{key}/{view}" for key in keys(top).values() for view in VIEWS]
        pages.append(f"{one_run(top / 'searched').key}/finding/{number}-1")
        for path in pages:
            page = shown(watched, address, path)
            assert page.evaluate("window.hit") is None
            assert page.locator("main script, main img, main iframe, svg[onload]").count() == 0
    assert watched.complaints == []


def test_a_synthesis_that_goes_on_is_followed_to_its_end(watched: Watched, tmp_path: Path) -> None:
    keep_synthesis(tmp_path / "made")
    report = json.loads((tmp_path / "made" / "report.json").read_text())
    stages, begun = report["stages"], {"verified": False, "error": "no end", "error_code": 130}
    parts = {**report, **begun, "stages": [], "performance": {}, "correctness": {}}
    write_json(tmp_path / "made" / "report.json", parts)
    with serving(tmp_path / "made") as address:
        key = keys(tmp_path / "made")["synthesis"]
        page = shown(watched, address, f"{key}/result")
        assert "unfinished" in page.inner_text(".facts")
        assert "This page follows it" in page.inner_text("main")
        write_json(tmp_path / "made" / "report.json", {**parts, "stages": stages})
        page.wait_for_selector("td:has-text('codegen')")
        write_json(tmp_path / "made" / "report.json", report)
        page.wait_for_selector(".fact b.good:has-text('verified')")
        assert "This page follows it" not in page.inner_text("main")
        page.click("nav a:has-text('Roofline')")
        page.wait_for_selector(
            "text=/how near the kernel is to the roof of arithmetic is not known/"
        )
        assert "GFLOP/s on this machine" in page.inner_text("main")
    assert watched.complaints == []


def write_json(path: Path, data: object) -> None:
    """Put a file there whole, as a run does."""
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(data))
    fresh.replace(path)


# --- findings ---


def keep_replay(made: MadeRun, text: str = "") -> int:
    """Keep a replay of a program with an error; returns its number."""
    with ProgramDatabase(url=made.url, run=made.run, read_only=True) as store:
        one = next(one for one in store.programs() if not one.outcome.correct)
    kind = one.outcome.findings[0]["kind"]
    trace = [
        {"seq": 3, "rank": 0, "text": f"put of 4 bytes{text}", "kernel": f"work{text}", "line": 7},
        {"seq": 4, "rank": 1, "text": "launch", "kernel": None, "line": None},
        {"seq": 5, "rank": 1, "text": f"reads{text}", "kernel": f"work{text}", "line": 5},
    ]
    found = {"kind": kind, "line": 5, "other": {"line": 7}, "trace": trace}
    place = made.folder / "replays"
    place.mkdir()
    (place / f"{one.number}-3-lazy.json").write_text(json.dumps({"findings": [found]}))
    return one.number


def test_a_findings_page_shows_its_places_its_cure_and_the_ranks(
    watched: Watched, tmp_path: Path
) -> None:
    made = MadeRun(tmp_path / "run")
    made.begin(12)
    number = keep_replay(made)
    lacking = {"kind": "missing_result", "severity": "error", "message": "rank 0: it is missing",
               "file": "program.cu", "line": 3, "rank": 0, "seed": 3, "timing": "lazy"}  # fmt: skip
    one = made.program(13)
    one = replace(one, outcome=replace(one.outcome, findings=(lacking,)))
    with ProgramDatabase(url=made.url, run=made.run) as store:
        store.add(one)
    key = one_run(made.folder).key
    with serving(made.folder) as address:
        for theme in ("light", "dark"):
            watched.page.emulate_media(color_scheme=theme)
            page = shown(watched, address, f"{key}/finding/{number}-1")
            watched.kept(f"finding-{theme}")
            assert serious_problems(page) == []
        text = page.inner_text("main")
        for words in ("read is not ordered", "wait for it", "The other side", "other.cu:7"):
            assert words in text
        assert page.locator(".line.hit i").first.inner_text() == "5"
        assert page.locator("main canvas").count() == 1
        page.click("summary")
        assert page.locator("tbody tr:has-text('put of 4 bytes')").count() == 1
        page = shown(watched, address, f"{key}/findings")
        page.click("a:has-text('at it, in program')")
        page.wait_for_selector("text=What each rank did before it")
        page.goto(f"{address}/#/{key}/finding/{number}-9")
        page.wait_for_selector("text=has no finding 9")
        page = shown(watched, address, f"{key}/finding/13-1")
        page.wait_for_selector("h1:has-text('missing_result')")
        text = page.inner_text("main")
        assert "have the host read that result back" in text
        assert page.locator(".line.hit").count() == 0
        assert "In the original program" in text and "program.cu:3" in text
    assert [one for one in watched.complaints if "404" not in one] == []


def _program() -> str:
    page = (Path(__file__).parents[2] / "docs" / "findings" / "missing_wait.md").read_text()
    found = re.search(r"```cuda\n(.*?)```", page, re.DOTALL)
    assert found is not None
    return found.group(1)


def test_a_real_race_is_replayed_with_both_ranks(watched: Watched, tmp_path: Path) -> None:
    """The program of docs/findings/missing_wait.md: found by check, kept by a run, replayed."""
    from warploom.evaluation.check import check

    source = tmp_path / "work" / "p.cu"
    source.parent.mkdir()
    source.write_text(_program())
    (source.parent / "workload.toml").write_text('name = "p"\nprogram = "p.cu"\nranks = 2\n')
    report = check(source.parent, seeds=1)
    item = next(one for one in report.findings if one.finding.kind == "missing_wait")
    made = MadeRun(tmp_path / "run")
    made.begin(0)
    told = json.loads((made.folder / "run.json").read_text())
    (made.folder / "run.json").write_text(json.dumps({**told, "workload": str(source.parent)}))
    stored = {**item.to_json(), "file": "p.cu", "trace": [],
              "other": {"file": "p.cu", "line": 13, "function": "send"}}  # fmt: skip
    outcome = Outcome(False, failure="missing_wait", findings=(stored,), level=2)
    with ProgramDatabase(url=made.url, run=made.run) as store:
        store.add(StoredProgram(1, _program(), Lineage(), outcome))
    target = tmp_path / "replay.svg"
    assert main(["plot", "replay", str(made.folder), "-o", str(target)]) == 0
    assert "rank 1, send" in target.read_text() and "rank 0, receive" in target.read_text()
    with serving(made.folder) as address:
        page = shown(watched, address, f"{one_run(made.folder).key}/finding/1-1")
        watched.kept("finding-race")
        text = page.inner_text("main")
        assert "wait with acquire" in text and "Here: p.cu:20" in text
        assert "The other side: p.cu:13 in send" in text
        assert page.locator(".line.hit").count() == 2
        page.click("summary")
        places = page.locator("tbody td:last-child").all_inner_texts()
        assert "this finding" in places and "the other access" in places
    assert watched.complaints == []
