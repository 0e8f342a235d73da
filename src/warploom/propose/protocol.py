"""What a proposer is: a function from a frozen context to a frozen proposal."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from warploom.core.records import Api
from warploom.source import AnalysisReport


class Stage(StrEnum):
    """Which step from host-driven to device-initiated is asked for.

    `windows` (A): memory, windows and device communicator, with the host collectives in place.
    `device` (B): the host collectives replaced as well. A single-stage run asks for `device` at
    once.
    """

    WINDOWS = "windows"
    DEVICE = "device"


@dataclass(frozen=True, slots=True)
class ProposalContext:
    """What a proposer gets to know.

    `text` and `analysis` are the host-driven program. `attempt` counts from 1 within the stage;
    `feedback` holds what the evaluation said of the attempts before, newest last. `markers` asks
    for evolve markers around what the proposer adds: `text` has its own then.
    """

    text: str
    analysis: AnalysisReport
    api: Api
    stage: Stage
    attempt: int = 1
    feedback: tuple[str, ...] = ()
    markers: bool = False


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proposed program.

    `summary` says in one sentence what was done, `notes` what a reader should know besides.
    `cost` is what the proposal cost in US dollars.
    """

    text: str
    origin: str
    summary: str
    notes: tuple[str, ...] = ()
    cost: float = 0.0


class Proposer(Protocol):
    """Proposes programs; it judges nothing and keeps nothing."""

    @property
    def name(self) -> str:
        """What the origin of its proposals is called."""
        ...

    def propose(self, context: ProposalContext) -> Proposal | None:
        """Return a program, or None when nothing is left to try.

        Raises:
            RefusedError: the program is beyond what this proposer can do.
        """
        ...
