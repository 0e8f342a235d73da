"""Textures and surfaces read what CUDA documents, and are checked like other memory of devices."""

from functools import cache
from pathlib import Path

import pytest

from warploom.core.records import BuildSpec, Severity, Verdict
from warploom.emulator import EmulatorBuild, RunOptions, build, run

_PROGRAM = Path(__file__).with_name("programs") / "textures.cu"


@cache
def _built() -> EmulatorBuild:
    return build(BuildSpec(_PROGRAM))


def test_what_textures_and_surfaces_read() -> None:
    outcome = run(_built(), RunOptions(ranks=1, args=("good",)))
    assert (outcome.stdout, outcome.verdict) == ("", Verdict.OK), outcome.findings


@pytest.mark.parametrize(
    ("mode", "kind"),
    [
        ("out_of_bounds", "out_of_bounds"),
        ("too_long", "out_of_bounds"),
        ("data_race", "data_race"),
        ("use_after_destroy", "use_after_destroy"),
    ],
)
def test_what_goes_wrong_with_them(mode: str, kind: str) -> None:
    outcome = run(_built(), RunOptions(ranks=1, args=(mode,)))
    assert {f.kind for f in outcome.findings if f.severity is Severity.ERROR} == {kind}


def test_an_array_that_nobody_wrote() -> None:
    assert run(_built(), RunOptions(ranks=1, args=("uninitialized_read",))).fresh_reads
