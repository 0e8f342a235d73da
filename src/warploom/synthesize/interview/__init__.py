"""Stage 1: the specification, derived from the reference itself."""

from warploom.synthesize.interview.specification import Interview, interview

__all__ = ["Interview", "interview"]
