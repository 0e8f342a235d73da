"""Where candidates are judged, timed and kept, whoever wrote them."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from warploom.core.ids import digest
from warploom.core.records import to_json
from warploom.synthesis.config import SynthesisConfig
from warploom.synthesis.correctness import Trial, accept, prepare_trial
from warploom.synthesis.correctness.allowed import attempts
from warploom.synthesis.correctness.building import Builds, kernel_file
from warploom.synthesis.correctness.cases import plan_cases
from warploom.synthesis.correctness.expectations import PreparedCase, prepare_case
from warploom.synthesis.interview import Interview
from warploom.synthesis.performance import model_time
from warploom.synthesis.records import (
    CorrectnessReport,
    KernelArtifact,
    PerformanceReport,
    Stage,
)
from warploom.synthesis.reference.client import ReferenceProcess
from warploom.synthesis.result import SynthesisResult
from warploom.synthesis.resume import refused_before


@dataclass(frozen=True, slots=True)
class Candidate:
    """A kernel that somebody wrote: its text without includes, and how it came about."""

    text: str
    origin: str
    parameters: Mapping[str, int] = field(default_factory=dict[str, int])
    forms: tuple[str, ...] = ()


class Run(Protocol):
    """The run that a bench belongs to."""

    result: SynthesisResult

    @property
    def config(self) -> SynthesisConfig:
        """How it was asked to go."""
        ...

    @property
    def folder(self) -> Path:
        """Where it keeps everything."""
        ...

    @property
    def architectures(self) -> tuple[str, ...]:
        """For which nvcc must take each candidate."""
        ...

    def seed_of(self, number: int) -> int:
        """Return a secret seed of the run."""
        ...

    def write(self) -> None:
        """Write the report as it is now."""
        ...

    def tell(self, text: str) -> None:
        """Say what goes on."""
        ...

    def trace(
        self, stage: Stage, status: str, begin: float, attempts: int = 1,
        notes: tuple[str, ...] = (), dollars: float = 0.0,
    ) -> None:  # fmt: skip
        """Note what a stage did."""
        ...


class Bench:
    """Judges each candidate on cases that no candidate before has met."""

    def __init__(
        self, run: Run, found: Interview, reference: ReferenceProcess, secret: Path,
        builds: Builds,
    ) -> None:  # fmt: skip
        self._builds = builds
        self.run = run
        self.found = found
        self.reference = reference
        self.secret = secret
        self._trials = 0
        self._timed: PreparedCase | None = None

    def judge(self, candidate: Candidate) -> CorrectnessReport:
        """Send a candidate through acceptance, and keep it with its verdict."""
        self._trials += 1
        stem = self.run.folder / "attempts" / f"{self._trials:03}"
        seed = self.run.seed_of(self._trials)
        known = refused_before(stem, kernel_file(candidate.text, self.found.spec.ranks), seed)
        if known is not None and self.run.config.resume:
            self._keep(candidate, known)
            return known
        trial = prepare_trial(
            self.found.spec, self.reference, self.run.seed_of(self._trials), self.secret,
            candidate.text,
        )  # fmt: skip
        report = self._accepted(candidate, trial)
        self._keep(candidate, report)
        return report

    def _accepted(self, candidate: Candidate, trial: Trial) -> CorrectnessReport:
        config = self.run.config
        return accept(
            candidate.text, self.found.spec, trial, architectures=self.run.architectures,
            seconds=config.seconds, jobs=config.jobs, builds=self._builds,
        )  # fmt: skip

    def time(self, candidate: Candidate) -> PerformanceReport | None:
        """Return the modelled time of a candidate; None where its timed call is not right."""
        if self._timed is None:
            spec = self.found.spec
            plan = next(attempts(spec, plan_cases(spec, self.run.seed_of(5000))[0]))
            self._timed = prepare_case(spec, plan, self.reference, self.secret)
        return model_time(
            self._builds.of(candidate.text),
            self.found.spec,
            self.found.graph,
            self._timed,
            self.run.config.seconds,
        )

    def _keep(self, candidate: Candidate, report: CorrectnessReport) -> None:
        place = self.run.folder / "attempts"
        place.mkdir(exist_ok=True)
        stem = place / f"{self._trials:03}"
        text = kernel_file(candidate.text, self.found.spec.ranks)
        stem.with_suffix(".cu").write_text(text, encoding="utf-8", errors="surrogateescape")
        stem.with_suffix(".json").write_text(json.dumps(to_json(report), indent=2) + "\n")
        if report.passed or self.run.result.kernel is None:
            kernel = KernelArtifact(
                candidate.text, candidate.origin, digest([candidate.text]), candidate.parameters,
                candidate.forms,
            )  # fmt: skip
            self.run.result = replace(self.run.result, kernel=kernel, correctness=report)
        elif not self.run.result.correctness or not self.run.result.correctness.passed:
            self.run.result = replace(self.run.result, correctness=report)
        self.run.write()


def now() -> float:
    """Return a time to measure a stage from."""
    return time.monotonic()
