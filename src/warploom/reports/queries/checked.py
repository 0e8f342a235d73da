"""What reports need of a check, whichever backend made it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from warploom.core.errors import WarploomError
from warploom.core.records import Finding, Severity, Verdict
from warploom.evaluation.merged_findings import MergedFinding

NOT_BUILT = "not built"
"""The verdict on a program that does not compile: nothing was run."""


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
    def verdict(self) -> str:
        """What was concluded: one of `Verdict`, or `NOT_BUILT`."""
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


@dataclass(frozen=True, slots=True)
class NotBuilt:
    """A check that came to no run, as a report: what the compiler said is its only finding."""

    program: Path
    ranks: int
    nccl: str
    findings: tuple[MergedFinding, ...]
    exit_code: int
    verdict: str = NOT_BUILT
    runs: tuple[Ended, ...] = ()
    output: str = ""
    seconds: float = 0.0


def not_built(error: WarploomError, program: Path, ranks: int, nccl: str) -> NotBuilt:
    """Return the report of a check whose program does not compile."""
    file = error.file or str(program)
    found = Finding("build", Severity.ERROR, error.message, error.hint, file, error.line or 1)
    return NotBuilt(program, ranks, nccl, (MergedFinding(found, 0),), error.exit_code)


def problem_of(run: Ended) -> str:
    """Return why a single run was no good, in a word or two; "" where it was."""
    verdict = getattr(run, "verdict", None)
    if verdict is not None:
        state = "" if run.state in ("finished", str(verdict)) else f" ({run.state})"
        return "" if verdict == Verdict.OK else f"{verdict}{state}"
    if run.state != "finished":
        return run.state
    code = getattr(run, "exit_code", None)
    return f"exit code {code}" if code else ""


def seen_in(item: MergedFinding, report: Checked) -> str:
    """Return in how many of a check's runs a finding was seen; "" where nothing was run."""
    return f"seen in {item.runs} of {len(report.runs)} runs" if report.runs else ""


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
