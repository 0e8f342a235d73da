"""Transform by a scripted model: each failure is judged, explained and mended."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from llm_script import fenced, replies, right, write_workload

from warploom.core.errors import RefusedError
from warploom.core.records import Timing
from warploom.llm import Budget, LLMSettings, Price
from warploom.llm.errors import LLMBudgetError
from warploom.propose import Stage
from warploom.propose.llm import ModelOptions
from warploom.testing.scripted import ScriptedModel
from warploom.transform import PipelineResult, PreTransformPipeline, TransformConfig

PRICES = {name: Price(3.0, 15.0) for name in ("writer", "judge")}
CONFIG = TransformConfig(
    api_type="gin", two_stage=False, nvcc=False, timings=(Timing.EAGER,)
)  # fmt: skip


def options(writer: ScriptedModel, judge: ScriptedModel | None, **budget: float) -> ModelOptions:
    caps = Budget(**(budget or {"dollars": 5.0}))  # type: ignore[arg-type]
    settings = LLMSettings(prices=PRICES, attempts=1)
    return ModelOptions((writer,), judge, judge is not None, caps, settings, 60_000, 20_000)


def transform(folder: Path, model: ModelOptions, **changes: object) -> PipelineResult:
    workload = write_workload(folder / "work")
    config = replace(CONFIG, proposer="llm", model=model, **changes)  # type: ignore[arg-type]
    return PreTransformPipeline(config).run(workload, folder / "out", run_dir=folder / "run")


def test_from_a_build_error_to_a_verified_program(tmp_path: Path) -> None:
    writer = ScriptedModel(replies(), "writer")
    judge = ScriptedModel([f"explanation {n}" for n in (1, 2, 3)], "judge")
    result = transform(tmp_path, options(writer, judge))
    assert result.verified, result.steps
    (stage,) = result.stages
    assert (stage.attempts, stage.origin) == (4, "llm")
    assert "// Communicates from the device." in Path(str(result.program)).read_text()

    folders = sorted((tmp_path / "run" / "stage-b").iterdir())
    kinds = [_errors(folder) for folder in folders]
    assert kinds[0] == {"build"}
    assert "wrong_result" in kinds[1]
    assert "missing_wait" in kinds[2] and "wrong_result" not in kinds[2]
    assert kinds[3] == set()
    for number, folder in enumerate(folders, 1):
        kept = {path.name for path in folder.iterdir()}
        assert kept >= {"prompt.md", "reply.md", "gather.cu", "evaluation.json"}
        assert ("judge.md" in kept) == (number > 1)
    # The third prompt of the judge, and the fourth of the writer, hold the finding raw.
    said = [str(exchange.turns) for exchange in (judge.exchanges[2], writer.exchanges[3])]
    assert all("missing_wait" in text and "is not ordered after" in text for text in said)
    assert "explanation 3" in said[1] and "explanation 2" not in said[1]
    assert str(tmp_path) not in said[0] + said[1]

    assert result.spent is not None and result.spent.requests == 7
    assert result.cost == pytest.approx(float(result.spent.dollars), abs=1e-9)
    assert [path.name for path in tmp_path.glob("run/calls/pending/*")] == []


def _errors(folder: Path) -> set[str]:
    data = json.loads((folder / "evaluation.json").read_text())
    findings = data["evaluation"]["findings"]
    return {item["kind"] for item in findings if item["severity"] == "error"}


def test_two_stages_and_replies_without_a_program(tmp_path: Path) -> None:
    """Prose and a truncated reply are told, and leave room for the right one."""
    script = [
        "I would rather not.",
        fenced(right(Stage.WINDOWS))[:-5],
        fenced(right(Stage.WINDOWS)),
        fenced(right()),
    ]
    writer = ScriptedModel(script, "writer")
    result = transform(tmp_path, options(writer, None), two_stage=True)
    assert result.verified, result.steps
    assert [(s.stage, s.attempts) for s in result.stages] == [("windows", 3), ("device", 1)]
    prompts = [str(exchange.turns) for exchange in writer.exchanges]
    assert "it is prose" in prompts[1] and "truncated" in prompts[2]
    assert "stage B of two" in prompts[3] and "ncclCommWindowRegister" in prompts[3]
    first = tmp_path / "run" / "stage-a" / "attempt-001"
    assert sorted(p.name for p in first.iterdir()) == ["problem.txt", "prompt.md", "reply.md"]


def test_a_run_that_never_gets_there(tmp_path: Path) -> None:
    writer = ScriptedModel(["no", "still no"], "writer")
    result = transform(tmp_path, options(writer, None), max_iterations=2)
    assert not result.verified and result.exit_code == 1
    assert "it is prose" in result.step("host_to_device").error


def test_a_cap_stops_before_the_call_and_a_higher_one_goes_on(tmp_path: Path) -> None:
    first = ScriptedModel(["no"], "writer")
    with pytest.raises(LLMBudgetError):
        transform(tmp_path, options(first, None, requests=1, dollars=5.0))
    assert len(first.exchanges) == 1
    second = ScriptedModel([fenced(right())], "writer")
    result = transform(tmp_path, options(second, None, requests=9, dollars=5.0))
    assert result.verified
    assert len(second.exchanges) == 1  # the first reply came from the record
    assert result.spent is not None and result.spent.requests == 2
    assert result.cost == pytest.approx(float(result.spent.dollars), abs=1e-9)


BEYOND = "  ncclComm_t second;\n  ncclCommShrink(comm, nullptr, 0, &second, nullptr, 0);\n"


def test_auto_asks_a_model_only_where_rules_refuse(tmp_path: Path) -> None:
    workload = write_workload(tmp_path / "work")
    program = workload / "gather.cu"
    silent = ScriptedModel([], "writer")
    config = replace(CONFIG, model=options(silent, None))
    result = PreTransformPipeline(config).run(workload, tmp_path / "a")
    assert result.verified and result.stages[0].origin == "rules"

    text = program.read_text().replace("  const int n", BEYOND + "  const int n")
    program.write_text(text)
    with pytest.raises(RefusedError, match="communicator") as refusal:
        PreTransformPipeline(replace(config, model=None)).run(workload, tmp_path / "b")
    assert "--model" in refusal.value.hint
    writer = ScriptedModel([fenced(right())], "writer")
    taken = replace(config, model=options(writer, None))
    result = PreTransformPipeline(taken).run(workload, tmp_path / "c")
    assert result.verified and result.stages[0].origin == "llm"
    assert "Why rules could not do it" in str(writer.exchanges[0].turns)
