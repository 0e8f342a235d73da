"""Draws parents from programs in order of score. Each strategy is a weight for each program."""

import math
from collections.abc import Sequence
from functools import lru_cache
from random import Random

import numpy as np
from numpy.typing import NDArray

from warploom.store.config import SelectionConfig

Floats = NDArray[np.float64]


def weights(config: SelectionConfig, scores: Floats, children: NDArray[np.int64]) -> Floats:
    """Return the probability of each program to be drawn: shape (n,), float64, sum 1.

    Args:
        config: the strategy and its numbers.
        scores: of the programs, best first: shape (n,), n > 0.
        children: how many programs each one was the parent of: shape (n,).
    """
    count = len(scores)
    if config.strategy == "power_law":
        return _power_law(count, config.exponent)
    if config.strategy == "weighted":
        return _weighted(scores, children, config.sharpness)
    chosen = min(count, config.beam_width) if config.strategy == "beam" else count
    found = np.zeros(count)
    found[:chosen] = 1.0 / chosen
    return found


def draw(config: SelectionConfig, scores: Floats, children: NDArray[np.int64], rng: Random) -> int:
    """Return the place of the program that is drawn; the arguments are those of `weights`."""
    count = len(scores)
    if config.strategy == "uniform":
        return rng.randrange(count)
    if config.strategy == "beam":
        return rng.randrange(min(count, config.beam_width))
    if config.strategy == "power_law":
        sums = _power_law_sums(count, config.exponent)
    else:
        sums = np.cumsum(weights(config, scores, children))
    at = int(np.searchsorted(sums, rng.random() * float(sums[-1]), side="right"))
    return min(at, count - 1)


@lru_cache(maxsize=8)  # one for each island's size: each is as long as the island
def _power_law_sums(count: int, exponent: float) -> Floats:
    return np.cumsum(_power_law(count, exponent))


def _power_law(count: int, exponent: float) -> Floats:
    found = np.arange(1, count + 1, dtype=np.float64) ** -exponent
    return found / found.sum()


def _weighted(scores: Floats, children: NDArray[np.int64], sharpness: float) -> Floats:
    middle = scores[len(scores) // 2]  # they are in order
    spread = float(np.median(np.abs(scores - middle))) or 1.0
    high = np.clip(sharpness * (scores - middle) / spread, -60.0, 60.0)
    found = 1.0 / (1.0 + np.exp(-high)) / (1.0 + children)
    total = float(found.sum())
    assert math.isfinite(total) and total > 0
    return found / total


def sample(items: Sequence[int], count: int, rng: Random) -> tuple[int, ...]:
    """Return up to `count` different ones of `items`, in the order in which they were drawn."""
    return tuple(rng.sample(items, min(count, len(items))))
