"""Leads a synthesis through its stages; writes a report whatever happens."""

import contextlib
import json
import secrets
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from warploom.core.errors import WarploomError
from warploom.core.folder_lock import held_alone
from warploom.core.ids import new_run_id
from warploom.core.records import to_json
from warploom.hardware import Setup
from warploom.synthesis.asking import Request, request_of
from warploom.synthesis.bench import Bench, Candidate
from warploom.synthesis.config import SynthesisConfig
from warploom.synthesis.correctness.building import Builds, kernel_file
from warploom.synthesis.export.package import write_package
from warploom.synthesis.gpu_bench import GpuBench
from warploom.synthesis.interview import Interview, interview
from warploom.synthesis.models import ModelWriter
from warploom.synthesis.performance.measured import require_gpu
from warploom.synthesis.proposers import GivenProposer, ModelProposer, Proposer, RulesProposer
from warploom.synthesis.records import Stage, StageTrace
from warploom.synthesis.reference.client import ReferenceProcess
from warploom.synthesis.result import SynthesisResult, report_text
from warploom.synthesis.resume import begin, facts_of

Tell = Callable[[str], None]
REPORT = "report.json"
_SEEDS = 3


def quiet(text: str) -> None:
    """Tell nobody."""
    del text


class Orchestrator:
    """One synthesis."""

    def __init__(self, request: Request, tell: Tell = quiet) -> None:
        self.request = request
        self._told = tell
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
        setup = require_gpu() if request.config.backend == "cuda" else None
        with held_alone(request.folder):
            return self._run(setup)

    def _run(self, setup: Setup | None) -> SynthesisResult:
        request, ranks = self.request, self.request.config.ranks
        self._begin()
        try:
            with (
                tempfile.TemporaryDirectory(prefix="warploom-secret-") as secret,
                ReferenceProcess(request.reference, request.name, ranks) as reference,
            ):
                self._stages(reference, Path(secret), setup)
            self.result = replace(self.result, error="", error_code=0)
        except WarploomError as error:
            self.result = replace(
                self.result, error=error.message, error_line=error.line,
                error_code=error.exit_code,
            )  # fmt: skip
            if error.file is None:
                error.file = str(request.reference)
            raise
        except KeyboardInterrupt:
            self.result = replace(self.result, error="interrupted", error_code=130)
            raise
        finally:
            self.write()
        return self.result

    def _begin(self) -> None:
        """Write down how the run begins, or read how the one that is resumed did."""
        request, seed = self.request, self.seed
        assert seed is not None
        facts = facts_of(
            self.result.run, seed, request.prompt, request.reference, request.target,
            request.proposer, request.config.ranks,
        )  # fmt: skip
        known = begin(request.folder, facts, resume=request.config.resume)
        self.seed = known["seed"]
        self.result = replace(
            self.result,
            run=known["run"],
            seed=self.seed,
            error="the run did not come to its end",
            error_code=130,
        )
        self.write()

    def _stages(self, reference: ReferenceProcess, secret: Path, setup: Setup | None) -> None:
        found = self._interview(reference)
        with contextlib.ExitStack() as stack:
            builds = stack.enter_context(Builds(self.config.jobs, self.config.ranks))
            bench: Bench = Bench(self, found, reference, secret, builds)
            if setup is not None:
                bench = GpuBench(self, found, reference, secret, builds, setup)
            proposer: Proposer = RulesProposer(bench)
            if self.request.kernel:
                proposer = GivenProposer(bench, self.request.kernel)
            if self.request.config.proposer == "llm":
                writer = ModelWriter(
                    found.spec, self.request.reference, self.request.config,
                    self.request.folder / "llm",
                )  # fmt: skip
                proposer = ModelProposer(bench, stack.enter_context(writer))
            first = proposer.accepted()
            if first is not None:
                self._polish(proposer.faster(first), found)

    @property
    def config(self) -> SynthesisConfig:
        """How it was asked to go."""
        return self.request.config

    @property
    def folder(self) -> Path:
        """Where the run keeps everything."""
        return self.request.folder

    @property
    def architectures(self) -> tuple[str, ...]:
        """For which nvcc must take each candidate."""
        if not self.config.nvcc:
            return ()
        return self.config.architectures or (self.request.target,)

    def tell(self, text: str) -> None:
        """Say what goes on."""
        self._told(text)

    def seed_of(self, number: int) -> int:
        """Return the seed number `number` of this run."""
        assert self.seed is not None
        return (self.seed * 1_000_003 + number * 7_919) % (1 << 48)

    def _interview(self, reference: ReferenceProcess) -> Interview:
        begin = time.monotonic()
        self.tell("interview: tracing the reference")
        found = interview(
            reference, self.request.prompt, self.request.target,
            [self.seed_of(100 + n) % (1 << 31) for n in range(_SEEDS)],
        )  # fmt: skip
        self.result = replace(self.result, spec=found.spec)
        self.trace(Stage.INTERVIEW, "done", begin, notes=(f"{len(found.graph.nodes)} operations",))
        return found

    def _polish(self, best: Candidate, found: Interview) -> None:
        """Write the kernel with its documentation, and the package."""
        begin = time.monotonic()
        folder = self.request.folder
        (folder / "kernel.cu").write_text(kernel_file(best.text, self.config.ranks))
        (folder / "spec.json").write_text(json.dumps(to_json(found.spec), indent=2) + "\n")
        (folder / self.request.reference.name).write_bytes(self.request.reference.read_bytes())
        self.result = replace(self.result, verified=True)
        notes: tuple[str, ...] = ()
        if self.config.ranks == 1:
            write_package(self.result, best.text, self.request.reference, folder / "package")
        else:
            notes = ("no package: a kernel of several ranks is not exported yet",)
        self.trace(Stage.POLISH, "done", begin, notes=notes)

    def trace(
        self, stage: Stage, status: str, begin: float, attempts: int = 1,
        notes: tuple[str, ...] = (), dollars: float = 0.0,
    ) -> None:  # fmt: skip
        """Note what a stage did."""
        seconds = time.monotonic() - begin
        trace = StageTrace(stage, status, seconds, attempts, notes, dollars)
        self.result = replace(self.result, stages=(*self.result.stages, trace))
        self.write()

    def write(self) -> None:
        """Write the report, whatever the state of the run."""
        self.result = replace(self.result, seconds=time.monotonic() - self.started)
        folder = self.request.folder
        part = folder / f"{REPORT}.part"
        part.write_text(json.dumps(self.result.to_json(), indent=2) + "\n")
        part.replace(folder / REPORT)  # whoever reads it while the run is on finds a whole one
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
    request = request_of(prompt, reference, target, config or SynthesisConfig(), Path(out))
    return Orchestrator(request, tell).run()
