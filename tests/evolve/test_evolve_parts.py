"""Bandit, steps and operators, each on its own."""

import math
from collections import Counter
from random import Random

import pytest
from evolve_bench import SPACE, START

from warploom.evolve.bandit import OperatorBandit, StepStatistics, gain
from warploom.evolve.config import BanditConfig
from warploom.evolve.operators import Material, crossover, several, single
from warploom.store.records import Outcome
from warploom.testing.search import level_text

CONFIG = BanditConfig(patience=0)
WEIGHTS = {"single": 1.0, "several": 1.0, "crossover": 0.0}


def outcome(time_ms: float | None) -> Outcome:
    return Outcome(time_ms is not None, None, time_ms)


def test_gains_are_logarithms() -> None:
    assert gain(outcome(4.0), outcome(2.0), 0.2) == pytest.approx(math.log(2))
    assert gain(outcome(2.0), outcome(4.0), 0.2) == pytest.approx(-math.log(2))
    assert gain(outcome(2.0), outcome(None), 0.2) == -0.2


def test_the_bandit_follows_what_pays() -> None:
    bandit = OperatorBandit(CONFIG)
    rng = Random(1)
    for _ in range(60):
        bandit.observe("single", 0.0)
        bandit.observe("several", 0.3)
    picks = Counter(bandit.pick(WEIGHTS, rng) for _ in range(1000))
    # With the probability `share` the better one, else one of the two.
    assert picks["several"] == pytest.approx(1000 * (CONFIG.share + (1 - CONFIG.share) / 2), abs=60)
    assert picks["crossover"] == 0
    for _ in range(200):  # rewards fade: what paid long ago counts for less
        bandit.observe("single", 0.3)
        bandit.observe("several", 0.0)
    picks = Counter(bandit.pick(WEIGHTS, rng) for _ in range(1000))
    assert picks["single"] > 750


def test_an_untried_operator_comes_first() -> None:
    bandit = OperatorBandit(BanditConfig(share=1.0, patience=0))
    bandit.observe("single", 0.5)
    assert bandit.pick(WEIGHTS, Random(1)) == "several"


def test_a_few_rewards_decide_less_than_many() -> None:
    picks: list[int] = []
    for rewards in (5, 100):
        bandit = OperatorBandit(BanditConfig(share=1.0, patience=20, decay=1.0, exploration=0.0))
        for _ in range(rewards):
            bandit.observe("single", 0.0)
            bandit.observe("several", 0.3)
        rng = Random(1)
        picks.append(sum(bandit.pick(WEIGHTS, rng) == "several" for _ in range(1000)))
    # By UCB1 in 10 of 30 and in 200 of 220 cases, else in one half of them.
    assert picks[0] == pytest.approx(1000 * (1 / 3 + 1 / 3), abs=60)
    assert picks[1] == pytest.approx(1000 * (10 / 11 + 1 / 22), abs=40)


def test_without_rewards_the_weights_decide() -> None:
    bandit = OperatorBandit(BanditConfig(share=1.0))
    rng = Random(1)
    picks = Counter(bandit.pick({"single": 3.0, "several": 1.0}, rng) for _ in range(2000))
    assert picks["single"] == pytest.approx(1500, abs=100)


def test_steps_that_gained_are_taken_more_often() -> None:
    learned = StepStatistics(CONFIG)
    for _ in range(5):
        learned.observe(("blocks=8",), 0.3)
        learned.observe(("blocks=2", "threads=64"), -0.4)
    assert learned.weight("blocks=8") > learned.weight("chunks=2") > learned.weight("blocks=2")
    for name in ("unroll:mlp=2", "unroll:mlp=4"):
        learned.observe((name,), -0.2)
    assert learned.weight("chunks=2") > learned.weight("unroll:combine=8")  # of its family
    assert learned.weight("unroll:combine=8") > learned.weight("unroll:mlp=8")  # of its lever
    names = ["blocks=8", "blocks=2"]
    picks = Counter(names[learned.pick(names, rng)] for rng in [Random(1)] for _ in range(500))
    expected = learned.weight("blocks=8") / sum(learned.weight(name) for name in names)
    assert picks["blocks=8"] / 500 == pytest.approx(expected, abs=0.05)


def material(others: dict[int, str] | None = None) -> Material:
    return Material(level_text(START), others or {}, SPACE, StepStatistics(CONFIG), 4)


def test_single_takes_one_step_and_several_take_different_levers() -> None:
    sizes: Counter[int] = Counter()
    for at in range(200):
        one = single(material(), Random(at))
        assert one is not None
        assert len(one.changes) == 1
        more = several(material(), Random(at))
        assert more is not None
        levers = [change.partition("=")[0] for change in more.changes]
        assert len(levers) == len(set(levers))
        sizes[len(levers)] += 1
        now = {**START, **dict(change.split("=") for change in more.changes)}
        assert dict(SPACE.directives(more.text)) == now
    assert set(sizes) == {2, 3, 4}


def test_crossover_takes_directives_of_the_other() -> None:
    other = {**START, "blocks": "8", "chunks": "4"}
    seen: Counter[tuple[str, ...]] = Counter()
    for at in range(300):
        draft = crossover(material({7: level_text(other)}), Random(at))
        assert draft is not None
        assert draft.partner == 7
        now = dict(SPACE.directives(draft.text))
        assert all(now[lever] in (START[lever], other[lever]) for lever in now)
        seen[tuple(sorted(draft.changes))] += 1
    assert set(seen) == {("blocks=8",), ("chunks=4",), ("blocks=8", "chunks=4")}
    assert min(seen.values()) > 40
    assert crossover(material({7: level_text(START)}), Random(1)) is None
    assert crossover(material(), Random(1)) is None
