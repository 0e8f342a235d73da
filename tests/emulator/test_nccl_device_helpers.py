"""Low-latency sessions, loops that reduce and copy, and waits with a time-out."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from warploom.core.records import BuildSpec, Limits, RunSpec, Severity, Timing, Verdict
from warploom.emulator import EmulatorBuild, RunOptions, build, run

RealHeaders = Callable[..., None]
PROGRAM = Path(__file__).with_name("programs") / "nccl_device_helpers.cu"


@cache
def built(version: str) -> EmulatorBuild:
    return build(BuildSpec(PROGRAM, nccl=version))


def emulate(
    *args: str,
    timing: Timing = Timing.LAZY,
    lsa_size: int | None = None,
    version: str = "2.32.3",
):
    options = RunOptions(
        run=RunSpec(5, timing), args=args, lsa_size=lsa_size, limits=Limits(seconds=30)
    )
    return run(built(version), options)


@pytest.mark.parametrize("timing", list(Timing))
@pytest.mark.parametrize("lsa_size", [1, 2, 4])
def test_what_they_compute(lsa_size: int, timing: Timing):
    outcome = emulate(lsa_size=lsa_size, timing=timing)
    assert outcome.stdout == ""
    assert (outcome.verdict, outcome.findings) == (Verdict.OK, ())


@pytest.mark.parametrize("version", ["2.29.7", "2.30.7"])
def test_older_versions(version: str):
    outcome = emulate(version=version)
    assert (outcome.stdout, outcome.verdict) == ("", Verdict.OK)


@pytest.mark.parametrize(
    ("defect", "kind", "text"),
    [
        ("slots", "out_of_bounds", "slot 32 of 32"),
        ("no_entry", "data_race", "cudaMemcpy"),
        ("not_waited", "source_reuse", "ncclGin::put"),
    ],
)
def test_a_defect_is_named(defect: str, kind: str, text: str):
    errors = [f for f in emulate(defect).findings if f.severity is Severity.ERROR]
    assert {f.kind for f in errors} == {kind}
    assert any(text in f.message for f in errors)


@pytest.mark.nvcc
@pytest.mark.parametrize("version", ["2.29.7", "2.32.3"])
def test_the_program_is_one_for_the_real_headers(real_headers: RealHeaders, version: str):
    real_headers(PROGRAM, version, WITHOUT_LOOPS="")
