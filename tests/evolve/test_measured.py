"""A search that GPUs time: what is verified first, what is measured, and what comes of it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from warploom.core.errors import MissingToolError, WorkloadError
from warploom.core.records import Api, Finding, Severity
from warploom.evaluation.observed.measured import Measured
from warploom.evolve import measured as judge
from warploom.evolve.compose import compose
from warploom.evolve.evaluator import Question
from warploom.evolve.measured import MeasuredEvaluator
from warploom.evolve.runner import EvolutionRunner
from warploom.propose import Stage
from warploom.propose.mutate import Mutation, apply
from warploom.propose.rules import RewritePlan, rewrite
from warploom.source import CUDAAnalyzer
from warploom.workload.workload import Workload

EXAMPLE = Path(__file__).parents[2] / "examples" / "gemm_allgather"
QUESTION = Question("lsa", (5,))


@pytest.fixture
def candidate(tmp_path: Path) -> Callable[..., Path]:
    def write(**values: str) -> Path:
        source = EXAMPLE / "gemm_allgather.cu"
        plan = RewritePlan(Api.LSA, Stage.DEVICE)
        text = rewrite(source.read_text(), CUDAAnalyzer(source).analyze(), plan).text
        for lever, value in values.items():
            text = apply(text, Mutation(lever.replace("__", ":"), value, ""))
        path = tmp_path / source.name
        path.write_text(text)
        return path

    return write


@pytest.fixture
def evaluator() -> MeasuredEvaluator:
    task = Workload.from_file(EXAMPLE).with_overrides(ranks=2, time_sizes={"ROWS": "512"})
    return MeasuredEvaluator(task, repeats=3)


def test_a_verified_candidate_is_measured_at_practical_sizes(
    candidate: Callable[..., Path], evaluator: MeasuredEvaluator, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[Workload, tuple[int, ...], int]] = []

    def measure(path: Path, task: Workload, *, inputs: tuple[int, ...], repeats: int) -> Measured:
        asked.append((task, inputs, repeats))
        return Measured(2.0, 3.0, 1.5, 3)

    monkeypatch.setattr(judge, "measure", measure)
    found = evaluator(candidate(size__TILE="16"), QUESTION)
    assert found.correct, found.feedback
    assert (found.time_ms, found.time_source, found.score) == (2.0, "measured", 10000 / 3)
    assert found.public["baseline_ms"] == 3.0 and found.public["speedup"] == 1.5
    ((task, inputs, repeats),) = asked
    assert (inputs, repeats) == ((5,), 3)
    assert task.at_practical_sizes().defines["ROWS"] == "512"
    assert "ROWS" not in task.defines


def test_what_is_not_verified_is_never_measured(
    candidate: Callable[..., Path], evaluator: MeasuredEvaluator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge, "measure", lambda *_, **__: pytest.fail("it was measured"))
    found = evaluator(candidate(read__d_gathered="fused"), QUESTION)  # overtakes its readers
    assert not found.correct and found.failure == "data_race" and found.time_ms is None


def test_what_gpus_find_fails_it(
    candidate: Callable[..., Path], evaluator: MeasuredEvaluator, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = Finding("wrong_result", Severity.ERROR, "y differs")
    monkeypatch.setattr(judge, "measure", lambda *_, **__: Measured(findings=(wrong,)))
    found = evaluator(candidate(), QUESTION)
    assert not found.correct and found.failure == "wrong_result"
    assert "on the GPUs: y differs" in found.feedback and found.time_source == "none"


def test_the_configuration_names_backend_and_sizes() -> None:
    config = compose(
        ["evaluation.backend=cuda", "evaluation.repeats=2", "workload.time_sizes.TOKENS=2048"]
    )
    assert config.evaluation.backend == "cuda" and config.evaluation.repeats == 2
    assert config.workload.time_sizes == {"TOKENS": "2048"}


def test_a_workload_states_its_practical_sizes(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text("int main() { return 0; }\n")
    file = tmp_path / "workload.toml"
    file.write_text('program = "a.cu"\n[defines]\nN = 64\nM = 1\n[sizes.time]\nN = 4096\n')
    task = Workload.from_file(file)
    assert task.defines == {"N": "64", "M": "1"}
    assert task.at_practical_sizes().defines == {"N": "4096", "M": "1"}
    file.write_text('program = "a.cu"\n[sizes.practical]\nN = 4096\n')
    with pytest.raises(WorkloadError, match="unknown key") as caught:
        Workload.from_file(file)
    assert "time" in caught.value.hint


def test_without_gpus_nothing_is_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))  # no nvidia-smi
    runner = EvolutionRunner(compose(["evaluation.backend=cuda"]))
    with pytest.raises(MissingToolError, match="needs a GPU"):
        runner.run(EXAMPLE, tmp_path / "run")
    assert not (tmp_path / "run").exists()
