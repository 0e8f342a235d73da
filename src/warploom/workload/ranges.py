"""Which numbers and words a workload may hold."""

from collections.abc import Sequence
from pathlib import Path

from warploom.core.errors import BadInputError

MAX_SEEDS = 1000
MAX_REGIONS = 1000
LAUNCHERS = ("srun", "mpirun", "mpiexec")


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
