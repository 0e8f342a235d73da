"""The pipeline's order, skip logic and files; the judge is played here, see test_verified.py."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from warploom.core.errors import BadInputError, MissingToolError, RefusedError, UnsupportedError
from warploom.core.records import Finding, Severity, Verdict
from warploom.evaluation.check import CheckReport
from warploom.evaluation.merged_findings import MergedFinding
from warploom.evaluation.records import Evaluation
from warploom.evaluation.runs.plan import Progress
from warploom.source.regions import Program
from warploom.transform import PreTransformPipeline, StepStatus, TransformConfig
from warploom.workload.workload import Workload

MOE = Path(__file__).parents[2] / "examples" / "moe" / "moe.cu"
DONE, SKIPPED, FAILED = StepStatus.DONE, StepStatus.SKIPPED, StepStatus.FAILED


def evaluation(candidate: Path, *, passed: bool) -> Evaluation:
    wrong = Finding("race", Severity.ERROR, "two writers", line=7, kernel="exchangeKernel")
    return Evaluation(
        level_reached=2, passed=passed, findings=() if passed else (MergedFinding(wrong),),
        comparisons=(), printed_verdict="PASS", runs=(), builds=(), seconds=0.1,
        time_source="none", frame="free", nccl="2.32.3", ranks=4, lsa_size=None, planned=9,
        sandbox="none", program=candidate, reference=candidate, seeds=(0, 1, 2),
        dependence="values" if passed else "",
    )  # fmt: skip


class Judge:
    """Plays the evaluator; `verdicts` are taken in turn, the last one stays."""

    def __init__(self, *verdicts: bool) -> None:
        self.verdicts = list(verdicts or (True,))
        self.seen: list[str] = []

    def __call__(self, candidate: Path, workload: object, **_: object) -> Evaluation:
        self.seen.append(candidate.read_text())
        verdict = self.verdicts.pop(0) if len(self.verdicts) > 1 else self.verdicts[0]
        return evaluation(candidate, passed=verdict)


def checked(verdict: Verdict = Verdict.OK, *findings: Finding) -> CheckReport:
    fields = dict.fromkeys(CheckReport.__dataclass_fields__, ())
    merged = tuple(MergedFinding(f) for f in findings)
    return CheckReport(**{**fields, "verdict": verdict, "findings": merged, "program": MOE})


def no_gpus(*_: object, **__: object) -> None:
    raise MissingToolError("none here")


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Judge:
    played = Judge()
    monkeypatch.setattr("warploom.transform.host_to_device.evaluate", played)
    monkeypatch.setattr("warploom.transform.pipeline.check", lambda *_, **__: checked())
    monkeypatch.setattr("warploom.transform.host_to_device.diagnose", lambda *_: "kernel k")
    monkeypatch.setattr("warploom.transform.on_gpus.evaluate", no_gpus)  # see test_on_gpus.py
    return played


def statuses(result: object) -> list[tuple[str, StepStatus]]:
    return [(step.name, step.status) for step in result.steps]  # type: ignore[attr-defined]


def test_all_steps_and_files(judge: Judge, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "out"
    result = PreTransformPipeline(TransformConfig(api_type="gin")).run(MOE, out)
    assert statuses(result) == [
        ("analyze", DONE), ("host_to_device", DONE), ("evolve_markers", DONE), ("warmup", SKIPPED),
        ("hardware", SKIPPED),
    ]  # fmt: skip
    assert result.verified and result.exit_code == 0
    assert len(judge.seen) == 2 and "ncclAlltoAll(" in judge.seen[0]
    assert sorted(p.relative_to(out).as_posix() for p in out.rglob("*.*")) == [
        "moe.cu", "moe.diff", "report.json", "stages/moe.stage-a.cu", "stages/moe.stage-b.cu",
    ]  # fmt: skip
    final = (out / "moe.cu").read_text()
    assert next(r.name for r in Program(final).regions) == "communication"
    assert (out / "stages" / "moe.stage-b.cu").read_text() == judge.seen[1]
    report = json.loads((out / "report.json").read_text())
    assert report["verified"] and report["api"] == "gin"
    assert [c["name"] for c in report["collectives"]] == ["ncclAlltoAll"] * 3
    assert not list(tmp_path.glob("deep/.*"))


def test_one_stage_judges_once(judge: Judge, tmp_path: Path) -> None:
    config = TransformConfig(two_stage=False, evolve_markers=False, warmup=False)
    result = PreTransformPipeline(config).run(MOE, tmp_path / "out")
    assert len(judge.seen) == 1
    assert [s.stage for s in result.stages] == ["device"]
    assert statuses(result)[2:4] == [("evolve_markers", SKIPPED), ("warmup", SKIPPED)]
    assert result.step("warmup").details["reason"] == "switched off"


def test_a_failure_is_never_presented_as_good(judge: Judge, tmp_path: Path) -> None:
    judge.verdicts = [True, False]
    out = tmp_path / "out"
    result = PreTransformPipeline(TransformConfig()).run(MOE, out)
    assert statuses(result) == [
        ("analyze", DONE), ("host_to_device", FAILED), ("evolve_markers", SKIPPED),
        ("warmup", SKIPPED), ("hardware", SKIPPED),
    ]  # fmt: skip
    assert not result.verified and result.exit_code == 1 and result.program is None
    assert "two writers" in result.step("host_to_device").error
    assert result.stages[-1].diagnosis == "kernel k"
    assert result.stages[-1].attempts == 3  # the general form and all memory in windows too
    assert not (out / "moe.cu").exists() and (out / "unverified" / "moe.cu").exists()
    assert json.loads((out / "report.json").read_text())["verified"] is False


def test_a_later_success_leaves_nothing_of_the_failure(judge: Judge, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out).mkdir()
    (out / "mine.txt").write_text("keep")
    judge.verdicts = [False]
    PreTransformPipeline(TransformConfig()).run(MOE, out)
    judge.verdicts = [True]
    PreTransformPipeline(TransformConfig()).run(MOE, out)
    assert (out / "moe.cu").exists() and not (out / "unverified").exists()
    assert (out / "mine.txt").read_text() == "keep"
    judge.verdicts = [False]
    PreTransformPipeline(TransformConfig()).run(MOE, out)
    assert not (out / "moe.cu").exists() and not (out / "stages").exists()


def test_a_device_initiated_program_is_left_as_it_is(judge: Judge, tmp_path: Path) -> None:
    config = TransformConfig(evolve_markers=False)
    first = PreTransformPipeline(config).run(MOE, tmp_path / "first")
    assert first.program is not None
    judge.seen.clear()
    again = PreTransformPipeline(TransformConfig()).run(first.program, tmp_path / "second")
    assert again.step("host_to_device").status is SKIPPED
    assert "already" in str(again.step("host_to_device").details["reason"])
    assert again.step("evolve_markers").status is DONE
    assert again.verified and len(judge.seen) == 1
    assert judge.seen[0] == (tmp_path / "second" / "moe.cu").read_text()


def test_markers_that_are_there_stay(judge: Judge, tmp_path: Path) -> None:
    first = PreTransformPipeline(TransformConfig(host_to_device=False)).run(MOE, tmp_path / "one")
    assert first.program is not None
    regions = [r.name for r in Program(first.program.read_text()).regions]
    second = PreTransformPipeline(TransformConfig(api_type="lsa")).run(
        first.program, tmp_path / "two"
    )
    assert second.step("evolve_markers").status is SKIPPED
    assert second.program is not None
    text = second.program.read_text()
    assert [r.name for r in Program(text).regions] == regions
    assert "device_comm::launchAlltoAll" in text


def test_a_refusal_writes_nothing(judge: Judge, tmp_path: Path) -> None:
    program = tmp_path / "moe.cu"
    before, text = "  ncclUniqueId id;\n", MOE.read_text()
    assert before in text
    shrinks = "  ncclComm_t part;\n  ncclCommShrink(part, nullptr, 0, &part, nullptr, 0);\n"
    program.write_text(text.replace(before, before + shrinks, 1))
    with pytest.raises(RefusedError):
        PreTransformPipeline(TransformConfig()).run(program, tmp_path / "out")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["moe.cu"]


def test_communication_in_a_c_file_is_refused(judge: Judge, tmp_path: Path) -> None:
    (tmp_path / "moe.cu").write_text(MOE.read_text())
    (tmp_path / "more.c").write_text(
        "#include <nccl.h>\nvoid more(float* p, ncclComm_t comm) {\n"
        "  ncclAllReduce(p, p, 1, ncclFloat, ncclSum, comm, 0);\n}\n"
    )
    workload = Workload.from_program(tmp_path / "moe.cu", sources=[tmp_path / "more.c"])
    with pytest.raises(RefusedError, match="communication in a C file") as caught:
        PreTransformPipeline(TransformConfig()).run(workload, tmp_path / "out")
    assert [r.line for r in caught.value.refusals] == [1]


def test_an_interruption_leaves_nothing(
    judge: Judge, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("warploom.transform.host_to_device.evaluate", interrupt)
    with pytest.raises(KeyboardInterrupt):
        PreTransformPipeline(TransformConfig()).run(MOE, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("verdict", "error"),
    [
        (Verdict.FAILED, BadInputError), (Verdict.DEFECT, BadInputError),
        (Verdict.DEADLOCK, BadInputError), (Verdict.UNSUPPORTED, UnsupportedError),
    ],
)  # fmt: skip
def test_what_fails_before_is_not_changed(
    verdict: Verdict,
    error: type[Exception],
    judge: Judge,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    finding = Finding("race", Severity.ERROR, "two writers", file="moe.cu", line=12)
    report = replace(checked(verdict, finding), runs=())
    monkeypatch.setattr("warploom.transform.pipeline.check", lambda *_, **__: report)
    with pytest.raises(error, match=r"moe.cu:12: .*two writers"):
        PreTransformPipeline(TransformConfig()).run(MOE, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_program_that_does_not_communicate(judge: Judge, tmp_path: Path) -> None:
    program = tmp_path / "plain.cu"
    program.write_text(
        "#include <cuda_runtime.h>\n__global__ void k() {}\nint main() { k<<<1, 1>>>(); }\n"
    )
    with pytest.raises(BadInputError, match="no communication"):
        PreTransformPipeline(TransformConfig()).run(program, tmp_path / "out")


def test_outputs_that_would_overwrite(judge: Judge, tmp_path: Path) -> None:
    program = tmp_path / "moe.cu"
    program.write_text(MOE.read_text())
    with pytest.raises(BadInputError, match="folder of the program itself"):
        PreTransformPipeline(TransformConfig()).run(program, tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInputError, match="must be a folder"):
        PreTransformPipeline(TransformConfig()).run(program, tmp_path / "file")


def test_outputs_that_cannot_be_written_are_refused_before_the_work(
    judge: Judge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "in" / "moe.cu"
    program.parent.mkdir()
    program.write_text(MOE.read_text())

    def checks(*_: object, **__: object) -> CheckReport:
        raise AssertionError("nothing may be run for outputs that have no place")

    monkeypatch.setattr("warploom.transform.pipeline.check", checks)
    (tmp_path / "file").write_text("")
    for place in (Path("/proc/nowhere"), tmp_path / "file" / "out", tmp_path / "file"):
        with pytest.raises(BadInputError):
            PreTransformPipeline(TransformConfig()).run(program, place)
    with pytest.raises(AssertionError):
        PreTransformPipeline(TransformConfig()).run(program, tmp_path / "new" / "deep" / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "in"]


def test_a_warm_up_that_changes_results_is_dropped(judge: Judge, tmp_path: Path) -> None:
    text = MOE.read_text().replace("WARMUP", "LEAD").replace("warm-up", "lead")
    begin = text.index("  for (int iteration = 0;")
    end = text.index("  CUDA_CHECK(cudaEventRecord(stop, stream));")
    text = (
        text[:begin]
        + "  CUDA_CHECK(cudaEventRecord(start, stream));\n"
        + "  for (int iteration = 0; iteration < ITERATIONS; ++iteration) {\n"
        + "    run_layer(layer, comm, stream);\n  }\n"
        + text[end:]
    )
    program = tmp_path / "moe.cu"
    program.write_text(text)
    result = PreTransformPipeline(TransformConfig()).run(program, tmp_path / "good")
    assert result.step("warmup").status is DONE
    assert "// warm-up: one round" in (tmp_path / "good" / "moe.cu").read_text()
    judge.verdicts = [True, True, False]
    result = PreTransformPipeline(TransformConfig()).run(program, tmp_path / "bad")
    assert result.step("warmup").status is SKIPPED and result.verified
    assert "second round" in str(result.step("warmup").details["reason"])
    assert "// warm-up: one round" not in (tmp_path / "bad" / "moe.cu").read_text()


def test_progress_is_passed_on(judge: Judge, tmp_path: Path) -> None:
    told: list[Progress] = []
    pipeline = PreTransformPipeline(TransformConfig(), told.append)
    assert pipeline.transformer.on_progress == told.append
