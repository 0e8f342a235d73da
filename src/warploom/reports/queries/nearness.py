"""Which programs are like which: a plane of their embeddings, groups, and a table of likeness."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.reports.queries.marks import Mark

_MOST_FITTED = 4000
_ROUNDS = 40

Matrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Plane:
    """Programs in two dimensions: principal components of their embeddings.

    `explained` is the share of the variance along each axis; `cluster` counts from 0.
    """

    explained: list[float]
    number: list[int]
    x: list[float]
    y: list[float]
    cluster: list[int]


@dataclass(frozen=True, slots=True)
class Likeness:
    """Cosine similarity of programs' embeddings; rows and columns are `number`."""

    number: list[int]
    score: list[float | None]
    similarity: list[list[float]]


def embeddings_in(rows: Sequence[Any]) -> tuple[list[int], Matrix]:
    """Return numbers and embeddings of rows (id, number, bytes), those of one width only."""
    whole = [(number, data) for _, number, data in rows if data and len(data) % 4 == 0]
    found = [(number, np.frombuffer(data, "<f4")) for number, data in whole]
    if not found:
        return [], np.zeros((0, 0), np.float32)
    width = len(found[0][1])
    kept = [(number, vector) for number, vector in found if len(vector) == width]
    return [number for number, _ in kept], np.stack([vector for _, vector in kept])


def plane_of(numbers: Sequence[int], vectors: Matrix) -> Plane:
    """Return programs in the plane in which they differ most, with groups."""
    if len(numbers) < 2:
        return Plane([0.0, 0.0], list(numbers), [0.0] * len(numbers), [0.0] * len(numbers),
                     [0] * len(numbers))  # fmt: skip
    step = max(1, len(numbers) // _MOST_FITTED)
    middle = vectors.mean(axis=0)
    _, sizes, axes = np.linalg.svd(vectors[::step] - middle, full_matrices=False)
    axes = axes[:2]
    axes *= np.where(axes.sum(axis=1, keepdims=True) < 0, -1, 1)  # the same way each time
    points = (vectors - middle) @ axes.T
    points = np.pad(points, ((0, 0), (0, 2 - points.shape[1])))
    total = float((sizes**2).sum()) or 1.0
    shares = [float(size**2) / total for size in sizes[:2]]
    count = max(1, min(6, round((len(numbers) / 8) ** 0.5)))
    return Plane(
        [*shares, 0.0, 0.0][:2], list(numbers), _rounded(points[:, 0]), _rounded(points[:, 1]),
        _groups(points, count),
    )  # fmt: skip


def likeness_of(
    numbers: Sequence[int], vectors: Matrix, marks: Sequence[Mark], most: int
) -> Likeness:
    """Return how like each other the best programs are, ordered so that like ones are together."""
    scores = {one.number: one.score for one in marks if one.correct}
    order = sorted(
        range(len(numbers)), key=lambda at: (-(scores.get(numbers[at]) or -1e308), numbers[at])
    )[:most]
    if not order:
        return Likeness([], [], [])
    rows = vectors[order]
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = rows / np.where(lengths > 0, lengths, 1)
    table: Matrix = np.clip(rows @ rows.T, -1, 1).astype(np.float32)
    chain = _chain(table)
    chosen = [numbers[order[at]] for at in chain]
    ordered = table[np.ix_(chain, chain)]
    return Likeness(
        chosen, [scores.get(number) for number in chosen],
        [[round(float(value), 4) for value in row] for row in ordered],
    )  # fmt: skip


def _chain(table: Matrix) -> list[int]:
    """Return an order in which each is followed by the most similar one that is left."""
    left = set(range(1, len(table)))
    chain = [0]
    while left:
        at = chain[-1]
        nearest = max(left, key=lambda other: (table[at, other], -other))
        left.remove(nearest)
        chain.append(nearest)
    return chain


def _groups(points: Matrix, count: int) -> list[int]:
    """Return groups by k-means, the first centers being far from each other."""
    centers = [points[0]]
    while len(centers) < count:
        gaps = np.min([((points - one) ** 2).sum(axis=1) for one in centers], axis=0)
        centers.append(points[int(gaps.argmax())])
    middle = np.stack(centers)
    nearest = np.zeros(len(points), dtype=int)
    for _ in range(_ROUNDS):
        gaps = ((points[:, None, :] - middle[None]) ** 2).sum(axis=2)
        found = gaps.argmin(axis=1)
        if (found == nearest).all():
            break
        nearest = found
        for at in range(count):
            if (nearest == at).any():
                middle[at] = points[nearest == at].mean(axis=0)
    return [int(one) for one in nearest]


def _rounded(values: Matrix) -> list[float]:
    return [round(float(value), 5) for value in values]
