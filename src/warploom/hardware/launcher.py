"""Ranks on several machines: srun or mpirun starts each, and each is confined where it runs.

The launcher itself is outside of the sandbox, since it must reach the machines. What it starts
there is `hardware/rank.py`, which runs the program in that machine's sandbox. They share a folder
below the cache: all machines see that, this Python and the workload's folder by the same names.
"""

import os
import pickle
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from warploom.core.errors import MissingToolError
from warploom.core.process import ProcessResult, Stop, run_process
from warploom.core.records import Limits
from warploom.toolchain.cache import cache_root
from warploom.toolchain.gpu import Gpu

AGENT = (sys.executable, "-m", "warploom.hardware.rank")
"""What a launcher starts for each rank, before the name of a folder with its orders."""

ORDERS, OUTCOMES, LOG = "orders", "outcomes", "log"
_STARTING = 120.0  # seconds that a launcher may need beside the program's own time
_LAUNCHERS_OWN_MB = 2048
_TOLD = 1000  # characters of what a launcher printed
_GPUS = ("--gpus", "--gres", "--tres-per", "-G")  # options by which a user asks srun for GPUs
# Of our environment, what launchers need: their own settings, and how they know their cluster.
_NAMES = frozenset(("PATH", "HOME", "USER", "LOGNAME", "LANG", "LD_LIBRARY_PATH", "TMPDIR"))
_PREFIXES = (
    "SLURM", "MUNGE_", "OMPI_", "OPAL_", "ORTE_", "PMIX_", "PRTE_", "HYDRA_", "UCX_", "PYTHON",
    "WARPLOOM_",
)  # fmt: skip


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


@dataclass(frozen=True, slots=True)
class Node:
    """One machine: its GPUs, and whether it has a network card that NCCL's GIN may use."""

    name: str
    gpus: tuple[Gpu, ...]
    card: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one rank's process, and on which machine; see `ProcessResult`."""

    rank: int
    node: str
    sandbox: str
    exit_code: int | None
    signal: int | None = None
    stopped: str = ""

    @property
    def ok(self) -> bool:
        """Whether it came to its end with exit code 0."""
        return self.exit_code == 0 and not self.stopped


def shared_folder(name: str) -> Path:
    """Return a new folder that all machines see; whoever asks removes it."""
    place = cache_root() / "ranks"
    place.mkdir(parents=True, exist_ok=True)
    folder = place / f"{name}-{os.getpid()}-{os.urandom(4).hex()}"
    for part in (OUTCOMES, LOG):
        (folder / part).mkdir(parents=True)
    return folder


def look_at_nodes(launcher: Launcher, ranks: int) -> tuple[Node, ...]:
    """Return the machines that a launcher starts processes on.

    Raises:
        MissingToolError: it cannot be run, or starts them on another number of machines.
    """
    folder = shared_folder("nodes")
    try:
        command = [*launcher.command(ranks, 1), *AGENT, str(folder), "--look"]
        done = launch(command, Limits(seconds=_STARTING))
        found = [said for said in _said(folder) if isinstance(said, Node)]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    count = launcher.nodes(ranks)
    if not done.ok or len({node.name for node in found}) != count:
        told = done.log.strip().splitlines() or ["it says nothing"]
        raise MissingToolError(
            f"the workload's launcher must start processes on {count} machines, but started them "
            f"on {len({node.name for node in found})}: {told[-1]}",
            hint=f"try it yourself: {' '.join(launcher.command(ranks, 1))} hostname",
        )
    return tuple(sorted(found, key=lambda node: node.name))


def launch(command: Sequence[str], limits: Limits) -> ProcessResult:
    """Run a launcher to its end; its time is the program's and that of starting it.

    Raises:
        MissingToolError: it is not there.
    """
    bounds = replace(
        limits, seconds=limits.seconds + _STARTING, memory_mb=limits.memory_mb + _LAUNCHERS_OWN_MB
    )
    return run_process(command, limits=bounds, environment=launchers_environment())


def launchers_environment() -> dict[str, str]:
    """Return our environment as far as launchers and Python need it."""
    ours = {k: v for k, v in os.environ.items() if k in _NAMES or k.startswith(_PREFIXES)}
    root = dict.fromkeys(("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"), "1")
    return {**root, **ours}


@dataclass(frozen=True, slots=True)
class Orders:
    """What each rank's process does: as the arguments of `run_sandboxed`, by plain values."""

    command: tuple[str, ...]
    environment: Mapping[str, str]
    readable: tuple[str, ...]
    beside: str | None
    seconds: float
    memory_mb: int
    output_mb: int


def leave(place: Path, said: object) -> None:
    """Leave a record for another machine, whole or not at all."""
    fresh = place.with_name(f".{place.name}.new")
    fresh.write_bytes(pickle.dumps(said))
    fresh.replace(place)


def taken(place: Path) -> object:
    """Return the record that was left."""
    return pickle.loads(place.read_bytes())  # noqa: S301 - ours: programs cannot write there


def run_ranks(
    launcher: Launcher, ranks: int, orders: Orders, folder: Path
) -> tuple[ProcessResult, tuple[Outcome, ...]]:
    """Run a program's ranks on their machines; what they noted is in the folder's `log`.

    Raises:
        MissingToolError: the launcher is not there, or none of its processes began.
    """
    leave(folder / ORDERS, orders)
    limits = Limits(orders.seconds, orders.memory_mb, orders.output_mb * ranks)
    done = launch([*launcher.command(ranks), *AGENT, str(folder)], limits)
    outcomes = tuple(said for said in _said(folder) if isinstance(said, Outcome))
    if not outcomes and not done.stopped:
        told = done.log.strip()[-_TOLD:] or "it says nothing"
        raise MissingToolError(f"{launcher.words[0]} started none of {ranks} ranks: {told}")
    bad = next((outcome for outcome in outcomes if not outcome.ok), None)
    if bad is not None:  # the launcher then ends the others, and tells how those ended
        stopped = Stop(bad.stopped) if bad.stopped else None
        done = replace(done, exit_code=bad.exit_code, signal=bad.signal, stopped=stopped)
    return done, outcomes


def _said(folder: Path) -> list[object]:
    """Return what the processes have said of themselves, in the order of ranks."""
    places = [place for place in (folder / OUTCOMES).iterdir() if place.name.isdecimal()]
    return [taken(place) for place in sorted(places, key=lambda place: int(place.name))]
