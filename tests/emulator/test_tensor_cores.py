"""Tensor cores by warps: their products, and the checks of what they load and store."""

from functools import cache
from pathlib import Path

import pytest

from warploom.core.records import BuildSpec, Severity, Verdict
from warploom.emulator import EmulatorBuild, RunOptions, build, run

_PROGRAM = Path(__file__).with_name("programs") / "tensor_cores.cu"


@cache
def _built() -> EmulatorBuild:
    return build(BuildSpec(_PROGRAM))


@pytest.mark.parametrize("mode", ["good", "chained", "refilled"])
def test_products_of_matrices(mode: str) -> None:
    outcome = run(_built(), RunOptions(ranks=1, args=(mode,)))
    assert (outcome.stdout, outcome.verdict) == ("", Verdict.OK), outcome.findings


@pytest.mark.parametrize("kind", ["shared_memory_race", "out_of_bounds"])
def test_what_they_touch_is_checked(kind: str) -> None:
    outcome = run(_built(), RunOptions(ranks=1, args=(kind,)))
    assert {f.kind for f in outcome.findings if f.severity is Severity.ERROR} == {kind}
