"""Embeddings of a run's programs in one matrix in memory: cosine similarity is one product."""

import numpy as np
from numpy.typing import NDArray

from warploom.core.errors import BadInputError
from warploom.store.records import Vector


class EmbeddingMatrix:
    """Rows of length 1, float32; grows by doubling, so that adding is quick."""

    def __init__(self) -> None:
        self._numbers: list[int] = []
        self._rows: NDArray[np.float32] = np.zeros((0, 0), dtype=np.float32)

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

    def nearest(self, vector: Vector) -> tuple[int, float] | None:
        """Return the most similar program and the cosine similarity; None where there is none."""
        if not self._numbers:
            return None
        length = float(np.linalg.norm(vector)) or 1.0
        # Not by BLAS: its threads wait for each other where other processes use the cores.
        rows = self._rows[: len(self._numbers)]
        similar = np.einsum("ij,j->i", rows, vector / np.float32(length))
        at = int(np.argmax(similar))
        return self._numbers[at], float(similar[at])
