"""What a transform reports: frozen records."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from warploom.core.records import Api, Json, to_json
from warploom.evaluation.records import Evaluation
from warploom.llm.ledger import Spent
from warploom.propose import Stage
from warploom.source.records import Collective


class StepStatus(StrEnum):
    """How a pipeline step ended."""

    DONE = "done"
    SKIPPED = "skipped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class PipelineStepResult:
    """One step of the pipeline.

    `seconds` is wall time, `cost` US dollars, None where nobody told it. `error` says why a
    step failed, or "" ; `details` say what it did or why it was skipped (`reason`).
    """

    name: str
    status: StepStatus
    seconds: float
    cost: float | None = 0.0
    error: str = ""
    details: Mapping[str, Json] = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True)
class StageResult:
    """One stage of host_to_device.

    `attempts` were made; `evaluation` is the last one's. `text` is the last proposal, verified
    only if `passed`. `diagnosis` is what a rerun with a synchronization after each launch said of
    the last attempt that failed, "" where none was made. `origin` is who proposed the last text;
    `problem` says why the last attempt brought no program, "" where it did.
    """

    stage: Stage
    passed: bool
    attempts: int
    text: str
    evaluation: Evaluation | None
    summary: str
    notes: tuple[str, ...] = ()
    diagnosis: str = ""
    cost: float | None = 0.0
    seconds: float = 0.0
    origin: str = "rules"
    problem: str = ""


@dataclass(frozen=True, slots=True)
class MadeFile:
    """A file that was written, and the user's that it takes the place of; None for a new one."""

    path: Path
    original: Path | None


@dataclass(frozen=True, slots=True)
class PipelineResult:
    """What a transform did and proved.

    `verified` says that the text in `program` passed the evaluation `evaluation`, and that on real
    GPUs, `hardware`, where they took part; only then is `program` set. `unverified` is where a
    candidate that failed was put aside. `collectives` are those of the source program. `seconds` is
    wall time. `run` is the folder of the run, where every attempt is kept, None where the rules
    alone proposed; `spent` is what models cost, in earlier processes of the run too. `files` are
    the program and what else of its files was changed or added.
    """

    verified: bool
    source: Path
    api: Api | None
    api_reason: str
    steps: tuple[PipelineStepResult, ...]
    stages: tuple[StageResult, ...]
    collectives: tuple[Collective, ...]
    evaluation: Evaluation | None
    program: Path | None
    unverified: Path | None
    diff: Path | None
    report: Path | None
    added_lines: int
    removed_lines: int
    cost: float | None
    seconds: float
    run: Path | None = None
    hardware: Evaluation | None = None
    spent: Spent | None = None
    files: tuple[MadeFile, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 transformed and verified; 1 not good."""
        return 0 if self.verified else 1

    def step(self, name: str) -> PipelineStepResult:
        """Return the step of this name."""
        return next(step for step in self.steps if step.name == name)

    def to_json(self) -> dict[str, Json]:
        """Return the result as plain JSON values."""
        evaluation = self.evaluation
        return {
            "verified": self.verified,
            "source": str(self.source),
            "api": to_json(self.api),
            "api_reason": self.api_reason,
            "steps": [to_json(step) for step in self.steps],
            "stages": [_stage(stage) for stage in self.stages],
            "collectives": [_collective(item) for item in self.collectives],
            "evaluation": None if evaluation is None else evaluation.to_json(),
            "hardware": None if self.hardware is None else self.hardware.to_json(),
            "program": to_json(self.program),
            "unverified": to_json(self.unverified),
            "files": [to_json(file) for file in self.files],
            "diff": to_json(self.diff),
            "added_lines": self.added_lines,
            "removed_lines": self.removed_lines,
            "cost": self.cost,
            "seconds": self.seconds,
            "run": to_json(self.run),
            "models": None if self.spent is None else _spent(self.spent),
        }


def _spent(spent: Spent) -> Json:
    return {
        "requests": spent.requests,
        "usage": to_json(spent.usage),
        "dollars": str(spent.dollars),
        "uncertain_requests": spent.uncertain_requests,
        "uncertain_dollars": str(spent.uncertain_dollars),
        "unpriced_requests": spent.unpriced_requests,
    }


def _stage(stage: StageResult) -> Json:
    evaluation = stage.evaluation
    return {
        "stage": str(stage.stage),
        "passed": stage.passed,
        "attempts": stage.attempts,
        "summary": stage.summary,
        "notes": list(stage.notes),
        "diagnosis": stage.diagnosis,
        "origin": stage.origin,
        "problem": stage.problem,
        "cost": stage.cost,
        "seconds": stage.seconds,
        "evaluation": None if evaluation is None else evaluation.to_json(),
    }


def _collective(item: Collective) -> Json:
    names = ("name", "line", "send", "recv", "count", "dtype", "op", "root", "peer", "stream")
    fields: dict[str, Json] = {name: to_json(getattr(item, name)) for name in names}
    return {**fields, "in_place": item.in_place, "group": item.group}
