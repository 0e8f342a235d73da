"""Stage 3: the one acceptance of every candidate."""

from warploom.synthesis.correctness.accept import Trial, accept, prepare_trial

__all__ = ["Trial", "accept", "prepare_trial"]
