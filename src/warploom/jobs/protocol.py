"""What runs work: an engine with a number of slots, and what may become of a piece of work."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from warploom.core.errors import ToolFailedError

Work = Callable[[], object]
"""What is to be done. Engines with processes of their own need it to be picklable."""


class Loss(StrEnum):
    """How a piece of work was lost, through no error that it raised."""

    DIED = "died"
    """Its process or its node ended: a crash, no memory, a machine that went down."""
    TIMEOUT = "timeout"
    """It ran longer than it may."""
    CANCELLED = "cancelled"
    """Somebody cancelled it, or it had to make room for other work."""
    STUCK = "stuck"
    """It was not begun, or was held up, for longer than it may be."""


class WorkLostError(ToolFailedError):
    """An engine lost a piece of work: what it would have come to is not known.

    An error that the work raised is another thing: that is its result.
    """

    def __init__(self, loss: Loss, message: str) -> None:
        super().__init__(message)
        self.loss = loss

    def __reduce__(self) -> tuple[type["WorkLostError"], tuple[Loss, str]]:
        return WorkLostError, (self.loss, self.message)


@dataclass(frozen=True, slots=True)
class Task:
    """One piece of work.

    `key` is what it is called while it is under way. `name` says, for ever, what is to be done: an
    engine whose work outlives its controller takes up work of the same name again. `seconds` is how
    long it may run, None: as long as it takes.
    """

    key: int
    work: Work
    name: str = ""
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """One piece of work that has ended: what it returned, or the error.

    The error is one that the work raised, or a `WorkLostError`.
    """

    key: int
    value: object = None
    error: Exception | None = None

    @property
    def loss(self) -> Loss | None:
        """How it was lost; None where it came to its end."""
        return self.error.loss if isinstance(self.error, WorkLostError) else None


def lost(key: int, loss: Loss, message: str) -> Done:
    """Return what is said of a piece of work that was lost."""
    return Done(key, error=WorkLostError(loss, message))


class Engine(Protocol):
    """Runs work in a number of slots; each task that is submitted is done, has failed, or is lost.

    `warploom.testing.engines` has the tests that every engine passes.
    """

    @property
    def slots(self) -> int:
        """How many pieces of work can be under way."""
        ...

    @property
    def busy(self) -> int:
        """How many are under way."""
        ...

    @property
    def isolated(self) -> bool:
        """Whether work has a process of its own, which can be ended and can be lost."""
        ...

    @property
    def waits(self) -> str:
        """Why nothing of what was taken begins, in the cluster's words; "" where work goes on."""
        ...

    def submit(self, task: Task) -> None:
        """Start a piece of work in a free slot."""
        ...

    def wait(self, seconds: float | None = None) -> list[Done]:
        """Return what has ended, at least one piece unless `seconds` pass before."""
        ...

    def cancel(self, key: int) -> None:
        """End a piece of work; `wait` then tells of it as cancelled, if it has not ended before."""
        ...

    def close(self) -> None:
        """End all work at once; nothing more comes of it."""
        ...
