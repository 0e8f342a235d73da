"""What runs say together that nobody steers: their times, and how their read-backs compare."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from warploom.backends import Built, Interval, LaunchForm, Machine, Order, Run
from warploom.core.errors import BadInputError
from warploom.core.records import Finding, Severity
from warploom.evaluation.check_report import TimedInterval
from warploom.evaluation.compare.difference import RESULT_CURES, Difference, kind_of_problem
from warploom.evaluation.compare.differential import compare
from warploom.evaluation.compare.outputs import Key, Sample, label, select
from warploom.evaluation.survey import Survey
from warploom.workload.workload import Workload

_SHOWN = 8  # differences that are told one by one


def form_of(facts: Survey) -> LaunchForm:
    """Return how the program's ranks come to be, as its text and its object say."""
    return LaunchForm(facts.processes, facts.uses_mpi, facts.nccl)


def run_tools(machine: Machine, program: Built, seed: int, tools: Sequence[str]) -> list[Run]:
    """Run once under each of the machine's `tools`, side by side: they take no times."""
    orders = [Order(seed, machine.steady, tool) for tool in tools]
    with ThreadPoolExecutor(max_workers=max(1, len(orders))) as pool:
        return list(pool.map(partial(machine.run, program), orders))


def require_good(workload: Workload, run: Run, where: str) -> None:
    """Raise BadInputError where a run of the trusted program, made `where`, is not good."""
    if run.ok:
        return
    first = next(iter(run.findings), None)
    raise BadInputError(
        f"the trusted program must succeed {where}, but with seed {run.order.seed} it did not: "
        f"{first.message if first else run.state}",
        file=str(workload.program),
        hint=first.hint if first else "",
    )


def samples_of(run: Run, facts: Survey, workload: Workload) -> dict[Key, Sample]:
    """Return what a run read back, by output."""
    return select(label(run.readbacks, facts.sites), workload)


def differences(
    expected: Mapping[Key, Sample], run: Run, facts: Survey, workload: Workload
) -> tuple[Difference, ...]:
    """Compare a run's read-backs with what is expected; not all backends tell what MPI brings."""
    if not run.sees_mpi:
        expected = {key: sample for key, sample in expected.items() if not sample.mpi}
    return compare(expected, samples_of(run, facts, workload), workload.outputs)


def told(
    found: Sequence[Difference], seed: int, where: str, whose: str, *, strict: bool
) -> tuple[Finding, ...]:
    """Return the differences as findings.

    Args:
        found: what was compared.
        seed: the run's input seed.
        where: where the run was made, such as "on the GPU".
        whose: whose values were expected, such as "the emulator's".
        strict: whether a read-back that only one side made is an error too.
    """
    return tuple(
        Finding(
            kind=(kind := kind_of_problem(item.problem)),
            hint=RESULT_CURES[kind],
            severity=Severity.ERROR if strict or item.problem == "differs" else Severity.WARNING,
            message=f"{item.describe()} ({where}, against {whose})",
            file=item.file,
            line=item.line,
            rank=item.key.rank,
            seed=seed,
        )
        for item in [item for item in found if item.problem][:_SHOWN]
    )


def times_of(runs: Iterable[Run]) -> tuple[TimedInterval, ...]:
    """Return each timed interval: the slowest rank of each run, and the median over the runs."""
    slowest: dict[int, list[float]] = {}
    first: dict[int, Interval] = {}
    for run in runs:
        for occurrence, items in _by_occurrence(run.intervals).items():
            slowest.setdefault(occurrence, []).append(max(i.milliseconds for i in items))
            first.setdefault(occurrence, items[0])
    return tuple(
        TimedInterval(
            file=first[at].file,
            line=first[at].line,
            occurrence=at,
            median=statistics.median(values),
            low=min(values),
            high=max(values),
            runs=len(values),
        )
        for at, values in sorted(slowest.items())
    )


def total_ms(run: Run) -> float | None:
    """Return a run's time: the sum of its intervals, each of the slowest rank; None without any."""
    groups = _by_occurrence(run.intervals).values()
    return sum(max(i.milliseconds for i in items) for items in groups) if groups else None


def _by_occurrence(intervals: Iterable[Interval]) -> dict[int, list[Interval]]:
    """Group intervals by their place in the order of their own rank."""
    count: dict[int, int] = {}
    groups: dict[int, list[Interval]] = {}
    for item in intervals:
        at = count.get(item.rank, 0)
        count[item.rank] = at + 1
        groups.setdefault(at, []).append(item)
    return groups
