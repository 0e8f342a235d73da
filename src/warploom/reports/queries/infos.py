"""What a list of runs tells of each."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RunInfo:
    """A run in the list of runs. `error` says why it cannot be shown, where it cannot.

    `kind` is "search", "transform" or "synthesis"; the last two have no programs, attempts only.
    It is "" where a broken report does not say.
    """

    key: str
    title: str
    name: str
    place: str
    state: str
    attempts: int
    best_score: float | None
    created: float
    error: str
    kind: str = "search"
