"""What a store keeps: programs that were judged, and events. Frozen; they cross layers."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from warploom.core.records import Json

Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Lineage:
    """Where a program comes from; programs are named by their numbers in the run.

    `parent` and `partner` (of a crossover) are None for seeds. `archive` and `top_k` are the
    inspirations that the proposer saw. `changes` are the steps from parent to program, one line
    each. `rejected` counts proposals that novelty turned away before this one.
    """

    parent: int | None = None
    partner: int | None = None
    archive: tuple[int, ...] = ()
    top_k: tuple[int, ...] = ()
    island: int = 0
    generation: int = 0
    operator: str = "seed"
    proposer: str = "rules"
    model: str = ""
    changes: tuple[str, ...] = ()
    directives: Mapping[str, str] = field(default_factory=dict[str, str])
    rejected: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What judging a program came to, small enough to keep for each.

    `score` is 10000 / (1 + `time_ms`); both None where the program is not `correct`. `time_source`
    is "modelled", "measured" or "none". `public` metrics may be shown to language models, `private`
    ones not. `failure` is the kind of the first error, "" where there is none; `findings` are all,
    as flat objects. `level` is the last level of the cascade that ran. `seconds` is wall time.
    """

    correct: bool
    score: float | None = None
    time_ms: float | None = None
    time_source: str = "none"
    public: Mapping[str, float] = field(default_factory=dict[str, float])
    private: Mapping[str, float] = field(default_factory=dict[str, float])
    feedback: str = ""
    failure: str = ""
    findings: tuple[Mapping[str, Json], ...] = ()
    level: int = 0
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether the program is correct."""
        return self.correct

    def to_json(self) -> dict[str, Json]:
        """Return it as plain JSON values; `outcome_from` reads them."""
        return {
            "correct": self.correct,
            "score": self.score,
            "time_ms": self.time_ms,
            "time_source": self.time_source,
            "public": dict(self.public),
            "private": dict(self.private),
            "feedback": self.feedback,
            "failure": self.failure,
            "findings": [dict(item) for item in self.findings],
            "level": self.level,
            "seconds": self.seconds,
        }


@dataclass(frozen=True, slots=True)
class Complexity:
    """Size of a program, by lizard: lines of code, functions, cyclomatic complexity of all."""

    nloc: int = 0
    functions: int = 0
    cyclomatic: int = 0


@dataclass(frozen=True, slots=True)
class StoredProgram:
    """One judged program.

    `number` names it within its run, from 1, in the order of proposals. `embedding` has shape (d,)
    and length 1, float32; `projection` are its coordinates in 2 and 3 dimensions and `cluster` its
    group, where somebody computed them. `diff` is against the parent. `cost` is in US dollars.
    `created` is in seconds since the epoch.
    """

    number: int
    code: str
    lineage: Lineage
    outcome: Outcome
    language: str = "cuda"
    code_hash: str = ""
    normal_hash: str = ""
    complexity: Complexity = field(default_factory=Complexity)
    diff: str = ""
    cost: float = 0.0
    created: float = 0.0
    embedding: Vector | None = field(default=None, compare=False)
    projection: tuple[float, ...] = ()
    cluster: int | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a run besides attempts.

    `kind` is "migration", "island", "champion", "rejection" (a proposal that was turned away) or
    "summary"; `at` is how many attempts were recorded before. `data` holds program numbers,
    islands, or what was said.
    """

    kind: str
    at: int
    data: Mapping[str, Json] = field(default_factory=dict[str, Json])
