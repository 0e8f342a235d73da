"""What real runs say together: their records, times, and how their read-backs compare."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from warploom.core.errors import BadInputError, UnsupportedError
from warploom.core.records import Finding, Severity
from warploom.evaluate.compare.differential import (
    RESULT_CURES,
    Difference,
    compare,
    kind_of_problem,
)
from warploom.evaluate.compare.outputs import Key, Sample, label, select
from warploom.evaluate.survey import Survey
from warploom.hardware import (
    HardwareRun,
    Interval,
    Setup,
    connect,
    find_setup,
    wants_network,
)
from warploom.workload.workload import Workload

_SHOWN = 8  # differences that are told one by one


@dataclass(frozen=True, slots=True)
class HardwareRecord:
    """What a report keeps of one run on GPUs.

    `tool` is the compute-sanitizer tool above it, or "". `note` says why the tool's silence proves
    nothing, `foreign` how many of its reports were about code that is not the user's. `network` is
    the timing of our own network, or "" where the program did not run over it. `nodes` are the
    machines of its ranks, where a launcher has put them on several.
    """

    seed: int
    tool: str
    state: str
    exit_code: int | None
    readbacks: int
    seconds: float
    foreign: int = 0
    note: str = ""
    network: str = ""
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MeasuredTime:
    """One interval that the program takes, in milliseconds, measured on the GPUs.

    `line` is where it was taken. Of each run counts the slowest rank; `median`, `low` and `high`
    are over the runs.
    """

    file: str | None
    line: int | None
    occurrence: int
    median: float
    low: float
    high: float
    runs: int


def setup_for(workload: Workload, facts: Survey) -> Setup:
    """Find what runs of `workload` need on this machine's GPUs.

    Raises:
        MissingToolError: GPUs, NCCL's library or MPI are missing, or the GPUs are too few.
        UnsupportedError: the program starts its ranks in a way that we cannot.
    """
    if workload.processes is not None:
        raise UnsupportedError(
            f"{workload.processes} processes for {workload.ranks} ranks are not launched on GPUs",
            hint="judge it in the emulator: --backend emulator",
        )
    return find_setup(
        workload.ranks,
        facts.processes,
        uses_mpi=facts.uses_mpi,
        wants_network=wants_network(workload.build_spec(facts.nccl)),
        nccl=workload.nccl,
        launcher=workload.launcher,
        node_size=workload.node_size,
    )


def setup_of_candidate(setup: Setup, workload: Workload, facts: Survey, program: Path) -> Setup:
    """Return the workload's `setup` with the network that `program`, in its place, wants or not.

    Raises:
        MissingToolError: the network must be built and there is no C++ compiler.
    """
    return connect(setup, wants_network=wants_network(workload.build_spec(facts.nccl, program)))


def require_good(workload: Workload, run: HardwareRun, seed: int) -> None:
    """Raise BadInputError where a run of the trusted program is not good."""
    if run.ok:
        return
    first = next(iter(run.findings), None)
    raise BadInputError(
        f"the trusted program must succeed on the GPUs, but with seed {seed} it did not: "
        f"{first.message if first else run.state}",
        file=str(workload.program),
        hint=first.hint if first else "",
    )


def record_of(seed: int, run: HardwareRun) -> HardwareRecord:
    """Return what a report keeps of `run`."""
    said = run.sanitizer
    return HardwareRecord(
        seed=seed,
        tool=said.tool if said else "",
        state=run.state,
        exit_code=run.exit_code,
        readbacks=len(run.readbacks),
        seconds=run.seconds,
        foreign=said.foreign if said else 0,
        note=said.note if said else "",
        network=run.network,
        nodes=run.nodes,
    )


def samples_of(run: HardwareRun, facts: Survey, workload: Workload) -> dict[Key, Sample]:
    """Return what a run read back, by output."""
    return select(label(run.readbacks, facts.sites), workload)


def differences(
    expected: Mapping[Key, Sample], run: HardwareRun, facts: Survey, workload: Workload
) -> tuple[Difference, ...]:
    """Compare a run's read-backs with what is expected; GPUs do not tell what MPI brings."""
    expected = {key: sample for key, sample in expected.items() if not sample.mpi}
    return compare(expected, samples_of(run, facts, workload), workload.outputs)


def told(
    found: Sequence[Difference], seed: int, whose: str, *, strict: bool
) -> tuple[Finding, ...]:
    """Return the differences as findings.

    Args:
        found: what was compared.
        seed: the run's input seed.
        whose: whose values were expected, such as "the emulator's".
        strict: whether a read-back that only one side made is an error too.
    """
    return tuple(
        Finding(
            kind=(kind := kind_of_problem(item.problem)),
            hint=RESULT_CURES[kind],
            severity=Severity.ERROR if strict or item.problem == "differs" else Severity.WARNING,
            message=f"{item.describe()} (on the GPU, against {whose})",
            file=item.file,
            line=item.line,
            rank=item.key.rank,
            seed=seed,
        )
        for item in [item for item in found if item.problem][:_SHOWN]
    )


def times_of(runs: Iterable[HardwareRun]) -> tuple[MeasuredTime, ...]:
    """Return each timed interval: the slowest rank of each run, and the median over the runs."""
    slowest: dict[int, list[float]] = {}
    first: dict[int, Interval] = {}
    for run in runs:
        for occurrence, items in _by_occurrence(run.intervals).items():
            slowest.setdefault(occurrence, []).append(max(i.milliseconds for i in items))
            first.setdefault(occurrence, items[0])
    return tuple(
        MeasuredTime(
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


def total_ms(run: HardwareRun) -> float | None:
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
