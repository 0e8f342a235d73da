"""What the benchmark of stores gives to each store: texts, embeddings, and the clock.

It needs numpy alone, so that it runs in the environments of other stores too.
"""

import statistics
import time
from collections.abc import Callable, Iterator
from random import Random

import numpy as np
from numpy.typing import NDArray

BYTES = 6_000
WIDTH = 256
ROUNDS = 50
ISLANDS = 4
ROW = "ROW"  # marks a result among what a peer prints


def texts(count: int) -> Iterator[str]:
    """Yield programs of `BYTES` bytes, each a mutation of one before."""
    rng = Random(1)
    line = "  out[{0}] = in[{0}] * {1} + bias[{2}];\n"
    lines = [line.format(at, at % 7, at % 13) for at in range(BYTES // 35)]
    for number in range(count):
        at = rng.randrange(len(lines))
        lines[at] = line.format(at, rng.randrange(1000), number)
        yield "void kernel() {\n" + "".join(lines) + "}\n"


def vectors(count: int) -> NDArray[np.float32]:
    """Return embeddings near to each other: shape (count, WIDTH)."""
    rng = np.random.default_rng(1)
    middle = rng.standard_normal(WIDTH)
    return (middle + 0.3 * rng.standard_normal((count, WIDTH))).astype(np.float32)


def milliseconds(work: Callable[[int], object]) -> float:
    """Return the median time of `work`, which is told its round."""
    found: list[float] = []
    for at in range(ROUNDS):
        started = time.perf_counter()
        work(at)
        found.append(1e3 * (time.perf_counter() - started))
    return statistics.median(found)
