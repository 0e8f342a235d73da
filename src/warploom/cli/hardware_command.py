"""`warploom check` and `warploom eval` with `--backend cuda`."""

from pathlib import Path

from warploom.cli.check_files import print_annotations, told_if_not_built
from warploom.cli.eval_command import describe_comparison
from warploom.cli.options import RunChoices
from warploom.cli.output import out, paint, print_finding, print_json, progress, short_path
from warploom.core.errors import BadInputError
from warploom.core.records import Verdict
from warploom.evaluate.evaluation import LEVELS
from warploom.evaluate.on_gpus.check import HardwareReport, check_hardware
from warploom.evaluate.on_gpus.evaluation import HardwareEvaluation, evaluate_hardware
from warploom.evaluate.on_gpus.runs import HardwareRecord
from warploom.evaluate.runs.plan import Effort, parse_effort
from warploom.reports.formats.files import CheckFiles


def _refuse(
    choices: RunChoices,
    replay: str | None = None,
    processes: int | None = None,
) -> None:
    """Refuse what has no meaning on GPUs."""
    if processes is not None:
        raise BadInputError(
            "--processes is for the emulator: on GPUs each MPI rank is a process of its own"
        )
    if choices.node_size is not None:
        raise BadInputError("--node-size divides the emulated machine: it is for the emulator")
    if replay is not None:
        raise BadInputError("--replay repeats an emulated run: leave it or --backend cuda out")
    if choices.lsa_size is not None:
        raise BadInputError(
            "--lsa-size sets the emulated topology: on GPUs it is what the machine has"
        )


def run_check_on_gpus(
    target: Path,
    choices: RunChoices,
    *,
    effort: str | None,
    replay: str | None,
    processes: int | None,
    files: CheckFiles,
    as_json: bool,
) -> int:
    """Check one program on this machine's GPUs and print the report; returns the exit code."""
    _refuse(choices, replay, processes)
    files.require_places()
    kind = Effort.NORMAL if effort is None else parse_effort(effort)
    workload = choices.apply(target)
    with (
        told_if_not_built(files, workload, as_json=as_json),
        progress(not as_json) as on_progress,
    ):
        report = check_hardware(workload, effort=kind, jobs=choices.jobs, on_progress=on_progress)
    annotations = files.write(report)
    if as_json:
        print_json(report.to_json())
    else:
        _print(report)
    print_annotations(annotations, as_json=as_json)
    return report.exit_code


def run_eval_on_gpus(
    candidate: Path, target: Path, choices: RunChoices, *, level: int, as_json: bool
) -> int:
    """Judge one candidate on this machine's GPUs; returns the exit code."""
    _refuse(choices)
    workload = choices.apply(target)
    with progress(not as_json) as on_progress:
        result = evaluate_hardware(
            candidate, workload, level=level, jobs=choices.jobs, on_progress=on_progress
        )
    if as_json:
        print_json(result.to_json())
    else:
        print_evaluation(result)
    return result.exit_code


def _print(report: HardwareReport) -> None:
    plain = sum(not run.tool for run in report.runs)
    for item in report.findings:
        seen = f"seen in {item.runs} of {len(report.runs)} runs" if item.runs else ""
        print_finding(item.finding, seen)
    if report.verdict == Verdict.FAILED and report.output:
        out("the end of the program's output:")
        for line in report.output.splitlines()[-12:]:
            out(f"    | {line}")
    for comparison in report.comparisons:
        out(f"output: {describe_comparison(comparison)}")
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
    colour = "ok" if report.verdict == Verdict.OK else "error"
    out(f"{report.program.name}: {paint(str(report.verdict), colour)} on the GPU")


def print_evaluation(result: HardwareEvaluation) -> None:
    """Print what real GPUs said of a candidate."""
    for item in result.findings:
        print_finding(item.finding, f"seen in {item.runs} of {len(result.runs)} runs")
    for comparison in result.comparisons:
        out(f"output: {describe_comparison(comparison)}")
    _print_tools(result.runs)
    if result.time_ms is not None and result.speedup is not None:
        out(
            f"time: {result.time_ms:.4g} ms, the trusted program {result.baseline_ms:.4g} ms: "
            f"{result.speedup:.2f}x ({result.time_source})"
        )
    out(_machine(result))
    word = paint("passed", "ok") if result.passed else paint("failed", "error")
    out(
        f"{word} at level {result.level_reached} ({LEVELS[result.level_reached]}) on the GPU, "
        f"frame: {result.frame}, {result.seconds:.1f} s"
    )


def _print_tools(runs: tuple[HardwareRecord, ...]) -> None:
    for run in runs:
        if run.tool:
            foreign = f"; {run.foreign} reports about code of libraries" if run.foreign else ""
            said = f"proves nothing: {run.note}" if run.note else f"{run.seconds:.1f} s"
            out(f"compute-sanitizer {run.tool}: {said}{foreign}")


def _machine(report: HardwareReport | HardwareEvaluation) -> str:
    sharing = ", several ranks on a GPU" if report.shared else ""
    network = ", over warploom's network (no card for GIN here)" if report.own_network else ""
    nodes = sorted({node for run in report.runs for node in run.nodes})
    machines = f" of {len(nodes)} machines ({', '.join(nodes)})" if nodes else ""
    return (
        f"{report.ranks} ranks{sharing} on {len(report.gpus)} x {report.gpus[0]}{machines}, NCCL "
        f"{report.nccl}{network}, sandbox: {report.sandbox}"
    )
