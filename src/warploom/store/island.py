"""One island's correct programs, best first, in arrays that grow."""

import bisect

import numpy as np
from numpy.typing import NDArray


class Island:
    """The correct programs of one island.

    `members` are their numbers, best first; `scores` (n,) float64 and `children` (n,) int64 have
    the same order. Equal scores are in order of number.
    """

    def __init__(self) -> None:
        self._size = 0
        self._keys: list[tuple[float, int]] = []  # (-score, number), sorted
        self._numbers: set[int] = set()
        self._scores: NDArray[np.float64] = np.zeros(64, dtype=np.float64)
        self._children: NDArray[np.int64] = np.zeros(64, dtype=np.int64)

    def __len__(self) -> int:
        return self._size

    def __contains__(self, number: int) -> bool:
        return number in self._numbers

    @property
    def members(self) -> list[int]:
        """Numbers of the programs, best first."""
        return [number for _, number in self._keys]

    @property
    def scores(self) -> NDArray[np.float64]:
        """Scores, best first: shape (n,)."""
        return self._scores[: self._size]

    @property
    def children(self) -> NDArray[np.int64]:
        """How many programs each one was the parent of: shape (n,)."""
        return self._children[: self._size]

    def member(self, at: int) -> int:
        """Return the number of the program at a place, 0 the best."""
        return self._keys[at][1]

    def add(self, number: int, score: float, children: int = 0) -> None:
        """Add a program that the island does not have."""
        at = bisect.bisect(self._keys, (-score, number))
        self._keys.insert(at, (-score, number))
        self._numbers.add(number)
        if self._size == len(self._scores):
            self._scores = np.resize(self._scores, 2 * self._size)
            self._children = np.resize(self._children, 2 * self._size)
        end = self._size
        self._scores[at + 1 : end + 1] = self._scores[at:end].copy()
        self._children[at + 1 : end + 1] = self._children[at:end].copy()
        self._scores[at], self._children[at] = score, children
        self._size += 1

    def count_child(self, number: int, score: float) -> None:
        """Note that a program of this island, if it is one, was the parent of another."""
        at = bisect.bisect_left(self._keys, (-score, number))
        if at < self._size and self._keys[at] == (-score, number):
            self._children[at] += 1
