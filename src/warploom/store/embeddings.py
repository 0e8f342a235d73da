"""Embeddings of a run's programs in memory, and which of them is nearest to another."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from warploom.core.errors import BadInputError
from warploom.store.records import Vector

_EXACT = 4096
"""Up to so many programs every one is looked at."""

_BITS = 256
_LOOKED_AT = 128


class EmbeddingMatrix:
    """Rows of length 1, float32; grows by doubling, so that adding is quick.

    Above `_EXACT` rows each has a signature as well: the signs of 256 random projections of what
    it differs from the mean by. The share in which two signatures differ is their angle / pi
    (Charikar, "Similarity estimation techniques from rounding algorithms", 2002), so the nearest
    row is among those with the closest signatures, unless nothing is near at all.
    """

    def __init__(self) -> None:
        self._numbers: list[int] = []
        self._rows: NDArray[np.float32] = np.zeros((0, 0), dtype=np.float32)
        self._signatures: NDArray[np.uint64] = np.zeros((_BITS // 64, 0), dtype=np.uint64)
        self._mean: NDArray[np.float32] = np.zeros(0, dtype=np.float32)
        self._directions: NDArray[np.float32] = np.zeros((0, 0), dtype=np.float32)

    def __len__(self) -> int:
        return len(self._numbers)

    def add(self, number: int, vector: Vector) -> None:
        """Add a program's embedding, shape (d,); d must be that of the others."""
        count = len(self._numbers)
        if count == 0:
            self._rows = np.zeros((64, len(vector)), dtype=np.float32)
        elif len(vector) != self._rows.shape[1]:
            raise BadInputError(
                f"embeddings of one run must have one width, {self._rows.shape[1]} so far, "
                f"got {len(vector)}"
            )
        elif count == len(self._rows):
            self._rows = np.resize(self._rows, (2 * count, self._rows.shape[1]))
        length = float(np.linalg.norm(vector))
        self._rows[count] = vector / length if length > 0 else vector
        self._numbers.append(number)
        if count == _EXACT:
            self._begin_signatures()
        elif count > _EXACT:
            if count == self._signatures.shape[1]:
                self._signatures = np.concatenate((self._signatures, self._signatures), axis=1)
            self._signatures[:, count] = self._signed(self._rows[count : count + 1])[:, 0]

    def nearest(self, vector: Vector) -> tuple[int, float] | None:
        """Return the most similar program and the cosine similarity; None where there is none."""
        count = len(self._numbers)
        if not count:
            return None
        length = float(np.linalg.norm(vector)) or 1.0
        row = np.asarray(vector / np.float32(length), dtype=np.float32)
        places = np.arange(count) if count <= _EXACT else self._likely(row, count)
        # Not by BLAS: its threads wait for each other where other processes use the cores.
        similar = np.einsum("ij,j->i", self._rows[places], row)
        at = int(np.argmax(similar))
        return self._numbers[int(places[at])], float(similar[at])

    def among(self, vector: Vector, places: Sequence[int]) -> Iterator[tuple[int, float]]:
        """Yield the programs at some places, in the order of adding, and their similarities."""
        length = float(np.linalg.norm(vector)) or 1.0
        row = np.asarray(vector / np.float32(length), dtype=np.float32)
        similar = np.einsum("ij,j->i", self._rows[list(places)], row)
        return ((self._numbers[at], float(one)) for at, one in zip(places, similar, strict=True))

    def _likely(self, row: NDArray[np.float32], count: int) -> NDArray[np.intp]:
        """Return the places of the rows whose signatures are the closest to a row's, in order."""
        bits = np.zeros(count, dtype=np.uint16)
        for theirs, ours in zip(self._signatures, self._signed(row[np.newaxis]), strict=True):
            bits += np.bitwise_count(theirs[:count] ^ ours)
        within = np.cumsum(np.bincount(bits))  # how many rows differ in so many bits or fewer
        return np.flatnonzero(bits <= np.searchsorted(within, _LOOKED_AT))

    def _begin_signatures(self) -> None:
        rows = self._rows[: len(self._numbers)]
        self._mean = rows.mean(axis=0, dtype=np.float64).astype(np.float32)
        rng = np.random.default_rng(1)  # any directions do, the same ones each time
        self._directions = rng.standard_normal((rows.shape[1], _BITS)).astype(np.float32)
        self._signatures = np.tile(self._signed(rows), (1, 2))

    def _signed(self, rows: NDArray[np.float32]) -> NDArray[np.uint64]:
        """Return the signatures of rows: shape (4, n)."""
        signs = np.einsum("ij,jk->ik", rows - self._mean, self._directions) > 0
        return np.packbits(signs, axis=1).view(np.uint64).T
