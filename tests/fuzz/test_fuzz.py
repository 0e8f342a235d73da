"""A small budget of `python -m warploom.testing.fuzz`, which has the full one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warploom.testing.fuzz import SOURCES, Case, hostile, mutated, try_case
from warploom.testing.mutate import mutate

HOSTILE = tuple(hostile())


def problems(case: Case, *, analyze_only: bool = False) -> list[str]:
    """Return what went wrong with one case."""
    trials = try_case(case, analyze_only=analyze_only)
    return [f"{trial.command}: {trial.problem}" for trial in trials if trial.problem]


SLOWEST = ("deep_nesting.cu", "template_bomb.cu")  # they end by their limits


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=pytest.mark.long if case.name in SLOWEST else ())
        for case in HOSTILE
    ],
    ids=[case.name for case in HOSTILE],
)
def test_a_hostile_program_does_no_harm(case: Case) -> None:
    assert not problems(case)


@pytest.mark.parametrize(
    "case", tuple(mutated(SOURCES, 8, seed=20261120)), ids=lambda case: case.name.replace("/", "_")
)
def test_a_spoiled_program_is_judged_or_refused(case: Case) -> None:
    assert not problems(case)


@pytest.mark.parametrize(
    "case", tuple(mutated(SOURCES, 25, seed=7)), ids=lambda case: case.name.replace("/", "_")
)
def test_a_spoiled_program_is_analyzed_or_refused(case: Case) -> None:
    assert not problems(case, analyze_only=True)


@given(st.binary(max_size=300), st.integers(0, 1 << 40))
def test_mutations_repeat_and_take_any_bytes(text: bytes, seed: int) -> None:
    assert mutate(text, seed) == mutate(text, seed)
