"""The nearest embedding, of few programs and of many."""

import numpy as np
import pytest

from warploom.core.errors import BadInputError
from warploom.store.embeddings import EmbeddingMatrix

WIDTH = 256
MANY = 6000


def family(count: int, seed: int = 5) -> np.ndarray:
    """Return programs' embeddings as a search has them: each a little beside an earlier one."""
    rng = np.random.default_rng(seed)
    rows = [rng.standard_normal(WIDTH)]
    for at in range(1, count):
        rows.append(rows[rng.integers(at)] + 0.1 * rng.standard_normal(WIDTH))
    return np.array(rows, dtype=np.float32)


def filled(rows: np.ndarray) -> EmbeddingMatrix:
    matrix = EmbeddingMatrix()
    for number, row in enumerate(rows, 1):
        matrix.add(number, row)
    return matrix


def exact(rows: np.ndarray, vector: np.ndarray) -> tuple[int, float]:
    length = np.linalg.norm(rows, axis=1) * np.linalg.norm(vector)
    similar = rows @ vector / length
    return int(np.argmax(similar)) + 1, float(similar.max())


@pytest.mark.parametrize("count", [1, 64, 65, 4096, 4097, 8193])
def test_a_known_program_is_found_again(count: int) -> None:
    rows = family(count)
    matrix = filled(rows)
    assert len(matrix) == count
    for at in {0, count // 2, count - 1}:
        number, similar = matrix.nearest(3 * rows[at]) or (0, 0.0)
        assert number == at + 1 and similar == pytest.approx(1.0, abs=1e-5)


def test_among_many_the_nearest_is_the_one_that_a_whole_scan_finds() -> None:
    rows = family(MANY)
    matrix = filled(rows)
    rng = np.random.default_rng(9)
    for _ in range(200):
        near = rows[rng.integers(MANY)] + rng.choice((0.01, 0.1)) * rng.standard_normal(WIDTH)
        expected, similar = exact(rows, near.astype(np.float32))
        found = matrix.nearest(near.astype(np.float32))
        assert found is not None and found[0] == expected
        assert found[1] == pytest.approx(similar, abs=1e-5)


def test_equal_programs_are_all_the_first() -> None:
    rows = np.repeat(family(1), MANY, axis=0)
    assert (filled(rows).nearest(rows[0]) or (0, 0.0))[0] == 1


def test_what_has_no_direction_is_near_to_nothing() -> None:
    rows = family(MANY)
    rows[7] = 0
    _, similar = filled(rows).nearest(np.zeros(WIDTH, dtype=np.float32)) or (0, 1.0)
    assert similar == 0.0


def test_widths_do_not_mix() -> None:
    matrix = filled(family(2))
    with pytest.raises(BadInputError, match="one width, 256"):
        matrix.add(3, np.zeros(64, dtype=np.float32))
    assert EmbeddingMatrix().nearest(np.zeros(4, dtype=np.float32)) is None
