"""Replaces the host's communication by the device's, in stages that are each verified."""

import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from warploom.attempt import attempt, attempt_folder, keep_texts
from warploom.core.records import Api, Timing
from warploom.evaluation.cascade import evaluate
from warploom.evaluation.records import Evaluation
from warploom.evaluation.runs.plan import Progress, ProgressCallback, ignore_progress
from warploom.evaluation.transform_rule import TransformRule
from warploom.propose import Proposal, ProposalContext, Proposer, Stage, Trial
from warploom.propose.protocol import add_costs
from warploom.source import AnalysisReport
from warploom.transform.config import TransformConfig
from warploom.transform.diagnosis import diagnose
from warploom.transform.own_lines import own_lines_problem, unwatched_kernels
from warploom.transform.proposers import open_proposer
from warploom.transform.records import StageResult
from warploom.transform.trials import trial_of
from warploom.transform.verdicts import FailedAttempt, keep_failure, load_failure, verdict_key
from warploom.workload.workload import Workload

RULES = "rules"
"""The origin of proposals that our own rules made."""

_FOLDERS = {Stage.WINDOWS: "stage-a", Stage.DEVICE: "stage-b"}
_STAGE_A_TIMINGS = (Timing.LAZY, Timing.RANDOM)  # the host collectives make the traffic


@dataclass(frozen=True, slots=True)
class Task:
    """A program to transform.

    `text` is the program, `analysis` of this very text. `workload` has the text without evolve
    markers as its program: a transform changes the frame, which markers would forbid. `reference`
    says what is right where it is not the workload's program. `seen`: results are read back for
    the proof alone.
    """

    text: str
    analysis: AnalysisReport
    workload: Workload
    reference: Workload | None = None
    seen: bool = False


