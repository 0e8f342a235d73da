"""The model of what levers do to the time, and the proposals that come from it."""

import math
from itertools import product
from random import Random
from statistics import median

import pytest
from evolve_bench import FACTORS, SPACE, START, Bench

from warploom.evolve.effects import Effects
from warploom.evolve.predicted import Predictor
from warploom.testing.search import level_text

BREAKS = "unroll=4"


def log_time(point: dict[str, str]) -> float:
    return math.log(math.prod(FACTORS.get(f"{name}={at}", 1.0) for name, at in point.items()))


def singles(point: dict[str, str]) -> list[dict[str, str]]:
    return [
        {**point, name: value} for name, values in SPACE.levers.items() for value in values
        if value != point[name]
    ]  # fmt: skip


def learned(points: list[dict[str, str]]) -> Effects:
    effects = Effects(failure=0.2)
    for point in points:
        failed = f"unroll={point['unroll']}" == BREAKS
        effects.observe(point, None if failed else log_time(point))
    return effects


def test_effects_add_up_where_nobody_has_looked() -> None:
    model = learned([START, *singles(START)]).fitted()
    assert model is not None
    rest = [
        dict(zip(SPACE.levers, values, strict=True)) for values in product(*SPACE.levers.values())
    ]
    guess = model.guess(rest)
    order = sorted(range(len(rest)), key=lambda at: guess.mean[at])
    best = min((one for one in rest if one["unroll"] != "4"), key=log_time)
    assert best in [rest[at] for at in order[:3]]
    # What was measured is certain, and four steps away nothing is.
    near, far = model.guess([START, best]).deviation
    assert near < 0.2 * far


def test_a_failure_counts_as_slow_and_near_numbers_are_alike() -> None:
    effects = learned([START, {**START, "unroll": "4"}, {**START, "blocks": "16"}])
    model = effects.fitted()
    assert model is not None
    points = [{**START, **one} for one in ({"unroll": "4"}, {"blocks": "16"}, {"blocks": "32"})]
    broken, known, beside = model.guess(points).mean
    assert broken > known
    elsewhere = model.guess([{**START, "blocks": "2"}]).mean[0]
    assert known <= beside < elsewhere
    assert Effects(0.2).fitted() is None


def test_levers_without_effect_are_left_alone() -> None:
    rng = Random(1)
    times = {"0": 0.0, "1": 0.5, "2": 0.1, "3": 0.9}
    effects = Effects(0.2)
    for at in range(24):
        idle = {f"idle{n}": rng.choice("ab") for n in range(6)}
        effects.observe({"real": str(at % 4), **idle}, times[str(at % 4)])
    model = effects.fitted()
    assert model is not None
    here = {"real": "0", **dict.fromkeys((f"idle{n}" for n in range(6)), "a")}
    mean = model.guess([here, {**here, "idle3": "b", "idle4": "b"}, {**here, "real": "3"}]).mean
    assert abs(mean[1] - mean[0]) < 0.1
    # From 0.6 on, twice as far from the best as the middle is, all are equally slow.
    assert mean[2] - mean[0] == pytest.approx(0.6, abs=0.1)


def test_what_is_being_judged_is_not_looked_at_twice() -> None:
    effects = learned([START, *singles(START)[:4]])
    free, held = effects.fitted(), effects.fitted([{**START, "threads": "64", "chunks": "4"}])
    assert free is not None
    assert held is not None
    near = [{**START, "threads": "64", "chunks": "4"}]
    assert held.guess(near).deviation[0] < 0.2 * free.guess(near).deviation[0]
    assert held.guess(near).mean[0] == pytest.approx(free.guess(near).mean[0], abs=0.1)


def test_the_best_of_each_lever_is_proposed_first() -> None:
    known = {level_text(point) for point in [START, *singles(START)]}
    predictor = Predictor(learned([START, *singles(START)]), SPACE, known.__contains__)
    origin = predictor.origin(1, level_text(START), START)
    firsts = [predictor.draft([origin], 0.0, (), Random(at)) for at in range(10)]
    texts = [draft.text for number, draft in filter(None, firsts) if number == 1]
    assert len(texts) == 10
    times = [log_time(dict(SPACE.directives(text))) for text in texts]
    assert max(times) < math.log(0.5)  # of single steps the best is 0.6; of two 0.42
    assert not known & set(texts)


def test_nothing_new_is_no_proposal() -> None:
    predictor = Predictor(learned([START]), SPACE, lambda _: True)
    origin = predictor.origin(1, level_text(START), START)
    assert predictor.draft([origin], 0.0, (), Random(1)) is None
    nothing = Predictor(Effects(0.2), SPACE, lambda _: False)
    assert nothing.draft([origin], 0.0, (), Random(1)) is None


def test_a_search_needs_few_of_288_programs(bench: Bench) -> None:
    goal = math.log(1.05 * 0.6 * 0.8 * 0.7 * 0.95)
    needed: list[int] = []
    for seed in range(1, 4):
        name = f"run{seed}"
        bench.run(name, "evolution.num_generations=15", seed=seed)
        with bench.store(name) as store:
            points = [dict(one.lineage.directives) for one in store.programs()]
        near = [at for at, point in enumerate(points, 1)
                if log_time(point) <= goal and f"unroll={point['unroll']}" != BREAKS]  # fmt: skip
        needed.append(near[0] if near else 61)
    # One of the 288 programs is near: a random search needs 144 of them, at the median.
    assert median(needed) <= 36
