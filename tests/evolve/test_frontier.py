"""The fallback of a long search: each step of each program is looked at once, not at each attempt.

Operations are counted, nothing is timed.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pytest
from evolve_bench import Bench

from warploom.evolve.frontier import Frontier
from warploom.evolve.space import Step
from warploom.store.database import ProgramDatabase
from warploom.store.records import StoredProgram
from warploom.testing.search import LevelEvaluator, LevelSeeds, LevelSpace, level_text

LEVERS = {f"lever_{at}": ("1", "2", "3", "4") for at in range(8)}
FACTORS = {f"{name}={value}": 1.0 - int(value) / 50 for name in LEVERS for value in LEVERS[name]}
STEPS = 8 * 3  # from each text


@dataclass(frozen=True)
class CountingSpace(LevelSpace):
    """Counts the steps that are taken."""

    taken: list[str] = field(default_factory=list[str])

    def take(self, source: str, step: Step) -> str | None:
        self.taken.append(step.lever)
        return super().take(source, step)


def price(text: str) -> float:
    found = LevelSpace(LEVERS).directives(text)
    return -sum(FACTORS[f"{name}={value}"] for name, value in found.items())


class Fallback:
    """A search that has nothing but its fallback, and `waiting` programs under way."""

    def __init__(self, waiting: int) -> None:
        self.texts: list[str] = []
        self.known: set[str] = set()
        self.space = CountingSpace(LEVERS)
        self.frontier = Frontier(self.space, self.texts.__getitem__, self.known.__contains__)
        self._under_way: deque[str] = deque()
        self._waiting = waiting
        self._record(level_text(dict.fromkeys(LEVERS, "1")))

    def _record(self, text: str) -> None:
        self.known.add(text)
        self.texts.append(text)
        self.frontier.add(len(self.texts) - 1, price(text))

    def __iter__(self) -> Iterator[tuple[int, str]]:
        while (found := self.frontier.first()) is not None:
            number, text, _ = found
            yield number, text
            self.known.add(text)
            self._under_way.append(text)
            if len(self._under_way) > min(self._waiting, len(self.texts) // 8):
                self._record(self._under_way.popleft())

    def slow_first(self) -> tuple[int, str] | None:
        """Return what a walk from the best program on finds first."""
        space = LevelSpace(LEVERS)
        for number in sorted(range(len(self.texts)), key=lambda at: (-price(self.texts[at]), at)):
            for step in space.steps(self.texts[number]):
                after = space.take(self.texts[number], step)
                if after is not None and after not in self.known:
                    return number, after
        return None


@pytest.mark.parametrize("waiting", [0, 40])
def test_it_finds_what_a_walk_over_all_finds(waiting: int) -> None:
    search = Fallback(waiting)
    for at, found in enumerate(search):
        assert found == search.slow_first()
        if at == 400:
            break


def test_an_attempt_costs_the_same_however_many_programs_there_are() -> None:
    search = Fallback(waiting=200)
    costs: list[int] = []
    before = 0
    for at, _ in enumerate(search, 1):
        if at % 1000 == 0:
            costs.append(len(search.space.taken) - before)
            before = len(search.space.taken)
        if at == 6000:
            break
    assert len(search.texts) == 1 + 6000 - 1 - 200
    # A walk from the best program on would look at some 10,000 steps for each of the last ones.
    assert max(costs) <= 1000 * STEPS
    assert sum(costs) <= 6000 + len(search.texts) * STEPS


def test_a_space_that_ends_is_walked_once() -> None:
    search = Fallback(waiting=0)
    small = CountingSpace({name: LEVERS[name] for name in ("lever_0", "lever_1", "lever_2")})
    search.space = small
    search.frontier = Frontier(small, search.texts.__getitem__, search.known.__contains__)
    search.frontier.add(0, price(search.texts[0]))
    assert len(list(search)) == 4**3 - 1
    assert len(small.taken) == 4**3 * 9 + 4**3 - 1  # each step, and once more what is new
    assert search.frontier.first() is None and search.frontier.first() is None


def test_a_search_goes_through_known_programs_once(bench: Bench) -> None:
    space = CountingSpace({name: LEVERS[name] for name in list(LEVERS)[:4]})
    start = LevelSeeds({"gin": level_text(dict.fromkeys(space.levers, "1"))})
    run = replace(bench, space=space, seeds=start, evaluator=LevelEvaluator(FACTORS))
    words = ("evolution.max_evaluations=240", "evolution.max_tries=1", "phases.explore_share=0")
    assert run.run("run", *words).evaluations == 240  # of 255
    # The operators take some steps for each attempt; a walk would take hundreds.
    assert len(space.taken) <= 240 * (12 + 10)


def test_a_resumed_search_falls_back_to_the_same(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = LevelSpace({name: LEVERS[name] for name in list(LEVERS)[:3]})
    start = LevelSeeds({"gin": level_text(dict.fromkeys(space.levers, "1"))})
    run = replace(bench, space=space, seeds=start, evaluator=LevelEvaluator(FACTORS))
    words = ("evolution.max_evaluations=40", "evolution.max_tries=1", "phases.explore_share=0")
    run.run("whole", *words, "evolution.workers=2")
    add = ProgramDatabase.add

    def interrupted(store: ProgramDatabase, program: StoredProgram, **others: float) -> object:
        if program.number in (15, 30) and program.number not in seen:
            seen.add(program.number)
            raise KeyboardInterrupt
        return add(store, program, **others)

    seen: set[int] = set()
    monkeypatch.setattr(ProgramDatabase, "add", interrupted)
    for resume in (False, True):
        with pytest.raises(KeyboardInterrupt):
            run.run("run", *words, "evolution.workers=2", resume=resume)
    run.run("run", *words, "evolution.workers=2", resume=True)
    assert seen == {15, 30}
    assert run.history("run") == run.history("whole")
    with run.store("whole") as store:
        lineages = [store.brief(number).lineage for number in store.numbers]
    assert any(one.parent and not one.archive and not one.top_k for one in lineages[30:])
