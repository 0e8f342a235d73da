"""The first step that nobody has tried, from the best program on: found without walking again."""

import heapq
from collections.abc import Callable, Sequence

from warploom.evolve.space import Space, Step


class Frontier:
    """Correct programs that may have a single step left to try, best first.

    A text that is known stays known. So a program all of whose steps lead to known texts is done
    with, and one's first steps are not looked at again: over a whole search each step of each
    program is looked at once, and once more when it is the next to be tried.

    Args:
        space: the steps from each text.
        text_of: a program's text, by number.
        is_known: whether a text was tried, is being tried, or is too much like such a one.
    """

    def __init__(
        self, space: Space, text_of: Callable[[int], str], is_known: Callable[[str], bool]
    ) -> None:
        self._space = space
        self._text_of = text_of
        self._is_known = is_known
        self._open: list[tuple[float, int]] = []  # a heap of -score, number
        self._begun: dict[int, int] = {}  # how many of a program's steps are done with

    def add(self, number: int, score: float) -> None:
        """Add a correct program; equal scores are in order of number."""
        heapq.heappush(self._open, (-score, number))

    def first(self) -> tuple[int, str, Step] | None:
        """Return a program, the text after the step, and the step; None where nothing is left."""
        while self._open:
            number = self._open[0][1]
            text = self._text_of(number)
            steps = self._space.steps(text)
            found = self._next(number, text, steps)
            if found is not None:
                return number, *found
            heapq.heappop(self._open)
            self._begun.pop(number, None)
        return None

    def _next(self, number: int, text: str, steps: Sequence[Step]) -> tuple[str, Step] | None:
        for at in range(self._begun.get(number, 0), len(steps)):
            after = self._space.take(text, steps[at])
            if after is not None and after != text and not self._is_known(after):
                self._begun[number] = at
                return after, steps[at]
        return None
