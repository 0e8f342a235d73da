"""A small workload and a space of levers: searches that take milliseconds."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from warploom.evolve.compose import compose
from warploom.evolve.config import EvolutionConfig
from warploom.evolve.evaluator import Question
from warploom.evolve.result import EvolutionResult
from warploom.evolve.runner import EvolutionRunner
from warploom.store.database import ProgramDatabase, sqlite_url
from warploom.store.records import Outcome
from warploom.testing.search import LevelEvaluator, LevelSeeds, LevelSpace, level_text

SPACE = LevelSpace(
    {
        "blocks": ("1", "2", "4", "8", "16", "32"),
        "threads": ("32", "64", "128", "256"),
        "chunks": ("1", "2", "4", "8"),
        "unroll": ("1", "2", "4"),
    }
)
START = {"blocks": "1", "threads": "32", "chunks": "1", "unroll": "1"}
FACTORS = {
    "blocks=4": 0.8, "blocks=8": 0.6, "blocks=16": 0.7, "threads=128": 0.8, "threads=256": 1.2,
    "chunks=4": 0.7, "chunks=8": 1.1, "unroll=2": 0.95,
}  # fmt: skip
BEST_MS = 10 * 0.6 * 0.8 * 0.7 * 0.95
EVALUATOR = LevelEvaluator(FACTORS, frozenset({"unroll=4"}))

ONE = LevelSeeds({"gin": level_text(START)})
TWO = LevelSeeds({"gin": level_text(START, "gin"), "lsa": level_text(START, "lsa")})


@dataclass(frozen=True)
class StallsOnce:
    """Judges as another evaluator, but the first judgment that is not of a seed takes an hour.

    It notes its job and process in the file `mark`.
    """

    inner: LevelEvaluator
    mark: Path

    @property
    def key(self) -> str:
        return self.inner.key

    @property
    def time_source(self) -> str:
        return self.inner.time_source

    def __call__(self, candidate: Path, question: Question) -> Outcome:
        assert self.inner.log is not None
        log = self.inner.log.read_text().splitlines() if self.inner.log.is_file() else []
        second = len(question.inputs) > 1  # the second judgment of a champion
        if second or sum("," not in line for line in log) < 2:
            return self.inner(candidate, question)
        try:
            with self.mark.open("x") as file:
                file.write(f"{os.environ['SLURM_JOB_ID']} {os.getpid()}\n")
        except FileExistsError:
            return self.inner(candidate, question)
        return replace(self.inner, seconds=3600.0)(candidate, question)


@dataclass(frozen=True)
class Bench:
    """Runs searches over the levers, in folders of their own."""

    folder: Path
    program: Path
    evaluator: LevelEvaluator | StallsOnce = EVALUATOR
    seeds: LevelSeeds = ONE
    space: LevelSpace = SPACE

    def config(self, *overrides: str) -> EvolutionConfig:
        usual = ("evolution.generation_size=4", "evolution.plateau=0", "evolution.workers=1")
        return compose([*usual, *overrides])

    def runner(self, *overrides: str) -> EvolutionRunner:
        return EvolutionRunner(
            self.config(*overrides), evaluator=self.evaluator, seeds=self.seeds, space=self.space
        )

    def run(
        self, name: str, *overrides: str, seed: int | None = 1, resume: bool = False
    ) -> EvolutionResult:
        runner = self.runner(*overrides)
        return runner.run(self.program, self.folder / name, seed=seed, resume=resume)

    def store(self, name: str, url: str | None = None) -> ProgramDatabase:
        run = json.loads((self.folder / name / "run.json").read_text())["id"]
        place = url or sqlite_url(self.folder / name / "programs.db")
        return ProgramDatabase(url=place, run=run, read_only=True)

    def history(self, name: str, url: str | None = None) -> list[object]:
        """Return all that must be equal in two runs with one seed."""
        with self.store(name, url) as store:
            programs = [
                (p.number, p.code, p.lineage, replace(p.outcome, seconds=0.0), p.diff)
                for p in store.programs()
            ]
            events = [(e.kind, e.at, _timeless(e.data)) for e in store.events]
            return [programs, events]


OVERRIDES = ("evolution.num_generations=10", "database.migration.interval=2")
HERE = Path(__file__).parent


def _timeless(value: object) -> object:
    if isinstance(value, dict):
        return {key: _timeless(item) for key, item in value.items() if key != "seconds"}
    return value


def start(
    bench: Bench, name: str, seconds: float, *overrides: str, script: str = "search_process.py"
) -> "subprocess.Popen[bytes]":
    """Start a process that runs, or resumes, a search."""
    environment = {**os.environ, "PYTHONPATH": f"{HERE}:{os.environ.get('PYTHONPATH', '')}"}
    command = [sys.executable, str(HERE / script), str(bench.folder), name]
    return subprocess.Popen(
        [*command, str(seconds), *overrides],
        env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip


def begun(bench: Bench, name: str) -> list[str]:
    """Return the texts (digests) whose judgment by the search's input began, in order."""
    log = bench.folder / f"{name}.log"
    lines = log.read_text().splitlines() if log.is_file() else []
    return [line.split()[0] for line in lines if "," not in line]  # champions have two inputs
