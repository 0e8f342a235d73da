"""What a workload holds, checked when it is made: the base of `Workload`, and what a file gives."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from warploom.core.records import Api, Limits
from warploom.emulator.running.topology import Topology
from warploom.workload.outputs import Output, check_left_out
from warploom.workload.ranges import check_launcher, check_region, check_seeds
from warploom.workload.run_shape import RunShape
from warploom.workload.variables import check_variables


@dataclass(frozen=True, slots=True)
class WorkloadFields:
    """A program, how to run it, and what must stay true of it.

    `outputs` is empty where every device-to-host copy is an output, typed by the analyzer.
    `vary_inputs` is the type of the numbers that `eval` varies on their way to the devices, by the
    seed and alike in both programs; "": none.
    `leave_out` are buffers that are no outputs, as they vary by nature: timers, clocks.
    `env` are environment variables, which the program has beside those of its launcher.
    `stdin` is a file that rank 0 reads as standard input; the others, and without it all, read
    nothing.
    `scored_region` is which of the regions that the program times itself is scored, counted from 1
    in the order in which it asks for their times; 0: the whole run.
    `judge` is the command that judges programs, where the workload brings a judge of its own: it is
    for evolve only then, and `task` says what its programs are for.
    `time_sizes` are macros that come in addition where GPUs measure its time: practical sizes, at
    which verification would take too long.
    `launcher` are the words of the command, srun or mpirun, by which runs on GPUs put `node_size`
    ranks on each of several machines; (): all ranks are on this one.
    `machine` is the one whose time modelled runs show, where the caller has chosen one: not of the
    file.
    """

    name: str
    root: Path
    program: Path
    sources: tuple[Path, ...] = ()
    include_dirs: tuple[Path, ...] = ()
    shape: RunShape = field(default_factory=RunShape)
    defines: Mapping[str, str] = field(default_factory=dict[str, str])
    args: tuple[str, ...] = ()
    outputs: tuple[Output, ...] = ()
    limits: Limits = field(default_factory=Limits)
    seeds: int = 3
    api: tuple[Api, ...] = (Api.GIN, Api.LSA)
    vary_inputs: str = ""
    leave_out: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    stdin: Path | None = None
    scored_region: int = 0
    time_sizes: Mapping[str, str] = field(default_factory=dict[str, str])
    launcher: tuple[str, ...] = ()
    machine: Topology | None = None
    judge: tuple[str, ...] = ()
    task: str = ""

    def __post_init__(self) -> None:
        check_left_out(self.leave_out, self.outputs)
        check_variables(self.env)
        check_seeds(self.seeds)
        check_region(self.scored_region)
        check_launcher(self.launcher)
