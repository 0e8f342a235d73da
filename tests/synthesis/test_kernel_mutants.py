"""Every planted wrong kernel is found, and the right one that it was made of is not."""

from collections.abc import Callable
from pathlib import Path

import pytest

from warploom.synthesis.codegen import TuningParameters, generate
from warploom.synthesis.suite.tasks_of import INTERNAL
from warploom.testing.kernel_mutants import MUTANTS, Mutant
from warploom.testing.kernel_tasks import PreparedTask

_SAMPLE = frozenset({
    "matmul-operands-rounded-as-TF32", "matmul-no-barrier-after-use",
    "row_sum-uninitialized-sum", "cumsum-carry-forgotten", "gelu_bias-four-at-once,-unaligned",
})  # fmt: skip


def test_there_are_enough_and_each_once() -> None:
    assert len(MUTANTS) >= 40
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
    assert {mutant.name for mutant in MUTANTS} >= _SAMPLE


@pytest.mark.parametrize(
    "mutant",
    [
        pytest.param(m, id=m.name, marks=() if m.name in _SAMPLE else (pytest.mark.long,))
        for m in MUTANTS
    ],
)
def test_a_mutant_is_found(mutant: Mutant, prepared: Callable[[Path], PreparedTask]) -> None:
    task = prepared(INTERNAL / f"{mutant.task}.py")
    report = task.judge(mutant.apply(task.text))
    assert report.builds[0].ok, report.findings
    assert not report.passed


@pytest.mark.parametrize("task", ["row_sum", pytest.param("matmul_half", marks=pytest.mark.long)])
def test_the_right_kernel_passes(task: str, prepared: Callable[[Path], PreparedTask]) -> None:
    made = prepared(INTERNAL / f"{task}.py")
    report = made.judge(made.text)
    assert report.passed, report.findings


def test_a_streamed_kernel_of_narrow_groups_passes(
    prepared: Callable[[Path], PreparedTask],
) -> None:
    made = prepared(INTERNAL / "row_sum.py")
    text = generate(made.graph, TuningParameters(vector_bytes=8)).text
    assert "group_once<float, 2>" in text
    report = made.judge(text)
    assert report.passed, report.findings
