"""`warploom eval`, and how an evaluation is printed."""

from pathlib import Path

from warploom.cli.options import RunChoices
from warploom.cli.output import out, paint, print_finding, print_json, progress
from warploom.evaluate.cascade import evaluate
from warploom.evaluate.evaluation import LEVELS, BuildRecord, Evaluation, OutputComparison


def run_eval(
    candidate: Path, target: Path, choices: RunChoices, *, level: int, as_json: bool
) -> int:
    """Judge one candidate and print the evaluation; returns the exit code."""
    workload = choices.apply(target)
    with progress(not as_json) as on_progress:
        result = evaluate(
            candidate, workload, level=level, jobs=choices.jobs, on_progress=on_progress
        )
    if as_json:
        print_json(result.to_json())
    else:
        print_evaluation(result)
    return result.exit_code


def print_evaluation(result: Evaluation) -> None:
    """Print findings, what was compared, what was run and the conclusion."""
    for item in result.findings:
        finding = item.finding
        seen = f"seen in {item.runs} of {len(result.runs)} runs" if finding.timing else ""
        print_finding(finding, seen)
    out(f"frame: {result.frame}; NCCL {result.nccl} rules, {result.ranks} ranks")
    for build in result.builds:
        out(f"build: {_build(build)}")
    for comparison in result.comparisons:
        out(f"output: {describe_comparison(comparison)}")
    if result.runs:
        made = ", ".join(f"{run.timing}/{run.seed} {run.verdict}" for run in result.runs)
        skipped = result.planned - len(result.runs)
        rest = f" ({skipped} more not made)" if skipped else ""
        out(f"runs: {made}{rest}, happens-before check on, sandbox: {result.sandbox}")
        said = result.printed_verdict or "nothing"
        out(f"the program said of itself: {said} (recorded, not believed)")
    word = paint("passed", "ok") if result.passed else paint("failed", "error")
    out(
        f"{word} at level {result.level_reached} ({LEVELS[result.level_reached]}), "
        f"{result.seconds:.1f} s"
    )


def _build(build: BuildRecord) -> str:
    if build.ok is None:
        return f"{build.tool} not run: {build.note}"
    word = "ok" if build.ok else "failed"
    source = "cached" if build.cached else f"{build.seconds:.1f} s"
    return f"{build.tool} {word} ({source})"


def describe_comparison(item: OutputComparison) -> str:
    """Return one line about how an output fared."""
    word = "matches" if item.passed else f"differs in {item.failed}"
    atol = "by magnitude" if item.atol is None else f"{item.atol:g}"
    tolerance = (
        "bit by bit" if item.rtol == 0 and not item.atol else (f"rtol {item.rtol:g}, atol {atol}")
    )
    weak = f"; weak: {item.weak}" if item.weak else ""
    return (
        f"{item.buffer or 'unnamed'} ({item.dtype}, {tolerance}) {word} of {item.compared} "
        f"read-backs, largest error {item.max_error:.3g}{weak}"
    )
