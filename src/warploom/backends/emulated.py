"""The emulator as a backend, and how a workload's runs in it are set up."""

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from warploom.backends.protocol import MODELLED, NO_TIME, Built, Interval, LaunchForm, Order, Run
from warploom.core.errors import BadInputError
from warploom.core.records import Finding, RunSpec, Severity, Timing
from warploom.emulator import EmulatorBuild, EmulatorRun, RunOptions, Topology, build, run
from warploom.emulator.running.topology import DEFAULT_TOPOLOGY, find_topology, topology_names
from warploom.workload.workload import Workload

ELEMENTS = {"float16": "f2", "bfloat16": "b2", "float32": "f4", "float64": "f8"}
"""What the runtime calls the elements of a dtype (behavior/spoil.h)."""
_INTEGERS = {
    "int8": "i1", "uint8": "i1", "int16": "i2", "uint16": "i2",
    "int32": "i4", "uint32": "i4", "int64": "i8", "uint64": "i8",
}  # fmt: skip
VARIED = ELEMENTS | _INTEGERS
"""The same of what `vary_inputs` may be."""
MAX_DEVICE_MB = 40 << 10
"""What an emulated device gives at most, MiB: its addresses are 48 GiB."""


class EmulatorBackend:
    """The CPU emulator: it steers the network and sees each access."""

    name = "emulator"
    where = "in the emulator"
    steers = True

    def machine(self, workload: Workload, form: LaunchForm) -> "EmulatedMachine":
        """Return the emulated machine that a workload asks for."""
        return EmulatedMachine(workload, form, machine_for(workload))

    def require_tools(self) -> None:
        """Nothing is missing: it has its checks built in."""


@dataclass(frozen=True, slots=True)
class EmulatedProgram:
    """A program for the emulator, and how long its build took."""

    build: EmulatorBuild
    seconds: float


@dataclass(frozen=True, slots=True)
class EmulatedMachine:
    """The devices of a workload, emulated; its checks are in each run, and no further tools.

    `topology` is the machine whose time is modelled; None: none is known that the ranks fit. A run
    has no judgment over several (`evaluation/runs/fresh_memory.py`, `stale_reads.py`).
    """

    workload: Workload
    form: LaunchForm
    topology: Topology | None
    shared: bool = False
    own_network: bool = False
    tools: tuple[str, ...] = ()

    @property
    def devices(self) -> tuple[str, ...]:
        """The machine whose time is modelled, in words."""
        return (f"emulated {self.topology.name}" if self.topology else "emulated",)

    @property
    def nccl(self) -> str:
        """The version of NCCL whose rules hold."""
        return self.form.nccl

    @property
    def time_source(self) -> str:
        """Modelled, where a machine is known that the ranks fit."""
        return MODELLED if self.topology else NO_TIME

    @property
    def steady(self) -> str:
        """Modelled time, where there is a machine for it."""
        return str(Timing.MODELLED if self.topology else Timing.EAGER)

    def timings(self, count: int) -> tuple[str, ...]:
        """Return the steady timing, then lazy and random ones by turns; one alone is lazy."""
        others = [str((Timing.LAZY, Timing.RANDOM)[at % 2]) for at in range(count)]
        return tuple(others if count == 1 else [self.steady, *others[:-1]])

    def serving(self, program: Path) -> "EmulatedMachine":
        """Return itself: every program has the whole network."""
        del program
        return self

    def build(self, program: Path | None = None) -> EmulatedProgram:
        """Build a program, metered for modelled time."""
        started = time.monotonic()
        made = build(replace(self.workload.build_spec(self.nccl, program), timed=True))
        return EmulatedProgram(made, time.monotonic() - started)

    def run(self, program: Built, order: Order) -> Run:
        """Run it once, with the happens-before check."""
        assert isinstance(program, EmulatedProgram)
        spec = RunSpec(order.seed, Timing(order.timing))
        options = run_options(self.workload, spec, self.form.processes, folder=self.workload.root)
        return run_of(run(program.build, options), order)


def run_of(outcome: EmulatorRun, order: Order) -> Run:
    """Return what an emulated run did as any backend tells it."""
    return Run(
        order=order,
        verdict=outcome.verdict,
        state=str(outcome.state),
        exit_codes=exit_codes(outcome),
        findings=tuple(findings_of(outcome)),
        readbacks=outcome.readbacks,
        intervals=_intervals(outcome),
        output=outcome.stdout + outcome.stderr,
        seconds=outcome.seconds,
        sandbox=str(outcome.sandbox),
        steady=outcome.timeline is not None,
        sees_mpi=True,
    )


def _intervals(outcome: EmulatorRun) -> tuple[Interval, ...]:
    """Return the modelled times, each the maximum over the ranks, region by region."""
    regions = outcome.timeline.regions if outcome.timeline else ()
    times = [(region, ms) for region in regions for ms in region.times]
    return tuple(
        Interval(0, at, ms, region.file, region.line) for at, (region, ms) in enumerate(times)
    )


def exit_codes(outcome: EmulatorRun) -> tuple[int | None, ...]:
    """Return the exit codes of the processes, in order; None: it did not end."""
    return tuple(outcome.exit_codes.get(rank) for rank in range(outcome.options.process_count))


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
            raise BadInputError(f"no machine with {workload.shape.ranks} connected GPUs is known")
    if workload.shape.processes is not None:
        processes = str(workload.shape.processes)
    if workload.shape.node_size is not None:
        _check_nodes(workload.shape.ranks, workload.shape.node_size, processes)
    vary = f"{spec.seed}:{VARIED[workload.vary_inputs]}" if workload.vary_inputs else ""
    return RunOptions(
        ranks=workload.shape.ranks,
        lsa_size=workload.shape.lsa_size,
        node_size=workload.shape.node_size,
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
    team = workload.shape.lsa_size or workload.shape.ranks
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
