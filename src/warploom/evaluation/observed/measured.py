"""Times a verified candidate on this machine's GPUs, in turns with the trusted program."""

import socket
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from warploom.backends import CUDA, Order, Run, find_backend
from warploom.core.errors import BadInputError, SourceError
from warploom.core.records import Finding, Severity
from warploom.evaluation.observed.runs import (
    differences,
    form_of,
    require_good,
    samples_of,
    told,
    total_ms,
)
from warploom.evaluation.survey import survey, survey_built
from warploom.toolchain.cache import cache_root, locked
from warploom.workload.workload import Workload


@dataclass(frozen=True, slots=True)
class Measured:
    """What the GPUs said: medians in milliseconds, or what was wrong.

    Times are what the programs time themselves, of the slowest rank. `speedup` is the median over
    pairs of neighboring runs, one of the trusted program and one of the candidate.
    """

    time_ms: float = 0.0
    baseline_ms: float = 0.0
    speedup: float = 0.0
    runs: int = 0
    findings: tuple[Finding, ...] = ()


def measure(
    candidate: Path, workload: Workload, *, inputs: Sequence[int], repeats: int = 1
) -> Measured:
    """Run the trusted program and a candidate in turns, at the sizes that the workload is timed at.

    Whoever asks has verified the candidate: here only its read-backs are compared, run by run. One
    measurement at a time uses a machine's GPUs, whatever the number of processes that ask.

    Raises:
        BadInputError: the trusted program fails on the GPUs, or times nothing.
        MissingToolError: a GPU, nvcc, NCCL or MPI is missing.
        UnsupportedError: the program starts its ranks in a way that we cannot.
    """
    task = workload.at_practical_sizes()
    facts = survey_built(task)
    backend = find_backend(CUDA)
    machine = backend.machine(task, form_of(facts))
    own_machine = machine.serving(candidate)
    if own_machine.own_network:
        return _wrong("own_network", "GIN runs here over a network of ours: its times say nothing")
    trusted = machine.build()
    try:
        program = own_machine.build(candidate)
    except SourceError as error:
        return Measured(findings=(Finding("nvcc", Severity.ERROR, error.message, error.hint),))
    own = survey(task, program=candidate)
    pairs: list[tuple[float, float]] = []
    for seed in inputs:
        order = Order(seed, machine.steady)
        for _ in range(repeats):
            with locked(cache_root() / f".gpus-{socket.gethostname()}.lock"):
                first = machine.run(trusted, order)
                second = own_machine.run(program, order)
            require_good(task, first, backend.where)
            old = _time_of_trusted(task, first)
            if not second.ok:
                return Measured(findings=second.findings or _state(second))
            whose = "the trusted program's"
            found = differences(samples_of(first, facts, task), second, own, task)
            if wrong := told(found, seed, backend.where, whose, strict=True):
                return Measured(findings=wrong)
            new = total_ms(second)
            if not new:
                return _wrong("no_time", "the candidate times nothing, the trusted program does")
            pairs.append((old, new))
    return Measured(
        time_ms=statistics.median(new for _, new in pairs),
        baseline_ms=statistics.median(old for old, _ in pairs),
        speedup=statistics.median(old / new for old, new in pairs),
        runs=len(pairs),
    )


def _wrong(kind: str, message: str) -> Measured:
    return Measured(findings=(Finding(kind, Severity.ERROR, message),))


def _state(run: Run) -> tuple[Finding, ...]:
    return (Finding("run", Severity.ERROR, f"on the GPUs the run ended as {run.state}"),)


def _time_of_trusted(task: Workload, run: Run) -> float:
    """Return the trusted program's time in milliseconds."""
    found = total_ms(run)
    if not found:
        raise BadInputError(
            "the trusted program must time itself to be measured, but no interval was seen",
            file=str(task.program),
            hint="take its time with CUDA events or MPI_Wtime, as docs/hardware.md says",
        )
    return found
