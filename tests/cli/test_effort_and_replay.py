"""`check --effort` and `check --replay` on a planted defect."""

import json
from pathlib import Path

import pytest

from warploom.cli import main

PROGRAM = Path(__file__).parents[1] / "corpus" / "programs" / "gin_alltoall.cu"
CHECK = ["check", str(PROGRAM), "-D", "DEFECT_FLUSH_ONLY"]


def test_a_quick_check_says_how_to_replay(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*CHECK, "--effort", "quick"]) == 1
    text = capsys.readouterr().out
    assert "[missing_wait]" in text
    assert "seen in 1 of 1 runs, first: lazy seed 0 (what led there: --replay 0:lazy)" in text
    assert "quick effort: lazy/0 stopped;" in text
    assert "oldest first" not in text


def test_a_replay_shows_the_put_and_the_flush_and_no_wait(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([*CHECK, "--effort", "quick", "--json"]) == 1
    plain = json.loads(capsys.readouterr().out)
    assert main([*CHECK, "--replay", "0:lazy", "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert (plain["effort"], data["effort"]) == ("quick", None)
    for finding, again in zip(plain["findings"], data["findings"], strict=True):
        assert finding == {**again, "trace": []}
    found = next(item for item in data["findings"] if item["kind"] == "missing_wait")
    lines = PROGRAM.read_text().splitlines()
    puts = [e for e in found["trace"] if e["text"].startswith("ncclGin::put of 128 bytes to rank")]
    flushes = [e for e in found["trace"] if e["text"] == "ncclGin::flush of context 0"]
    assert {event["line"] for event in puts} == {found["other"]["line"]}
    assert {event["rank"] for event in puts} == {found["rank"]}
    assert puts[0]["file"] == str(PROGRAM)
    assert puts[0]["kernel"] == "all_to_all"
    assert "gin.flush" in lines[flushes[0]["line"] - 1]
    assert max(event["seq"] for event in puts) < flushes[0]["seq"]
    assert not any("waitSignal" in event["text"] for event in found["trace"])


def test_a_replay_is_printed_below_its_finding(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*CHECK, "--replay", "2:random"]) == 1
    text = capsys.readouterr().out
    assert "what led there, oldest first:" in text
    assert "kernel all_to_all starts on stream" in text
    assert "replay: random/2 stopped;" in text


def test_a_check_writes_every_report_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, sarif, junit = (tmp_path / name for name in ("c.html", "c.sarif", "c.xml"))
    files = ["--html", str(page), "--sarif", str(sarif), "--junit", str(junit), "--github"]
    assert main([*CHECK, "--replay", "0:lazy", *files, "--json"]) == 1
    said = capsys.readouterr()
    found = json.loads(said.out)["findings"]
    assert said.err.count("::error ") == sum(one["severity"] == "error" for one in found)
    results = json.loads(sarif.read_text())["runs"][0]["results"]
    assert [one["ruleId"] for one in results] == [one["kind"] for one in found]
    assert "codeFlows" in results[0]
    verdict, run = 1, 1
    assert junit.read_text().count("<failure") == verdict + run + said.err.count("::error ")
    assert "What led there" in page.read_text() and "missing_wait" in page.read_text()


def test_a_report_that_cannot_be_written_is_refused_before_the_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*CHECK, "--sarif", str(tmp_path / "no" / "c.sarif")]) == 2
    said = capsys.readouterr()
    assert "its folder does not exist" in said.err and said.out == ""
