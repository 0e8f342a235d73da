"""An attempt keeps what was proposed and what was said of it, even where judging breaks off."""

import json
import math
from pathlib import Path

import pytest

from warploom.attempt import attempt
from warploom.core.errors import ToolFailedError
from warploom.core.jsontext import dumps, write_json
from warploom.evaluation.compare.difference import Worst
from warploom.evaluation.records import Evaluation, OutputComparison


def evaluation(path: Path) -> Evaluation:
    worst = Worst(3, 1.0, math.nan, math.inf, 0.1)
    output = OutputComparison("d", "float32", 1e-5, None, 1, 4, 1, 0.0, worst, 2)
    return Evaluation(
        level_reached=2,
        passed=False,
        findings=(),
        comparisons=(output,),
        printed_verdict="PASS",
        runs=(),
        builds=(),
        seconds=1.0,
        time_source="none",
        frame="kept",
        nccl="2.30.7",
        ranks=4,
        lsa_size=None,
        planned=9,
        sandbox="",
        program=path,
        reference=path,
        seeds=(0, 1, 2),
        dependence="values",
    )


def test_text_and_evaluation_are_kept(tmp_path: Path) -> None:
    made = attempt(2, "rules", lambda: "int main() {}\udc80\n", evaluation, tmp_path)
    assert not made.passed
    folder = tmp_path / "attempt-002"
    assert made.folder == folder
    assert (folder / "candidate.cu").read_bytes() == b"int main() {}\x80\n"
    data = json.loads((folder / "evaluation.json").read_text())
    assert (data["number"], data["origin"]) == (2, "rules")
    comparison = data["evaluation"]["comparisons"][0]
    assert comparison["worst"]["got"] == "nan"
    assert comparison["passed"] is False
    assert sorted(path.name for path in folder.iterdir()) == ["candidate.cu", "evaluation.json"]


def test_the_text_outlives_a_judge_that_breaks(tmp_path: Path) -> None:
    def judge(path: Path) -> Evaluation:
        raise ToolFailedError("broken")

    with pytest.raises(ToolFailedError):
        attempt(1, "rules", lambda: "text", judge, tmp_path, file_name="moe.cu")
    assert [path.name for path in (tmp_path / "attempt-001").iterdir()] == ["moe.cu"]


def test_json_text_is_always_valid(tmp_path: Path) -> None:
    assert json.loads(dumps({"a": [math.inf, -math.inf, 1.5, None, True]})) == {
        "a": ["inf", "-inf", 1.5, None, True]
    }
    write_json(tmp_path / "a.json", {"b": 1})
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
