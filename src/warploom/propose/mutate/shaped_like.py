"""The original program with a candidate's launch shapes: what its own check is compared with."""

from warploom.propose.mutate.launches import launches, masked
from warploom.propose.mutate.shapes import SizeLever, ThreadsLever, kernel_levers


def shaped_like(original: str, candidate: str) -> str:
    """Return the original program with the launch shapes of a candidate, where a lever sets them.

    Its kernels do the same work with these: a lever's loops step by `blockDim`, and what else a
    constant decides would show in the results. All other text stays the original's.
    """
    for lever in kernel_levers(original):
        match lever:
            case ThreadsLever(kernel):
                value = _threads_of(kernel, candidate)
            case SizeLever():
                value = lever.current(candidate)
            case _:
                continue
        if lever.current(original) is not None and value in lever.others(original):
            original = lever.set(original, value)
    return original


def _threads_of(kernel: str, source: str) -> str | None:
    """Return the threads that every launch of a kernel has; None where they differ."""
    found = [one for one in launches(masked(source)) if one.kernel == kernel]
    shapes = {launch.shape[1].text for launch in found if len(launch.shape) > 1}
    return shapes.pop() if len(shapes) == 1 else None
