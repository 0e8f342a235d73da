"""What an evaluation says, for the next attempt: in a few lines, and raw."""

from collections.abc import Sequence
from pathlib import Path

from warploom.core.records import Finding, Severity
from warploom.evaluation.records import Evaluation
from warploom.propose import Trial
from warploom.propose.llm.prompts import without_folders
from warploom.transform.records import StageResult

_SHOWN = 12  # findings of the raw report


def describe(evaluation: Evaluation) -> str:
    """Say in a few lines why an evaluation failed."""
    errors = [m.finding for m in evaluation.findings if m.finding.severity is Severity.ERROR]
    lines = [f"{e.kind}{f' at line {e.line}' if e.line else ''}: {e.message}" for e in errors[:5]]
    lines += [f"output {c.buffer} differs" for c in evaluation.comparisons if not c.passed][:5]
    return "\n".join(lines) or _exits(evaluation)


def _exits(evaluation: Evaluation) -> str:
    runs: Sequence[str] = [
        f"{run.timing}/{run.seed}: {run.verdict} ({run.state}, exit codes {list(run.exit_codes)})"
        for run in evaluation.runs
    ]
    return "; ".join(runs[:3]) or "no run was made"


def raw_report(evaluation: Evaluation) -> str:
    """Return the findings, comparisons and runs of an evaluation, one line each.

    Folders are left out of paths: they differ between machines and runs, and say nothing.
    """
    levels = ("legality", "build", "verification")
    lines = [f"failed at level {evaluation.level_reached}: {levels[evaluation.level_reached]}"]
    for item in evaluation.findings[:_SHOWN]:
        lines += _finding(item.finding, item.runs)
    if len(evaluation.findings) > _SHOWN:
        lines.append(f"... and {len(evaluation.findings) - _SHOWN} more findings")
    for output in evaluation.comparisons:
        state = "match" if output.passed else f"{output.failed} of {output.compared} differ"
        worst = output.worst
        shown = ""
        if worst is not None:
            shown = (
                f"; worst on rank {output.worst_rank}, element {worst.index}: expected "
                f"{worst.expected:g}, got {worst.got:g}, tolerance {worst.tolerance:g}"
            )
        lines.append(f"output {output.buffer} ({output.dtype}): {state}{shown}")
    for run in evaluation.runs:
        codes = ", ".join(map(str, run.exit_codes))
        lines.append(f"run {run.timing}/{run.seed}: {run.verdict}, {run.state}, exits {codes}")
    return without_folders("\n".join(lines) + "\n")


def _finding(finding: Finding, runs: int) -> list[str]:
    where = f"{Path(finding.file).name}:{finding.line or '?'}: " if finding.file else ""
    lines = [f"{where}{finding.severity} [{finding.kind}] {finding.message}"]
    who = [f"rank {finding.rank}"] if finding.rank is not None else []
    who += [f"kernel {finding.kernel}"] if finding.kernel else []
    who += [f"block {finding.block}"] if finding.block is not None else []
    who += [f"thread {finding.thread}"] if finding.thread is not None else []
    lines += [f"    at {', '.join(who)}"] if who else []
    if finding.other is not None:
        lines.append(f"    other side: {Path(finding.other.file).name}:{finding.other.line}")
    lines += [f"    hint: {finding.hint}"] if finding.hint else []
    if finding.timing is not None:
        lines.append(f"    seen in {runs} runs, first: {finding.timing} seed {finding.seed}")
    return lines


def trial_of(stage: StageResult) -> Trial:
    """Return what the next attempt is told of one that failed."""
    if stage.evaluation is None:
        return Trial(stage.attempts, "", f"no program came: {stage.problem}")
    return Trial(
        number=stage.attempts,
        text=stage.text,
        failure=without_folders(describe(stage.evaluation)),
        report=raw_report(stage.evaluation),
        diagnosis=without_folders(stage.diagnosis),
    )
