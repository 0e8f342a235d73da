"""Which numbers and words a workload may hold."""

from collections.abc import Sequence
from pathlib import Path

from warploom.core.errors import BadInputError
from warploom.core.records import NEWEST_NCCL, OLDEST_NCCL

MAX_RANKS = 256
MAX_SEEDS = 1000
MAX_REGIONS = 1000
LAUNCHERS = ("srun", "mpirun", "mpiexec")


def check_ranks(
    ranks: int, lsa_size: int | None, node_size: int | None = None, processes: int | None = None
) -> None:
    """Raise BadInputError unless 1 <= ranks <= MAX_RANKS and all else divides ranks."""
    if not 1 <= ranks <= MAX_RANKS:
        raise BadInputError(f"ranks must be from 1 to {MAX_RANKS}, got {ranks}")
    shares = (
        ("lsa_size", lsa_size, "the number of ranks that share memory, such as the GPUs of a node"),
        ("node_size", node_size, "the number of ranks whose GPUs are in one machine"),
        ("processes", processes, "the number of processes, each with as many devices"),
    )
    for name, value, meaning in shares:
        if value is not None and (value < 1 or ranks % value):
            message = f"{name} must divide the ranks ({ranks}), got {value}"
            raise BadInputError(message, hint=f"{name} is {meaning}")


def check_nccl(version: str | None) -> None:
    """Raise BadInputError where a version of NCCL is named whose rules are not known."""
    if version is None:
        return
    parts = tuple(int(part) if part.isdecimal() else -1 for part in version.split("."))
    if not OLDEST_NCCL <= parts[:2] <= NEWEST_NCCL:
        known = " to ".join(f"{major}.{minor}" for major, minor in (OLDEST_NCCL, NEWEST_NCCL))
        raise BadInputError(
            f"nccl must be a version whose rules are known ({known}), got {version}",
            hint="leave it out for the rules of the newest whose headers are at hand",
        )


def check_seeds(seeds: int) -> None:
    """Raise BadInputError unless 1 <= seeds <= MAX_SEEDS."""
    if not 1 <= seeds <= MAX_SEEDS:
        raise BadInputError(f"seeds must be from 1 to {MAX_SEEDS}, got {seeds}")


def check_region(number: int) -> None:
    """Raise BadInputError unless 0 <= number <= MAX_REGIONS."""
    if not 0 <= number <= MAX_REGIONS:
        raise BadInputError(
            f"scored_region must be from 0 to {MAX_REGIONS}, got {number}",
            hint="1 is the first region that the program times itself, 0 the whole run",
        )


def check_launcher(words: Sequence[str]) -> None:
    """Raise BadInputError unless the words are a command that starts ranks on machines."""
    if words and Path(words[0]).name not in LAUNCHERS:
        raise BadInputError(
            f"launcher must begin with {', '.join(LAUNCHERS[:-1])} or {LAUNCHERS[-1]}, "
            f"got {words[0]!r}",
            hint='such as launcher = "srun --mpi=pmix --partition=gpu"; node_size says how many '
            "ranks each machine has",
        )
