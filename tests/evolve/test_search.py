"""A search over levers, with a fake evaluator: what it finds, and that a seed repeats it."""

from dataclasses import replace
from pathlib import Path

import pytest
from evolve_bench import BEST_MS, EVALUATOR, FACTORS, START, Bench

from warploom.core.errors import BadInputError, ToolFailedError
from warploom.testing.search import LevelEvaluator, LevelSeeds, LevelSpace, level_text

TWO = LevelSeeds({"gin": level_text(START, "gin_seed"), "lsa": level_text(START, "lsa_seed")})


def test_it_finds_the_best_of_288_programs(bench: Bench) -> None:
    result = bench.run("run", "evolution.num_generations=30")
    assert result.best.outcome.time_ms == pytest.approx(BEST_MS)
    assert result.speedup == pytest.approx(12.0 / BEST_MS)
    assert dict(result.best.changed) == {
        "blocks": ("1", "8"), "chunks": ("1", "4"), "threads": ("32", "128"), "unroll": ("1", "2"),
    }  # fmt: skip
    assert result.failures["missing_wait"] > 0
    assert result.evaluations == 120
    text = result.best.program.read_text()
    assert "int blocks = 8;" in text
    assert "+int blocks = 8;" in result.best.diff.read_text()
    readme = (bench.folder / "run" / "README.md").read_text()
    assert "| blocks | 1 | 8 |" in readme
    assert "modelled on h200-8" in readme


def test_one_seed_gives_one_run_and_another_seed_another(bench: Bench) -> None:
    for name, seed in (("a", 7), ("b", 7), ("c", 8)):
        bench.run(name, "evolution.num_generations=6", "database.num_islands=2", seed=seed)
    assert bench.history("a") == bench.history("b")
    assert bench.history("a")[0] != bench.history("c")[0]


def test_one_seed_gives_one_run_whatever_the_workers_do(bench: Bench) -> None:
    run = replace(bench, seeds=TWO, evaluator=replace(EVALUATOR, jitter=0.05))
    overrides = ("evolution.num_generations=8", "database.migration.interval=1")
    for name in ("a", "b"):
        run.run(name, *overrides, "evolution.plateau=4", "evolution.workers=3", seed=7)
    assert run.history("a") == run.history("b")


def test_nothing_is_judged_twice(bench: Bench) -> None:
    log = bench.folder / "log"
    run = replace(bench, evaluator=replace(EVALUATOR, log=log))
    result = run.run("run", "evolution.num_generations=20")
    lines = log.read_text().splitlines()
    assert len(lines) == len(set(lines)) == 1 + result.evaluations + result.confirmations


def test_a_space_ends(bench: Bench) -> None:
    small = LevelSpace({"blocks": ("1", "2", "4"), "chunks": ("1", "4"), "unroll": ("1", "2", "4")})
    result = replace(bench, space=small).run("run", "evolution.num_generations=200")
    assert result.stopped == "every step from every program has been tried"
    assert result.correct == 3 * 2 * 2 - 1  # all that are sound, but the seed
    assert result.evaluations <= 3 * 2 * 3 - 1  # and those that fail, which are no parents
    assert result.failures["missing_wait"] >= 1


def test_each_seed_has_an_island_and_keeps_its_api(bench: Bench) -> None:
    faster = replace(EVALUATOR, base={"lsa": 0.5})
    run = replace(bench, seeds=TWO, evaluator=faster)
    result = run.run("run", "evolution.num_generations=8", "database.migration.interval=2")
    assert result.seed_ms == {"gin": 10.0, "lsa": 5.0}
    assert result.best.api == "lsa"
    with run.store("run") as store:
        by_number = {program.number: program for program in store.programs()}
        assert {p.lineage.island for p in by_number.values()} >= {0, 1}
        assert any(event.kind == "migration" and event.data["moves"] for event in store.events)
        for program in by_number.values():
            parent = by_number.get(program.lineage.parent or 0)
            if parent is not None:  # a crossover never mixes two APIs
                names = ("gin_seed", "lsa_seed")
                assert [n in program.code for n in names] == [n in parent.code for n in names]


