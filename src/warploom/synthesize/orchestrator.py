"""Leads a synthesis through its stages; writes a report whatever happens."""

import json
import secrets
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from warploom.core.errors import WarploomError
from warploom.core.ids import digest, new_run_id
from warploom.core.records import to_json
from warploom.synthesize.codegen import BeyondRulesError, Generated, generate
from warploom.synthesize.config import SynthesisConfig
from warploom.synthesize.correctness import Trial, accept, prepare_trial
from warploom.synthesize.correctness.building import kernel_file
from warploom.synthesize.export.package import write_package
from warploom.synthesize.interview import Interview, interview
from warploom.synthesize.performance import model_time, settings
from warploom.synthesize.records import (
    CorrectnessReport,
    KernelArtifact,
    PerformanceReport,
    Stage,
    StageTrace,
)
from warploom.synthesize.reference.client import ReferenceProcess
from warploom.synthesize.result import SynthesisResult, report_text

Tell = Callable[[str], None]
REPORT = "report.json"
_SEEDS = 3


def quiet(text: str) -> None:
    """Tell nobody."""
    del text


@dataclass(frozen=True)
class Request:
    """What is to be synthesized, and where it goes."""

    prompt: str
    reference: Path
    name: str
    target: str
    folder: Path
    config: SynthesisConfig


