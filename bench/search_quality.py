"""Compares the search with random search and Optuna's TPE on enumerated design spaces.

    python bench/search_quality.py enumerate [--only NAME,...] [--api lsa] [--limit 256]
    python bench/search_quality.py compare [--only NAME,...] [--seeds 20] [--json]

`enumerate` takes the transformed form of each example, times every single step from it, and keeps
the levers that move the time most, as many as make at most `--limit` programs. It times all of
these and writes `bench/results/search_quality/NAME-API.json`. `compare` plays searches on these
tables: how many programs each looks at until one is within 5 % of the best, the median over seeds.
All begin with the transformed form and its time, which is not counted: `transform` has judged it.
Random search draws without repetition, and a program that TPE asks for again costs it nothing.
Times are modelled, in milliseconds, of what the program times itself, as in a search; of the whole
run where it times nothing. `compare` needs Optuna (`pip install optuna`).
"""

import argparse
import json
import math
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

from common import EXAMPLES, ROOT, Row, arguments, show
from levers import region_ms, timed

from warploom.core.ids import digest
from warploom.core.records import Api
from warploom.evaluation.modelled_time import score_of
from warploom.evolve.compose import compose
from warploom.evolve.evaluator import Question, failed
from warploom.evolve.result import Status
from warploom.evolve.runner import EvolutionRunner
from warploom.evolve.space import Mutations, Space, Step
from warploom.propose import Stage
from warploom.propose.mutate import Mutation, MutationError, apply, directives, mutations
from warploom.propose.rules import RewritePlan, rewrite
from warploom.source import CUDAAnalyzer
from warploom.store.records import Outcome
from warploom.testing.search import LevelSeeds

RESULTS = ROOT / "bench" / "results" / "search_quality"
NEAR = 1.05  # of the optimum
_UNSEEN = ("restrict:", "bounds:")  # levers that the model of time does not see

Point = tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """An enumerated space: `levers` with values, `times` (ms) by point; NaN where one fails."""

    example: str
    api: str
    topology: str
    seed: str
    levers: Mapping[str, tuple[str, ...]]
    times: Mapping[Point, float] = field(default_factory=dict[Point, float])

    def point_of(self, source: str) -> Point | None:
        """Return where a text lies; None where it is not in the space."""
        found = directives(source)
        at = tuple(found.get(name, "") for name in self.levers)
        return at if at in self.times else None

    @property
    def start(self) -> Point:
        """Return where the transformed form lies, from which all searches begin."""
        found = directives(self.seed)
        return tuple(found[name] for name in self.levers)

    @property
    def best(self) -> float:
        """The least time in the space, in ms."""
        return min(time for time in self.times.values() if math.isfinite(time))

    @property
    def goal(self) -> float:
        """The time from which on a program is near enough, in ms."""
        return NEAR * self.best


# --- enumerate ---


def _time_of(text: str, name: str, options: argparse.Namespace) -> float:
    with tempfile.TemporaryDirectory() as made:
        path = Path(made) / name
        path.write_text(text)
        line = timed(path, options)
    return (region_ms(line) or line.total_ms) if line is not None else math.nan


def _times(texts: Sequence[str], name: str, options: argparse.Namespace) -> list[float]:
    with ProcessPoolExecutor(options.jobs) as pool:
        waiting = [pool.submit(_time_of, text, name, options) for text in texts]
        found: list[float] = []
        for at, one in enumerate(waiting, 1):
            found.append(one.result())
            print(f"\r{name}: {at} of {len(texts)}", end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)
        return found


def _strongest(seed: str, name: str, options: argparse.Namespace) -> dict[str, tuple[str, ...]]:
    """Return the levers that move the time most, with all of their values."""
    steps = [step for step in mutations(seed) if not step.lever.startswith(_UNSEEN)]
    first, *times = _times([seed, *(apply(seed, step) for step in steps)], name, options)
    effect: dict[str, float] = {}
    values: dict[str, list[str]] = {}
    for step, time in zip(steps, times, strict=True):
        moved = abs(math.log(time / first)) if math.isfinite(time) else 0.0
        effect[step.lever] = max(effect.get(step.lever, 0.0), moved)
        values.setdefault(step.lever, [directives(seed)[step.lever]]).append(step.value)
    chosen: dict[str, tuple[str, ...]] = {}
    for lever in sorted(effect, key=lambda one: -effect[one]):
        size = math.prod(map(len, chosen.values())) * len(values[lever])
        if effect[lever] > 0 and size <= options.limit:
            chosen[lever] = tuple(values[lever])
    return chosen


