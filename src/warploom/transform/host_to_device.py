"""Replaces the host's communication by the device's, in stages that are each verified."""

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from warploom.attempt import attempt
from warploom.core.records import Api, Severity, Timing
from warploom.evaluate.cascade import evaluate
from warploom.evaluate.evaluation import Evaluation
from warploom.evaluate.plan import ProgressCallback, ignore_progress
from warploom.evaluate.workload import Workload
from warploom.propose import Proposal, ProposalContext, Stage
from warploom.source import AnalysisReport
from warploom.transform.config import TransformConfig, make_proposer
from warploom.transform.diagnosis import diagnose
from warploom.transform.records import StageResult

_STAGE_A_TIMINGS = (Timing.LAZY, Timing.RANDOM)  # the host collectives make the traffic


@dataclass(frozen=True, slots=True)
class Task:
    """A program to transform.

    `text` is the program, `analysis` of this very text. `workload` has the text without evolve
    markers as its program: a transform changes the frame, which markers would forbid.
    """

    text: str
    analysis: AnalysisReport
    workload: Workload


class HostToDeviceTransformer:
    """Proposes and judges until a stage passes or nothing is left to try."""

    def __init__(
        self, config: TransformConfig, on_progress: ProgressCallback = ignore_progress
    ) -> None:
        self.config = config
        self.proposer = make_proposer(config.proposer)
        self.on_progress = on_progress

    def transform(self, task: Task, api: Api) -> tuple[StageResult, ...]:
        """Return what each stage came to; a stage that fails ends the transform.

        Raises:
            RefusedError: the program is beyond the proposer.
            BadInputError: the program fails before it is changed.
        """
        stages = (Stage.WINDOWS, Stage.DEVICE) if self.config.two_stage else (Stage.DEVICE,)
        results: list[StageResult] = []
        for stage in stages:
            results.append(self.run_stage(task, api, stage))
            if not results[-1].passed:
                break
        return tuple(results)

    def run_stage(self, task: Task, api: Api, stage: Stage) -> StageResult:
        """Propose and judge one stage, up to its budget of attempts."""
        started = time.monotonic()
        feedback: list[str] = []
        made: StageResult | None = None
        with tempfile.TemporaryDirectory(prefix="warploom-stage-") as folder:
            for number in range(1, self._budget(stage) + 1):
                context = ProposalContext(
                    task.text, task.analysis, api, stage, number, tuple(feedback)
                )
                proposal = self.proposer.propose(context)
                if proposal is None:
                    break
                made = self._judge(task, stage, number, proposal, Path(folder), made)
                if made.passed or made.evaluation is None:
                    break
                feedback.append(describe(made.evaluation))
        assert made is not None, "a proposer refuses or proposes something at its first attempt"
        return replace(made, seconds=time.monotonic() - started)

    def evaluate(self, candidate: Path, task: Task, stage: Stage = Stage.DEVICE) -> Evaluation:
        """Judge a program at a path as the stage asks: the last one in full."""
        last = stage is Stage.DEVICE
        return evaluate(
            candidate,
            task.workload,
            nccl=self.config.nccl,
            nvcc=self.config.nvcc and last,
            seeds=self.config.seeds if last else 1,
            timings=self.config.timings if last else _STAGE_A_TIMINGS,
            jobs=self.config.jobs,
            on_progress=self.on_progress,
        )

    def _budget(self, stage: Stage) -> int:
        if not self.config.two_stage:
            return self.config.max_iterations
        if stage is Stage.WINDOWS:
            return self.config.stage_a_iterations
        return self.config.stage_b_iterations

    def _judge(
        self,
        task: Task,
        stage: Stage,
        number: int,
        proposal: Proposal,
        folder: Path,
        before: StageResult | None,
    ) -> StageResult:
        made = attempt(
            number,
            proposal.origin,
            lambda: proposal.text,
            lambda path: self.evaluate(path, task, stage),
            folder,
            file_name=task.workload.program.name,
        )
        diagnosis = ""
        if not made.passed and self.config.diagnostic_rerun:
            path = made.folder / task.workload.program.name
            diagnosis = diagnose(made.evaluation, path, task.workload, self.config)
        return StageResult(
            stage=stage,
            passed=made.passed,
            attempts=number,
            text=proposal.text,
            evaluation=made.evaluation,
            summary=proposal.summary,
            notes=proposal.notes,
            diagnosis=diagnosis,
            cost=proposal.cost + (before.cost if before else 0.0),
        )


def describe(evaluation: Evaluation) -> str:
    """Say in a few lines why an evaluation failed."""
    errors = [m.finding for m in evaluation.findings if m.finding.severity is Severity.ERROR]
    lines = [f"{e.kind} at line {e.line or '?'}: {e.message}" for e in errors[:5]]
    lines += [f"output {c.buffer} differs" for c in evaluation.comparisons if not c.passed][:5]
    return "\n".join(lines) or _exits(evaluation)


def _exits(evaluation: Evaluation) -> str:
    runs: Sequence[str] = [
        f"{run.timing}/{run.seed}: {run.verdict} ({run.state}, exit codes {list(run.exit_codes)})"
        for run in evaluation.runs
    ]
    return "; ".join(runs[:3]) or "no run was made"