class Orchestrator:
    """One synthesis."""

    def __init__(self, request: Request, tell: Tell = quiet) -> None:
        self.request = request
        self.tell = tell
        self.started = time.monotonic()
        self.seed = request.config.seed
        if self.seed is None:
            self.seed = secrets.randbits(48)
        self.result = SynthesisResult(
            new_run_id("synthesize"), False, request.folder, str(request.reference)
        )

    def run(self) -> SynthesisResult:
        """Go through the stages; returns the result, with its error where there is one."""
        request = self.request
        request.folder.mkdir(parents=True, exist_ok=True)
        try:
            with (
                tempfile.TemporaryDirectory(prefix="warploom-secret-") as secret,
                ReferenceProcess(request.reference, request.name) as reference,
            ):
                self._stages(reference, Path(secret))
        except WarploomError as error:
            self.result = replace(
                self.result, error=error.message, error_line=error.line,
                error_code=error.exit_code,
            )  # fmt: skip
            self._write()
            if error.file is None:
                error.file = str(request.reference)
            raise
        except KeyboardInterrupt:
            self.result = replace(self.result, error="interrupted", error_code=130)
            raise
        finally:
            self._write()
        return self.result

    def _stages(self, reference: ReferenceProcess, secret: Path) -> None:
        found = self._interview(reference)
        trial = prepare_trial(found.spec, reference, self._seed(0), secret)
        generated = self._codegen(found)
        report = self._correctness(generated, found, trial)
        if not report.passed:
            return
        best = self._performance(generated, found, reference, secret)
        self._polish(best, found)

    def _seed(self, number: int) -> int:
        assert self.seed is not None
        return (self.seed * 1_000_003 + number * 7_919) % (1 << 48)

    def _interview(self, reference: ReferenceProcess) -> Interview:
        begin = time.monotonic()
        self.tell("interview: tracing the reference")
        found = interview(
            reference, self.request.prompt, self.request.target,
            [self._seed(100 + n) % (1 << 31) for n in range(_SEEDS)],
        )  # fmt: skip
        self.result = replace(self.result, spec=found.spec)
        self._trace(Stage.INTERVIEW, "done", begin, notes=(f"{len(found.graph.nodes)} operations",))
        return found

    def _codegen(self, found: Interview) -> Generated:
        begin = time.monotonic()
        self.tell("codegen: rules")
        try:
            generated = generate(found.graph)
        except BeyondRulesError:
            self._trace(Stage.CODEGEN, "refused", begin)
            raise
        self._trace(Stage.CODEGEN, "done", begin, notes=generated.forms)
        return generated

    def _correctness(
        self, generated: Generated, found: Interview, trial: Trial
    ) -> CorrectnessReport:
        begin = time.monotonic()
        self.tell(f"correctness: {len(trial.cases)} cases")
        report = self._accept(generated.text, found, trial)
        status = "passed" if report.passed else "failed"
        self._keep(generated, report)
        self._trace(Stage.CORRECTNESS, status, begin, notes=(f"{report.cases} cases",))
        return report

    def _accept(self, text: str, found: Interview, trial: Trial) -> CorrectnessReport:
        config = self.request.config
        return accept(
            text, found.spec, trial, architectures=self._architectures(),
            seconds=config.seconds, jobs=config.jobs,
        )  # fmt: skip

    def _architectures(self) -> tuple[str, ...]:
        config = self.request.config
        if not config.nvcc:
            return ()
        return config.architectures or (self.request.target,)

    def _performance(
        self, first: Generated, found: Interview, reference: ReferenceProcess, secret: Path
    ) -> Generated:
        """Search over the settings; each better one goes through acceptance with new cases."""
        begin = time.monotonic()
        config = self.request.config
        timed = prepare_trial(found.spec, reference, self._seed(1), secret).cases[0]
        best: tuple[Generated, PerformanceReport] | None = None
        tried = 0
        for setting in settings(first, config.tune, self._seed(2)):
            candidate = generate(found.graph, setting)
            self.tell(f"performance: setting {tried + 1} of {config.tune}")
            report = model_time(candidate.text, found.spec, found.graph, timed, config.seconds)
            tried += 1
            if report is None or (best and report.time_ms >= best[1].time_ms * 0.99):
                continue
            if best is not None:
                trial = prepare_trial(found.spec, reference, self._seed(10 + tried), secret)
                correct = self._accept(candidate.text, found, trial)
                if not correct.passed:
                    continue
                self._keep(candidate, correct)
            best = candidate, report
        notes = ("no GPU here: time is modelled",)
        if best is not None:
            self.result = replace(self.result, performance=replace(best[1], tried=tried))
        self._trace(Stage.PERFORMANCE, "done" if best else "no time", begin, tried, notes)
        return best[0] if best else first

    def _polish(self, best: Generated, found: Interview) -> None:
        """Write the kernel with its documentation, and the package."""
        begin = time.monotonic()
        folder = self.request.folder
        (folder / "kernel.cu").write_text(kernel_file(best.text))
        (folder / "spec.json").write_text(json.dumps(to_json(found.spec), indent=2) + "\n")
        (folder / self.request.reference.name).write_bytes(self.request.reference.read_bytes())
        self.result = replace(self.result, verified=True)
        write_package(self.result, best.text, self.request.reference, folder / "package")
        self._trace(Stage.POLISH, "done", begin)

    def _keep(self, generated: Generated, report: CorrectnessReport) -> None:
        """Keep a candidate with its verdict; a passed one becomes the result's."""
        place = self.request.folder / "attempts"
        place.mkdir(exist_ok=True)
        number = len(list(place.glob("*.cu"))) + 1
        (place / f"{number:03}.cu").write_text(kernel_file(generated.text))
        (place / f"{number:03}.json").write_text(json.dumps(to_json(report), indent=2) + "\n")
        parameters = to_json(generated.parameters)
        assert isinstance(parameters, dict)
        kernel = KernelArtifact(
            generated.text, "rules", digest([generated.text]),
            {k: v for k, v in parameters.items() if isinstance(v, int)}, generated.forms,
        )  # fmt: skip
        self.result = replace(self.result, kernel=kernel, correctness=report)

    def _trace(
        self, stage: Stage, status: str, begin: float, attempts: int = 1,
        notes: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        trace = StageTrace(stage, status, time.monotonic() - begin, attempts, notes)
        self.result = replace(self.result, stages=(*self.result.stages, trace))

    def _write(self) -> None:
        """Write the report, whatever the state of the run."""
        self.result = replace(self.result, seconds=time.monotonic() - self.started)
        folder = self.request.folder
        (folder / REPORT).write_text(json.dumps(self.result.to_json(), indent=2) + "\n")
        (folder / "report.md").write_text(report_text(self.result))


def synthesize(
    prompt: str,
    reference: Path | str,
    target: str = "sm_90",
    config: SynthesisConfig | None = None,
    *,
    out: Path | str = "out",
    tell: Tell = quiet,
) -> SynthesisResult:
    """Make a verified kernel of a PyTorch reference.

    Args:
        prompt: what is wanted, in words; what is right is what the reference does.
        reference: `FILE` or `FILE:NAME` of the function or class in it.
        target: the architecture that it is for.
        config: how to synthesize.
        out: the folder for the result; a report is written whatever happens.
        tell: told of each step.

    Raises:
        BadInputError: the reference or the target is wrong.
        UnsupportedError: the rules have no code for something, and no model is asked.
        MissingToolError: PyTorch or a C++ compiler is not here.
    """
    from warploom.synthesize.asking import request_of

    request = request_of(prompt, reference, target, config or SynthesisConfig(), Path(out))
    return Orchestrator(request, tell).run()
