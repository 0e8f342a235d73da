"""One-sided host calls, shrinking and growing communicators, and configured collectives."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from warploom.core.records import BuildSpec, Limits, RunSpec, Severity, Timing, Verdict
from warploom.emulator import EmulatorBuild, RunOptions, build, run

RealHeaders = Callable[..., None]
PROGRAM = Path(__file__).with_name("programs") / "nccl_one_sided.cu"
LINES = PROGRAM.read_text().splitlines()


@cache
def built(version: str = "2.32.3") -> EmulatorBuild:
    return build(BuildSpec(PROGRAM, nccl=version))


def emulate(*args: str, timing: Timing = Timing.LAZY, ranks: int = 4, version: str = "2.32.3"):
    options = RunOptions(run=RunSpec(3, timing), args=args, ranks=ranks, limits=Limits(seconds=30))
    return run(built(version), options)


def line_of(mark: str) -> int:
    return next(n for n, text in enumerate(LINES, 1) if f"// EXPECT {mark}" in text)


@pytest.mark.parametrize("timing", list(Timing))
@pytest.mark.parametrize("version", ["2.29.7", "2.32.3"])
def test_signals_order_what_they_cover(version: str, timing: Timing):
    outcome = emulate(version=version, timing=timing)
    assert outcome.stdout == ""
    assert (outcome.verdict, outcome.findings) == (Verdict.OK, ())


def test_two_ranks_are_enough():
    assert emulate(ranks=2).verdict is Verdict.OK


@pytest.mark.parametrize("defect", ["no_wait", "one_less"])
def test_a_put_that_nobody_waited_for_is_a_race(defect: str):
    for timing in Timing:
        errors = [
            f for f in emulate(defect, timing=timing).findings if f.severity is Severity.ERROR
        ]
        assert {f.kind for f in errors} == {"data_race"}, timing
        places = {line for f in errors for line in (f.line, f.other and f.other.line)}
        assert line_of("read") - 1 in places  # the statement begins on the line before


def test_a_wait_for_more_than_is_sent_is_a_deadlock():
    outcome = emulate("wait_twice")
    assert outcome.verdict is Verdict.DEADLOCK
    assert "1 of 2 signals of rank 3" in outcome.findings[0].message
    assert outcome.findings[0].line == line_of("wait_twice")


def test_wrong_arguments_are_rejected_and_named():
    outcome = emulate("rejected")
    assert outcome.stdout == ""  # each call returned what NCCL returns
    kinds = {f.kind for f in outcome.findings}
    assert kinds == {
        "window_null", "window_memory", "window_range", "peer_out_of_range", "signal_index",
        "context_index",
    }  # fmt: skip


@pytest.mark.nvcc
@pytest.mark.parametrize("version", ["2.29.7", "2.32.3"])
def test_the_program_is_one_for_the_real_headers(real_headers: RealHeaders, version: str):
    real_headers(PROGRAM, version)
