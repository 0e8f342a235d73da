"""A bench that judges and times candidates on this machine's GPU, after the emulator."""

import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

from warploom.core.errors import SourceError
from warploom.core.records import Finding, Severity
from warploom.hardware import Setup
from warploom.synthesis.bench import Bench, Candidate, Run
from warploom.synthesis.correctness import Trial
from warploom.synthesis.correctness.building import Builds
from warploom.synthesis.correctness.cases import CasePlan
from warploom.synthesis.correctness.expectations import Judge, prepare_case
from warploom.synthesis.interview import Interview
from warploom.synthesis.performance.measured import (
    Launch,
    bytes_moved,
    judge_on_gpu,
    launcher,
    measure,
    time_reference,
)
from warploom.synthesis.records import ON_GPU, Check, CorrectnessReport, PerformanceReport
from warploom.synthesis.reference.client import Baseline, ReferenceProcess

_CALLS = 8  # timed in one run
_FIRST_SEED = 20_000


class GpuBench(Bench):
    """What the emulator accepts is run on the GPU; only what passes there too is right."""

    def __init__(
        self, run: Run, found: Interview, reference: ReferenceProcess, secret: Path,
        builds: Builds, setup: Setup,
    ) -> None:  # fmt: skip
        super().__init__(run, found, reference, secret, builds)
        self.setup = setup
        self._gpu = ""

    def _launcher(self, candidate: Candidate, folder: Path) -> Launch:
        return launcher(candidate.text, self.setup, folder, self.run.config.seconds)

    def _accepted(self, candidate: Candidate, trial: Trial) -> CorrectnessReport:
        report = super()._accepted(candidate, trial)
        if not report.passed:
            return report
        with tempfile.TemporaryDirectory(prefix="warploom-") as name:
            folder = Path(name)
            try:
                launch = self._launcher(candidate, folder)
                found = judge_on_gpu(launch, self.found.spec, trial.cases, folder / "cases")
            except SourceError as error:
                found = [Finding("nvcc", Severity.ERROR, error.message, error.hint)]
        said = found[0].message if found else ""
        check = Check(ON_GPU, not found, len(trial.cases), said)
        return replace(
            report, passed=not found, checks=(*report.checks, check),
            findings=(*report.findings, *found),
        )  # fmt: skip

    def time(self, candidate: Candidate) -> PerformanceReport | None:
        """Return the measured time of a candidate; None where its timed calls are not right."""
        if not self._gpu:
            self._gpu = self.reference.gpu()
        cases = [
            prepare_case(self.found.spec, plan, self.reference, self.secret, Judge("cuda"))
            for plan in self._plans(0)
        ]
        with tempfile.TemporaryDirectory(prefix="warploom-") as name:
            folder = Path(name)
            launch = self._launcher(candidate, folder)
            turn = partial(self._turn, moved=bytes_moved(cases[0]))
            made = measure(launch, turn, self.found.spec, cases, folder / "cases", self._gpu)
        if isinstance(made, Finding):
            self.run.tell(f"performance: {made.message}")
            return None
        return made

    def _plans(self, number: int) -> list[CasePlan]:
        example = {symbol.name: symbol.example for symbol in self.found.spec.symbols}
        first = _FIRST_SEED + number * _CALLS
        return [
            CasePlan(f"timed-{at}", "timed", example, "normal", self.run.seed_of(first + at))
            for at in range(_CALLS)
        ]

    def _turn(self, number: int, moved: int) -> tuple[Baseline, ...]:
        return time_reference(self.reference, self.found.spec, self._plans(number + 1), moved)