def _reached(seed: str, levers: Mapping[str, tuple[str, ...]]) -> dict[Point, str]:
    """Return the text of each point that steps lead to from the seed."""
    found: dict[Point, str] = {}
    for wanted in product(*levers.values()):
        text = seed
        try:
            for lever, value in zip(levers, wanted, strict=True):
                text = apply(text, Mutation(lever, value, ""))
        except MutationError:
            continue
        after = directives(text)
        if tuple(after.get(name, "") for name in levers) == wanted:
            found[wanted] = text
    return found


def enumerated(folder: Path, options: argparse.Namespace) -> Table:
    """Time all points of an example's space."""
    path = folder / f"{folder.name}.cu"
    plan = RewritePlan(Api(options.api), Stage.DEVICE)
    seed = rewrite(path.read_text(), CUDAAnalyzer(path).analyze(), plan).text
    levers = _strongest(seed, path.name, options)
    texts = _reached(seed, levers)
    times = _times(list(texts.values()), path.name, options)
    return Table(
        folder.name, options.api, options.topology, seed, levers,
        dict(zip(texts, times, strict=True)),
    )  # fmt: skip


def write(table: Table) -> None:
    """Keep a table."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    points = [
        {"at": list(at), "ms": time if math.isfinite(time) else None}
        for at, time in table.times.items()
    ]
    data = {
        "example": table.example, "api": table.api, "topology": table.topology,
        "seed": table.seed, "levers": table.levers, "points": points,
    }  # fmt: skip
    (RESULTS / f"{table.example}-{table.api}.json").write_text(json.dumps(data, indent=1) + "\n")


def read(path: Path) -> Table:
    """Return the table that `write` kept."""
    data = json.loads(path.read_text())
    times = {tuple(p["at"]): math.nan if p["ms"] is None else p["ms"] for p in data["points"]}
    levers = {name: tuple(values) for name, values in data["levers"].items()}
    return Table(data["example"], data["api"], data["topology"], data["seed"], levers, times)


# --- compare ---


_RULES = Mutations()  # it keeps what it found out of a text


@dataclass(frozen=True)
class PlainSpace:
    """The rules' steps, less those that leave the table."""

    table: Table

    def directives(self, source: str) -> Mapping[str, str]:
        """Return the values of the table's levers."""
        found = directives(source)
        return {name: found.get(name, "") for name in self.table.levers}

    def steps(self, source: str) -> Sequence[Step]:
        """Return the steps to other points."""
        allowed = self.table.levers
        steps = _RULES.steps(source)
        return [one for one in steps if one.value in allowed.get(one.lever, ())]

    def take(self, source: str, step: Step) -> str | None:
        """Return the text after a step; None where it is outside."""
        after = _RULES.take(source, step)
        return after if after is not None and self.table.point_of(after) else None


class WholeSpace(PlainSpace):
    """The same with the recipes that a search begins with, as far as they lie in the table."""

    def recipes(self, source: str) -> Sequence[Sequence[Step]]:
        """Return the parts of recipes that have steps in the table, each once."""
        allowed = self.table.levers
        parts = [
            tuple(one for one in recipe if one.value in allowed.get(one.lever, ()))
            for recipe in _RULES.recipes(source)
        ]
        return list(dict.fromkeys(part for part in parts if part))


@dataclass(frozen=True)
class TableEvaluator:
    """Looks times up."""

    table: Table
    time_source: str = "modelled"

    @property
    def key(self) -> str:
        """A digest of the table."""
        return digest((repr(sorted(self.table.times.items())),))

    def __call__(self, candidate: Path, question: Question) -> Outcome:
        """Return the time of the program at a path."""
        del question
        at = self.table.point_of(candidate.read_text())
        time = math.nan if at is None else self.table.times[at]
        if not math.isfinite(time):
            return failed("run", "the program did not run well")
        return Outcome(True, score_of(time), time, self.time_source, {"time_ms": time}, {}, level=4)


