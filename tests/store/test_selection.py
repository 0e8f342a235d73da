"""Each way to draw a parent, against its distribution; islands; the archive's grid."""

import math
from random import Random

import numpy as np
import pytest

from warploom.store.archive import Archive, Features, communication_share
from warploom.store.config import ArchiveConfig, SelectionConfig
from warploom.store.island import Island
from warploom.store.parent_selection import draw, weights

SCORES = np.array([90.0, 60.0, 55.0, 50.0, 50.0, 40.0, 10.0])
CHILDREN = np.array([9, 0, 3, 0, 1, 0, 0])
DRAWS = 20_000


def by_definition(config: SelectionConfig) -> list[float]:
    """Return the probabilities as docs/evolve.md states them, in plain Python."""
    count = len(SCORES)
    if config.strategy == "uniform":
        raw = [1.0] * count
    elif config.strategy == "beam":
        raw = [1.0 if at < config.beam_width else 0.0 for at in range(count)]
    elif config.strategy == "power_law":
        raw = [(at + 1) ** -config.exponent for at in range(count)]
    else:
        middle = sorted(SCORES)[count // 2]
        spread = sorted(abs(score - middle) for score in SCORES)[count // 2]
        raw = [
            1 / (1 + math.exp(-config.sharpness * (score - middle) / spread)) / (1 + children)
            for score, children in zip(SCORES, CHILDREN, strict=True)
        ]
    return [one / sum(raw) for one in raw]


@pytest.mark.parametrize(
    "config",
    [
        SelectionConfig(strategy="power_law", exponent=1.0),
        SelectionConfig(strategy="power_law", exponent=2.5),
        SelectionConfig(strategy="weighted", sharpness=1.0),
        SelectionConfig(strategy="weighted", sharpness=5.0),
        SelectionConfig(strategy="beam", beam_width=3),
        SelectionConfig(strategy="beam", beam_width=30),
        SelectionConfig(strategy="uniform"),
    ],
    ids=str,
)
def test_parents_are_drawn_as_stated(config: SelectionConfig) -> None:
    expected = np.array(by_definition(config))
    np.testing.assert_allclose(weights(config, SCORES, CHILDREN), expected, rtol=1e-12)
    rng = Random(11)
    counts = np.bincount(
        [draw(config, SCORES, CHILDREN, rng) for _ in range(DRAWS)], minlength=len(SCORES)
    )
    assert not counts[expected == 0].any()
    possible = expected > 0
    # Pearson's statistic: above 35 once in 100,000 times, with 6 degrees of freedom.
    difference = counts[possible] - DRAWS * expected[possible]
    assert float((difference**2 / (DRAWS * expected[possible])).sum()) < 35


@pytest.mark.parametrize("strategy", ["power_law", "weighted", "beam", "uniform"])
def test_one_program_and_equal_scores(strategy: str) -> None:
    config = SelectionConfig(strategy=strategy)
    one = np.array([3.0]), np.array([2])
    assert draw(config, *one, Random(1)) == 0
    equal = np.full(5, 3.0), np.zeros(5, dtype=np.int64)
    assert {draw(config, *equal, Random(at)) for at in range(300)} >= {0, 1, 2, 3}


def test_an_island_stays_in_order_as_it_grows() -> None:
    rng = Random(5)
    island = Island()
    known: dict[int, tuple[float, int]] = {}
    for number in range(1, 300):
        score = float(rng.randrange(40))
        island.add(number, score, number % 3)
        known[number] = (score, number % 3)
        if rng.random() < 0.5:
            parent = rng.randrange(1, number + 1)
            island.count_child(parent, known[parent][0])
            known[parent] = (known[parent][0], known[parent][1] + 1)
    island.count_child(1, known[1][0] + 0.5)  # not of this island
    order = sorted(known, key=lambda number: (-known[number][0], number))
    assert island.members == order
    assert [*island.scores] == [known[number][0] for number in order]
    assert [*island.children] == [known[number][1] for number in order]
    assert 17 in island
    assert 300 not in island


def test_a_cell_keeps_its_best_and_the_archive_its_size() -> None:
    archive = Archive(ArchiveConfig(size=3, complexity_bins=5, communication_bins=5))
    same = Features(("blocks",), 1.0, 0.1)
    assert archive.add(1, 5.0, same)
    assert not archive.add(2, 4.0, same)
    assert not archive.add(3, 5.0, same)  # equal: the older one stays
    assert archive.add(4, 6.0, same)
    assert archive.members == [4]
    assert archive.add(5, 1.0, Features((), 1.0, 0.1))
    assert archive.add(6, 2.0, Features(("blocks",), 1.2, 0.1))
    assert not archive.add(7, 0.5, Features(("blocks",), 1.0, 0.9))  # the worst of four cells
    assert archive.add(8, 3.0, Features(("blocks",), 1.0, 0.9))
    assert archive.members == [4, 8, 6]


def test_cells_of_features() -> None:
    archive = Archive(ArchiveConfig(size=3, complexity_bins=5, communication_bins=4))
    cells = {
        relative: archive.cell_of(Features((), relative, 0.0))[1]
        for relative in (0.1, 0.9, 1.0, 1.04, 1.1, 1.2, 9.0)
    }
    assert cells == {0.1: 0, 0.9: 1, 1.0: 2, 1.04: 2, 1.1: 3, 1.2: 4, 9.0: 4}
    shares = [archive.cell_of(Features((), 1.0, share))[2] for share in (0.0, 0.24, 0.25, 1.0)]
    assert shares == [0, 0, 1, 3]
    assert communication_share({"time_ms": 4.0, "exposed_ms": 1.0}) == 0.25
    assert communication_share({}) == 0.0
