"""Judges candidates by two machines: the emulator verifies, GPUs take the time."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from warploom.core.errors import RanksLostError, ToolFailedError, UnsupportedError
from warploom.core.ids import digest
from warploom.core.records import Finding
from warploom.evaluation.cascade import evaluate
from warploom.evaluation.modelled_time import score_of
from warploom.evaluation.observed.measured import Measured, measure
from warploom.evaluation.records import VERIFY
from warploom.evolve.elsewhere import measure_elsewhere
from warploom.evolve.evaluator import Question, failed, outcome_of, rule_for
from warploom.jobs.protocol import Loss, WorkLostError
from warploom.store.records import Outcome
from warploom.workload.workload import Workload

MEASURED = "measured"


@dataclass(frozen=True, slots=True)
class MeasuredEvaluator:
    """The cascade up to correctness, then `repeats` pairs of runs on GPUs for each input.

    Candidates are verified at the workload's own sizes and timed at its `time_sizes`: on this
    machine, or where `gpu_command` starts the measuring.
    """

    workload: Workload
    repeats: int
    jobs: int | None = None
    gpu_command: str | None = None

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
            times = self._measured(candidate, question.inputs)
        except WorkLostError:  # nothing is known of the candidate
            raise
        except RanksLostError as error:
            raise WorkLostError(Loss.DIED, error.message) from error
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

    def _measured(self, candidate: Path, inputs: tuple[int, ...]) -> Measured:
        task, repeats = self.workload, self.repeats
        if self.gpu_command is None:
            return measure(candidate, task, inputs=inputs, repeats=repeats)
        return measure_elsewhere(self.gpu_command, candidate, task, inputs=inputs, repeats=repeats)


def _said(findings: Sequence[Finding]) -> str:
    return "on the GPUs: " + "; ".join(one.message for one in findings[:3])
