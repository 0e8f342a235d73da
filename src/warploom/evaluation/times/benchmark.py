"""Levels 3 and 4: how long a verified candidate takes, and the score of that time.

On the emulator the time is modelled (docs/time-model.md), so it is the same in every repetition:
one run for each input is enough, and the baseline needs no interleaving. The outputs of the timed
runs are compared with the reference like those of verification: a program that does less work when
it is timed fails.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median

from warploom.backends.emulated import run_options
from warploom.core.records import BuildSpec, Finding, RunSpec, Severity, Timing, Verdict
from warploom.emulator import EmulatorRun, Timeline, Topology, build, run
from warploom.evaluation.compare.reference import Reference
from warploom.evaluation.depends.iterations import timed_findings
from warploom.evaluation.modelled_time import Benchmark, impossible_time, is_possible
from warploom.evaluation.runs.plan import ProgressCallback
from warploom.evaluation.survey import Survey
from warploom.evaluation.times.scored_region import region_findings, scored_times
from warploom.evaluation.verify import verify


def timed_plan(plan: Sequence[RunSpec], args: Sequence[str]) -> tuple[RunSpec, ...]:
    """Return the runs to time: each input once, where the seed changes the input."""
    seeds = list(dict.fromkeys(spec.seed for spec in plan))
    if not any("{seed}" in arg for arg in args):
        seeds = seeds[:1]
    return tuple(RunSpec(seed, Timing.EAGER) for seed in seeds)


def benchmark(
    spec: BuildSpec,
    trusted: BuildSpec,
    facts: Survey,
    reference: Reference,
    plan: Sequence[RunSpec],
    topology: Topology,
    *,
    verified: Mapping[RunSpec, EmulatorRun],
    jobs: int | None,
    on_progress: ProgressCallback,
) -> tuple[Benchmark | None, tuple[Finding, ...]]:
    """Time a verified program on `topology`, and the `trusted` one as its baseline.

    Returns:
        The benchmark (None where a timed run was not good), and what is wrong with the timed runs.

    Raises:
        BadInputError: the ranks do not fit the topology.
    """
    runs = timed_plan(plan, reference.workload.args)
    result = verify(
        build(replace(spec, timed=True)),
        facts,
        reference,
        runs,
        jobs=jobs,
        on_progress=on_progress,
        machine=topology,
    )
    wrong = tuple(
        finding
        for group in result.findings
        for finding in group
        if finding.severity is Severity.ERROR
    )
    wrong += tuple(timed_findings(result.outcomes, verified))
    timelines = [run.timeline for run in result.outcomes if run.timeline is not None]
    wrong += tuple(
        impossible_time(run.timeline, run.options.run)
        for run in result.outcomes
        if run.timeline is not None and not is_possible(run.timeline)
    )
    if wrong or not result.passed or len(timelines) != len(runs):
        return None, wrong
    before = _baseline(trusted, reference, runs, topology)
    whole = tuple(timeline.total_ms for timeline in timelines)
    old_whole = median(timeline.total_ms for timeline in before) if before else None
    regions = before[0].regions if before else ()
    number = reference.workload.scored_region
    if number == 0:
        return Benchmark(topology.name, whole, timelines[0], old_whole, regions), ()
    wrong = region_findings(number, timelines, before)
    if wrong:
        return None, wrong
    times, old_times = scored_times(number, timelines, before)
    return Benchmark(
        topology.name, times, timelines[0], median(old_times), regions, number, median(whole),
        old_whole,
    ), ()  # fmt: skip


def _baseline(
    spec: BuildSpec, reference: Reference, plan: Sequence[RunSpec], topology: Topology
) -> tuple[Timeline, ...]:
    """Return the trusted program's timed runs.

    None where one of them does not end well, or takes a time that nothing can run for.
    """
    program = build(replace(spec, timed=True))
    workload, form = reference.workload, reference.facts.processes
    timelines: list[Timeline] = []
    for one in plan:
        outcome = run(program, run_options(workload, one, form, race=False, machine=topology))
        timeline = outcome.timeline
        if outcome.verdict is not Verdict.OK or timeline is None or not is_possible(timeline):
            return ()
        timelines.append(timeline)
    return tuple(timelines)
