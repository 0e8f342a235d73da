"""Ranks on several machines: srun or mpirun starts each, and each is confined where it runs.

The launcher itself is outside of the sandbox, since it must reach the machines. What it starts
there is `hardware/rank.py`, which runs the program in that machine's sandbox. They share a folder
below the cache: all machines see that, this Python and the workload's folder by the same names.
"""

import math
import os
import re
import sys
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from warploom.core.errors import MissingToolError, RanksLostError
from warploom.core.process import ProcessResult, Stop, run_process
from warploom.core.records import Limits
from warploom.hardware.handed import Node, Orders, Outcome, leave, see_anew, taken_all
from warploom.toolchain.cache import cache_root
from warploom.toolchain.sandbox import find_sandbox
from warploom.toolchain.sandbox_kind import SandboxKind

AGENT = (sys.executable, "-m", "warploom.hardware.rank")
"""What a launcher starts for each rank, before the name of a folder with its orders."""

ORDERS, OUTCOMES, LOG = "orders", "outcomes", "log"
STARTING = 120.0
"""Seconds that a launcher may need beside the program's own time."""

_LAUNCHERS_OWN_MB = 2048
_TO_CANCEL = Limits(seconds=20.0, memory_mb=512, output_mb=1)
_TOLD = 1000  # characters of what a launcher printed
_FIRST, _LAST = 2, 2  # lines of it
_IDLE = re.compile(r"srun: (?:launch/slurm: _step_signal|Job step aborted)")
"""What srun says after the reason."""
_GPUS = ("--gpus", "--gres", "--tres-per", "-G")  # options by which a user asks srun for GPUs
_TIMES = ("--time", "-t")  # and by which one limits a job's time
# Of our environment, what launchers need: their own settings, and how they know their cluster.
_NAMES = frozenset(("PATH", "HOME", "USER", "LOGNAME", "LANG", "LD_LIBRARY_PATH", "TMPDIR"))
_PREFIXES = (
    "SLURM", "MUNGE_", "OMPI_", "OPAL_", "ORTE_", "PMIX_MCA_", "PRTE_", "HYDRA_", "UCX_", "PYTHON",
    "WARPLOOM_",
)  # fmt: skip
# But neither keys (Slurm's own token is one that srun needs) nor what is true of this process only.
_NOT = re.compile(
    r"^(?!SLURM_JWT$).*(?:KEY|TOKEN|SECRET|PASSW|CREDENTIAL|JWT|COOKIE)|^OMPI_COMM_WORLD_"
    r"|^SLURM_(?:PROCID|LOCALID|NODEID|GTIDS|TASK_PID)$"
)


@dataclass(frozen=True, slots=True)
class Launcher:
    """The words of a command that starts processes, and how many ranks each machine has."""

    words: tuple[str, ...]
    node_ranks: int
    hydra: bool = False

    @property
    def is_slurm(self) -> bool:
        """Whether it is srun, else mpirun."""
        return Path(self.words[0]).name == "srun"

    @property
    def obeys_ranks(self) -> bool:
        """Whether a rank may have it start processes, which are outside of the sandbox.

        mpirun and Slurm's PMI-2 do (`MPI_Comm_spawn`), Slurm's PMIx does not.
        """
        harmless = ("--mpi=pmix", "--mpi=none")
        return not (self.is_slurm and any(word.startswith(harmless) for word in self.words))

    def nodes(self, ranks: int) -> int:
        """Return how many machines a number of ranks takes."""
        return ranks // self.node_ranks

    def command(self, ranks: int, each: int | None = None) -> list[str]:
        """Return the command that starts the ranks, or `each` processes on each machine.

        How many stands before the words that follow the first: those may end in a container's.
        """
        nodes = self.nodes(ranks)
        each = self.node_ranks if each is None else each
        if not self.is_slurm:
            place = ["-ppn", str(each)] if self.hydra else ["--map-by", f"ppr:{each}:node"]
            bind = "-bind-to" if self.hydra else "--bind-to"
            return [self.words[0], "-n", str(nodes * each), *place, bind, "none", *self.words[1:]]
        asked = any(word.startswith(_GPUS) for word in self.words[1:])
        gpus = [] if asked else [f"--gpus-per-node={self.node_ranks}"]
        return [
            self.words[0], f"--nodes={nodes}", f"--ntasks={nodes * each}",
            f"--ntasks-per-node={each}", *gpus, "--kill-on-bad-exit=1", *self.words[1:],
        ]  # fmt: skip


@contextmanager
def shared_folder(name: str) -> Generator[Path]:
    """Yield a new folder that all machines see, and nobody else's user."""
    place = cache_root() / "ranks"
    place.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(
        prefix=f"{name}-{os.getpid()}-", dir=place, ignore_cleanup_errors=True
    ) as made:
        folder = Path(made)
        for part in (OUTCOMES, LOG):
            (folder / part).mkdir(mode=0o700)
        yield folder