def test_migrants_are_not_judged_again_and_are_parents_there(bench: Bench) -> None:
    run = replace(bench, seeds=TWO)
    run.run("run", "evolution.num_generations=12", "database.migration.interval=1")
    with run.store("run") as store:
        moved = {m[0] for e in store.events if e.kind == "migration" for m in e.data["moves"]}
        assert moved
        away = [
            program
            for program in store.programs()
            if program.lineage.parent in moved
            and store.brief(program.lineage.parent).lineage.island != program.lineage.island
        ]
        assert away
        assert all(store.history_of(number) for number in moved)


def test_a_still_search_gets_a_new_island(bench: Bench) -> None:
    flat = replace(bench, evaluator=LevelEvaluator({}))
    result = flat.run("run", "evolution.num_generations=12", "database.stagnation=2")
    assert 2 <= result.islands <= 6
    assert result.best.number == 1
    assert "No change to the seed" in (bench.folder / "run" / "README.md").read_text()


def test_a_plateau_ends_the_run(bench: Bench) -> None:
    flat = replace(bench, evaluator=LevelEvaluator({}))
    result = flat.run("run", "evolution.num_generations=50", "evolution.plateau=3")
    assert result.stopped == "no better program in 3 generations"
    assert result.evaluations == 12


def test_gains_below_the_noise_are_none(bench: Bench) -> None:
    slight = replace(bench, evaluator=LevelEvaluator({"blocks=8": 0.999}))
    assert slight.run("run", "evolution.num_generations=10").best.number == 1
    result = slight.run("exact", "evolution.num_generations=10", "evaluation.noise=0")
    assert result.best.changed["blocks"] == ("1", "8")


class Fickle(LevelEvaluator):
    """Programs with 8 blocks are fast for the search's inputs, and slow for all others."""

    def __call__(self, candidate: Path, question: object) -> object:
        found = super().__call__(candidate, question)
        if "blocks = 8" in candidate.read_text() and len(question.inputs) == 2:
            return replace(found, time_ms=11.0, score=10000 / 12)
        return found


def test_a_champion_must_hold_for_other_inputs(bench: Bench) -> None:
    result = replace(bench, evaluator=Fickle(FACTORS)).run("run", "evolution.num_generations=20")
    assert result.best.directives["blocks"] != "8"
    assert result.confirmations > 2
    with bench.store("run") as store:
        assert any(e.kind == "champion" and not e.data["accepted"] for e in store.events)


def test_seeds_that_fail_are_told(bench: Bench) -> None:
    broken = replace(bench, evaluator=LevelEvaluator({}, frozenset({"blocks=1"})))
    with pytest.raises(BadInputError, match="no seed passes the evaluation: a wait is missing"):
        broken.run("run")


def test_an_evaluator_that_always_breaks_ends_the_run(bench: Bench) -> None:
    class Broken(LevelEvaluator):
        def __call__(self, candidate: Path, question: object) -> object:
            if candidate.read_text() == level_text(START):
                return super().__call__(candidate, question)
            raise RuntimeError("lost the accelerator")

    with pytest.raises(ToolFailedError, match="3 evaluations broke one after the other"):
        replace(bench, evaluator=Broken({}, frozenset())).run("run", "phases.explore_share=1")


def test_bad_input_is_the_workloads_fault_only_before_a_seed_has_passed(bench: Bench) -> None:
    class Refusing(LevelEvaluator):
        def __call__(self, candidate: Path, question: object) -> object:
            if "unroll = 2;" not in candidate.read_text():
                return super().__call__(candidate, question)
            raise BadInputError("markers must pair up")

    result = replace(bench, evaluator=Refusing({})).run("run", "evolution.num_generations=5")
    assert result.failures["evaluator_error"] > 0

    class Wrong(LevelEvaluator):
        def __call__(self, candidate: Path, question: object) -> object:
            raise BadInputError("the program fails before it is changed")

    with pytest.raises(BadInputError, match="fails before it is changed"):
        replace(bench, evaluator=Wrong({})).run("wrong")


def test_modelled_and_measured_times_are_never_ranked_together(bench: Bench) -> None:
    class Mixed(LevelEvaluator):
        def __call__(self, candidate: Path, question: object) -> object:
            found = super().__call__(candidate, question)
            measured = "blocks = 1;" not in candidate.read_text()
            return replace(found, time_source="measured" if measured else "modelled")

    with pytest.raises(BadInputError, match="one kind of time, modelled so far, got measured"):
        replace(bench, evaluator=Mixed({})).run("run", "evolution.num_generations=9")
