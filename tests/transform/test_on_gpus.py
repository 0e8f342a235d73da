"""When real GPUs take part in a transform, and what comes of it; the GPUs are played here."""

import json
from pathlib import Path
from typing import Any

import pytest

from warploom.backends.cuda import CudaBackend
from warploom.core.errors import BadInputError, MissingToolError
from warploom.core.records import Finding, Severity
from warploom.evaluation.merged_findings import MergedFinding
from warploom.evaluation.records import Evaluation, TakenTime
from warploom.toolchain.gpu import Gpu
from warploom.transform import PreTransformPipeline, StepStatus, TransformConfig, on_gpus, proposers
from warploom.transform.pipeline import PipelineResult
from warploom.workload.workload import load_target

MOE = Path(__file__).parents[2] / "examples" / "moe"
H200 = Gpu(0, "NVIDIA H200", "sm_90", 143771, "580.159.04")


def said(*findings: Finding) -> Evaluation:
    return Evaluation(
        level_reached=2, passed=not findings, findings=tuple(map(MergedFinding, findings)),
        comparisons=(), printed_verdict="", runs=(), builds=(), seconds=1.0,
        time_source="self-timed", frame="free", nccl="2.32.3", ranks=4, lsa_size=None, planned=0,
        seeds=(), dependence="", sandbox="none", program=MOE, reference=MOE, backend="cuda",
        devices=("H200",), taken=TakenTime(2.0, 3.0, 1.5),
    )  # fmt: skip


class Gpus:
    """Plays the GPUs: `missing` is raised by the search for them, `verdict` given or raised."""

    def __init__(self) -> None:
        self.missing: MissingToolError | None = None
        self.verdict: Evaluation | BadInputError = said()
        self.seen: list[str] = []

    def search(self, *_: object) -> None:
        if self.missing is not None:
            raise self.missing

    def evaluate(self, program: Path, workload: object, **_: object) -> Evaluation:
        self.search()
        self.seen.append(program.read_text())
        if isinstance(self.verdict, BadInputError):
            raise self.verdict
        return self.verdict


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> Gpus:
    played = Gpus()
    monkeypatch.setattr(CudaBackend, "machine", played.search)
    monkeypatch.setattr(CudaBackend, "require_tools", lambda _: None)
    monkeypatch.setattr(on_gpus, "evaluate", played.evaluate)
    return played


def transform(folder: Path, **choices: Any) -> PipelineResult:
    """Transform an example, judged by the emulator in its shortest way."""
    config = TransformConfig(
        api_type="lsa", two_stage=False, evolve_markers=False, warmup=False, seeds=1, nvcc=False,
        **choices,
    )  # fmt: skip
    return PreTransformPipeline(config).run(MOE, folder / "out")


def test_gpus_that_agree_are_named_in_the_report(gpus: Gpus, tmp_path: Path) -> None:
    result = transform(tmp_path)
    assert result.verified and result.step("hardware").status is StepStatus.DONE
    assert result.program is not None and gpus.seen == [result.program.read_text()]
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["hardware"]["metrics"]["speedup"] == 1.5
    assert report["hardware"]["devices"] == ["H200"]


def test_a_result_that_differs_on_the_gpus_is_not_verified(gpus: Gpus, tmp_path: Path) -> None:
    gpus.verdict = said(Finding("wrong_result", Severity.ERROR, "buffer x differs"))
    result = transform(tmp_path)
    assert not result.verified and result.exit_code == 1 and result.program is None
    assert result.unverified is not None and result.unverified.exists()
    assert result.step("hardware").status is StepStatus.FAILED
    assert "wrong_result: buffer x differs" in result.step("hardware").error


def test_what_is_missing_skips_unless_gpus_must_take_part(gpus: Gpus, tmp_path: Path) -> None:
    gpus.missing = MissingToolError("the cuda backend needs a GPU, but it shows none")
    result = transform(tmp_path)
    assert result.verified and "needs a GPU" in str(result.step("hardware").details["reason"])
    with pytest.raises(MissingToolError, match="needs a GPU"):
        transform(tmp_path / "must", backend="cuda")
    assert not (tmp_path / "must").exists() and gpus.seen == []


def test_an_original_that_fails_there_proves_nothing(gpus: Gpus, tmp_path: Path) -> None:
    gpus.verdict = BadInputError("the trusted program must succeed on the GPUs, but it did not")
    result = transform(tmp_path)
    assert result.verified and result.step("hardware").status is StepStatus.SKIPPED
    must = transform(tmp_path / "must", backend="cuda")
    assert not must.verified and "must succeed" in must.step("hardware").error
    assert must.unverified is not None and must.unverified.exists()


def test_gpus_without_what_the_program_asks_for_prove_nothing(gpus: Gpus, tmp_path: Path) -> None:
    gpus.verdict = said(Finding("unsupported", Severity.ERROR, "NCCL offers no GIN here"))
    result = transform(tmp_path)
    assert result.verified and "no GIN" in str(result.step("hardware").details["reason"])
    must = transform(tmp_path / "must", backend="cuda")
    assert not must.verified and "no GIN" in must.step("hardware").error


def test_the_emulator_alone_asks_no_gpu(gpus: Gpus, tmp_path: Path) -> None:
    gpus.missing = MissingToolError("not to be asked")
    result = transform(tmp_path, backend="emulator")
    assert result.verified and result.step("hardware").details["reason"] == "switched off"
    with pytest.raises(BadInputError, match="backend must be one of auto, emulator, cuda"):
        TransformConfig(backend="gpu")


def test_a_model_is_told_of_the_api_and_the_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proposers, "find_gpus", lambda: (H200, H200))
    workload = load_target(MOE)
    facts = proposers.facts_of(TransformConfig(api_type="gin"), workload)
    assert facts.directives == (("API", "gin (asked for)"),)
    assert facts.hardware == f"The GPUs here: 2 x {H200.describe()}."
    alone = TransformConfig(api_type="gin", backend="emulator")
    assert proposers.facts_of(alone, workload).hardware == ""
