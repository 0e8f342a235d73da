"""Emulated runs: their options, their order, what a report keeps, and the verdict over many."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from warploom.core.errors import BadInputError
from warploom.core.records import Finding, RunSpec, Severity, Timing, Verdict
from warploom.emulator import EmulatorBuild, EmulatorRun, RunOptions, Topology, run, run_many
from warploom.emulator.topology import DEFAULT_TOPOLOGY, find_topology, topology_names
from warploom.evaluate.findings import merge
from warploom.evaluate.runs.plan import ProgressCallback, counter, worker_count
from warploom.workload.workload import Workload

ELEMENTS = {"float16": "f2", "bfloat16": "b2", "float32": "f4", "float64": "f8"}
"""What the runtime calls the elements of a dtype (behavior/spoil.h)."""
MAX_DEVICE_MB = 40 << 10
"""What an emulated device gives at most, MiB: its addresses are 48 GiB."""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What one run did.

    `exit_codes` are the processes' in order of rank (None: it did not end), `seconds` is wall time.
    """

    seed: int
    timing: Timing
    verdict: Verdict
    state: str
    exit_codes: tuple[int | None, ...]
    seconds: float


def run_options(
    workload: Workload,
    spec: RunSpec,
    processes: str,
    *,
    race: bool = True,
    trace: int = 0,
    folder: Path | None = None,
    machine: Topology | None = None,
) -> RunOptions:
    """Return how to run `workload` once.

    `processes` is "per_rank", "single" or a number, where the workload does not say how many.

    Files of `folder` can be read by their plain names. A device says that it has half of the
    memory that the run may hold, but no less than 4 GiB, and gives 40 GiB to who asks for them:
    memory that nobody writes costs nothing, and what is written counts for the run. A quarter of
    that memory may hold access history in its quickest form.

    Raises:
        BadInputError: a process would have devices of two of the workload's machines, or time is
            to be modelled and no machine fits.
    """
    if machine is None and spec.timing is Timing.MODELLED:
        machine = machine_for(workload)
        if machine is None:
            raise BadInputError(f"no machine with {workload.ranks} connected GPUs is known")
    if workload.processes is not None:
        processes = str(workload.processes)
    if workload.node_size is not None:
        _check_nodes(workload.ranks, workload.node_size, processes)
    vary = f"{spec.seed}:{ELEMENTS[workload.vary_inputs]}" if workload.vary_inputs else ""
    return RunOptions(
        ranks=workload.ranks,
        lsa_size=workload.lsa_size,
        node_size=workload.node_size,
        run=spec,
        args=workload.args_for(spec.seed),
        limits=workload.limits,
        environment=workload.env,
        stdin=workload.stdin,
        device_memory_mb=min(max(4096, workload.limits.memory_mb // 2), MAX_DEVICE_MB),
        device_most_mb=MAX_DEVICE_MB,
        whole_history_mb=workload.limits.memory_mb // 4,
        race=race,
        processes=_processes(processes),
        trace=trace,
        folder=folder,
        machine=machine,
        vary=vary,
    )


def machine_for(workload: Workload) -> Topology | None:
    """Return the workload's machine, or a packaged one that its ranks fit; None without one."""
    if workload.machine is not None:
        return workload.machine
    team = workload.lsa_size or workload.ranks
    for name in (DEFAULT_TOPOLOGY, *topology_names()):
        machine = find_topology(name)
        if machine.gpus_per_node >= team:
            return machine
    return None


def _check_nodes(ranks: int, node_size: int, processes: str) -> None:
    """Raise BadInputError unless machines of `node_size` devices hold whole processes."""
    count = ranks if processes == "per_rank" else 1 if processes == "single" else int(processes)
    if count % (ranks // node_size):
        raise BadInputError(
            f"{count} process{'es' if count > 1 else ''} cannot be shared out to"
            f" {ranks // node_size} machines of {node_size} devices",
            hint="--processes says how many there are",
        )


def _processes(text: str) -> Literal["per_rank", "single"] | int:
    if text.isdecimal():
        return int(text)
    return "single" if text == "single" else "per_rank"


def ended(outcome: EmulatorRun) -> bool:
    """Whether the emulator itself came to its end, whatever it concluded."""
    return outcome.state in ("finished", "deadlock", "stopped") and not outcome.unsupported


def run_plan(
    program: EmulatorBuild,
    options: Sequence[RunOptions],
    go_on: Callable[[EmulatorRun], bool],
    *,
    stage: str,
    jobs: int | None,
    on_progress: ProgressCallback,
) -> list[EmulatorRun]:
    """Run the first of `options`, and the others where `go_on` says so of the first.

    The first runs alone, so that what is reported does not depend on which of several ends first.
    """
    finished = counter(stage, len(options), on_progress)
    first = run(program, options[0])
    finished(first)
    if len(options) == 1 or not go_on(first):
        return [first]
    return [first, *run_all(program, options[1:], jobs=jobs, on_done=finished)]


_DRY_BATCHES = 2  # further batches without a new finding after which a check stops
_BASE_BATCHES = 2  # batches that are always made


def run_batches(
    program: EmulatorBuild,
    batches: Sequence[Sequence[RunOptions]],
    *,
    jobs: int | None,
    on_progress: ProgressCallback,
) -> list[EmulatorRun]:
    """Run batch after batch, until two further ones show nothing new.

    The first batch is one run; where the emulator cannot end it, no other is made.
    """
    finished = counter("run", sum(map(len, batches)), on_progress)
    first = run(program, batches[0][0])
    finished(first)
    outcomes = [first]
    if not ended(first):
        return outcomes
    dry = 0
    for number, batch in enumerate(batches[1:], 1):
        known = _distinct(outcomes)
        outcomes += run_all(program, batch, jobs=jobs, on_done=finished)
        dry = dry + 1 if number >= _BASE_BATCHES and _distinct(outcomes) == known else 0
        if dry == _DRY_BATCHES:
            break
    return outcomes


def _distinct(outcomes: Iterable[EmulatorRun]) -> int:
    return len(merge(map(findings_of, outcomes)))


def run_all(
    program: EmulatorBuild,
    options: Sequence[RunOptions],
    *,
    jobs: int | None,
    on_done: Callable[[EmulatorRun], None],
) -> list[EmulatorRun]:
    """Run all of `options`, several at a time; results keep the order."""
    workers = worker_count(jobs, len(options))
    outcomes = run_many(program, options, workers=workers, on_done=on_done)
    return [outcome for outcome in outcomes if outcome is not None]


def findings_of(outcome: EmulatorRun) -> list[Finding]:
    """Return the findings of a run, what it met that is not emulated included."""
    run_spec = outcome.options.run
    return [
        *outcome.findings,
        *(
            Finding(
                kind="unsupported",
                severity=Severity.ERROR,
                message=f"{use.name} is not emulated: {use.message}",
                file=use.file,
                line=use.line,
                seed=run_spec.seed,
                timing=run_spec.timing,
            )
            for use in outcome.unsupported
        ),
    ]


def record(spec: RunSpec, outcome: EmulatorRun) -> RunRecord:
    """Return what a report keeps of one run."""
    return RunRecord(
        seed=spec.seed,
        timing=spec.timing,
        verdict=outcome.verdict,
        state=str(outcome.state),
        exit_codes=_exit_codes(outcome),
        seconds=outcome.seconds,
    )


def _exit_codes(outcome: EmulatorRun) -> tuple[int | None, ...]:
    return tuple(outcome.exit_codes.get(rank) for rank in range(outcome.options.process_count))


_WORST_FIRST = (Verdict.UNSUPPORTED, Verdict.DEADLOCK, Verdict.DEFECT, Verdict.FAILED)


def overall(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict over several runs: the worst one."""
    seen = set(verdicts)
    return next((verdict for verdict in _WORST_FIRST if verdict in seen), Verdict.OK)
