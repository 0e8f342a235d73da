"""How it is told what was compared, and how far it is off."""

import math

from warploom.evaluation.records import OutputComparison


def describe_error(item: OutputComparison) -> str:
    """Return how far an output is off; no number stands for what is not a number."""
    worst = item.worst
    if worst is not None and not (math.isfinite(worst.got) and math.isfinite(worst.expected)):
        return f"element {worst.index} is {worst.got:g}, expected {worst.expected:g}"
    if item.failed and worst is None and not item.max_error:
        return "nothing to measure"
    return f"largest error {item.max_error:.3g}"


def describe_comparison(item: OutputComparison) -> str:
    """Return one line about how an output fared."""
    read = f"{item.compared} read-back{'' if item.compared == 1 else 's'}"
    word = f"{read} as expected" if item.passed else f"differs in {item.failed} of {read}"
    atol = "by magnitude" if item.atol is None else f"{item.atol:g}"
    tolerance = (
        "bit by bit" if item.rtol == 0 and not item.atol else (f"rtol {item.rtol:g}, atol {atol}")
    )
    weak = f"; weak: {item.weak}" if item.weak else ""
    return (
        f"{item.buffer or 'unnamed'} ({item.dtype}, {tolerance}): {word}, "
        f"{describe_error(item)}{weak}"
    )
