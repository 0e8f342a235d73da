"""What reports need of a check, whichever backend made it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from warploom.core.records import Verdict
from warploom.evaluate.findings import MergedFinding


class Ended(Protocol):
    """What reports need of one run of a check."""

    @property
    def state(self) -> str:
        """How it ended, in a word."""
        ...

    @property
    def seconds(self) -> float:
        """Wall time."""
        ...


class Checked(Protocol):
    """What reports need of a check, on the emulator or on GPUs."""

    @property
    def verdict(self) -> Verdict:
        """What was concluded."""
        ...

    @property
    def findings(self) -> Sequence[MergedFinding]:
        """What was seen, worst first."""
        ...

    @property
    def runs(self) -> Sequence[Ended]:
        """The runs that were made."""
        ...

    @property
    def program(self) -> Path:
        """The program's file."""
        ...

    @property
    def ranks(self) -> int:
        """How many ranks it ran on."""
        ...

    @property
    def nccl(self) -> str:
        """The NCCL version whose rules held."""
        ...

    @property
    def output(self) -> str:
        """The end of what a run printed."""
        ...

    @property
    def seconds(self) -> float:
        """Wall time of all."""
        ...

    @property
    def exit_code(self) -> int:
        """What the command returns."""
        ...


def relative(file: str) -> str:
    """Return a path relative to the current folder, with slashes, where it lies below it."""
    path = Path(file)
    try:
        return path.absolute().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path.as_posix()


def run_name(run: Ended, at: int) -> str:
    """Return what a run is called: its timing and seed, or its tool, or its number."""
    timing, seed = getattr(run, "timing", None), getattr(run, "seed", None)
    if timing is not None and seed is not None:
        return f"{timing}/{seed}"
    return str(getattr(run, "tool", "") or f"run {at}")


def who(rank: int | None, kernel: str | None, block: object, thread: object) -> str:
    """Return who a finding or an event is about, in words."""
    parts = [] if rank is None else [f"rank {rank}"]
    parts += [f"kernel {kernel}"] if kernel else []
    parts += [] if block is None else [f"block {block}"]
    parts += [] if thread is None else [f"thread {thread}"]
    return ", ".join(parts)
