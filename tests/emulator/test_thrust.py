"""Thrust: what it computes, and what goes wrong around it."""

from functools import cache
from pathlib import Path

import pytest

from warploom.core.errors import UnsupportedError
from warploom.core.records import BuildSpec, Limits, RunSpec, Severity, Timing, Verdict
from warploom.emulator import EmulatorBuild, RunOptions, build, run

PROGRAMS = Path(__file__).with_name("programs")


@cache
def built(name: str) -> EmulatorBuild:
    return build(BuildSpec(PROGRAMS / name))


def emulate(name: str, *args: str, timing: Timing = Timing.LAZY):
    limits = Limits(seconds=60)
    return run(built(name), RunOptions(ranks=1, run=RunSpec(1, timing), args=args, limits=limits))


def test_what_it_computes():
    outcome = emulate("thrust_values.cu")
    assert (outcome.stdout, outcome.verdict, outcome.findings) == ("", Verdict.OK, ())


def test_functions_placeholders_and_random_numbers():
    outcome = emulate("thrust_functions.cu")
    assert (outcome.stdout, outcome.verdict, outcome.findings) == ("", Verdict.OK, ())


def test_differences_of_neighbors():
    outcome = emulate("thrust_differences.cu")
    assert (outcome.stdout, outcome.verdict, outcome.findings) == ("", Verdict.OK, ())


def test_differences_are_looked_at_like_other_accesses():
    found = emulate("thrust_differences.cu", "small").findings
    assert ("out_of_bounds", 25) in {(f.kind, f.line) for f in found}


@pytest.mark.parametrize("timing", [Timing.LAZY, Timing.EAGER, Timing.RANDOM])
def test_a_correct_use_is_not_accused(timing: Timing):
    outcome = emulate("thrust_defects.cu", timing=timing)
    assert (outcome.verdict, outcome.findings) == (Verdict.OK, ())


@pytest.mark.parametrize(
    ("defect", "kind", "line"),
    [
        ("small", "out_of_bounds", 23),
        ("unsynced", "data_race", 23),
        ("functor", "out_of_bounds", 11),
        ("host", "host_dereference", 29),
    ],
)
def test_a_defect_is_named_at_its_line(defect: str, kind: str, line: int):
    found = emulate("thrust_defects.cu", defect).findings
    assert (kind, line) in {(f.kind, f.line) for f in found if f.severity is Severity.ERROR}


@pytest.mark.parametrize("header", ["thrust/binary_search.h", "thrust/set_operations.h"])
def test_what_is_not_played_is_refused_by_name(header: str, tmp_path: Path):
    program = tmp_path / "more.cu"
    program.write_text(f"#include <{header}>\nint main() {{}}\n")
    with pytest.raises(UnsupportedError, match=f"<{header}> is not emulated"):
        build(BuildSpec(program))


def test_complex_numbers():
    outcome = emulate("thrust_complex.cu")
    assert (outcome.stdout, outcome.verdict, outcome.findings) == ("", Verdict.OK, ())
