"""Judges one candidate: the cascade, and what of its word is kept."""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from warploom.core.errors import ToolFailedError, UnsupportedError
from warploom.core.ids import digest
from warploom.core.records import Api, Json, Severity
from warploom.emulator import Topology, find_topology
from warploom.emulator.running.topology import check_fit
from warploom.evaluation.cascade import evaluate
from warploom.evaluation.records import SCORE, Evaluation
from warploom.evaluation.transform_rule import TransformRule
from warploom.evolve.config import JudgingConfig
from warploom.propose.mutate import shaped_like
from warploom.store.records import Outcome
from warploom.workload.workload import Workload

MODELLED = "modelled"
_MOST_FINDINGS = 20
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of an evaluator: a device API ("" for any) and the seeds of the inputs."""

    api: str
    inputs: tuple[int, ...]


class Evaluator(Protocol):
    """Judges candidates. It is pickled to worker processes, and keeps nothing."""

    @property
    def key(self) -> str:
        """A digest of all that a judgment depends on besides candidate and question."""
        ...

    @property
    def time_source(self) -> str:
        """What its times are: "modelled" or "measured"."""
        ...

    def __call__(self, candidate: Path, question: Question) -> Outcome:
        """Judge the program at a path.

        Raises:
            BadInputError: the workload is wrong, or its trusted program fails.
            MissingToolError: there is no compiler.
        """
        ...


@dataclass(frozen=True, slots=True)
class WorkloadEvaluator:
    """The cascade up to the score, against the workload's host-driven program.

    Candidates are whole programs and are judged free, not framed: steps such as more contexts,
    signals or streams change the set-up, which markers leave to the frame. Nobody vouches for
    their text, so that level 0 judges all of it, as it does a language model's.
    """

    workload: Workload
    topology: Topology
    nvcc: bool = True
    jobs: int | None = None

    @property
    def key(self) -> str:
        """A digest of the workload, its program's text, and the topology."""
        program = self.workload.program.read_bytes()
        settings = (self.workload, self.topology.name, sorted(self.topology.values.items()))
        return digest((program, repr(settings), str(self.nvcc)))

    @property
    def time_source(self) -> str:
        """The emulator models times."""
        return MODELLED

    def __call__(self, candidate: Path, question: Question) -> Outcome:
        """Judge the program at a path; what the emulator has not, fails the candidate."""
        try:
            found = evaluate(
                candidate,
                self.workload,
                level=SCORE,
                rule=rule_for(candidate, self.workload, question),
                inputs=question.inputs,
                topology=self.topology,
                nvcc=self.nvcc,
                jobs=self.jobs,
            )
        except (UnsupportedError, ToolFailedError) as error:
            return failed(type(error).__name__.removesuffix("Error").lower(), error.message)
        return outcome_of(found)


def rule_for(candidate: Path, workload: Workload, question: Question) -> TransformRule:
    """Return what is asked of a candidate: launch shapes are the search's to choose."""
    api = Api(question.api) if question.api else None
    texts = [path.read_bytes().decode("utf-8", "surrogateescape")
             for path in (workload.program, candidate)]  # fmt: skip
    return TransformRule(api, untrusted=True, check=shaped_like(*texts))


def judge_for(workload: Workload, judging: JudgingConfig, jobs: int | None) -> WorkloadEvaluator:
    """Return the evaluator of a run; it has `jobs` runs side by side, None: one for each core.

    Raises:
        BadInputError: there is no such topology, or the ranks do not fit it.
    """
    machine = find_topology(judging.topology)
    check_fit(machine, workload.shape.ranks, workload.shape.lsa_size)
    return WorkloadEvaluator(replace(workload, machine=None), machine, judging.nvcc, jobs)


def jobs_for(workers: int) -> int | None:
    """Return how many runs each of `workers` has side by side: they share the machine's cores."""
    return None if workers == 1 else max(1, len(os.sched_getaffinity(0)) // workers)


def failed(kind: str, message: str, seconds: float = 0.0) -> Outcome:
    """Return the outcome of a candidate that could not be judged to the end."""
    finding: dict[str, Json] = {"kind": kind, "severity": "error", "message": message}
    return Outcome(
        correct=False, feedback=message, failure=kind, findings=(finding,), seconds=seconds
    )


def outcome_of(found: Evaluation) -> Outcome:
    """Return what is kept of an evaluation."""
    timed = found.benchmark
    correct = found.passed and found.score is not None
    errors = [m.finding for m in found.findings if m.finding.severity is Severity.ERROR]
    differing = [item.buffer for item in found.comparisons if not item.passed]
    failure = ""
    if not correct:
        failure = errors[0].kind if errors else "wrong_result" if differing else "run"
    said = [f"{e.kind}: {e.message}" for e in errors[:_SHOWN]]
    said += [f"output {name} differs" for name in differing[:_SHOWN]]
    public = dict(found.metrics)
    if timed is not None and timed.timeline.regions:
        public["region_ms"] = timed.timeline.regions[0].median_ms
    if timed is not None and timed.baseline_regions:
        public["baseline_region_ms"] = timed.baseline_regions[0].median_ms
    return Outcome(
        correct=correct,
        score=found.score if correct else None,
        time_ms=public.get("time_ms") if correct else None,
        time_source=found.time_source if correct else "none",
        public=_finite(public),
        private={"runs": float(len(found.runs)), "planned": float(found.planned)},
        feedback="\n".join(said),
        failure=failure,
        findings=tuple(_short(item.to_json()) for item in found.findings[:_MOST_FINDINGS]),
        level=found.level_reached,
        seconds=found.seconds,
    )


def _finite(values: Mapping[str, float]) -> dict[str, float]:
    return {name: value for name, value in values.items() if math.isfinite(value)}


def _short(finding: Mapping[str, Json]) -> dict[str, Json]:
    """Return a finding without what led to it: that can be had again."""
    return {name: value for name, value in finding.items() if name != "trace" and value is not None}


def describe_failures(outcomes: Sequence[Outcome]) -> str:
    """Say why programs failed, one after the other."""
    return "; ".join(one.feedback.splitlines()[0] if one.feedback else one.failure
                     for one in outcomes)  # fmt: skip
