"""What every kind of agent shares: its task, its limits, and the report of one session."""

import shlex
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from warploom.core.errors import BadInputError
from warploom.core.records import Api
from warploom.propose.agent.workspace import Workspace
from warploom.propose.protocol import Stage


def split_command(text: str) -> tuple[str, ...]:
    """Split a command as a shell would.

    Raises:
        BadInputError: it is empty, or its quotes do not match.
    """
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        reason = f"the agent's command must be words, got {text!r}: {error}"
        raise BadInputError(reason) from None
    if not words:
        raise BadInputError("the agent's command must not be empty")
    return words


class Ended(StrEnum):
    """Why a session ended."""

    DONE = "done"
    TIME = "time_limit"
    STEPS = "step_limit"
    COST = "cost_limit"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class AgentLimits:
    """What one session may use: seconds, steps (turns or tool calls) and US dollars.

    An outside agent is held to the steps and dollars that it reports; None is no limit.
    """

    seconds: float = 1800.0
    steps: int = 60
    dollars: float | None = None

    def __post_init__(self) -> None:
        if not 0 < self.seconds < float("inf"):
            raise BadInputError(f"an agent's seconds must be above 0, got {self.seconds:g}")
        if self.steps < 1:
            raise BadInputError(f"an agent's steps must be at least 1, got {self.steps}")
        if self.dollars is not None and not self.dollars >= 0:
            raise BadInputError(f"an agent's dollars must not be negative, got {self.dollars}")


@dataclass(frozen=True, slots=True)
class AgentTask:
    """What an agent is asked to do.

    `key` names the session within its run, such as "device-1"; `api` and `stage` say what the
    program is judged by. `log` is the folder for the session's transcript.
    """

    key: str
    api: Api
    stage: Stage
    instruction: str
    workspace: Workspace
    limits: AgentLimits
    log: Path


@dataclass(frozen=True, slots=True)
class AgentReport:
    """How a session ended. `cost` is in US dollars, None where the agent does not tell it."""

    ended: Ended
    summary: str
    steps: int
    cost: float | None
    seconds: float
    notes: tuple[str, ...] = ()


class Agent(Protocol):
    """Works on a task until it is done or a limit is reached; its words are not believed."""

    @property
    def name(self) -> str:
        """What the origin of its proposals is called."""
        ...

    def work(self, task: AgentTask) -> AgentReport:
        """Change the workspace's program; returns when nothing of the agent runs any more.

        Raises:
            MissingToolError: the agent is not on this machine.
        """
        ...
