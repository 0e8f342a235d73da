"""The design space as a search sees it: texts, the steps from each, and their directives."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any, Protocol, runtime_checkable

from warploom.core.errors import BadInputError


class Step(Protocol):
    """One step: `lever` is set to `value`; `summary` says so in a sentence."""

    @property
    def lever(self) -> str:
        """What is changed, such as "blocks"."""
        ...

    @property
    def value(self) -> str:
        """What it is changed to."""
        ...

    @property
    def summary(self) -> str:
        """One plain sentence."""
        ...


class Space(Protocol):
    """Single steps from text to text; pure functions of the text."""

    def directives(self, source: str) -> Mapping[str, str]:
        """Return the value of each lever that a text has."""
        ...

    def steps(self, source: str) -> Sequence[Step]:
        """Return every single step from a text, in a fixed order."""
        ...

    def take(self, source: str, step: Step) -> str | None:
        """Return the text after a step, None where the step no longer applies."""
        ...


@runtime_checkable
class HasRecipes(Protocol):
    """A space that knows sets of steps which pay together."""

    def recipes(self, source: str) -> Sequence[Sequence[Step]]:
        """Return the recipes that fit a text, each as steps one after the other."""
        ...


class Mutations:
    """The rules of `propose/mutate` as a space; what they say of a text is kept a while."""

    def __init__(self) -> None:
        self._rules: Any = import_module("warploom.propose.mutate")
        self._steps = lru_cache(maxsize=256)(self._rules.mutations)
        self._recipes = lru_cache(maxsize=64)(self._rules.recipes)

    def directives(self, source: str) -> Mapping[str, str]:
        """Return the value of each lever that a text has."""
        return self._rules.directives(source)

    def steps(self, source: str) -> Sequence[Step]:
        """Return every single step from a text, in a fixed order."""
        return self._steps(source)

    def recipes(self, source: str) -> Sequence[Sequence[Step]]:
        """Return the recipes that fit a text, each as steps one after the other."""
        return self._recipes(source)

    def take(self, source: str, step: Step) -> str | None:
        """Return the text after a step, None where the step no longer applies."""
        try:
            return self._rules.apply(source, step)
        except self._rules.MutationError:
            return None


def label(step: Step) -> str:
    """Return a step as it is kept: `lever=value`."""
    return f"{step.lever}={step.value}"


def require_steps(space: Space, texts: Mapping[str, str]) -> None:
    """Raise BadInputError where no text can be changed: there is nothing to search."""
    if not any(space.steps(text) for text in texts.values()):
        raise BadInputError(
            f"no rule changes the program ({', '.join(texts)}): there is nothing to search",
            hint="its communication must be of the form that transform writes",
        )
