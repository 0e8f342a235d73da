"""Stage 1: the specification, derived from the reference itself."""

from warploom.synthesis.interview.specification import Interview, interview

__all__ = ["Interview", "interview"]
