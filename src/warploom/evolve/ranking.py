"""Which of two judged programs is better: by time, or by the score of a judge of the workload's."""

from warploom.store.records import Outcome


def is_better(one: Outcome, other: Outcome, noise: float) -> bool:
    """Whether one outcome is better than another by more than the noise, a share of the time.

    Scores have no noise that we know of: any higher one is better.
    """
    if not one.correct:
        return False
    if one.time_ms is not None and other.time_ms is not None:
        return one.time_ms < other.time_ms * (1.0 - noise)
    return one.score is not None and other.score is not None and one.score > other.score
