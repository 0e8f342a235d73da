"""The operators: how one or two programs become a new one. No model takes part."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from warploom.evolve.bandit import StepStatistics
from warploom.evolve.space import HasRecipes, Space, Step, label


@dataclass(frozen=True, slots=True)
class Draft:
    """A new text, not yet judged: `changes` are the steps (`lever=value`) from the parent."""

    text: str
    changes: tuple[str, ...]
    partner: int | None = None


@dataclass(frozen=True, slots=True)
class Material:
    """What an operator works on: the parent's text, other texts by number, what is learned."""

    parent: str
    others: Mapping[int, str]
    space: Space
    learned: StepStatistics
    most_steps: int


def single(material: Material, rng: Random) -> Draft | None:
    """Take one step."""
    return several(material, rng, 1)


def several(material: Material, rng: Random, count: int | None = None) -> Draft | None:
    """Take some steps of different levers, one after the other; half of the time, a recipe's."""
    if count is None and (draft := _recipe(material, rng)) is not None:
        return draft
    wanted = rng.randint(2, material.most_steps) if count is None else count
    text, taken = material.parent, list[Step]()
    for _ in range(wanted):
        used = {step.lever for step in taken}
        steps = [step for step in material.space.steps(text) if step.lever not in used]
        after = _one(text, steps, material, rng)
        if after is None:
            break
        text, step = after
        taken.append(step)
    return Draft(text, tuple(map(label, taken))) if taken else None


def crossover(material: Material, rng: Random) -> Draft | None:
    """Give the parent some of the directives in which another program differs from it.

    Each differing lever is taken with probability 1/2, one at least, in an order drawn at random;
    values to which no step leads are left.
    """
    if not material.others:
        return None
    partner = rng.choice(sorted(material.others))
    ours = material.space.directives(material.parent)
    theirs = material.space.directives(material.others[partner])
    levers = sorted(name for name in theirs if theirs[name] != ours.get(name))
    if not levers:
        return None
    rng.shuffle(levers)
    chosen = [name for name in levers if rng.random() < 0.5] or levers[:1]
    text, taken = material.parent, list[str]()
    for name in chosen:
        found = _step_to(material.space.steps(text), name, theirs[name])
        after = None if found is None else material.space.take(text, found)
        if found is not None and after is not None:
            text = after
            taken.append(label(found))
    return Draft(text, tuple(taken), partner) if taken else None


def _recipe(material: Material, rng: Random) -> Draft | None:
    """Take the steps of a recipe, the first ones more often; None half of the time."""
    space = material.space
    if not isinstance(space, HasRecipes) or rng.random() < 0.5:
        return None
    known = space.recipes(material.parent)
    if not known:
        return None
    weights = [0.5**at for at in range(len(known))]
    return follow(space, material.parent, rng.choices(known, weights)[0])


def follow(space: Space, text: str, recipe: Sequence[Step]) -> Draft | None:
    """Take the steps of a recipe, as far as they apply; None where none does."""
    taken: list[str] = []
    for step in recipe:
        after = space.take(text, step)
        if after is not None and after != text:
            text = after
            taken.append(label(step))
    return Draft(text, tuple(taken)) if taken else None


OPERATORS = {"single": single, "several": several, "crossover": crossover}


def _one(
    text: str, steps: Sequence[Step], material: Material, rng: Random
) -> tuple[str, Step] | None:
    """Take one of `steps`, as they have been learned; a step that fails is left."""
    left = list(steps)
    while left:
        at = material.learned.pick([label(step) for step in left], rng)
        step = left.pop(at)
        after = material.space.take(text, step)
        if after is not None and after != text:
            return after, step
    return None


def _step_to(steps: Sequence[Step], lever: str, value: str) -> Step | None:
    return next((one for one in steps if one.lever == lever and one.value == value), None)
