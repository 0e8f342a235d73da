"""One rank of a program, confined on its own machine: FOLDER [--look], started by srun or mpirun.

It has the network, by which ranks of several machines find each other. It keeps the user's number,
by which the launcher's daemon knows it, and the ranks of a machine share one /dev/shm.
"""

import fcntl
import os
import shutil
import signal
import sys
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from warploom.core.errors import MissingToolError, ToolFailedError, WarploomError
from warploom.hardware.handed import Node, Orders, Outcome, leave, taken
from warploom.hardware.launcher import LOG, ORDERS, OUTCOMES, is_confined
from warploom.hardware.network import has_card
from warploom.toolchain.gpu import find_gpus, gpu_devices
from warploom.toolchain.sandbox import Extras, find_sandbox, run_sandboxed
from warploom.toolchain.seccomp import Profile

# What launchers tell each process about itself; nothing else of theirs is the program's.
_TOLD = ("PMI_", "PMIX_", "OMPI_COMM_WORLD_", "OMPI_MCA_", "OMPI_UNIVERSE_", "MPI_LOCAL")
_TOLD_BY_SLURM = (
    "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_NTASKS", "SLURM_NPROCS", "SLURM_NNODES",
    "SLURM_JOB_ID", "SLURM_JOBID", "SLURM_STEP_ID", "SLURM_STEPID", "SLURM_JOB_NUM_NODES",
    "SLURM_NODELIST", "SLURM_JOB_NODELIST", "SLURM_STEP_NODELIST", "SLURM_TASKS_PER_NODE",
    "SLURM_STEP_TASKS_PER_NODE", "SLURM_MPI_TYPE", "SLURMD_NODENAME",
)  # fmt: skip
# The innermost launcher's first: srun starts the daemons of an mpirun on other machines.
_RANKS = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")
_LOOK = 1.0  # seconds between looks whether anybody still waits for us
_SHARED_MB = 1024  # of /dev/shm, for each rank of a machine
_SHARED = Path("/dev/shm")  # noqa: S108
_OURS = "warploom-ranks-"


def rank_of(environment: Mapping[str, str]) -> int:
    """Return which process of the launcher's we are."""
    return next((int(environment[name]) for name in _RANKS if name in environment), 0)


def told(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what the program gets of a launcher's variables, and its GPUs."""
    return {
        name: value
        for name, value in environment.items()
        if name.startswith(_TOLD) or name in _TOLD_BY_SLURM or name == "CUDA_VISIBLE_DEVICES"
    }


def daemons_folders(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Return where the launcher's daemon meets its processes."""
    place = environment.get("PMIX_SERVER_TMPDIR", "")
    return (Path(place),) if place and Path(place).is_dir() else ()


@contextmanager
def shared_memory(name: str) -> Generator[Path]:
    """Yield a folder in memory that the ranks of this machine share; the last one removes it."""
    _sweep()
    place = _SHARED / f"{_OURS}{name}"
    handle = _held(place)
    try:
        yield place
    finally:
        _remove(place, handle)


def _held(place: Path) -> int:
    """Return a descriptor that keeps others from removing a folder, which is ours alone."""
    while True:
        with suppress(FileNotFoundError):  # the last of those before us has just removed it
            place.mkdir(mode=0o700, exist_ok=True)
            handle = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            if os.fstat(handle).st_uid != os.getuid():
                os.close(handle)
                raise ToolFailedError(f"{place} must be ours, but is another user's")
            fcntl.flock(handle, fcntl.LOCK_SH)
            if place.is_dir() and os.fstat(handle).st_ino == place.stat().st_ino:
                return handle
            os.close(handle)


def _remove(place: Path, handle: int) -> None:
    """Close a folder; nobody else has it open: remove it."""
    with suppress(BlockingIOError):
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(place, ignore_errors=True)
    os.close(handle)


def _sweep() -> None:
    """Remove what ranks have left that were killed."""
    for place in _SHARED.glob(f"{_OURS}*"):
        with suppress(OSError):  # another user's, or just removed
            if place.stat().st_uid == os.getuid():
                handle = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
                _remove(place, handle)


@contextmanager
def _while_wanted(orders: Path) -> Generator[threading.Event]:
    """Yield an event that comes when our orders are gone: whoever gave them has gone too."""
    gone, over = threading.Event(), threading.Event()

    def look() -> None:
        while not over.wait(_LOOK):
            with suppress(OSError):  # a file system that does not answer says nothing
                if not orders.exists():
                    gone.set()

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield gone
    finally:
        over.set()
        thread.join()


def run_rank(folder: Path) -> int:
    """Run the program as one rank; return what the launcher is told."""
    orders = taken(folder / ORDERS, Orders)
    if orders.confined and not is_confined():
        raise MissingToolError(
            f"programs must run in a sandbox, but this machine has none: {find_sandbox().reason}",
            hint="install bubblewrap",
        )
    node = _node()
    with (
        shared_memory(f"{folder.name}-{node}") as memory,
        _while_wanted(folder / ORDERS) as gone,
    ):
        result = run_sandboxed(
            list(orders.command),
            limits=orders.limits,
            beside=orders.folder,
            readable=orders.readable_paths,
            environment={**orders.environment, **told(os.environ)},
            profile=Profile.GPU,
            descriptors=_descriptors(),
            cancel=gone,
            extras=Extras(
                (folder / LOG, *daemons_folders(os.environ)), gpu_devices(),
                shared_mb=_SHARED_MB * orders.node_ranks, together=memory,
            ),
        )  # fmt: skip
    if gone.is_set():
        return 1
    process, rank = result.process, rank_of(os.environ)
    said = Outcome(
        rank, node, str(result.kind), process.exit_code, process.signal, str(process.stopped or "")
    )
    leave(folder / OUTCOMES / str(rank), said)
    for stream, text in ((sys.stdout, process.stdout), (sys.stderr, process.stderr)):
        stream.buffer.write(text)
        stream.flush()
    if process.signal is not None:
        return 128 + process.signal
    return 1 if process.exit_code is None else process.exit_code


def _descriptors() -> dict[int, int]:
    """Return what Slurm's PMI-2 talks over: a descriptor that each task has."""
    number = os.environ.get("PMI_FD", "")
    return {int(number): int(number)} if number.isdecimal() else {}


def _node() -> str:
    """Return what this machine is called: by Slurm, where it runs us."""
    return os.environ.get("SLURMD_NODENAME", os.uname().nodename)


def look(folder: Path) -> int:
    """Say what this machine has."""
    said = Node(_node(), find_gpus(), has_card(), str(find_sandbox().kind))
    leave(folder / OUTCOMES / str(rank_of(os.environ)), said)
    return 0


def _end(*_: object) -> None:
    sys.exit(128 + signal.SIGTERM)


def main() -> int:
    """Do what the arguments say; return the exit code."""
    signal.signal(signal.SIGTERM, _end)
    folder = Path(sys.argv[1])
    try:
        return look(folder) if sys.argv[2:] == ["--look"] else run_rank(folder)
    except WarploomError as error:
        sys.stderr.write(f"warploom: {os.uname().nodename}: {error.message}\n")
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
