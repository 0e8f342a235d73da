"""A check in other tools' formats: SARIF, JUnit, GitHub's annotations, one HTML page."""

import json
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree as ET

import pytest

from warploom.core.records import Finding, Severity, SourceLocation, Timing, TraceEvent, Verdict
from warploom.evaluation.check import CheckReport
from warploom.evaluation.merged_findings import MergedFinding
from warploom.evaluation.runs.plan import Effort
from warploom.evaluation.runs.record import RunRecord
from warploom.reports.formats.files import CheckFiles
from warploom.reports.formats.github import annotations_of
from warploom.reports.formats.junit import junit_of
from warploom.reports.formats.line_hash import line_hashes
from warploom.reports.formats.sarif import sarif_of
from warploom.reports.html.check_page import check_html
from warploom.reports.queries.paths import source_root

HOSTILE = "<script>alert(1)</script>&\"'%\n::error::x,\x00\x1b[31m\ud800"


def made(program: Path, text: str = "", verdict: Verdict = Verdict.DEFECT) -> CheckReport:
    error = Finding(
        f"missing_wait{text}", Severity.ERROR, f"read is not ordered{text}", f"wait{text}",
        str(program), 3, 1, f"work{text}", (0, 0, 0), (5, 0, 0),
        SourceLocation(str(program), 5, f"f{text}"), 0, Timing.LAZY,
        (TraceEvent(7, 1, f"put{text}", "work", file=str(program), line=3), TraceEvent(8, 0, "x")),
    )  # fmt: skip
    warning = Finding("overlapping_puts", Severity.WARNING, f"two puts{text}")
    found = (MergedFinding(error, 2), MergedFinding(warning, 1))
    state = "finished" if verdict is Verdict.OK else "stopped"
    run = RunRecord(0, Timing.LAZY, verdict, state, (1, 0), 0.5)
    return CheckReport(
        verdict, Effort.QUICK, () if verdict is Verdict.OK else found, (run,), 1, program, 2, None,
        None, "2.32.3", "per_rank", {}, (), "", f"printed{text}", "bubblewrap", 1.0, 2.0,
    )  # fmt: skip


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "a b.cu"
    path.write_text("\n".join(f"line {at} <b>" for at in range(1, 9)))
    return path


def test_sarif_names_places_and_rules(program: Path) -> None:
    log = json.loads(json.dumps(sarif_of(made(program))))
    assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-schema-2.1.0.json")
    (run,) = log["runs"]
    error, warning = run["results"]
    rules = run["tool"]["driver"]["rules"]
    assert [rules[one["ruleIndex"]]["id"] for one in (error, warning)] == [
        "missing_wait", "overlapping_puts",
    ]  # fmt: skip
    place = error["locations"][0]["physicalLocation"]
    assert unquote(place["artifactLocation"]["uri"]) == "a b.cu"
    assert place["artifactLocation"]["uriBaseId"] in run["originalUriBaseIds"]
    assert place["region"]["startLine"] == 3
    assert error["relatedLocations"][0]["physicalLocation"]["region"]["startLine"] == 5
    assert len(error["codeFlows"][0]["threadFlows"][0]["locations"]) == 2
    assert (error["level"], warning["level"]) == ("error", "warning")
    assert run["invocations"][0]["exitCode"] == 1


def test_a_sarif_fingerprint_outlives_a_moved_line(program: Path) -> None:
    one = sarif_of(made(program))
    report = made(program)
    program.write_text("new\n" * 27 + program.read_text())
    moved = [MergedFinding(Finding(**{**_fields(item.finding), "line": 30}), 2)
             for item in report.findings]  # fmt: skip
    two = sarif_of(CheckReport(**{**_fields(report), "findings": tuple(moved)}))
    assert _prints(one)[0] == _prints(two)[0]  # the second has no line: it is told at the first
    assert one != two


def _fields(record: object) -> dict[str, object]:
    return {name: getattr(record, name) for name in record.__slots__}  # type: ignore[attr-defined]


def _prints(log: object) -> list[object]:
    text = json.loads(json.dumps(log))
    return [one["partialFingerprints"] for one in text["runs"][0]["results"]]


def test_a_program_that_failed_with_nothing_found_is_a_result(program: Path) -> None:
    report = CheckReport(**{**_fields(made(program)), "findings": (), "verdict": Verdict.DEADLOCK})
    (result,) = json.loads(json.dumps(sarif_of(report)))["runs"][0]["results"]
    assert result["ruleId"] == "program-deadlock"
    assert annotations_of(report)[0].startswith("::error file=a b.cu,line=1")


def test_junit_counts_what_it_holds(program: Path) -> None:
    suite = ET.fromstring(junit_of(made(program)).split("\n", 1)[1]).find("testsuite")
    assert suite is not None
    cases = suite.findall("testcase")
    assert suite.get("tests") == str(len(cases)) == "4"
    assert suite.get("failures") == "3"  # the verdict, the run and the error; a warning passes
    told = suite.find("testcase/failure[@type='missing_wait']")
    assert told is not None and "other side: a b.cu:5" in (told.text or "")


def test_a_good_check_has_no_failure(program: Path) -> None:
    report = made(program, verdict=Verdict.OK)
    suite = ET.fromstring(junit_of(report).split("\n", 1)[1]).find("testsuite")
    assert suite is not None and suite.get("failures") == "0"
    assert [one.get("name") for one in suite] == ["verdict", "run lazy/0 (finished)"]
    assert annotations_of(report) == []
    assert "No defect was found" in check_html(report)


