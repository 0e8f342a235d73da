"""Device memory that a program asks for and does not touch costs next to nothing."""

from pathlib import Path

import pytest

from warploom.core.records import BuildSpec, Limits, RunSpec, Timing, Verdict
from warploom.emulator import EmulatorRun, RunOptions, build, run

PROGRAM = Path(__file__).parent / "programs" / "large_memory.cu"


def outcome_of(macro: str) -> EmulatorRun:
    built = build(BuildSpec(PROGRAM, defines={macro: ""} if macro else {}))
    options = RunOptions(
        run=RunSpec(0, Timing.LAZY), ranks=1, processes="single", device_most_mb=40960,
        limits=Limits(memory_mb=1024),
    )  # fmt: skip
    return run(built, options)


def test_it_runs_in_little_memory():
    outcome = outcome_of("")
    assert outcome.stdout == "" and outcome.verdict is Verdict.OK, outcome.findings
    assert outcome.memory_mb < 600
    assert not outcome.fresh_reads


@pytest.mark.parametrize(
    ("macro", "bytes_in"), [("READ_FRESH", "134217728 of an allocation"), ("FREED", "")]
)
def test_reads_of_what_nobody_has_written_are_seen(macro: str, bytes_in: str):
    outcome = outcome_of(macro)
    assert outcome.stdout == "", outcome.stdout

    lines = PROGRAM.read_text().splitlines()
    (read,) = outcome.fresh_reads
    assert read.finding.line is not None and "p[i] != value" in lines[read.finding.line - 1]
    assert bytes_in in read.finding.message
