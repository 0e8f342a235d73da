"""Synthesizes a suite task by task; each outcome is kept, so that a run can be resumed."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warploom.core.errors import BadInputError, UnsupportedError, WarploomError
from warploom.core.records import Json, to_json
from warploom.synthesis.config import SynthesisConfig
from warploom.synthesis.orchestrator import REPORT, synthesize
from warploom.synthesis.suite.tasks_of import SuiteTask

Done = Callable[["TaskOutcome"], None]
_OUTCOME = "outcome.json"


@dataclass(frozen=True, slots=True)
class TaskOutcome:
    """What became of a task: `status` is verified, refused, failed or error."""

    task: str
    status: str
    reason: str
    forms: tuple[str, ...]
    cases: int
    builds: tuple[str, ...]
    time_us: float | None
    baseline_us: float | None
    seconds: float

    def to_json(self) -> Json:
        """Return the outcome as JSON."""
        return to_json(self)


def run_suite(
    tasks: Sequence[SuiteTask],
    config: SynthesisConfig,
    folder: Path,
    *,
    target: str = "sm_90",
    resume: bool = False,
    on_done: Done = lambda _: None,
) -> tuple[TaskOutcome, ...]:
    """Synthesize each task into a folder of its own below `folder`.

    With `resume`, tasks that have an outcome there are not done again.

    Raises:
        BadInputError: the folder holds outcomes already, and `resume` was not asked for.
    """
    if not resume and any(folder.glob(f"*/{_OUTCOME}")):
        raise BadInputError(
            "the folder holds outcomes already", file=str(folder), hint="--resume goes on with them"
        )
    found: list[TaskOutcome] = []
    for task in tasks:
        kept = folder / task.name / _OUTCOME
        if kept.is_file():
            outcome = _outcome_from(json.loads(kept.read_text()))
        else:
            outcome = _one(task, config, folder / task.name, target)
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(json.dumps(outcome.to_json(), indent=2) + "\n")
        found.append(outcome)
        on_done(outcome)
    return tuple(found)


def _outcome_from(data: dict[str, Any]) -> TaskOutcome:
    values: dict[str, Any] = dict(data)
    values["forms"], values["builds"] = tuple(data["forms"]), tuple(data["builds"])
    return TaskOutcome(**values)


def _one(task: SuiteTask, config: SynthesisConfig, folder: Path, target: str) -> TaskOutcome:
    status, reason = "error", ""
    try:
        result = synthesize(task.prompt, task.file, target, config, out=folder)
        status = "verified" if result.verified else "failed"
    except UnsupportedError as error:
        where = f"line {error.line}: " if error.line else ""
        status, reason = "refused", where + error.message
    except WarploomError as error:
        reason = error.message
    report: dict[str, Any] = json.loads((folder / REPORT).read_text())
    correct: dict[str, Any] = report["correctness"] or {"cases": 0, "builds": [], "checks": []}
    time: dict[str, Any] = report["performance"] or {"time_ms": None, "baseline_ms": None}
    failed: list[Any] = [c for c in correct["checks"] if not c["passed"]]
    if status == "failed" and failed:
        reason = f"{failed[0]['name']}: {failed[0]['detail']}"
    return TaskOutcome(
        task=task.name, status=status, reason=reason,
        forms=tuple((report["kernel"] or {"forms": ()})["forms"]), cases=correct["cases"],
        builds=tuple(b["tool"] for b in correct["builds"] if b["ok"]),
        time_us=_us(time["time_ms"]), baseline_us=_us(time["baseline_ms"]),
        seconds=report["seconds"],
    )  # fmt: skip


def _us(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds * 1e3


def table_text(outcomes: Sequence[TaskOutcome]) -> str:
    """Return a table of outcomes in Markdown, with how many are verified."""
    lines = [
        "| task | outcome | kernels | cases | nvcc | modelled us | one kernel an operation, us |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in outcomes:
        nvcc = ", ".join(b.removeprefix("nvcc ") for b in one.builds if b.startswith("nvcc"))
        word = one.status if not one.reason else f"{one.status}: {_short(one.reason)}"
        times = [("" if t is None else f"{t:.2f}") for t in (one.time_us, one.baseline_us)]
        lines.append(
            f"| {one.task} | {word} | {', '.join(one.forms)} | {one.cases} | {nvcc} | {times[0]} | "
            f"{times[1]} |"
        )
    verified = sum(one.status == "verified" for one in outcomes)
    refused = sum(one.status == "refused" for one in outcomes)
    lines += ["", f"{verified} of {len(outcomes)} verified, {refused} refused; times are modelled."]
    return "\n".join(lines) + "\n"


def _short(text: str) -> str:
    first = text.splitlines()[0].replace("|", "/")
    return first if len(first) <= 120 else f"{first[:117]}..."
