"""What a backend is: something that builds programs and runs them, and says what they did.

A judge asks a `Backend` for the `Machine` of a workload, the machine for a build, and then for runs
of it. What a backend cannot do it says (`steers`, `tools`, `timings`), and who asks does without.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from warploom.core.records import Finding, Interval, Verdict
from warploom.emulator import Arrived, Taken
from warploom.workload.workload import Workload

Places = tuple[tuple[str, int], ...]
"""File and line, and those of the callers around it."""

NO_TIME, MODELLED, MEASURED, OWN_NETWORK = "none", "modelled", "measured", "own-network"
"""What an interval is worth: a model's, the hardware's, or that of a network of ours."""


@dataclass(frozen=True, slots=True)
class LaunchForm:
    """How a program's ranks come to be.

    `processes` is "per_rank", "single" or how many there are; `nccl` the version whose rules hold.
    """

    processes: str
    uses_mpi: bool
    nccl: str


@dataclass(frozen=True, slots=True)
class Order:
    """One run: the input seed, one of the machine's `timings`, one of its `tools` or none.

    `timing` is how the network behaves, in the backend's words.
    """

    seed: int
    timing: str
    tool: str = ""


class Readback(Protocol):
    """What a program copied from a device to its host, or the host took in place."""

    @property
    def rank(self) -> int:
        """The rank that made the copy."""
        ...

    @property
    def data(self) -> bytes | memoryview:
        """What was copied."""
        ...

    @property
    def file(self) -> str | None:
        """The file of the copy, where known."""
        ...

    @property
    def line(self) -> int | None:
        """The line of the copy, from 1."""
        ...

    @property
    def readers(self) -> tuple[Places, ...]:
        """The places that read it, each with those of its callers, innermost first."""
        ...

    @property
    def taken(self) -> Taken | None:
        """Where it is no copy: what the host took of memory that both sides see."""
        ...

    @property
    def arrived(self) -> Arrived | None:
        """Where it is no copy: by which MPI call it came."""
        ...


@dataclass(frozen=True, slots=True)
class Run:
    """What one run did.

    `state` is "finished" or why it did not come to its end, `exit_codes` are its processes'.
    `sandbox` says how it was confined, `steady` whether nothing was held back on purpose, so that
    its intervals say something. `nodes` are the machines of its ranks, where there are several. Of
    a run under a tool there are the tool's findings alone: `foreign` counts its reports about code
    that is not the user's, and `note` says why its silence proves nothing. `sees_mpi`: what MPI
    brings is among the read-backs.
    """

    order: Order
    verdict: Verdict
    state: str
    exit_codes: tuple[int | None, ...]
    findings: tuple[Finding, ...]
    readbacks: Sequence[Readback]
    intervals: tuple[Interval, ...]
    output: str
    seconds: float
    sandbox: str
    steady: bool = True
    nodes: tuple[str, ...] = ()
    foreign: int = 0
    note: str = ""
    sees_mpi: bool = False

    @property
    def ok(self) -> bool:
        """Whether it came to its end and no process failed."""
        return self.state == "finished" and not any(self.exit_codes)


class Built(Protocol):
    """A program that its machine can run."""

    @property
    def seconds(self) -> float:
        """How long the build took."""
        ...


class Machine(Protocol):
    """Where the programs of one workload run: what they need was found."""

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices, in words."""
        ...

    @property
    def shared(self) -> bool:
        """Whether several ranks have one device."""
        ...

    @property
    def own_network(self) -> bool:
        """Whether what is sent goes over a network of ours, for want of a card."""
        ...

    @property
    def nccl(self) -> str:
        """The version of NCCL."""
        ...

    @property
    def time_source(self) -> str:
        """What intervals of its runs are worth."""
        ...

    @property
    def steady(self) -> str:
        """The timing that holds nothing back: the intervals of such runs say something."""
        ...

    @property
    def tools(self) -> tuple[str, ...]:
        """Checkers under which it can run a program."""
        ...

    def timings(self, count: int) -> tuple[str, ...]:
        """Return how the network behaves in each of `count` runs, the most telling ones."""
        ...

    def serving(self, program: Path) -> "Machine":
        """Return this machine with what `program` needs in place of the workload's.

        Raises:
            MissingToolError: something that it needs is not here.
        """
        ...

    def build(self, program: Path | None = None) -> Built:
        """Build `program`, or the workload's own.

        Raises:
            SourceError: the compiler rejects it.
        """
        ...

    def run(self, program: Built, order: Order) -> Run:
        """Run it once, confined.

        Raises:
            MissingToolError: something that the run needs is not here.
        """
        ...


class Backend(Protocol):
    """Something that runs programs."""

    @property
    def name(self) -> str:
        """What it is called in reports and on the command line."""
        ...

    @property
    def where(self) -> str:
        """Where its runs are made, as findings say it: "on the GPU"."""
        ...

    @property
    def steers(self) -> bool:
        """Whether it decides when what happens and sees each access, as the emulator does.

        Where it does not, its runs are compared with the emulator's and with each other.
        """
        ...

    def machine(self, workload: Workload, form: LaunchForm) -> Machine:
        """Find what runs of a workload need.

        Raises:
            MissingToolError: something is missing; its cure is named.
            UnsupportedError: the program starts its ranks in a way that the backend cannot.
        """
        ...

    def require_tools(self) -> None:
        """Raise MissingToolError where the tools of its machines are not here."""
        ...
