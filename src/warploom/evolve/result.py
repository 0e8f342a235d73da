"""What a run came to, and how far it is: frozen records."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from warploom.core.records import Json, to_json
from warploom.evaluation.times.scored_region import scored_words
from warploom.store.records import Outcome


@dataclass(frozen=True, slots=True)
class Best:
    """The champion: its number, directives, and what its second judgment said.

    `seed` is the seed that it descends from; `changed` the levers whose values differ, each with
    the value before and after ("" where there is none).
    """

    number: int
    api: str
    seed: int
    seed_name: str
    outcome: Outcome
    directives: Mapping[str, str]
    changed: Mapping[str, tuple[str, str]]
    program: Path
    diff: Path


@dataclass(frozen=True, slots=True)
class ModelUse:
    """What a model was asked for: attempts, those that were judged, correct ones, US dollars."""

    attempts: int = 0
    judged: int = 0
    correct: int = 0
    cost: float = 0.0


@dataclass(frozen=True, slots=True)
class EvolutionResult:
    """What a run came to.

    `baseline_ms` is the host-driven program's time, from the same judgment as the champion's.
    `seed_ms` are the seeds' times by name, None for one that failed. `evaluations` counts attempts,
    seeds and second judgments not among them. `seconds` is of all processes of the run, `cost` in
    US dollars. `stopped` says why the run ended. `left_out` says why an API has no seed.
    `scored_region` is the workload's: 0 where all times are of the whole run. `seed_scores` are the
    seeds' scores. `rejected` counts proposals that novelty turned away, `summaries` how often the
    search was summed up; `models` tells what each language model was asked for.
    """

    folder: Path
    stopped: str
    best: Best
    time_source: str
    topology: str
    baseline_ms: float | None
    seed_ms: Mapping[str, float | None]
    evaluations: int
    correct: int
    confirmations: int
    failures: Mapping[str, int]
    islands: int
    seconds: float
    cost: float
    seed: str
    left_out: Mapping[str, str] = field(default_factory=dict[str, str])
    scored_region: int = 0
    rejected: int = 0
    seed_scores: Mapping[str, float | None] = field(default_factory=dict[str, float | None])
    summaries: int = 0
    models: Mapping[str, ModelUse] = field(default_factory=dict[str, ModelUse])

    @property
    def scored(self) -> str:
        """What the times are of, in words."""
        return scored_words(self.scored_region, self.time_source)

    @property
    def speedup(self) -> float | None:
        """How many times as fast the best program is as the host-driven one; below 1: slower."""
        time = self.best.outcome.time_ms
        return self.baseline_ms / time if self.baseline_ms and time else None

    @property
    def improved(self) -> bool:
        """Whether the best program beats the host-driven one, or by score the seeds."""
        if self.speedup is not None:
            return self.speedup > 1.0
        known = [score for score in self.seed_scores.values() if score is not None]
        score = self.best.outcome.score
        return score is not None and bool(known) and score > max(known)

    def to_json(self) -> dict[str, Json]:
        """Return it as plain JSON values."""
        best = self.best
        return {
            "best": {
                "number": best.number,
                "program": str(best.program),
                "diff": str(best.diff),
                "api": best.api,
                "seed": best.seed_name,
                "time_ms": best.outcome.time_ms,
                "score": best.outcome.score,
                "metrics": to_json(best.outcome.public),
                "directives": dict(best.directives),
                "changed": {name: list(pair) for name, pair in best.changed.items()},
            },
            "speedup": self.speedup,
            "baseline_ms": self.baseline_ms,
            "seed_ms": dict(self.seed_ms),
            "seed_scores": dict(self.seed_scores),
            "improved": self.improved,
            "time_source": self.time_source,
            "topology": self.topology,
            "scored_region": self.scored_region,
            "evaluations": self.evaluations,
            "correct": self.correct,
            "confirmations": self.confirmations,
            "failures": dict(self.failures),
            "rejected": self.rejected,
            "summaries": self.summaries,
            "models": to_json(self.models),
            "islands": self.islands,
            "seconds": self.seconds,
            "cost": self.cost,
            "stopped": self.stopped,
            "seed": self.seed,
            "left_out": dict(self.left_out),
            "folder": str(self.folder),
        }


@dataclass(frozen=True, slots=True)
class Status:
    """How far a run is. Times are in milliseconds, `elapsed` and `left` in seconds.

    `left` is an estimate from the rate of this process, None before there is one. `islands` are
    how many correct programs each has and its best time, or score. `best_score` is the champion's.
    `waits` says why no judging begins.
    """

    tried: int
    planned: int
    busy: int
    generation: int
    phase: str
    best_ms: float | None
    baseline_ms: float | None
    time_source: str
    islands: Mapping[int, tuple[int, float | None]]
    failures: Counter[str]
    elapsed: float
    left: float | None
    cost: float
    best_score: float | None = None
    waits: str = ""
