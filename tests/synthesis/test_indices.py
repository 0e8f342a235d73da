"""Indices from the end: tried where an example has them, as the reference says what they mean."""

from pathlib import Path

import pytest

from warploom.synthesis.models.prompts import task_text
from warploom.testing.kernel_tasks import prepare_task

_REFERENCE = """
import torch


def reference(x, at):
    return x[at] * 2


def example_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(19, 7, generator=g)
    return x, torch.randint({low}, 19, (23,), generator=g)
"""


def test_negative_indices_are_tried_where_an_example_has_them(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    file = tmp_path / "negative.py"
    file.write_text(_REFERENCE.format(low=-19))
    task = prepare_task(file, 20261127, tmp_path)
    try:
        assert "integers from -d0 to d0 - 1" in task_text(task.spec, "")
        assert " >> 63 & " in task.text
        report = task.judge(task.text)
        assert report.passed, report.findings
        wrong = task.judge(task.text.replace(" >> 63 & ", " >> 63 & 0 & "))
        assert wrong.builds[0].ok
        assert not wrong.passed
    finally:
        task.close()


@pytest.mark.long
def test_no_index_is_negative_where_no_example_has_one(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    file = tmp_path / "counted.py"
    file.write_text(_REFERENCE.format(low=0))
    task = prepare_task(file, 20261127, tmp_path)
    try:
        assert "integers from 0 to d0 - 1" in task_text(task.spec, "")
        report = task.judge(task.text.replace(" >> 63 & ", " >> 63 & 0 & "))
        assert report.passed, report.findings
    finally:
        task.close()


_IGNORING = """
import torch


def reference(logits, target):
    return torch.nn.functional.cross_entropy(logits, target, reduction="none")


def example_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    target = torch.randint(0, 19, (23,), generator=g)
    target[::{every}] = -100
    return torch.randn(23, 19, generator=g), target
"""


@pytest.mark.parametrize(
    "every", [4, pytest.param(64, marks=pytest.mark.long)], ids=["in the example", "hardly"]
)
def test_a_place_that_is_left_out_is_tried(every: int, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    file = tmp_path / "ignoring.py"
    file.write_text(_IGNORING.replace("{every}", str(every)))
    task = prepare_task(file, 20261128, tmp_path)
    try:
        assert "integers from 0 to d1 - 1 or -100" in task_text(task.spec, "")
        report = task.judge(task.text)
        assert report.passed, report.findings
        assert "-100" in task.text
        assert not task.judge(task.text.replace("-100", "-101")).passed
    finally:
        task.close()
