"""The list of all levers, and the three questions that a search asks of them."""

from collections.abc import Sequence
from functools import lru_cache

from warploom.propose.mutate.direct import direct_levers
from warploom.propose.mutate.pipeline import PIPELINE
from warploom.propose.mutate.pushed import PushLever
from warploom.propose.mutate.records import Lever, Mutation, MutationError
from warploom.propose.mutate.shapes import kernel_levers
from warploom.propose.mutate.tuning_constants import CONSTANTS


def levers(source: str) -> Sequence[Lever]:
    """Return the levers that a program has, in a fixed order."""
    return [lever for lever in every_lever(source) if lever.current(source) is not None]


@lru_cache(maxsize=32)
def every_lever(source: str) -> Sequence[Lever]:
    """Return the levers that a program may have, in a fixed order; `current` says whether it has.

    It is cheap where only a few of them are looked at. What it says of a text is kept a while.
    """
    return (*CONSTANTS, *PIPELINE, PushLever(), *direct_levers(source), *kernel_levers(source))


def directives(source: str) -> dict[str, str]:
    """Return the current value of each lever that a program has, in a fixed order."""
    return {lever.name: lever.current(source) or "" for lever in levers(source)}


def mutations(source: str) -> tuple[Mutation, ...]:
    """Return every single step that a program allows, in a fixed order."""
    return tuple(
        Mutation(lever.name, value, lever.describe(value))
        for lever in levers(source)
        for value in lever.others(source)
    )


def apply(source: str, mutation: Mutation) -> str:
    """Return the program after one step.

    Raises:
        MutationError: the program has no such lever, or the lever has not this value there.
    """
    there = {lever.name: lever for lever in levers(source)}
    lever = there.get(mutation.lever)
    if lever is None:
        known = ", ".join(there) or "none"
        raise MutationError(
            f"a mutation must name a lever of the program, got {mutation.lever!r}; it has: {known}"
        )
    if mutation.value == lever.current(source):
        return source
    if mutation.value not in lever.others(source):
        allowed = ", ".join(lever.others(source))
        raise MutationError(
            f"the lever {lever.name!r} can be set to {allowed}, got {mutation.value!r}"
        )
    return lever.set(source, mutation.value)