class HostToDeviceTransformer:
    """Proposes and judges until a stage passes or nothing is left to try.

    `run_dir` is where attempts and calls are kept; with None they are gone at the end. `proposer`
    takes the place of the configuration's.
    """

    def __init__(
        self,
        config: TransformConfig,
        on_progress: ProgressCallback = ignore_progress,
        *,
        run_dir: Path | None = None,
        proposer: Proposer | None = None,
    ) -> None:
        self.config = config
        self.run_dir = run_dir
        self.proposer = proposer
        self.on_progress = on_progress

    def transform(self, task: Task, api: Api) -> tuple[StageResult, ...]:
        """Return what each stage came to; a stage that fails ends the transform.

        Raises:
            RefusedError: the program is beyond the proposer.
            BadInputError: the program fails before it is changed.
            LLMError: a model was needed and could not be had; what was paid for is in `run_dir`.
        """
        stages = (Stage.WINDOWS, Stage.DEVICE) if self.config.two_stage else (Stage.DEVICE,)
        results: list[StageResult] = []
        with self._opened(task) as (proposer, folder):
            for stage in stages:
                base = results[-1].text if results else ""
                results.append(self._run_stage(_Stage(task, api, stage, base, folder), proposer))
                if not results[-1].passed:
                    break
        return tuple(results)

    @contextmanager
    def _opened(self, task: Task) -> Generator[tuple[Proposer, Path]]:
        """Yield the proposer and the folder of the run."""
        with TemporaryDirectory(prefix="warploom-stage-") as temporary:
            folder = self.run_dir or Path(temporary)
            if self.proposer is not None:
                yield self.proposer, folder
                return
            with open_proposer(self.config, task.workload, folder) as proposer:
                yield proposer, folder

    def _run_stage(self, work: "_Stage", proposer: Proposer) -> StageResult:
        """Propose and judge one stage, up to its budget of attempts."""
        started = time.monotonic()
        trials: list[Trial] = []
        made: StageResult | None = None
        budget = self._budget(work.stage)
        for number in range(1, budget + 1):
            self.on_progress(Progress(f"{work.stage}: attempt", number, budget))
            context = ProposalContext(
                work.task.text, work.task.analysis, work.api, work.stage, number, tuple(trials),
                base=work.base,
            )  # fmt: skip
            proposal = proposer.propose(context)
            if proposal is None:
                break
            made = self._judge(work, number, proposal, made)
            if made.passed or (made.problem and made.problem == _unwatched(work.task)):
                break
            trials.append(trial_of(made))
        assert made is not None, "a proposer refuses or proposes something at its first attempt"
        return replace(made, seconds=time.monotonic() - started)

    def evaluate(
        self,
        candidate: Path,
        task: Task,
        stage: Stage = Stage.DEVICE,
        *,
        api: Api | None = None,
        trusted: bool = True,
    ) -> Evaluation:
        """Judge a program at a path as the stage asks: the last one in full.

        With `api`, the last stage must communicate by it from the device. The text of a program
        that is not `trusted` (no rule made it) is judged as well.
        """
        last = stage is Stage.DEVICE
        demanded = api if last else None
        rule = None if demanded is None and trusted else TransformRule(demanded, not trusted)
        inputs = self.config.inputs
        return evaluate(
            candidate,
            task.workload,
            rule=rule,
            reference=task.reference,
            nvcc=self.config.nvcc and last,
            seeds=self.config.seeds if last else 1,
            inputs=inputs if inputs is None or last else inputs[:1],
            timings=self.config.timings if last else _STAGE_A_TIMINGS,
            jobs=self.config.jobs,
            trust_candidate=trusted,
            on_progress=self.on_progress,
        )

    def _budget(self, stage: Stage) -> int:
        if not self.config.two_stage:
            return self.config.max_iterations
        if stage is Stage.WINDOWS:
            return self.config.stage_a_iterations
        return self.config.stage_b_iterations

    def _judge(
        self, work: "_Stage", number: int, proposal: Proposal, before: StageResult | None
    ) -> StageResult:
        folder = work.folder / _FOLDERS[work.stage]
        result = StageResult(
            stage=work.stage,
            passed=False,
            attempts=number,
            text=proposal.text,
            evaluation=None,
            summary=proposal.summary,
            notes=proposal.notes,
            cost=add_costs(
                (proposal.cost if proposal.cost_known else None, before.cost if before else 0.0)
            ),
            origin=proposal.origin,
            problem=proposal.problem or _unjudgeable(work.task, proposal),
        )
        if result.problem:
            keep_texts(
                attempt_folder(folder, number), {**proposal.files, "problem.txt": result.problem}
            )
            return result
        about = f"{work.stage} {work.api} {proposal.origin}"
        key = verdict_key(proposal.text, work.task.workload, self.config, about)
        known = load_failure(attempt_folder(folder, number), key)
        if known is not None:
            return replace(result, evaluation=known.evaluation, diagnosis=known.diagnosis)
        evaluation, diagnosis = self._judge_anew(work, number, proposal, folder)
        if not evaluation.passed:
            kept = FailedAttempt(key, evaluation, diagnosis)
            keep_failure(attempt_folder(folder, number), kept)
        return replace(result, passed=evaluation.passed, evaluation=evaluation, diagnosis=diagnosis)

    def _judge_anew(
        self, work: "_Stage", number: int, proposal: Proposal, folder: Path
    ) -> tuple[Evaluation, str]:
        name = work.task.workload.program.name
        trusted = proposal.origin == RULES
        made = attempt(
            number,
            proposal.origin,
            lambda: proposal.text,
            lambda path: self.evaluate(path, work.task, work.stage, api=work.api, trusted=trusted),
            folder,
            file_name=name,
            files=proposal.files,
        )
        diagnosis = ""
        if not made.passed and self.config.diagnostic_rerun:
            path = made.folder / name
            diagnosis = diagnose(made.evaluation, path, work.task.workload)
        return made.evaluation, diagnosis


def _unjudgeable(task: Task, proposal: Proposal) -> str:
    """Say why what a model or an agent wrote is not judged at all; "" if it is."""
    if proposal.origin == RULES:
        return ""
    return _unwatched(task) or own_lines_problem(task.text, proposal.text)


def _unwatched(task: Task) -> str:
    return unwatched_kernels(task.analysis) if task.seen else ""


@dataclass(frozen=True, slots=True)
class _Stage:
    """One stage of a task: `base` is the text of the stage before, `folder` the run's."""

    task: Task
    api: Api
    stage: Stage
    base: str
    folder: Path
