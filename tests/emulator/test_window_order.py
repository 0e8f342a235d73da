"""Which registrations of windows count as taken for each other, and which do not."""

from functools import cache
from pathlib import Path

import pytest

from warploom.core.records import BuildSpec
from warploom.emulator import EmulatorBuild, RunOptions, build, run

_PROGRAM = Path(__file__).with_name("programs") / "window_order.cu"


@cache
def _built() -> EmulatorBuild:
    return build(BuildSpec(_PROGRAM))


@pytest.mark.parametrize("mode", ["sizes", "pool", "pairs"])
def test_buffers_of_other_places_may_be_one_window(mode: str) -> None:
    outcome = run(_built(), RunOptions(ranks=2, args=(mode,)))
    assert not outcome.findings
    assert sorted(outcome.stdout.splitlines()) == ["rank 0 is done", "rank 1 is done"]


def test_handles_that_are_taken_for_each_other_are_found() -> None:
    outcome = run(_built(), RunOptions(ranks=2, args=("swapped",)))
    assert [found.kind for found in outcome.findings] == ["window_order_mismatch"]
