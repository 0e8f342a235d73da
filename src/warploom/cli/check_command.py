"""`warploom check`."""

from pathlib import Path

from warploom.backends import find_backend
from warploom.cli.check_files import print_annotations, told_if_not_built
from warploom.cli.comparisons import describe_comparison
from warploom.cli.judge_options import CheckChoices
from warploom.cli.observed_output import print_observed_check, where
from warploom.cli.output import (
    out,
    paint,
    print_finding,
    print_json,
    print_trace,
    progress,
    warn_without_sandbox,
)
from warploom.cli.run_options import RunChoices
from warploom.core.finding_pages import kinds_with_a_page
from warploom.core.records import Severity, Verdict
from warploom.evaluation.check import CheckReport, check
from warploom.evaluation.merged_findings import MergedFinding
from warploom.evaluation.runs.plan import parse_effort, parse_replay
from warploom.reports.formats.files import CheckFiles


def run_check(target: Path, run: RunChoices, choices: CheckChoices) -> int:
    """Check one program and print the report; returns the exit code."""
    effort = None if choices.effort is None else parse_effort(choices.effort)
    replay = None if choices.replay is None else parse_replay(choices.replay)
    files = CheckFiles(choices.html, choices.sarif, choices.junit, choices.github)
    files.require_places()
    workload = run.apply(target)
    runner = find_backend(choices.backend)
    as_json = choices.as_json
    if runner.steers:
        warn_without_sandbox()
    with (
        told_if_not_built(files, workload, as_json=as_json),
        progress(not as_json) as on_progress,
    ):
        report = check(
            workload,
            seeds=run.seeds,
            effort=effort,
            replay=replay,
            jobs=run.jobs,
            backend=runner,
            on_progress=on_progress,
            **run.shape,
        )
    annotations = files.write(report)
    if as_json:
        print_json(report.to_json())
    else:
        _print(report)
    print_annotations(annotations, as_json=as_json)
    return report.exit_code


def _print(report: CheckReport) -> None:
    for item in report.findings:
        finding = item.finding
        note = ""
        if report.devices:
            note = f"seen in {item.runs} of {len(report.runs)} runs" if item.runs else ""
        elif finding.timing is not None:
            first = f"first: {finding.timing} seed {finding.seed}"
            note = f"seen in {item.runs} of {len(report.runs)} runs, {first}"
            if report.effort is not None:
                note += f" (what led there: --replay {finding.seed}:{finding.timing})"
        print_finding(finding, note)
        print_trace(finding.trace)
    if report.verdict == Verdict.FAILED and report.output:
        out("the end of the program's output:")
        for line in report.output.splitlines()[-12:]:
            out(f"    | {line}")
    errors = dict.fromkeys(item.finding.kind for item in report.findings if _is_error(item))
    known = kinds_with_a_page()
    kinds = [kind for kind in errors if kind in known]
    if kinds:
        out(
            "For an explanation and a fix, run: "
            + ", ".join(f"warploom explain {k}" for k in kinds[:3])
        )
    for comparison in report.comparisons:
        out(f"output: {describe_comparison(comparison)}")
    if report.devices:
        print_observed_check(report)
    elif report.runs:
        out(_runs(report))
    color = "ok" if report.verdict == Verdict.OK else "error"
    out(f"{report.program.name}: {paint(str(report.verdict), color)}{where(report)}{_why(report)}")


def _is_error(item: MergedFinding) -> bool:
    return item.finding.severity == Severity.ERROR


def _runs(report: CheckReport) -> str:
    shapes = {"per_rank": "one process per rank", "single": "one process, all devices"}
    shape = shapes.get(report.processes, f"{report.processes} processes")
    if report.node_size is not None and report.node_size < report.ranks:
        shape += f", {report.ranks // report.node_size} machines of {report.node_size} devices"
    made = ", ".join(f"{run.timing}/{run.seed} {run.state}" for run in report.runs)
    skipped = report.planned - len(report.runs)
    why = "not needed: the last showed nothing new" if len(report.runs) > 1 else "not made"
    rest = f" ({skipped} more {why})" if skipped else ""
    kind = "replay" if report.effort is None else f"{report.effort} effort"
    return (
        f"{report.ranks} ranks, {shape}, NCCL {report.nccl} rules, happens-before check on, "
        f"sandbox: {report.sandbox}\n"
        f"{kind}: {made}{rest}; {report.seconds:.1f} s of which build {report.build_seconds:.1f} s"
    )


def _why(report: CheckReport) -> str:
    if report.verdict == Verdict.OK:
        return " (no defect found, every rank exited with 0)"
    if report.verdict == Verdict.FAILED:
        codes = sorted({str(code) for run in report.runs for code in run.exit_codes})
        return f" (exit codes {', '.join(codes)})" if codes else ""
    return ""
