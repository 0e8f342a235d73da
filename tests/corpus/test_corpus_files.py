"""The corpus comments: what they mean, and what is refused."""

import shlex
import sys
from pathlib import Path

import pytest

from warploom.core.errors import BadInputError, ToolFailedError
from warploom.core.records import Finding, Severity, SourceLocation, Verdict
from warploom.evaluation.merged_findings import MergedFinding
from warploom.testing import corpus
from warploom.testing.checkers import CommandChecker
from warploom.testing.corpus_files import Setting, read_corpus, read_program

PROGRAM = """\
// CORPUS run=2,4/2
// CORPUS run=8 nccl=2.28.9
// What it does.
// DEFECT NO_WAIT missing_wait: nobody waits
// DEFECT TOO_FAR window_range|out_of_bounds run=4: runs over the end
int main() {
#if defined(DEFECT_NO_WAIT)
  wait();
#endif
  // EXPECT NO_WAIT TOO_FAR
  read(DEFECT_TOO_FAR);
  // EXPECT NO_WAIT
  // EXPECT TOO_FAR
  write();
}
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "sample.cu"
    path.write_text(text, encoding="utf-8")
    return path


def test_entries_of_a_program(tmp_path: Path) -> None:
    path = write(tmp_path, PROGRAM)
    entries = read_program(path)
    assert [entry.name for entry in entries] == [
        "sample@2",
        "sample@4/2",
        "sample@8+2.28.9",
        "sample:NO_WAIT@2",
        "sample:TOO_FAR@4",
    ]
    waits, far = entries[3:]
    assert waits.setting == Setting(2)
    assert waits.lines == (11, 14)
    assert waits.kinds == ("missing_wait",)
    assert waits.why == "nobody waits"
    assert waits.defines == {"DEFECT_NO_WAIT": "1"}
    assert far.lines == (11, 14)
    assert far.kinds == ("window_range", "out_of_bounds")
    assert entries[0].defines == {}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("// CORPUS", "// corpus", "no '// CORPUS run=...' line"),
        ("run=2,4/2", "run=2,many", "ranks or ranks/lsa_size, got 'many'"),
        ("run=2,4/2", "nccl=2.30.7", "must say run="),
        ("run=8 nccl", "run=8 ncll", "unknown key 'ncll'"),
        ("NO_WAIT missing_wait: nobody", "NO_WAIT missing_wait nobody", "must read"),
        ("// EXPECT NO_WAIT TOO_FAR", "// EXPECT TOO_FAR SLOW", "SLOW is expected, but not listed"),
        ("defined(DEFECT_NO_WAIT)", "defined(DEFECT_LATE)", "DEFECT"),
        ("  // EXPECT NO_WAIT\n", "  // EXPECT NO_WAIT\n#if 1\n", "not before a directive"),
    ],
)
def test_broken_comments_are_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in PROGRAM
    path = write(tmp_path, PROGRAM.replace(old, new))
    with pytest.raises(BadInputError) as caught:
        read_program(path)
    assert message in caught.value.message
    assert caught.value.file == str(path)


def test_a_defect_needs_an_expected_line(tmp_path: Path) -> None:
    path = write(tmp_path, PROGRAM.replace("EXPECT TOO_FAR", "then").replace(" TOO_FAR\n", "\n"))
    with pytest.raises(BadInputError, match="no line is marked 'EXPECT TOO_FAR'"):
        read_program(path)


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="holds no corpus programs"):
        read_corpus(tmp_path)


def finding(kind: str, file: str, line: int, severity: Severity = Severity.ERROR) -> MergedFinding:
    other = SourceLocation("/x/sample.cu", 11)
    return MergedFinding(Finding(kind, severity, "", file=file, line=line, other=other))


@pytest.mark.parametrize(
    ("item", "verdict", "found"),
    [
        (finding("missing_wait", "/y/sample.cu", 11), Verdict.DEFECT, True),
        (finding("data_race", "/y/sample.cu", 11), Verdict.DEFECT, False),
        (finding("missing_wait", "/y/sample.cu", 12), Verdict.DEFECT, False),
        (finding("missing_wait", "/y/other.cu", 11), Verdict.DEFECT, False),
        (finding("missing_wait", "/y/sample.cu", 11, Severity.WARNING), Verdict.DEFECT, False),
        (finding("missing_wait", "/y/sample.cu", 11), Verdict.OK, False),
    ],
)
def test_kind_file_and_line_must_be_right(
    tmp_path: Path, item: MergedFinding, verdict: Verdict, found: bool
) -> None:
    entry = read_program(write(tmp_path, PROGRAM))[3]

    class Report:
        findings = (item,)

    Report.verdict = verdict  # type: ignore[attr-defined]
    assert corpus.is_found(entry, Report()) is found  # type: ignore[arg-type]


def test_warnings_count_as_false_alarms() -> None:
    class Report:
        verdict = Verdict.OK
        findings = (finding("leak", "/y/sample.cu", 3, Severity.WARNING),)

    assert not corpus.is_clean(Report())  # type: ignore[arg-type]
    Report.findings = ()
    assert corpus.is_clean(Report())  # type: ignore[arg-type]


FAKE = """\
import json, sys
finding = {"kind": "missing_wait", "severity": "error", "file": sys.argv[1], "line": 11}
print(json.dumps({"verdict": "defect", "findings": [finding], "arguments": sys.argv[2:]}))
"""


def test_another_checker_is_judged_alike(tmp_path: Path) -> None:
    entries = read_program(write(tmp_path, PROGRAM))
    script = tmp_path / "fake.py"
    script.write_text(FAKE)
    checker = CommandChecker(f"{sys.executable} {script}")
    clean, defect, other = entries[0], entries[3], entries[4]
    assert corpus.run_entry(defect, checker).good
    assert not corpus.run_entry(other, checker).good
    outcome = corpus.run_entry(clean, checker)
    assert not outcome.good
    assert outcome.got == ("missing_wait sample.cu:11",)


@pytest.mark.parametrize("text", ["no json", '{"verdict": "ok"}', '{"verdict": "fine"}', "[]"])
def test_a_checker_that_prints_something_else_is_refused(tmp_path: Path, text: str) -> None:
    (entry, *_) = read_program(write(tmp_path, PROGRAM))
    with pytest.raises(ToolFailedError, match="must print the JSON"):
        CommandChecker(f"{sys.executable} -c {shlex.quote(f'print({text!r})')}")(entry)
