"""`eval --backend cuda`: a candidate beside the trusted program on real GPUs, values and time."""

import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from warploom.core.errors import SourceError
from warploom.core.records import Finding, Json, Severity, to_json
from warploom.evaluate.cascade import Prepared, prepare
from warploom.evaluate.compare.differential import Difference, weak_outputs
from warploom.evaluate.compare.outputs import Key, Sample, output_of
from warploom.evaluate.evaluation import LEVELS, OutputComparison, summarize
from warploom.evaluate.findings import MergedFinding, merge
from warploom.evaluate.on_gpus.runs import (
    HardwareRecord,
    differences,
    record_of,
    require_good,
    samples_of,
    setup_for,
    setup_of_candidate,
    told,
    total_ms,
)
from warploom.evaluate.runs.plan import Progress, ProgressCallback, ignore_progress
from warploom.evaluate.runs.secret_seeds import draw_seeds
from warploom.evaluate.survey import Survey, survey, survey_built
from warploom.hardware import (
    TOOLS,
    HardwareBuild,
    HardwareOptions,
    HardwareRun,
    Setup,
    build_executable,
    run_hardware,
    run_tools,
    timings,
)
from warploom.toolchain.nvcc import find_sanitizer
from warploom.workload.workload import Output, Workload, load_target

REPEATS = 3
"""Runs of each program for each input seed; the two take turns."""


@dataclass(frozen=True, slots=True)
class HardwareEvaluation:
    """What real GPUs said of a candidate.

    `time_ms` and `baseline_ms` are medians over all runs of what the programs time themselves
    (CUDA events, MPI_Wtime), the slowest rank of each interval; `speedup` is the median over pairs
    of neighbouring runs. `time_source` is "measured" where the frame is kept, "self-timed" where
    the candidate's whole text was taken and could time less than it does, "own-network" where what
    it sent went over a network of ours, which says nothing of a card, and "none" without times.
    """

    level_reached: int
    passed: bool
    findings: tuple[MergedFinding, ...]
    comparisons: tuple[OutputComparison, ...]
    runs: tuple[HardwareRecord, ...]
    time_ms: float | None
    baseline_ms: float | None
    speedup: float | None
    time_source: str
    frame: str
    program: Path
    reference: Path
    ranks: int
    gpus: tuple[str, ...]
    shared: bool
    own_network: bool
    nccl: str
    sandbox: str
    seconds: float
    backend: str = "cuda"

    @property
    def exit_code(self) -> int:
        """0 passed; 1 not good."""
        return 0 if self.passed else 1

    def to_json(self) -> dict[str, Json]:
        """Return the evaluation as plain JSON values; `findings` are flat objects."""
        names = [name for name in self.__slots__ if name != "findings"]
        data = to_json({name: getattr(self, name) for name in names})
        assert isinstance(data, dict)
        return {**data, "findings": [item.to_json() for item in self.findings]}


@dataclass(frozen=True, slots=True)
class _Pair:
    """One run of the trusted program and the candidate's run after it."""

    seed: int
    trusted: HardwareRun
    candidate: HardwareRun


def evaluate_hardware(
    candidate: Path,
    workload: Workload | Path | str,
    *,
    level: int = 2,
    tools: Sequence[str] = TOOLS,
    jobs: int | None = None,
    on_progress: ProgressCallback = ignore_progress,
) -> HardwareEvaluation:
    """Judge a candidate on this machine's GPUs.

    Levels 0 and 1 are those of the emulator's evaluation, and nvcc's build for the GPU. Level 2
    runs the trusted program and the candidate in turns, `REPEATS` times for each of the workload's
    seeds, compares all read-backs, and runs the candidate under compute-sanitizer's `tools`.

    Raises:
        BadInputError: the workload is wrong, or its trusted program fails on the GPUs.
        MissingToolError: a GPU, nvcc, NCCL, MPI or compute-sanitizer is missing.
        UnsupportedError: the program starts its ranks in a way that we cannot.
    """
    started = time.monotonic()
    task = workload if isinstance(workload, Workload) else load_target(workload)
    facts = survey_built(task)
    setup = setup_for(task, facts)
    if tools and level >= 2:
        find_sanitizer()
    with tempfile.TemporaryDirectory(prefix="warploom-") as folder:
        legal = prepare(
            candidate, task, Path(folder), level=min(level, 1), jobs=jobs, on_progress=on_progress
        )
        judge = _Judge(task, facts, setup, legal, candidate, tools, started, on_progress)
        return judge.run(level)


