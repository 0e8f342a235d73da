"""What runs work: an engine with a number of slots."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from warploom.core.errors import ToolFailedError

Work = Callable[[], object]
"""One piece of work. Engines with processes of their own need it to be picklable."""


class WorkerDiedError(ToolFailedError):
    """A worker process ended in the middle of its work, such as for lack of memory."""


@dataclass(frozen=True, slots=True)
class Done:
    """One piece of work that has ended: what it returned, or the error that it raised."""

    key: int
    value: object = None
    error: Exception | None = None


class Jobs(Protocol):
    """Runs work in a number of slots; what is submitted is done once, or has an error."""

    @property
    def slots(self) -> int:
        """How many pieces of work can be under way."""
        ...

    @property
    def busy(self) -> int:
        """How many are under way."""
        ...

    def submit(self, key: int, work: Work) -> None:
        """Start a piece of work in a free slot."""
        ...

    def wait(self, seconds: float | None = None) -> list[Done]:
        """Return what has ended, at least one piece unless `seconds` pass before."""
        ...

    def close(self) -> None:
        """End all work at once; nothing more comes of it."""
        ...
