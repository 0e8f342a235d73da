"""What a mutation is, and what each lever must be able to do."""

from dataclasses import dataclass
from typing import Protocol

from warploom.core.errors import WarploomError


class MutationError(WarploomError):
    """A mutation does not fit the text: the lever is not there, or has not this value."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """One step in the design space: set `lever` to `value`.

    `summary` says in one sentence what that does.
    """

    lever: str
    value: str
    summary: str


class Lever(Protocol):
    """One thing that a program leaves open. Text in, text out; it keeps no state."""

    @property
    def name(self) -> str:
        """What it is called in a directive."""
        ...

    def current(self, source: str) -> str | None:
        """Return its value in a program; None where the program has no such lever."""
        ...

    def others(self, source: str) -> tuple[str, ...]:
        """Return the values that it can be set to in a program that has it, less the current."""
        ...

    def describe(self, value: str) -> str:
        """Return one sentence on what a value does."""
        ...

    def set(self, source: str, value: str) -> str:
        """Return the program with another value: one of `others`."""
        ...
