"""A check that builds a program, and the files that it writes."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from warploom.cli import main


def test_a_program_that_does_not_compile_is_reported_at_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    program = tmp_path / "bad.cu"
    program.write_text(
        "#include <nccl.h>\n__global__ void k() { nothing_known(3); }\n"
        "int main() { k<<<1, 1>>>(); return 0; }\n"
    )
    line = ["check", "bad.cu", "--sarif", "c.sarif", "--junit", "c.xml", "--html", "c.html"]
    assert main([*line, "--github"]) == 2
    told = capsys.readouterr()
    assert "::error file=bad.cu,line=2" in told.out and "must compile" in told.err
    (run,) = json.loads((tmp_path / "c.sarif").read_text())["runs"]
    (result,) = run["results"]
    assert result["ruleId"] == "build" and "nothing_known" in result["message"]["text"]
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 2
    assert run["invocations"][0] == {"executionSuccessful": False, "exitCode": 2}
    case = ET.parse(tmp_path / "c.xml").find(".//testcase[@line='2']")
    assert case is not None and case.find("failure") is not None
    assert "nothing_known(3)" in (tmp_path / "c.html").read_text()
