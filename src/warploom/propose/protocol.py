"""What a proposer is: a function from a frozen context to a frozen proposal."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
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
class Trial:
    """An attempt that failed, as the next one is told of it.

    `number` counts from 1 within its stage; `text` is the program, or "" where none came. `failure`
    says in a few lines why, `report` holds the evaluation's findings raw ("" where nothing was
    judged), `diagnosis` what a rerun with a synchronization after each launch said, `words` what a
    reader of the report says.
    """

    number: int
    text: str
    failure: str
    report: str = ""
    diagnosis: str = ""
    words: str = ""


@dataclass(frozen=True, slots=True)
class ProposalContext:
    """What a proposer gets to know.

    `text` and `analysis` are the host-driven program; `base` is the verified program of the stage
    before, or "". `attempt` counts from 1 within the stage; `trials` are the attempts before,
    oldest first. `markers` asks for evolve markers around what the proposer adds: `text` has its
    own then.
    """

    text: str
    analysis: AnalysisReport
    api: Api
    stage: Stage
    attempt: int = 1
    trials: tuple[Trial, ...] = ()
    markers: bool = False
    base: str = ""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proposed program.

    `summary` says in one sentence what was done, `notes` what a reader should know besides.
    `cost` is what the proposal cost in US dollars, as far as it is known: without `cost_known` it
    cost more, and nobody told how much. A `problem` says why there is no program (`text`
    is "" then): the attempt has failed, and the next one is told. `files` are texts to be kept with
    the attempt, by name, such as prompt and reply.
    """

    text: str
    origin: str
    summary: str
    notes: tuple[str, ...] = ()
    cost: float = 0.0
    cost_known: bool = True
    problem: str = ""
    files: Mapping[str, str] = field(default_factory=dict[str, str])


def add_costs(costs: Iterable[float | None]) -> float | None:
    """Return the sum in US dollars; None where one of them is unknown."""
    total = 0.0
    for cost in costs:
        if cost is None:
            return None
        total += cost
    return total


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
