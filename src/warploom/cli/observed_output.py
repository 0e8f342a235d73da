"""How reports of a backend that steers nothing are printed: runs, tools, times."""

from collections.abc import Sequence

from warploom.backends import find_backend
from warploom.cli.output import out, short_path
from warploom.evaluation.check_report import CheckReport
from warploom.evaluation.records import Evaluation
from warploom.evaluation.runs.record import RunRecord


def print_observed_check(report: CheckReport) -> None:
    """Print what was run, what it was held against, and the times that were taken."""
    plain = sum(not run.tool for run in report.runs)
    out(f"expected: {report.expected}")
    for time in report.times:
        place = f"{short_path(time.file)}:{time.line}" if time.file else "an unknown line"
        out(
            f"time: {time.median:.4g} ms ({time.low:.4g} to {time.high:.4g} in {time.runs} runs), "
            f"taken at {place}; {report.time_source}, slowest rank"
        )
    _print_tools(report.runs)
    out(_machine(report))
    out(
        f"{report.effort} effort: {plain} plain runs; {report.seconds:.1f} s of which build "
        f"{report.build_seconds:.1f} s"
    )


def print_observed_evaluation(result: Evaluation) -> None:
    """Print what was run of a candidate, and its time beside the trusted program's."""
    _print_tools(result.runs)
    if result.taken is not None:
        out(
            f"time: {result.taken.time_ms:.4g} ms, the trusted program "
            f"{result.taken.baseline_ms:.4g} ms: {result.taken.speedup:.2f}x ({result.time_source})"
        )
    out(_machine(result))


def where(report: CheckReport | Evaluation) -> str:
    """Return where its runs were made, with a blank before it: " on the GPU"; "": emulated."""
    return f" {find_backend(report.backend).where}" if report.devices else ""


def _print_tools(runs: Sequence[RunRecord]) -> None:
    for run in runs:
        if run.tool:
            foreign = f"; {run.foreign} reports about code of libraries" if run.foreign else ""
            said = f"proves nothing: {run.note}" if run.note else f"{run.seconds:.1f} s"
            out(f"{run.tool}: {said}{foreign}")


def _machine(report: CheckReport | Evaluation) -> str:
    sharing = ", several ranks on a GPU" if report.shared else ""
    network = ", over warploom's network (no card for GIN here)" if report.own_network else ""
    nodes = sorted({node for run in report.runs for node in run.nodes})
    machines = f" of {len(nodes)} machines ({', '.join(nodes)})" if nodes else ""
    return (
        f"{report.ranks} ranks{sharing} on {len(report.devices)} x {report.devices[0]}{machines}, "
        f"NCCL {report.nccl}{network}, sandbox: {report.sandbox}"
    )