def test_annotations_are_one_line_each(program: Path) -> None:
    lines = annotations_of(made(program, HOSTILE))
    assert len(lines) == 2 and not any("\n" in line for line in lines)
    assert lines[0].startswith("::error file=a b.cu,line=3,title=warploom%3A missing_wait")
    assert "%0A::error::x,\ufffd" in lines[0]
    title = lines[0].split("title=")[1].split("::")[0]
    assert "," not in title and ":" not in title


def test_hostile_text_breaks_no_format(program: Path) -> None:
    report = made(program, HOSTILE)
    html = check_html(report)
    assert "<script" not in html and "&lt;script&gt;" in html
    html.encode()
    ET.fromstring(junit_of(report).split("\n", 1)[1])
    json.dumps(sarif_of(report)).encode()
    json.loads(json.dumps(sarif_of(report), ensure_ascii=False).encode())


def test_the_page_shows_both_sides_and_what_led_there(program: Path) -> None:
    html = check_html(made(program))
    assert "line 3 &lt;b&gt;" in html and "line 5 &lt;b&gt;" in html
    assert "What led there" in html and 'class="here"' in html


def test_files_are_written_whole_and_bad_places_refused_before(program: Path) -> None:
    from warploom.core.errors import BadInputError

    root = program.parent
    files = CheckFiles(root / "c.html", root / "c.sarif", root / "c.xml", github=True)
    files.require_places()
    assert len(files.write(made(program))) == 2
    for name in ("c.html", "c.sarif", "c.xml"):
        assert (root / name).stat().st_size > 500
    with pytest.raises(BadInputError, match="folder does not exist"):
        CheckFiles(html=root / "no" / "x.html").require_places()
    with pytest.raises(BadInputError, match="a file of its own"):
        CheckFiles(html=root / "x", sarif=root / "x").require_places()


@pytest.mark.parametrize(
    ("text", "hashes"),
    [
        ("", ["c129715d7a2bc9a3:1"]),
        (" a\nb\n  \t\tc\n d", ["271789c17abda88f:1", "54703d4cd895b18:1", "180aee12dab6264:1",
                               "a23a3dc5e078b07b:1"]),
        (" a l p h a \r\n\tbeta\r\nalpha\r\n", ["8d07ce75f7b3af45:1", "ca140c3f893ffa65:1",
                                              "26f09ff008857193:1", "c129715d7a2bc9a3:1"]),
    ],
)  # fmt: skip
def test_hashes_of_lines_are_githubs(text: str, hashes: list[str]) -> None:
    assert line_hashes(text) == hashes


def test_equal_lines_are_told_apart() -> None:
    text = "x = 1;\n" * 40
    assert [one.rpartition(":")[2] for one in line_hashes(text)[:3]] == ["1", "2", "3"]


def test_a_sarif_rule_explains_itself_and_a_result_can_be_known_again(program: Path) -> None:
    (run,) = json.loads(json.dumps(sarif_of(made(program))))["runs"]
    first, second = run["tool"]["driver"]["rules"]
    assert first["id"] == "missing_wait"
    assert first["fullDescription"]["text"].startswith("Somebody reads the destination of a put")
    assert "## Cure" in first["help"]["markdown"] and "helpUri" in second
    assert first["defaultConfiguration"]["level"] == "error"
    prints = run["results"][0]["partialFingerprints"]
    assert prints["primaryLocationLineHash"] == line_hashes(program.read_text())[2]


def test_paths_are_from_the_root_of_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, elsewhere = tmp_path / "repository", tmp_path / "elsewhere"
    program = root / "src" / "deep" / "p.cu"
    for folder in (root / ".git", program.parent, elsewhere):
        folder.mkdir(parents=True)
    program.write_text("a\nb\nc\nd\ne\nf\n")
    for here in (elsewhere, program.parent, root):
        monkeypatch.chdir(here)
        (run,) = json.loads(json.dumps(sarif_of(made(program))))["runs"]
        at = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
        assert at == {"uri": "src/deep/p.cu", "uriBaseId": "SRCROOT"}
        assert run["originalUriBaseIds"]["SRCROOT"]["uri"] == f"{root.as_uri()}/"
        assert annotations_of(made(program))[0].startswith("::error file=src/deep/p.cu,line=3")
        assert 'file="src/deep/p.cu"' in junit_of(made(program))


def test_outside_of_a_repository_the_programs_own_folder_is_the_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/")
    assert source_root(tmp_path / "p.cu") == Path("/")
    monkeypatch.chdir(Path(__file__).parent)
    assert source_root(tmp_path / "p.cu") == tmp_path


@pytest.mark.parametrize("state", ["deadlock", "timeout", "stopped"])
def test_a_run_that_did_not_end_fails_in_junit(program: Path, state: str) -> None:
    good = RunRecord(0, Timing.EAGER, Verdict.OK, "finished", (0, 0), 0.5)
    bad = RunRecord(1, Timing.LAZY, Verdict.DEADLOCK, state, (None, 0), 0.5)
    report = CheckReport(**{**_fields(made(program)), "runs": (good, bad)})
    root = ET.fromstring(junit_of(report).split("\n", 1)[1])
    failed = [one.get("name") for one in root.iter("testcase") if one.find("failure") is not None]
    assert f"run lazy/1 ({state})" in failed and "run eager/0 (finished)" not in failed
    assert "deadlock" in check_html(report)