def look_at_nodes(launcher: Launcher, ranks: int) -> tuple[Node, ...]:
    """Return the machines that a launcher starts processes on.

    Raises:
        MissingToolError: it cannot be run, or starts them on another number of machines; or one of
            these has no sandbox, and this one has.
    """
    with shared_folder("nodes") as folder:
        command = [*launcher.command(ranks, 1), *AGENT, str(folder), "--look"]
        done = launch(launcher, command, Limits(seconds=0.0), folder.name)
        found = taken_all(folder / OUTCOMES, Node)
    count = launcher.nodes(ranks)
    if not done.ok or len({node.name for node in found}) != count:
        raise MissingToolError(
            f"the workload's launcher must start processes on {count} machines, but started them "
            f"on {len({node.name for node in found})}: {_said(done)}",
            hint=f"try it yourself: {' '.join(launcher.command(ranks, 1))} hostname",
        )
    _require_sandboxes(found)
    return tuple(sorted(found, key=lambda node: node.name))


def is_confined() -> bool:
    """Whether programs have a sandbox here, so that they must have one everywhere."""
    return find_sandbox().kind is not SandboxKind.LIMITS


def _require_sandboxes(nodes: Sequence[Node]) -> None:
    open_ = ", ".join(node.name for node in nodes if node.sandbox == SandboxKind.LIMITS)
    if open_ and is_confined():
        raise MissingToolError(
            f"programs must run in a sandbox on each machine as on this one, but {open_} has none",
            hint="install bubblewrap there; WARPLOOM_SANDBOX=limits has all run without",
        )


def launch(launcher: Launcher, command: Sequence[str], limits: Limits, name: str) -> ProcessResult:
    """Run a launcher to its end; its time is the program's and that of starting it.

    Raises:
        MissingToolError: it is not there.
    """
    bounds = replace(
        limits, seconds=limits.seconds + STARTING, memory_mb=limits.memory_mb + _LAUNCHERS_OWN_MB
    )
    environment = launchers_environment()
    if not launcher.is_slurm:
        return run_process(command, limits=bounds, environment=environment)
    # A limit of Slurm's own ends what nobody is left to end; a name finds it again.
    minutes = math.ceil((bounds.seconds + STARTING) / 60)
    limited = any(word.startswith(_TIMES) for word in launcher.words[1:])
    named = [command[0], f"--job-name={name}", *([] if limited else [f"--time={minutes}"])]
    over = False
    try:
        done = run_process([*named, *command[1:]], limits=bounds, environment=environment)
        over = done.stopped is None
    finally:
        if not over:
            _cancel(name, environment)
    return done


def _cancel(name: str, environment: Mapping[str, str]) -> None:
    """End an allocation whose srun was killed: Slurm would keep it."""
    with suppress(MissingToolError):
        run_process(
            ["scancel", "--quiet", f"--name={name}"],
            limits=_TO_CANCEL, environment={**environment},
        )  # fmt: skip


def launchers_environment() -> dict[str, str]:
    """Return our environment as far as launchers and Python need it.

    Without what an outer launcher has told of this process: ranks would take it for theirs.
    """
    ours = {
        name: value
        for name, value in os.environ.items()
        if (name in _NAMES or name.startswith(_PREFIXES)) and not _NOT.search(name)
    }
    root = dict.fromkeys(("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"), "1")
    return {**root, **ours}


def run_ranks(
    launcher: Launcher, ranks: int, orders: Orders, folder: Path
) -> tuple[ProcessResult, tuple[Outcome, ...]]:
    """Run a program's ranks on their machines; what they noted is in the folder's `log`.

    Raises:
        MissingToolError: the launcher is not there.
        RanksLostError: not all ranks were begun or ended, and none of the others failed.
    """
    leave(folder / ORDERS, orders)
    each = orders.memory_mb * launcher.node_ranks  # mpirun has those of this machine below it
    limits = Limits(orders.seconds, each, orders.output_mb * ranks)
    done = launch(launcher, [*launcher.command(ranks), *AGENT, str(folder)], limits, folder.name)
    outcomes = tuple(taken_all(folder / OUTCOMES, Outcome))
    see_anew(folder / LOG)
    failed = sorted((one for one in outcomes if not one.ok), key=lambda one: one.signal is None)
    if failed:  # the launcher then ends the others, and tells how those ended
        bad = failed[0]
        stopped = Stop(bad.stopped) if bad.stopped else None
        return replace(done, exit_code=bad.exit_code, signal=bad.signal, stopped=stopped), outcomes
    lost = sorted(set(range(ranks)) - {one.rank for one in outcomes})
    if lost or len(outcomes) != ranks:
        raise RanksLostError(
            f"{launcher.words[0]} must run {ranks} ranks to their end, but nothing is known of "
            f"{len(lost)} ({', '.join(map(str, lost[:8]))}): {_said(done)}"
        )
    return done, outcomes


def _said(done: ProcessResult) -> str:
    """Return how a launcher failed: its first words, in which the reason is, and its last ones."""
    lines = [line.strip() for line in done.log.splitlines()]
    lines = [line for line in lines if line.strip("-=*# ") and not _IDLE.match(line)]
    if len(lines) > _FIRST + _LAST:
        lines = [*lines[:_FIRST], "...", *lines[-_LAST:]]
    told = "; ".join(lines)[:_TOLD] or "it says nothing"
    if done.stopped is None:
        return told
    return f"{told} (ended by warploom: {done.stopped} after {done.seconds:.0f} s)"