class _NearError(Exception):
    """A program is near enough."""


def ours(table: Table, seed: int) -> int:
    """Return how many programs the search looks at."""
    return _searched(table, WholeSpace(table), seed)


def plain(table: Table, seed: int) -> int:
    """Return how many programs the search looks at when it knows no recipes."""
    return _searched(table, PlainSpace(table), seed)


def _searched(table: Table, space: Space, seed: int) -> int:
    count = 0

    def watch(status: Status) -> None:
        nonlocal count
        count = status.tried
        if status.best_ms is not None and status.best_ms <= table.goal:
            raise _NearError

    config = compose([
        f"evolution.max_evaluations={len(table.times)}", "evolution.plateau=0",
        "evolution.workers=1", "evaluation.nvcc=false", "evaluation.noise=0",
    ])  # fmt: skip
    runner = EvolutionRunner(
        config, evaluator=TableEvaluator(table), space=space,
        seeds=LevelSeeds({table.api: table.seed}), on_status=watch,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as made:
        program = Path(made) / f"{table.example}.cu"
        program.write_text(table.seed)
        try:
            runner.run(program, Path(made) / "run", seed=seed)
        except _NearError:
            return count
    return len(table.times) - 1


def at_random(table: Table, seed: int) -> int:
    """Return how many programs random search looks at."""
    start = table.start
    order = [at for at in table.times if at != start]
    Random(seed).shuffle(order)
    return next(n for n, at in enumerate((start, *order)) if table.times[at] <= table.goal)


def tpe(table: Table, seed: int) -> int:
    """Return how many different programs Optuna's TPE looks at."""
    optuna: Any = __import__("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed, multivariate=True))
    worst = max(time for time in table.times.values() if math.isfinite(time))
    seen = set[Point]()
    study.enqueue_trial(dict(zip(table.levers, table.start, strict=True)))
    for _ in range(20 * len(table.times)):
        trial = study.ask()
        at = tuple(trial.suggest_categorical(n, v) for n, v in table.levers.items())
        time = table.times.get(at, math.nan)
        if at in table.times:
            seen.add(at)
        if time <= table.goal:
            break
        study.tell(trial, time if math.isfinite(time) else 2 * worst)
    return len(seen) - 1


def compared(options: argparse.Namespace) -> Iterator[Row]:
    """Go through the rows of the comparison."""
    for path in sorted(RESULTS.glob("*.json")):
        table = read(path)
        if options.only and table.example not in options.only.split(","):
            continue
        found = {
            how.__name__: [how(table, seed) for seed in range(options.seeds)]
            for how in (ours, plain, at_random, tpe)
        }
        near = sum(time <= table.goal for time in table.times.values())
        medians = {name: statistics.median(counts) for name, counts in found.items()}
        yield {
            "example": table.example, "api": table.api, "levers": len(table.levers),
            "programs": len(table.times), "near": near,
            "seed_ms": table.times[table.start], "best_ms": table.best,
            "ours": medians["ours"], "no_recipes": medians["plain"],
            "random": medians["at_random"], "tpe": medians["tpe"],
        }  # fmt: skip


def main() -> int:
    """Run a command; return the exit code."""
    parser = arguments(__doc__ or "")
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("what", choices=("enumerate", "compare"))
    parser.add_argument("--only", default="", help="examples, by comma")
    parser.add_argument("--api", default="lsa", choices=("gin", "lsa"))
    parser.add_argument("--limit", type=int, default=256, help="programs of a space, at most")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--topology", default="h200-2x8")
    parser.add_argument("--seconds", type=float, default=600.0, help="of a run, at most")
    parser.add_argument("-D", action="append", default=[], metavar="NAME=VALUE")
    options = parser.parse_args()
    if options.what == "enumerate":
        for folder in EXAMPLES:
            if not options.only or folder.name in options.only.split(","):
                write(enumerated(folder, options))
        return 0
    rows = list(compared(options))
    if not rows:
        print(f"{RESULTS} holds no table: enumerate first", file=sys.stderr)
        return 2
    show(rows, options.json, f"Programs looked at until one is near, median of {options.seeds}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
