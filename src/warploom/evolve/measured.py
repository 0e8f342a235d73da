"""Judges candidates by two machines: the emulator verifies, this machine's GPUs take the time."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from warploom.core.errors import ToolFailedError, UnsupportedError
from warploom.core.ids import digest
from warploom.core.records import Finding
from warploom.evaluate.cascade import evaluate
from warploom.evaluate.evaluation import VERIFY
from warploom.evaluate.measured import measure
from warploom.evaluate.modelled import score_of
from warploom.evaluate.workload import Workload
from warploom.evolve.evaluator import Question, failed, outcome_of, rule_for
from warploom.store.records import Outcome

MEASURED = "measured"


@dataclass(frozen=True, slots=True)
class MeasuredEvaluator:
    """The cascade up to correctness, then `repeats` pairs of runs on GPUs for each input.

    Candidates are verified at the workload's own sizes and timed at its `time_sizes`.
    """

    workload: Workload
    repeats: int
    jobs: int | None = None

    @property
    def key(self) -> str:
        """A digest of the workload, its program's text, and how often it runs."""
        program = self.workload.program.read_bytes()
        return digest((program, repr(self.workload), MEASURED, str(self.repeats)))

    @property
    def time_source(self) -> str:
        """GPUs measure times."""
        return MEASURED

    def __call__(self, candidate: Path, question: Question) -> Outcome:
        """Judge the program at a path; what the emulator has not, fails the candidate."""
        try:
            found = evaluate(
                candidate,
                self.workload,
                level=VERIFY,
                rule=rule_for(candidate, self.workload, question),
                inputs=question.inputs,
                nvcc=False,
                jobs=self.jobs,
            )
            if not found.passed:
                return outcome_of(found)
            times = measure(candidate, self.workload, inputs=question.inputs, repeats=self.repeats)
        except (UnsupportedError, ToolFailedError) as error:
            return failed(type(error).__name__.removesuffix("Error").lower(), error.message)
        if times.findings:
            return failed(times.findings[0].kind, _said(times.findings), found.seconds)
        public = {
            "time_ms": times.time_ms,
            "baseline_ms": times.baseline_ms,
            "speedup": times.speedup,
            "pairs": float(times.runs),
        }
        return Outcome(
            correct=True,
            score=score_of(times.time_ms),
            time_ms=times.time_ms,
            time_source=MEASURED,
            public=public,
            level=found.level_reached,
            seconds=found.seconds,
        )


def _said(findings: Sequence[Finding]) -> str:
    return "on the GPUs: " + "; ".join(one.message for one in findings[:3])
