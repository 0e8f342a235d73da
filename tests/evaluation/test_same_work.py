"""How much a candidate's work may vary with the input, by how much the reference's does."""

from types import SimpleNamespace
from typing import cast

import pytest

from warploom.core.records import RunSpec, Timing
from warploom.emulator import EmulatorRun
from warploom.evaluation.depends.same_work import otherwise_by_seed


def work(accesses: float, moved: float) -> dict[str, float]:
    return {"kernels": 10.0, "accesses": accesses, "operations": 5000.0, "moved": moved}


def said(mine: list[dict[str, float]], reference: list[dict[str, float]]) -> str:
    runs = {
        RunSpec(seed, Timing.LAZY): cast(
            "EmulatorRun", SimpleNamespace(stats=stats, state="finished")
        )
        for seed, stats in enumerate(mine)
    }
    return otherwise_by_seed(runs, dict(enumerate(reference)))


@pytest.mark.parametrize(
    ("moved", "reference", "differs"),
    [
        ((1000, 1000), (9000, 9000), False),
        ((1000, 1028), (9000, 9000), True),  # the input changes nothing for the reference
        ((1000, 1028), (9000, 9090), False),  # it moves the rows that are there
        ((1000, 1060), (9000, 9090), True),  # an iteration of twenty is not done
        ((1000, 1060), (9000, 9500), False),  # the reference itself varies as much
    ],
)
def test_who_moves_what_is_there_may_vary(
    moved: tuple[float, float], reference: tuple[float, float], differs: bool
) -> None:
    mine = [work(2000, bytes_moved) for bytes_moved in moved]
    found = said(mine, [work(accesses, 500) for accesses in reference])
    assert bool(found) is differs
    if found:
        assert "another with seed 1 than with 0" in found
