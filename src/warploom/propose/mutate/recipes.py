"""Recipes: sets of steps that are known to pay together, where one of them alone may not.

Most hide or remove what a communication costs besides its bytes: kernels of its own, meetings of
all ranks, events between streams. Others give kernels more threads. A recipe promises no proof; the
evaluator judges what it makes.
"""

from collections.abc import Sequence

from warploom.propose.mutate.levers import every_lever
from warploom.propose.mutate.records import Mutation

# Threads of a block, for kernels written with few; 16 and 32 are the sides of square ones.
_WIDE = (("size:", "16"), ("size:", "128"), ("threads:", "128"), ("restrict:", "on"))
_WIDER = (("size:", "32"), ("size:", "256"), ("threads:", "256"), ("restrict:", "on"))

_PUSHED = ("reduce", "pushed")
_TIDY = (("group", "together"), ("order", "streams"), ("leave", "alone"), ("close", "alone"))

_RECIPES: Sequence[Sequence[tuple[str, str]]] = (
    (*_TIDY[1:], ("read:", "fused"), _PUSHED),  # gates in place of all exchange kernels
    (*_WIDE, _PUSHED),
    (*_TIDY[1:], ("read:", "guarded")),
    (*_WIDER, _PUSHED),
    (*_TIDY, _PUSHED),
    (*_WIDE, ("unroll:", "8")),
    (*_TIDY[1:], ("read:", "guarded"), *_WIDE),
    (*_TIDY, ("read:", "direct")),
    (*_TIDY[:2], ("read:", "fenced")),
    (*_TIDY[:2], ("offer", "around")),
    (*_TIDY[:2], ("offer", "ahead")),
)
"""Steps in their order; a lever that ends in `:` stands for all levers that begin so."""


def recipes(source: str) -> tuple[tuple[Mutation, ...], ...]:
    """Return the recipes that fit a program, each as steps one after the other.

    Steps that do not fit are left out. A recipe of which none is left, or that takes the same steps
    as one before it, is no recipe.
    """
    found: list[tuple[Mutation, ...]] = []
    for recipe in _RECIPES:
        steps = _fitting(source, recipe)
        if len(steps) > 1 and steps not in found:
            found.append(steps)
    return tuple(found)


def _fitting(source: str, recipe: Sequence[tuple[str, str]]) -> tuple[Mutation, ...]:
    steps: list[Mutation] = []
    for wanted, value in recipe:
        names = [lever.name for lever in every_lever(source) if _is_meant(lever.name, wanted)]
        for name in names:
            lever = next(one for one in every_lever(source) if one.name == name)
            if lever.current(source) is not None and value in lever.others(source):
                steps.append(Mutation(name, value, lever.describe(value)))
                source = lever.set(source, value)
    return tuple(steps)


def _is_meant(name: str, wanted: str) -> bool:
    return name == wanted or (wanted.endswith(":") and name.startswith(wanted))
