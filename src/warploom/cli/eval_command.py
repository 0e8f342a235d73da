"""`warploom eval`, and how an evaluation is printed."""

import json
from pathlib import Path

from warploom.backends import find_backend
from warploom.cli.comparisons import describe_comparison
from warploom.cli.judge_options import EvalChoices
from warploom.cli.observed_output import print_observed_evaluation, where
from warploom.cli.output import (
    out,
    paint,
    print_finding,
    print_json,
    progress,
    warn_without_sandbox,
)
from warploom.cli.run_options import RunChoices
from warploom.core.errors import BadInputError
from warploom.emulator import Region
from warploom.emulator.running.topology import DEFAULT_TOPOLOGY, find_topology
from warploom.evaluation.cascade import evaluate
from warploom.evaluation.modelled_time import Benchmark
from warploom.evaluation.observed.check import require_unsteered
from warploom.evaluation.records import (
    BENCHMARK,
    LEVELS,
    SCORE,
    VERIFY,
    BuildRecord,
    Evaluation,
)
from warploom.evaluation.runs.secret_seeds import seeds_from

SPOILED = {
    "values": "altering what moves between ranks changes the outputs as in the reference",
    "elements": "altering what moves between ranks changes the same outputs as in the reference",
}
"""What the forms of `Evaluation.dependence` mean."""


def run_eval(
    candidate: Path,
    target: Path,
    run: RunChoices,
    choices: EvalChoices,
) -> int:
    """Judge one candidate and print the evaluation; returns the exit code."""
    runner = find_backend(choices.backend)
    timed = choices.topology is not None or choices.timeline is not None
    if not runner.steers:
        require_unsteered(runner, run.shape, None)
        if timed:
            raise BadInputError(
                f"--topology and --timeline model time in the emulator: {runner.where} it is "
                "measured at level 2"
            )
    workload = run.apply(target)
    machine = find_topology(choices.topology or DEFAULT_TOPOLOGY)
    level = choices.level
    if level is None:
        level = SCORE if timed else VERIFY
    elif level < BENCHMARK and timed:
        raise BadInputError(f"--topology and --timeline need level 3 or 4, got level {level}")
    if runner.steers:
        warn_without_sandbox()
    with progress(not choices.as_json) as on_progress:
        result = evaluate(
            candidate,
            workload,
            level=level,
            jobs=run.jobs,
            inputs=None if choices.seeds_from is None else seeds_from(choices.seeds_from),
            topology=machine,
            trust_candidate=choices.trust_candidate,
            nvcc=not choices.no_nvcc,
            backend=runner,
            on_progress=on_progress,
        )
    if choices.timeline is not None and result.benchmark is not None:
        write_timeline(choices.timeline, result.benchmark)
    if choices.as_json:
        print_json(result.to_json())
    else:
        print_evaluation(result)
    return result.exit_code


def print_evaluation(result: Evaluation) -> None:
    """Print findings, what was compared, what was run and the conclusion.

    The first line says so where the comparison proves little.
    """
    if result.passed and result.proves_little:
        out(f"{paint('this proves little', 'warning')}: {result.proves_little}")
    for item in result.findings:
        finding = item.finding
        counted = finding.timing or result.devices
        seen = f"seen in {item.runs} of {len(result.runs)} runs" if counted else ""
        print_finding(finding, seen)
    machines = ""
    if result.node_size is not None and result.node_size < result.ranks:
        count = result.ranks // result.node_size
        machines = f", {count} machines of {result.node_size} devices"
    rules = f"NCCL {result.nccl}" if result.devices else f"NCCL {result.nccl} rules"
    out(f"frame: {result.frame}; {rules}, {result.ranks} ranks{machines}")
    for build in result.builds:
        out(f"build: {_build(build)}")
    for comparison in result.comparisons:
        out(f"output: {describe_comparison(comparison)}")
    if result.left_out:
        out(f"left out: {', '.join(result.left_out)}, not compared")
    if result.devices:
        print_observed_evaluation(result)
    elif result.runs:
        made = ", ".join(f"{run.timing}/{run.seed} {run.verdict}" for run in result.runs)
        skipped = result.planned - len(result.runs)
        rest = f" ({skipped} more not made)" if skipped else ""
        out(f"runs: {made}{rest}, happens-before check on, sandbox: {result.sandbox}")
        said = result.printed_verdict or "nothing"
        out(f"the program said of itself: {said} (recorded, not believed)")
        if result.dependence:
            out(f"spoil runs: {SPOILED[result.dependence]}")
        seeds = ",".join(map(str, result.seeds))
        out(f"seeds: {seeds}, drawn for this evaluation (--seeds-from repeats it)")
    if result.benchmark is not None:
        _print_time(result, result.benchmark)
    word = paint("passed", "ok") if result.passed else paint("failed", "error")
    out(
        f"{word} at level {result.level_reached} ({LEVELS[result.level_reached]}){where(result)}, "
        f"{result.seconds:.1f} s"
    )


def write_timeline(path: Path, benchmark: Benchmark) -> None:
    """Write the timeline in Chrome's trace format.

    Raises:
        BadInputError: the file cannot be written.
    """
    try:
        path.write_text(json.dumps(benchmark.timeline.chrome_trace()) + "\n")
    except OSError as error:
        raise BadInputError(f"cannot be written: {error.strerror}", file=str(path)) from None


def _print_time(result: Evaluation, benchmark: Benchmark) -> None:
    metrics = result.metrics
    number = benchmark.scored_region
    timed = f"timed region {number}" if number else "the whole run"
    out(f"time: {metrics['time_ms']:.4f} ms modelled on {benchmark.topology}, {timed}")
    if "baseline_ms" in metrics:
        out(
            f"baseline: {metrics['baseline_ms']:.4f} ms modelled, {result.reference.name}; "
            f"{metrics['speedup']:.2f} times as fast"
        )
    if number:
        out(
            f"the whole run: {metrics['whole_ms']:.4f} ms, "
            f"of the baseline {metrics['baseline_whole_ms']:.4f} ms"
        )
    parts = ("compute", "exposed", "waiting", "host")
    words = ("compute", "exposed communication", "waiting for other ranks", "device idle")
    told = [f"{word} {metrics[f'{part}_ms']:.4f}" for part, word in zip(parts, words, strict=True)]
    out(f"slowest rank (ms): {', '.join(told)}")
    for region in benchmark.timeline.regions:
        out(f"timed region {_region(region)}")
    for region in benchmark.baseline_regions:
        out(f"timed region of the baseline {_region(region)}")
    if result.score is not None:
        out(f"score: {result.score:.2f} = 10000 / (1 + ms)")


def _region(region: Region) -> str:
    place = f"{Path(region.file).name}:{region.line}" if region.file else "somewhere"
    repeated = f", median of {len(region.times)}" if len(region.times) > 1 else ""
    return f"{place}: {region.median_ms:.4f} ms modelled, maximum over ranks{repeated}"


def _build(build: BuildRecord) -> str:
    if build.ok is None:
        return f"{build.tool} not run: {build.note}"
    word = "ok" if build.ok else "failed"
    source = "cached" if build.cached else f"{build.seconds:.1f} s"
    return f"{build.tool} {word} ({source})"
