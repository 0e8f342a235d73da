"""Proposals that the model of effects expects most of: it looks at many before one is built."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random

from warploom.evolve.effects import Effects, Fitted, Place, Point, place_of
from warploom.evolve.operators import Draft, follow
from warploom.evolve.space import Space, Step

API = "@api"
"""What a program communicates by, as a lever of the model: it cannot be the name of one."""

_WIDTH = 8  # sets of steps that are taken further
_WORTH = 0.02  # of log time: gains below it are no aim while there may be larger ones
_STEPS = 2  # from a program that was judged: farther away the model knows little
_ALIKE = 0.3  # ways whose promises differ by less than this share may change places
_TRIES = 16  # sets of steps that are realized, until one makes a text that is not known


@dataclass(frozen=True, slots=True)
class Origin:
    """A program that steps may begin from, and where it lies for the model."""

    number: int
    text: str
    point: Point
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class _Way:
    """Some steps from a program, and where they should lead."""

    origin: Origin
    steps: tuple[Step, ...]
    point: Point

    @property
    def place(self) -> Place:
        return place_of(self.point)


class Predictor:
    """Looks for the sets of steps whose expected improvement is largest.

    Args:
        effects: what is known of levers.
        space: the steps from each text.
        is_known: whether a text was tried, or is being tried.
    """

    def __init__(self, effects: Effects, space: Space, is_known: Callable[[str], bool]) -> None:
        self._effects = effects
        self._space = space
        self._is_known = is_known

    def origin(self, number: int, text: str, point: Point) -> Origin:
        """Return a program as one that steps may begin from."""
        return Origin(number, text, point, tuple(self._space.steps(text)))

    def draft(
        self, origins: Sequence[Origin], best: float, waiting: Sequence[Point], rng: Random
    ) -> tuple[int, Draft] | None:
        """Return a program and what to make of it; None where nothing new is in reach.

        Args:
            origins: programs to begin from.
            best: the log time that is to be improved on.
            waiting: what is being judged.
            rng: decides between ways that promise about the same.
        """
        model = self._effects.fitted(waiting)
        if model is None:
            return None
        for way in islice(self._ways(origins, model, best, rng), _TRIES):
            draft = follow(self._space, way.origin.text, way.steps)
            if draft is not None and not self._is_known(draft.text):
                return way.origin.number, draft
        return None

    def _ways(
        self, origins: Sequence[Origin], model: Fitted, best: float, rng: Random
    ) -> Iterator[_Way]:
        """Yield ways, the most promising first: a beam search, one step more each time."""
        seen = {place_of(one.point) for one in origins}
        open_ = [_Way(one, (), one.point) for one in origins]
        found: list[tuple[float, _Way]] = []
        for _ in range(_STEPS):
            fresh: list[_Way] = []
            for way in (further for one in open_ for further in _further(one)):
                if way.place not in seen:
                    seen.add(way.place)
                    fresh.append(way)
            if not fresh:
                break
            promised = model.guess([way.point for way in fresh]).improvement(best - _WORTH)
            rated = [
                (one * (1.0 - _ALIKE * rng.random()), way)
                for one, way in zip(promised.tolist(), fresh, strict=True)
            ]
            rated.sort(key=lambda one: -one[0])
            found += rated
            open_ = [way for _, way in rated[:_WIDTH]]
        found.sort(key=lambda one: -one[0])
        yield from (way for _, way in found if not self._effects.knows(way.place))


def _further(way: _Way) -> Iterator[_Way]:
    """Yield a way with one step more, of a lever that it has not moved."""
    moved = {step.lever for step in way.steps}
    for step in way.origin.steps:
        if step.lever not in moved:
            yield _Way(way.origin, (*way.steps, step), {**way.point, step.lever: step.value})