class _Judge:
    """Runs level 2 and puts the evaluation together."""

    def __init__(
        self,
        task: Workload,
        facts: Survey,
        setup: Setup,
        legal: Prepared,
        candidate: Path,
        tools: Sequence[str],
        started: float,
        on_progress: ProgressCallback,
    ) -> None:
        self.task = task
        self.facts = facts
        self.setup = setup
        self.legal = legal
        # The trusted program may need no network where the candidate does.
        self.own_setup = (
            setup_of_candidate(setup, task, facts, legal.path) if legal.passed else setup
        )
        self.candidate = candidate
        self.tools = tools
        self.started = started
        self.seeds = draw_seeds(task.seeds)
        self.on_progress = on_progress
        self.findings: list[Sequence[Finding]] = [*legal.findings]

    def run(self, level: int) -> HardwareEvaluation:
        """Run what `level` asks for."""
        if level < 1 or not self.legal.passed:
            return self._evaluation(min(level, 1), (), (), ())
        trusted = self._build(self.task.program)
        try:
            program = self._build(self.legal.path)
        except SourceError as error:
            name = str(self.candidate) if error.file == str(self.legal.path) else error.file
            self.findings.append(
                [Finding("nvcc", Severity.ERROR, error.message, error.hint, name, error.line)]
            )
            return self._evaluation(1, (), (), ())
        if level < 2:
            return self._evaluation(1, (), (), ())
        pairs = self._pairs(trusted, program)
        tools = self._tools(program) if all(pair.candidate.ok for pair in pairs) else ()
        return self._evaluation(2, pairs, tools, self._compare(pairs))

    def _build(self, path: Path) -> HardwareBuild:
        self.on_progress(Progress("build", 0, 1))
        spec = self.task.build_spec(self.setup.nccl.version, path)
        return build_executable(spec, self.setup.arch, self.setup.nccl, self.setup.mpi)

    def _options(self, seed: int) -> HardwareOptions:
        args = self.task.args_for(seed)
        return HardwareOptions(args, self.task.limits, folder=self.task.root, env=self.task.env)

    def _pairs(self, trusted: HardwareBuild, program: HardwareBuild) -> tuple[_Pair, ...]:
        pairs: list[_Pair] = []
        total = self.task.seeds * REPEATS
        for seed in self.seeds:
            option = self._options(seed)
            for timing in timings(REPEATS):
                self.on_progress(Progress("gpu", len(pairs), total))
                first = run_hardware(trusted, self.setup, option)
                require_good(self.task, first, seed)
                second = run_hardware(program, self.own_setup, replace(option, timing=timing))
                pairs.append(_Pair(seed, first, second))
                if not pairs[-1].candidate.ok:
                    return tuple(pairs)
        return tuple(pairs)

    def _tools(self, program: HardwareBuild) -> tuple[HardwareRun, ...]:
        self.on_progress(Progress("compute-sanitizer", 0, 1))
        return run_tools(program, self.own_setup, self._options(self.seeds[0]), self.tools)

    def _compare(self, pairs: Sequence[_Pair]) -> tuple[OutputComparison, ...]:
        outputs = self.task.outputs
        compared: list[Difference] = []
        expected: dict[int, Mapping[Key, Sample]] = {}
        for pair in pairs:
            samples = samples_of(pair.trusted, self.facts, self.task)
            first = expected.setdefault(pair.seed, samples)
            unsteady = differences(first, pair.trusted, self.facts, self.task)
            said = [
                Finding(
                    "reference-unsteady",
                    Severity.ERROR,
                    "the trusted program differs from itself between two runs of one seed: "
                    + item.describe(),
                    seed=pair.seed,
                )
                for item in unsteady
                if item.problem
            ][:1]
            if pair.candidate.ok:
                # The candidate's lines are its own: its copies are named by its own analysis.
                own = survey(self.task, program=self.legal.path)
                found = differences(first, pair.candidate, own, self.task)
                compared += found
                said += told(found, pair.seed, "the trusted program's", strict=True)
            self.findings.append([*pair.candidate.findings, *said])
        samples = list(expected.values())
        if not any(samples):
            message = "the trusted program reads nothing back on the GPU: nothing is proved"
            self.findings.append([Finding("no-evidence", Severity.ERROR, message)])
        known = {k.buffer: output_of(s, outputs) for found in samples for k, s in found.items()}
        for item in compared:
            known.setdefault(item.key.buffer, Output(item.key.buffer, item.dtype, 0.0))
        return summarize(compared, known, weak_outputs(samples, outputs))

    def _times(self, pairs: Sequence[_Pair]) -> tuple[float | None, float | None, float | None]:
        """Return the candidate's time, the trusted program's, and the speedup."""
        if not all(pair.candidate.ok for pair in pairs):
            return None, None, None
        both = [
            (total_ms(pair.trusted), total_ms(pair.candidate))
            for pair in pairs
            if pair.candidate.timed
        ]
        timed = [(old, new) for old, new in both if old is not None and new is not None and new > 0]
        if not timed:
            return None, None, None
        return (
            statistics.median(new for _, new in timed),
            statistics.median(old for old, _ in timed),
            statistics.median(old / new for old, new in timed),
        )

    def _time_source(self, milliseconds: float | None) -> str:
        if milliseconds is None:
            return "none"
        if self.own_setup.network:
            return "own-network"
        return "measured" if self.legal.frame == "kept" else "self-timed"

    def _evaluation(
        self,
        level: int,
        pairs: Sequence[_Pair],
        tools: Sequence[HardwareRun],
        comparisons: tuple[OutputComparison, ...],
    ) -> HardwareEvaluation:
        self.findings += [run.sanitizer.findings for run in tools if run.sanitizer]
        merged = merge(self.findings)
        new, old, speedup = self._times(pairs)
        shown = pairs[0].candidate if pairs else None
        assert level < len(LEVELS)
        return HardwareEvaluation(
            level_reached=level,
            passed=not any(item.finding.severity == Severity.ERROR for item in merged),
            findings=merged,
            comparisons=comparisons,
            runs=(
                *(record_of(pair.seed, pair.candidate) for pair in pairs),
                *(record_of(0, run) for run in tools),
            ),
            time_ms=new,
            baseline_ms=old,
            speedup=speedup,
            time_source=self._time_source(new),
            frame=self.legal.frame,
            program=self.candidate,
            reference=self.task.program,
            ranks=self.task.ranks,
            gpus=tuple(gpu.describe() for gpu in self.setup.gpus),
            shared=self.setup.shared,
            own_network=self.own_setup.network is not None,
            nccl=self.setup.nccl.version,
            sandbox=shown.sandbox if shown else "",
            seconds=time.monotonic() - self.started,
        )
